"""`nodewise simulate`."""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

from nodewise.api.objects import ObjectMeta
from nodewise.cli.inputs import Opened, PodFilter, open_cluster, pod_filter
from nodewise.cli.interrupt import StopRequest, stop_request
from nodewise.cli.main import EXIT_DOES_NOT_FIT, EXIT_ERROR, EXIT_INTERRUPTED, EXIT_OK
from nodewise.cli.problems import Problems
from nodewise.cli.progress import with_progress
from nodewise.cli.structured import DocumentWriter, error_document, placement_document, simulation_summary
from nodewise.simulation.simulate import REASON_GATED, Placement, simulate

BATCH = 256
"""Pods decided in a row, before what became of them is written."""


def run_simulate(arguments: argparse.Namespace) -> int:
    """Place the pending pods and print where each went."""
    wanted = pod_filter(arguments)
    opened = open_cluster(arguments, [*arguments.filename, *arguments.inputs])
    is_table = arguments.output in ("table", "wide")
    run = _Run(opened, wanted, None if is_table else DocumentWriter("Simulation", arguments.output))
    run.place_all(with_best=arguments.output != "table")
    if run.n_left_out:
        opened.session.notes.append(f"{run.n_left_out:,} pods that -n or -l leaves out took part and are not listed")
    if is_table:
        from nodewise.cli.simulation_table import print_simulation

        rate = f", {len(run.shown) / run.seconds:,.0f} pods/s" if run.seconds > 0 else ""
        took = f"{run.seconds:.3f} s{rate}"
        print_simulation(opened.session.scheduler, run.shown, took, wide=arguments.output == "wide")
    else:
        run.close_document()
    sys.stdout.flush()
    run.problems.print(opened)
    if run.is_interrupted:
        return EXIT_INTERRUPTED
    if opened.errors or run.problems:
        return EXIT_ERROR
    fits = all(p.node is not None or p.reason == REASON_GATED for p in run.shown)
    return EXIT_OK if fits else EXIT_DOES_NOT_FIT


class _Run:
    """One simulation and what comes out of it.

    Attributes
    ----------
    shown : list[Placement]
        Those that were asked for; without `best` when they are in the document already.
    seconds : float
        What placing took, printing left out.
    """

    def __init__(self, opened: Opened, wanted: PodFilter, document: DocumentWriter | None) -> None:
        self._opened = opened
        self._wanted = wanted
        self._document = document
        self.shown: list[Placement] = []
        self.problems = Problems()
        self.n_left_out = 0
        self.seconds = 0.0
        self.is_interrupted = False

    def place_all(self, *, with_best: bool) -> None:
        """Place every pod, or as many as Ctrl-C lets pass."""
        session = self._opened.session
        metadata = {info.key: info.pod.metadata for info in session.pending}
        total, n_done = len(session.pending), 0
        placements = with_progress(simulate(session, with_best=with_best), total, "placing pods")
        with stop_request() as stop:
            while True:
                started_s = time.perf_counter()
                batch = list(_batch(placements, stop))
                self.seconds += time.perf_counter() - started_s
                n_done += len(batch)
                for placement in batch:
                    self._take(placement, metadata[placement.pod])
                if stop.is_made or not batch:
                    break
        if stop.is_made and n_done < total:
            session.notes.append(f"interrupted: {total - n_done:,} of {total:,} pods were not tried")
        self.is_interrupted = stop.is_made

    def _take(self, placement: Placement, metadata: ObjectMeta) -> None:
        if self._wanted(metadata.namespace, metadata.labels):
            self._show(placement)
        else:
            self.n_left_out += 1
        self._check(placement)

    def _show(self, placement: Placement) -> None:
        if self._document is not None:
            # The lists of equals would fill the memory: every pod may have thousands.
            self._document.add(placement_document(placement))
            placement = replace(placement, best=())
        elif placement.best:
            placement = replace(placement, best=tuple(placement.best))
        self.shown.append(placement)

    def _check(self, placement: Placement) -> None:
        if placement.error:
            self.problems.add_failure(placement.pod, placement.error)

    def close_document(self) -> None:
        """Print what follows the pods."""
        if self._document is not None:
            errors = [error_document(error) for error in self._opened.errors]
            summary = simulation_summary(self._opened.session.scheduler.snapshot.n_nodes, self.shown, self.seconds)
            self._document.close({"summary": summary, "inputErrors": errors})


def _batch(placements: Iterator[Placement], stop: StopRequest) -> Iterator[Placement]:
    """Pass on some placements: writing between any two of them would slow down the deciding."""
    for placement in itertools.islice(placements, BATCH):
        yield placement
        if stop.is_made:
            return

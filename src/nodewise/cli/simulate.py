"""`nodewise simulate`."""

from __future__ import annotations

import argparse
import sys
import time

from nodewise.cli.inputs import open_cluster, pod_filter, print_problems, source_of, split_inputs, with_progress
from nodewise.cli.main import EXIT_DOES_NOT_FIT, EXIT_ERROR, EXIT_INTERRUPTED, EXIT_OK
from nodewise.cli.structured import print_document, simulation_document
from nodewise.cluster.object_set import InputError
from nodewise.simulation.simulate import REASON_GATED, Placement, simulate


def run_simulate(arguments: argparse.Namespace) -> int:
    """Place the pending pods and print where each went."""
    paths, pod = split_inputs(arguments)
    opened = open_cluster(arguments, [*paths, pod] if pod else paths)
    session = opened.session
    placements: list[Placement] = []
    started = time.perf_counter()
    interrupted = False
    try:
        for placement in with_progress(simulate(session), len(session.pending), "placing pods"):
            placements.append(placement)
    except KeyboardInterrupt:
        interrupted = True
        session.notes.append(f"interrupted: {len(session.pending) - len(placements)} pods were not tried")
    seconds = time.perf_counter() - started
    unsupported = [
        InputError(source_of(opened, p.pod), f"Pod {p.pod}", p.unsupported_field, p.message.partition(": ")[2])
        for p in placements
        if p.unsupported_field
    ]
    wanted = pod_filter(arguments)
    labels = {info.key: info.pod.metadata for info in session.pending}
    shown = [p for p in placements if wanted(labels[p.pod].namespace, labels[p.pod].labels)]
    if arguments.output in ("table", "wide"):
        from nodewise.cli.simulation_table import print_simulation

        print_simulation(session, shown, seconds, wide=arguments.output == "wide")
    else:
        document = simulation_document(session, shown, seconds, [*opened.errors, *unsupported])
        print_document(document, arguments.output, lines_of="pods")
    sys.stdout.flush()
    print_problems(opened, unsupported)
    if interrupted:
        return EXIT_INTERRUPTED
    if opened.errors or unsupported:
        return EXIT_ERROR
    fits = all(p.node is not None or p.reason == REASON_GATED for p in placements)
    return EXIT_OK if fits else EXIT_DOES_NOT_FIT

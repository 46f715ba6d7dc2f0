"""`nodewise simulate --until settled`: lets time pass before it says what became of the pending pods."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime

from nodewise.api.objects import Pod
from nodewise.cli.inputs import pod_filter, read_inputs, stop_collecting_garbage
from nodewise.cli.interrupt import stop_request
from nodewise.cli.main import EXIT_DOES_NOT_FIT, EXIT_ERROR, EXIT_INTERRUPTED, EXIT_OK
from nodewise.cli.problems import print_input_errors, print_notes
from nodewise.cli.replay import end_of_play
from nodewise.cli.short_duration import short_duration
from nodewise.cli.structured import DocumentWriter, error_document, placement_document, simulation_summary
from nodewise.cluster.trace import DEFAULT_START
from nodewise.simulation.placement import REASON_GATED
from nodewise.simulation.settle import Settling
from nodewise.simulation.world import World


def run_settle(arguments: argparse.Namespace) -> int:
    """Play the pending pods of a cluster and print where each ended up."""
    wanted = pod_filter(arguments)
    inputs = read_inputs(arguments, [*arguments.filename, *arguments.inputs])
    start = _after_all(inputs.cluster.objects.pods)
    world = World(inputs.configuration, inputs.registry, inputs.options, start)
    world.add(inputs.cluster.objects)
    settling = Settling(world)
    stop_collecting_garbage()
    with stop_request() as stop:
        settling.run(end_of_play(arguments.until, start), lambda: stop.is_made)
    seconds = (world.now() - start).total_seconds()
    by_key = {pod.key: pod.pod.metadata for pod in settling.pending}
    shown = [p for p in settling.placements() if wanted(by_key[p.pod].namespace, by_key[p.pod].labels)]
    n_nodes = world.loop.scheduler.snapshot.n_nodes
    if arguments.output in ("table", "wide"):
        from nodewise.cli.simulation_table import print_simulation

        took = f"{short_duration(seconds)} of the cluster's time"
        print_simulation(world.loop.scheduler, shown, took, wide=arguments.output == "wide")
    else:
        writer = DocumentWriter("Simulation", arguments.output)
        for placement in shown:
            writer.add(placement_document(placement))
        errors = [error_document(error) for error in inputs.cluster.errors]
        writer.close({"summary": simulation_summary(n_nodes, shown, seconds), "inputErrors": errors})
    sys.stdout.flush()
    print_input_errors(inputs.cluster.errors)
    print_notes([*inputs.cluster.notes, *settling.notes])
    if stop.is_made:
        return EXIT_INTERRUPTED
    if inputs.cluster.errors:
        return EXIT_ERROR
    fits = all(placement.node is not None or placement.reason == REASON_GATED for placement in shown)
    return EXIT_OK if fits else EXIT_DOES_NOT_FIT


def _after_all(pods: list[Pod]) -> datetime:
    """Return a moment that nothing in the input lies after."""
    moments = [pod.metadata.creation_timestamp for pod in pods] + [pod.status.start_time for pod in pods]
    return max((moment for moment in moments if moment is not None), default=DEFAULT_START)

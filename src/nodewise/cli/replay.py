"""`nodewise simulate --trace FILE`: plays a trace and reports on it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from datetime import datetime, timedelta

from nodewise.cli.inputs import UsageError, read_inputs, stop_collecting_garbage
from nodewise.cli.interrupt import StopRequest, stop_request
from nodewise.cli.main import EXIT_DOES_NOT_FIT, EXIT_ERROR, EXIT_INTERRUPTED, EXIT_OK
from nodewise.cli.problems import print_input_errors, print_notes
from nodewise.cli.progress import progress_bar
from nodewise.cli.structured import DocumentWriter, error_document
from nodewise.cluster.files import FileError
from nodewise.cluster.trace import Trace
from nodewise.cluster.trace_file import read_trace
from nodewise.config.durations import parse_duration
from nodewise.simulation.replay import Replay
from nodewise.simulation.replay_report import pod_documents, series, summary
from nodewise.simulation.world import World

SETTLED = "settled"
CHART_SUFFIXES = (".svg", ".png")


def run_replay(arguments: argparse.Namespace) -> int:
    """Play a trace on a cluster and print what came of it."""
    if arguments.chart and not arguments.chart.lower().endswith(CHART_SUFFIXES):
        raise UsageError(f"--chart {arguments.chart}: expected a name that ends in {' or '.join(CHART_SUFFIXES)}")
    inputs = read_inputs(arguments, [*arguments.filename, *arguments.inputs])
    try:
        trace = read_trace(arguments.trace, inputs.cluster.objects.priority_classes)
    except FileError as error:
        raise UsageError(f"--trace {arguments.trace}: {error}") from error
    until = end_of_play(arguments.until, trace.start)
    world = World(inputs.configuration, inputs.registry, inputs.options, trace.start)
    world.add(inputs.cluster.objects)
    replay = Replay(world, trace, until)
    stop_collecting_garbage()
    with stop_request() as stop, progress_bar() as report:
        replay.run(_stopper(stop, report, replay, trace))
    errors = [*inputs.cluster.errors, *trace.errors]
    if stop.is_made:
        left = len(trace.events) - replay.n_events
        replay.notes.append(f"interrupted at {world.now().isoformat()}: {left:,} events were not played")
    _print(arguments, replay, [error_document(error) for error in errors])
    if arguments.chart:
        from nodewise.cli.replay_chart import draw_chart

        draw_chart(replay, arguments.chart)
    sys.stdout.flush()
    print_input_errors(errors)
    print_notes([*inputs.cluster.notes, *replay.notes])
    if stop.is_made:
        return EXIT_INTERRUPTED
    if errors:
        return EXIT_ERROR
    return EXIT_DOES_NOT_FIT if replay.history.n_waiting else EXIT_OK


def end_of_play(text: str, start: datetime) -> datetime | None:
    """Return the moment that `--until` names; None: until nothing more happens."""
    if text in ("", SETTLED):
        return None
    try:
        return start + timedelta(microseconds=parse_duration(text) / 1000)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"--until {text}: {error}; expected {SETTLED} or a duration such as 24h") from error


def _stopper(
    stop: StopRequest, report: Callable[[str, int, int], None] | None, replay: Replay, trace: Trace
) -> Callable[[], bool]:
    """Return what is asked at every moment of the play: it shows how far that is, and tells whether to stop."""
    n_events = max(len(trace.events), 1)

    def stopped() -> bool:
        if report is not None:
            report("playing the trace", replay.n_events, n_events)
        return stop.is_made

    return stopped


def _print(arguments: argparse.Namespace, replay: Replay, errors: list[dict[str, str]]) -> None:
    if arguments.output in ("table", "wide"):
        from nodewise.cli.replay_table import print_replay

        print_replay(replay, wide=arguments.output == "wide")
        return
    writer = DocumentWriter("Replay", arguments.output)
    for document in pod_documents(replay.history):
        writer.add(document)
    writer.close({"series": series(replay.history), "summary": summary(replay), "inputErrors": errors})

"""What a replay prints for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nodewise.cli.console import Console
from nodewise.cli.short_duration import short_duration
from nodewise.cli.text_table import Column, Table
from nodewise.simulation.replay import Replay
from nodewise.simulation.replay_report import pod_documents, summary

ROWS_OVER_TIME = 24
BAR = 20


def print_replay(replay: Replay, *, wide: bool) -> None:
    """Print how the cluster fared over time, how long pods waited, and the sums."""
    console = Console()
    figures = summary(replay)
    if wide:
        _print_pods(console, replay)
    _print_over_time(console, replay)
    _print_waiting(console, figures)
    _print_sums(console, figures)


def _print_pods(console: Console, replay: Replay) -> None:
    table = Table(Column("POD"), Column("PRIORITY", is_right=True), Column("NODE"), Column("WAITED", is_right=True))
    for pod in pod_documents(replay.history):
        waited = pod["waitedSeconds"]
        table.add(pod["pod"], str(pod["priority"]), pod["node"] or "", "" if waited is None else short_duration(waited))
    table.print(console)
    console.print()


def _print_over_time(console: Console, replay: Replay) -> None:
    samples = replay.history.samples
    step = max(1, -(-len(samples) // ROWS_OVER_TIME))
    table = Table(
        Column("AFTER", is_right=True),
        Column("NODES", is_right=True),
        Column("RUNNING", is_right=True),
        Column("WAITING", is_right=True),
        Column("EVICTED", is_right=True),
        Column("CPU REQUESTED"),
        Column("MEMORY REQUESTED"),
    )
    for sample in samples[::step]:
        bars = [console.bar(sample.used.get(name, 0), sample.room.get(name, 0), BAR) for name in ("cpu", "memory")]
        counts = (sample.n_nodes, sample.n_running, sample.n_waiting, sample.n_evicted)
        table.add(short_duration(sample.at_s - replay.history.started_s), *[f"{count:,}" for count in counts], *bars)
    table.print(console)
    console.print()


def _print_waiting(console: Console, figures: Mapping[str, Any]) -> None:
    names = ("mean", "p50", "p90", "p99", "max")
    table = Table(
        Column("PRIORITY", is_right=True),
        Column("PLACED", is_right=True),
        *[Column(f"WAITED {name.upper()}", is_right=True) for name in names],
    )
    groups = figures["waitingSecondsByPriority"]
    for priority, times in groups.items():
        table.add(
            priority, f"{times['pods']:,}", *[short_duration(times[name]) if name in times else "" for name in names]
        )
    if groups:
        table.print(console)
        console.print()


def _print_sums(console: Console, figures: Mapping[str, Any]) -> None:
    parts = [f"{figures['placed']:,} of {figures['created']:,} pods placed", f"{figures['waiting']:,} still waiting"]
    if figures["evicted"]:
        parts.append(f"{figures['evicted']:,} evicted")
    for name, share in figures["utilisation"].items():
        if name != "pods":
            parts.append(f"{name} {share['mean']:.0%} requested on average, {share['max']:.0%} at most")
    console.print_wrapped(f"{'; '.join(parts)}; {figures['nodes']:,} nodes, {figures['start']} to {figures['end']}")

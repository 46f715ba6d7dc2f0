"""What `simulate` prints for people: who went where, who went nowhere and why, and how full the nodes are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nodewise.cli.console import BAR_WIDTH, Console, some_of
from nodewise.cli.short_duration import short_duration
from nodewise.cli.text_table import GAP, Column, Table
from nodewise.scheduler.scheduler import REASON_SCHEDULER_ERROR, Scheduler
from nodewise.simulation.simulate import REASON_GATED, Placement
from nodewise.state.columns import CPU_ROW, MEMORY_ROW, PODS_ROW, IntArray

SHORT_LIST = 60
EXAMPLES_SHOWN = 4
EQUALS_SHOWN = 8
MIN_BAR_WIDTH = 6
ZONE = "topology.kubernetes.io/zone"


def print_simulation(scheduler: Scheduler, placements: Sequence[Placement], took: str, *, wide: bool) -> None:
    """Print placements, reasons and nodes; `took` says how long it took."""
    console = Console()
    _print_placed(console, [p for p in placements if p.node is not None], wide=wide)
    _print_waiting(console, [p for p in placements if p.node is None], wide=wide)
    _print_nodes(console, scheduler, wide=wide)
    _print_sums(console, scheduler, placements, took)


def _print_sums(console: Console, scheduler: Scheduler, placements: Sequence[Placement], took: str) -> None:
    n_nodes = scheduler.snapshot.n_nodes
    if not placements:
        console.print(f"no pending pods to place on {n_nodes:,} nodes")
        return
    placed = sum(p.node is not None for p in placements)
    gated = sum(p.reason == REASON_GATED for p in placements)
    failed = sum(p.reason == REASON_SCHEDULER_ERROR for p in placements)
    nowhere = len(placements) - placed - gated - failed
    victims = sum(len(p.victims) for p in placements)
    parts = [f"{placed:,} of {len(placements):,} pods placed"]
    counts = ((nowhere, "fit nowhere"), (gated, "gated"), (failed, "in error"), (victims, "preempted"))
    parts += [f"{count:,} {what}" for count, what in counts if count or what == "fit nowhere"]
    console.print_wrapped(f"{', '.join(parts)} on {n_nodes:,} nodes in {took}")


def _print_placed(console: Console, placed: Sequence[Placement], *, wide: bool) -> None:
    if not placed:
        return
    with_victims = any(p.victims for p in placed)
    with_waiting = any(p.waited_s is not None for p in placed)
    columns = [Column("POD"), Column("NODE")]
    if with_waiting:
        columns += [Column("WAITED", is_right=True)]
    if wide:
        columns += [Column("EQUALLY GOOD")]
    if with_victims:
        columns += [Column("PREEMPTED", flows=True)]
    table = Table(*columns)
    shown = placed if wide else placed[:SHORT_LIST]
    for placement in shown:
        cells = [placement.pod, placement.node or ""]
        if with_waiting:
            cells.append("" if placement.waited_s is None else short_duration(placement.waited_s))
        if wide:
            cells.append(some_of([name for name in placement.best if name != placement.node], EQUALS_SHOWN))
        if with_victims:
            cells.append(", ".join(placement.victims))
        table.add(*cells)
    table.print(console)
    if len(placed) > len(shown):
        console.print(f"… and {len(placed) - len(shown):,} more (-o wide lists all)")
    console.print()


def _print_waiting(console: Console, waiting: Sequence[Placement], *, wide: bool) -> None:
    if not waiting:
        return
    if wide or len(waiting) <= SHORT_LIST:
        table = Table(Column("POD"), Column("REASON"), Column("MESSAGE", flows=True))
        for placement in waiting:
            table.add(placement.pod, placement.reason or "", _message(placement))
        table.print(console)
        console.print()
        return
    groups: dict[tuple[str, str], list[str]] = {}
    for placement in waiting:
        groups.setdefault((placement.reason or "", _message(placement)), []).append(placement.pod)
    table = Table(Column("PODS", is_right=True), Column("REASON"), Column("MESSAGE", flows=True))
    largest = sorted(groups.items(), key=lambda item: -len(item[1]))
    for (reason, message), pods in largest[:SHORT_LIST]:
        table.add(f"{len(pods):,}", reason, message, below=some_of(pods, EXAMPLES_SHOWN))
    table.print(console)
    if len(groups) > SHORT_LIST:
        rest = sum(len(pods) for _, pods in largest[SHORT_LIST:])
        console.print(f"… and {rest:,} more pods with {len(groups) - SHORT_LIST:,} other messages (-o wide lists all)")
    console.print()


def _message(placement: Placement) -> str:
    return "; ".join(part for part in (placement.message, placement.detail) if part)


def _print_nodes(console: Console, scheduler: Scheduler, *, wide: bool) -> None:
    """Print how full the nodes are; of many nodes, how full their zones are."""
    snapshot = scheduler.snapshot
    snapshot.update(scheduler.cache)
    columns = snapshot.columns
    rows = np.flatnonzero(columns.alive)
    if len(rows) == 0:
        return
    zones, values = columns.label(ZONE), columns.label_values(ZONE)
    zone_of = {row: values[zones[row]] if zones[row] >= 0 else "" for row in rows.tolist()}
    order = sorted(zone_of, key=lambda row: (zone_of[row], columns.names[row]))
    groups: dict[tuple[str, str], list[int]] = {}
    is_by_node = wide or len(order) <= SHORT_LIST
    for row in order:
        cordoned = " (cordoned)" if columns.unschedulable[row] else ""
        groups.setdefault((columns.names[row] + cordoned if is_by_node else "", zone_of[row]), []).append(row)
    names = ("NODE", "ZONE") if is_by_node else ("ZONE", "NODES")
    cells = {key: (*key,) if is_by_node else (key[1] or "(none)", f"{len(group):,}") for key, group in groups.items()}
    used = {key: _sums(columns.requested, group) for key, group in groups.items()}
    room = {key: _sums(columns.allocatable, group) for key, group in groups.items()}
    pods = {key: f"{used[key][PODS_ROW]:,}/{room[key][PODS_ROW]:,}" for key in groups}
    plain = [max(len(c[i]) for c in (names, *cells.values())) for i in (0, 1)] + [max(map(len, pods.values()))]
    width = (console.width - sum(plain) - 4 * len(GAP)) // 2 - len(" 100%")
    width = min(max(width, MIN_BAR_WIDTH), BAR_WIDTH)
    headers = ("CPU REQUESTED", "MEMORY REQUESTED") if width >= BAR_WIDTH - 8 else ("CPU", "MEMORY")
    table = Table(
        Column(names[0]),
        Column(names[1], is_right=not is_by_node),
        Column("PODS", is_right=True),
        *map(Column, headers),
    )
    shown = list(groups) if wide else list(groups)[:SHORT_LIST]
    for key in shown:
        bars = [console.bar(used[key][row], room[key][row], width) for row in (CPU_ROW, MEMORY_ROW)]
        table.add(*cells[key], pods[key], *bars)
    table.print(console)
    if not is_by_node:
        more = f"… and {len(groups) - len(shown):,} more zones; " if len(groups) > len(shown) else ""
        console.print(f"{more}-o wide lists the {len(order):,} nodes")
    console.print()


def _sums(amounts: IntArray, rows: list[int]) -> list[int]:
    return [int(amount) for amount in amounts[:, rows].sum(axis=1)]

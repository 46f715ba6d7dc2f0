"""What `simulate` prints for people: who went where, who went nowhere and why, and how full the nodes are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.markup import escape

from nodewise.cli.console import bar, console, plain_table
from nodewise.simulation.session import Session
from nodewise.simulation.simulate import REASON_GATED, Placement
from nodewise.state.columns import CPU_ROW, MEMORY_ROW, PODS_ROW

SHORT_LIST = 60
ZONE = "topology.kubernetes.io/zone"


def print_simulation(session: Session, placements: Sequence[Placement], seconds: float, *, wide: bool) -> None:
    """Print placements, reasons and nodes."""
    out = console()
    _print_placed(out, [p for p in placements if p.node is not None], wide=wide)
    _print_waiting(out, [p for p in placements if p.node is None])
    _print_nodes(out, session, wide=wide)
    placed = sum(p.node is not None for p in placements)
    gated = sum(p.reason == REASON_GATED for p in placements)
    unplaced = len(placements) - placed - gated
    victims = sum(len(p.victims) for p in placements)
    parts = [f"{placed} of {len(placements)} pods placed", f"{unplaced} fit nowhere"]
    if gated:
        parts.append(f"{gated} gated")
    if victims:
        parts.append(f"{victims} preempted")
    rate = f", {len(placements) / seconds:,.0f} pods/s" if placements and seconds > 0 else ""
    out.print(f"\n{', '.join(parts)} on {session.scheduler.snapshot.n_nodes} nodes in {seconds:.3f} s{rate}")


def _print_placed(out: Console, placed: Sequence[Placement], *, wide: bool) -> None:
    if not placed:
        return
    headers = ["POD", "NODE", "PREEMPTED"] if any(p.victims for p in placed) or wide else ["POD", "NODE"]
    if wide:
        headers.append("EQUALLY GOOD")
    table = plain_table(*headers, fold=("PREEMPTED", "EQUALLY GOOD"))
    shown = placed if wide else placed[:SHORT_LIST]
    for placement in shown:
        cells = [placement.pod, placement.node or ""]
        if "PREEMPTED" in headers:
            cells.append(", ".join(placement.victims))
        if wide:
            others = [name for name in placement.best if name != placement.node]
            cells.append(", ".join(others[:8]) + (f" and {len(others) - 8} more" if len(others) > 8 else ""))
        table.add_row(*(escape(cell) for cell in cells))
    out.print(table)
    if len(placed) > len(shown):
        out.print(f"… and {len(placed) - len(shown):,} more (-o wide lists all)")


def _print_waiting(out: Console, waiting: Sequence[Placement]) -> None:
    if not waiting:
        return
    out.print()
    table = plain_table("POD", "REASON", "MESSAGE", fold=("MESSAGE",))
    for placement in waiting:
        message = "; ".join(part for part in (placement.message, placement.detail) if part)
        table.add_row(escape(placement.pod), f"[yellow]{placement.reason or ''}[/yellow]", escape(message))
    out.print(table)


def _print_nodes(out: Console, session: Session, *, wide: bool) -> None:
    snapshot = session.scheduler.snapshot
    snapshot.update(session.scheduler.cache)
    columns = snapshot.columns
    rows = np.flatnonzero(columns.alive)
    if len(rows) == 0:
        return
    zones = columns.label(ZONE)
    values = columns.label_values(ZONE)
    zone_of = {int(row): values[zones[row]] if zones[row] >= 0 else "" for row in rows}
    order = sorted(zone_of, key=lambda row: (zone_of[row], columns.names[row]))
    table = plain_table("NODE", "ZONE", "PODS", "CPU REQUESTED", "MEMORY REQUESTED", right=("PODS",))
    allocatable, requested = columns.allocatable, columns.requested
    for row in order if wide else order[:SHORT_LIST]:
        table.add_row(
            escape(columns.names[row]) + (" [dim](cordoned)[/dim]" if columns.unschedulable[row] else ""),
            escape(zone_of[row]),
            f"{requested[PODS_ROW, row]}/{allocatable[PODS_ROW, row]}",
            bar(int(requested[CPU_ROW, row]), int(allocatable[CPU_ROW, row])),
            bar(int(requested[MEMORY_ROW, row]), int(allocatable[MEMORY_ROW, row])),
        )
    out.print()
    out.print(table)
    if len(order) > SHORT_LIST and not wide:
        out.print(f"… and {len(order) - SHORT_LIST:,} more nodes (-o wide lists all)")

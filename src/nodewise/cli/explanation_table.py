"""What `explain` prints for people: why here, why not there."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from nodewise.cli.console import console, plain_table
from nodewise.simulation.explain import Explanation, NodeExplanation
from nodewise.simulation.session import Session

SHORT_LIST = 12
NAMES_SHOWN = 6
ABBREVIATIONS = {
    "NodeResourcesBalancedAllocation": "Balanced",
    "NodeResourcesFit": "Fit",
    "TaintToleration": "Taint",
    "NodeAffinity": "NodeAff",
    "PodTopologySpread": "Spread",
    "InterPodAffinity": "PodAff",
    "ImageLocality": "Image",
    "VolumeBinding": "Volume",
    "DynamicResources": "Devices",
}


def print_explanation(explanation: Explanation, session: Session, *, wide: bool) -> None:
    """Print everything about one pod: the verdict, rejected nodes by reason, scores with the winner marked."""
    out = console()
    out.print(f"[bold]{escape(explanation.pod)}[/bold]: {_verdict(explanation)}")
    if explanation.message:
        out.print(f"\n  {escape(explanation.message)}")
    if explanation.nodes:
        _print_rejections(out, explanation, wide=wide)
        _print_scores(out, explanation, session, wide=wide)
    result = explanation.post_filter
    if result is not None and result.victims:
        out.print(f"\nPreemption would make room on [bold]{escape(result.nominated_node or '')}[/bold] by evicting:")
        table = plain_table("  VICTIM", "PRIORITY", right=("PRIORITY",))
        for victim in result.victims:
            table.add_row(f"  {escape(victim.key)}", str(victim.priority))
        out.print(table)


def _verdict(explanation: Explanation) -> str:
    if explanation.skipped:
        return f"[yellow]not tried[/yellow]: {escape(explanation.skipped)}"
    if explanation.error:
        return f"[red]error[/red]: {escape(explanation.error)}"
    n_nodes = len(explanation.nodes)
    if not explanation.feasible:
        where = f" ({explanation.pre_filter.plugin or 'PreFilter'}, before any node)" if explanation.pre_filter else ""
        return f"[red]fits on none of the nodes[/red]{where}"
    best = explanation.best
    if explanation.nominated:
        why = "its nominated node, where it fits"
    elif len(explanation.feasible) == 1:
        why = "the only node it fits on"
    elif len(best) == 1:
        why = "the highest total"
    else:
        why = f"the first by name of {len(best)} with the highest total"
    return f"fits on {len(explanation.feasible)} of {n_nodes} nodes; goes to [green]{escape(best[0])}[/green], {why}"


def _first_failure(node: NodeExplanation) -> tuple[str, tuple[str, ...], str]:
    if node.excluded_by:
        names = " ".join(node.excluded_by)
        return names, (f"node(s) didn't satisfy plugin(s) [{names}]",), "UnschedulableAndUnresolvable"
    plugin, status = next(iter(node.filters.items()))
    return plugin, status.reasons, status.code.value


def _print_rejections(out: Console, explanation: Explanation, *, wide: bool) -> None:
    groups: dict[tuple[str, tuple[str, ...], str], list[str]] = {}
    feasible = set(explanation.feasible)
    for node in explanation.nodes:
        if node.name not in feasible and (node.filters or node.excluded_by):
            groups.setdefault(_first_failure(node), []).append(node.name)
    if not groups:
        return
    out.print("\n[bold]Why not there[/bold] (the first plugin that rejects the node)")
    table = plain_table("  NODES", "PLUGIN", "REASON", "PREEMPTION", "WHICH", right=("  NODES",), fold=("WHICH",))
    for (plugin, reasons, code), names in sorted(groups.items(), key=lambda item: -len(item[1])):
        shown = names if wide else names[:NAMES_SHOWN]
        more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
        helps = "may help" if code == "Unschedulable" else "cannot help"
        table.add_row(f"  {len(names)}", plugin, escape(", ".join(reasons)), helps, escape(", ".join(shown)) + more)
    out.print(table)


def _print_scores(out: Console, explanation: Explanation, session: Session, *, wide: bool) -> None:
    feasible = set(explanation.feasible)
    scored = [node for node in explanation.nodes if node.name in feasible and node.total is not None]
    if not scored:
        return
    best = set(explanation.best)
    scored.sort(key=lambda node: (-(node.total or 0), node.name))
    plugins = sorted({plugin for node in scored for plugin in node.scores})
    framework = next(iter(session.scheduler.frameworks.values()))
    weights = {plugin.name: weight for plugin, weight in framework.scores}
    if not wide:
        plugins = [p for p in plugins if any(node.scores[p].weighted for node in scored)]
    out.print("\n[bold]Why here[/bold] (weighted scores; *: the best)")
    headers = [f"{ABBREVIATIONS.get(p, p)} x{weights.get(p, 1)}" for p in plugins]
    table = plain_table("  ", "NODE", "TOTAL", *headers, right=("TOTAL", *headers))
    shown = scored if wide else scored[:SHORT_LIST]
    for node in shown:
        marked = node.name in best
        style = "green" if marked else ""
        table.add_row(
            "  *" if marked else "   ",
            escape(node.name),
            str(node.total),
            *(str(node.scores[p].weighted) for p in plugins),
            style=style,
        )
    out.print(table)
    if len(scored) > len(shown):
        out.print(f"   … and {len(scored) - len(shown):,} more (-o wide lists all)")


def print_explanations(explanations: Sequence[Explanation], *, wide: bool) -> None:
    """Print a line for each pod."""
    out = console()
    table = plain_table("POD", "FITS ON", "BEST", "MESSAGE", right=("FITS ON",), fold=("BEST", "MESSAGE"))
    for e in explanations:
        limit = len(e.best) if wide else 3
        more = f" and {len(e.best) - limit} more" if len(e.best) > limit else ""
        fits = "-" if e.skipped or e.error else f"{len(e.feasible)}/{len(e.nodes)}" if e.nodes else "0"
        table.add_row(
            escape(e.pod), fits, escape(", ".join(e.best[:limit])) + more, escape(e.skipped or e.error or e.message)
        )
    out.print(table)

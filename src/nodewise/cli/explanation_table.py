"""What `explain` prints for people about one pod: why here, why not there."""

from __future__ import annotations

from collections.abc import Sequence

from nodewise.cli.console import Console, printable, some_of
from nodewise.cli.text_table import Column, Table
from nodewise.cluster.object_set import InputError
from nodewise.framework.extender import EXTENDER
from nodewise.framework.status import Code
from nodewise.runtime.selection import TieBreak
from nodewise.simulation.explain import Explanation, NodeExplanation
from nodewise.simulation.group_explanation import GroupExplanation
from nodewise.simulation.session import Session

SHORT_LIST = 12
NAMES_SHOWN = 8
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
_TIE_BREAKS = {
    TieBreak.FIRST: "the first by name",
    TieBreak.ROUND_ROBIN: "one in turn",
    TieBreak.RANDOM: "one at random",
    TieBreak.KUBE: "the one that kube-scheduler's heap puts first",
}
_EVICTING = {True: "evicting pods may help", False: "evicting pods cannot help"}
_SILENCE = "left out without a reason"
Rejection = tuple[str, tuple[str, ...], Code]


class ExplanationPage:
    """Prints everything about one pod: the verdict, rejected nodes by reason, scores with the winner marked."""

    def __init__(self, session: Session, *, wide: bool) -> None:
        self._session = session
        self._wide = wide
        self._console = Console()

    def add(self, explanation: Explanation) -> None:
        """Print about one pod."""
        console = self._console
        verdict, style = self._verdict(explanation)
        console.print(f"{console.styled(printable(explanation.pod), 'bold')}: {console.styled(verdict, style)}")
        if explanation.message:
            console.print()
            console.print_wrapped(explanation.message, indent=2)
        if explanation.detail:
            console.print_wrapped(printable(explanation.detail), indent=2)
        if explanation.pod_group is not None:
            self._print_group(explanation.pod_group)
        if explanation.nodes:
            self._print_rejections(explanation)
            self._print_scores(explanation)
        result = explanation.post_filter
        if result is not None and result.victims:
            console.print()
            console.print_wrapped(f"Preemption would make room on {result.nominated_node} by evicting:")
            table = Table(Column("POD"), Column("PRIORITY", is_right=True), indent=2)
            for victim in result.victims:
                table.add(victim.key, str(victim.priority))
            table.print(console)

    def close(self, errors: list[InputError]) -> None:
        """Do nothing: all is printed."""

    def _print_group(self, group: GroupExplanation) -> None:
        console = self._console
        console.print()
        if group.node:
            console.print_wrapped(f"With its pod group {printable(group.name)} the pod goes to {group.node}.")
            return
        what = "is placed, without this pod" if group.is_placed else "is not placed"
        console.print_wrapped(f"Its pod group {printable(group.name)} {what}.")
        for text in (group.message, group.detail):
            if text:
                console.print_wrapped(printable(text), indent=2)
        if group.victims:
            console.print_wrapped(f"Preemption would make room for the group by evicting {', '.join(group.victims)}.")

    def _verdict(self, explanation: Explanation) -> tuple[str, str]:
        """Return the outcome in a few words, and the style it deserves."""
        if explanation.skipped:
            return f"not tried: {printable(explanation.skipped)}", "yellow"
        if explanation.error:
            return f"error: {printable(explanation.error)}", "red"
        if not explanation.feasible:
            early = explanation.pre_filter
            if early is None:
                return "fits on no node", "red"
            return f"fits on no node ({early.plugin or 'PreFilter'} says so before any node is looked at)", "red"
        best = explanation.best
        if explanation.nominated:
            why = "its nominated node, where it fits"
        elif len(explanation.feasible) == 1:
            why = "the only one that it fits on"
        elif len(best) == 1:
            why = "which has the highest total"
        else:
            why = f"{_TIE_BREAKS[self._session.scheduler.selector.tie_break]} of {len(best)} with the highest total"
        where = best[0] if self._is_certain(explanation) else "one of the best"
        return f"fits on {len(explanation.feasible)} of {len(explanation.nodes)} nodes; goes to {where}, {why}", "green"

    def _is_certain(self, explanation: Explanation) -> bool:
        return len(explanation.best) == 1 or self._session.scheduler.selector.tie_break is TieBreak.FIRST

    def _print_rejections(self, explanation: Explanation) -> None:
        groups: dict[Rejection, list[str]] = {}
        details = {node.name: node.details for node in explanation.nodes}
        feasible = set(explanation.feasible)
        for node in explanation.nodes:
            if node.name not in feasible and (node.filters or node.excluded_by or node.extenders):
                groups.setdefault(_first_rejection(node), []).append(node.name)
        if not groups:
            return
        console = self._console
        console.print()
        console.print("Why not there: nodes by the first plugin that rejects them", "bold")
        table = Table(Column("NODES", is_right=True), Column("PLUGIN"), Column("REASON", flows=True), indent=2)
        for (plugin, reasons, code), names in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0][:2])):
            which = some_of(names, len(names) if self._wide else NAMES_SHOWN)
            below = f"{which} ({_EVICTING[code is Code.UNSCHEDULABLE]})"
            detail = details[names[0]].get(plugin, "")
            if detail:
                below += f"; {names[0]}: {printable(detail)}" if len(names) > 1 else f": {printable(detail)}"
            table.add(f"{len(names):,}", plugin, ", ".join(reasons), below=below)
        table.print(console)

    def _print_scores(self, explanation: Explanation) -> None:
        feasible = set(explanation.feasible)
        scored = [node for node in explanation.nodes if node.name in feasible and node.total is not None]
        if not scored:
            return
        scored.sort(key=lambda node: (-(node.total or 0), node.name))
        best = set(explanation.best)
        plugins = sorted({plugin for node in scored for plugin in node.scores})
        if any(node.extender_scores for node in scored):
            plugins.append(EXTENDER)
        telling = [p for p in plugins if self._wide or len({_weighted(node, p) for node in scored}) > 1]
        console = self._console
        console.print()
        console.print("Why here: scores by plugin, weights applied (* the highest total)", "bold")
        weights = self._weights(explanation)
        headers = [p if p == EXTENDER else f"{ABBREVIATIONS.get(p, p)} x{weights.get(p, 1)}" for p in telling]
        columns = [Column(header, is_right=True) for header in ("TOTAL", *headers)]
        table = Table(Column(""), Column("NODE"), *columns, indent=2)
        shown = scored if self._wide else scored[:SHORT_LIST]
        for node in shown:
            is_best = node.name in best
            scores = [str(_weighted(node, p)) for p in telling]
            table.add("*" if is_best else "", node.name, str(node.total), *scores, style="green" if is_best else "")
        table.print(console)
        if len(scored) > len(shown):
            console.print(f"  … and {len(scored) - len(shown):,} more (-o wide lists all)")
        same = [f"{p} {score}" for p in plugins if p not in telling and (score := _weighted(scored[0], p))]
        if same:
            console.print_wrapped(f"The same on {_all_of(scored)}: {', '.join(same)}.", indent=2)
        lead = _lead(scored, best, plugins)
        if lead:
            console.print_wrapped(lead, indent=2)

    def _weights(self, explanation: Explanation) -> dict[str, int]:
        """Return the plugins' weights in the pod's profile."""
        for pod in self._session.waiting:
            if pod.key == explanation.pod:
                framework = self._session.scheduler.frameworks[pod.pod.spec.scheduler_name]
                return {plugin.name: weight for plugin, weight in framework.scores}
        return {}


def _all_of(scored: Sequence[NodeExplanation]) -> str:
    return "this node" if len(scored) == 1 else f"all {len(scored):,}"


def _first_rejection(node: NodeExplanation) -> Rejection:
    for extender, status in node.extenders.items():  # takes the place of what filters say
        if status.reasons or not node.filters:
            return f"{EXTENDER} {printable(extender)}", status.reasons or (_SILENCE,), status.code
    if node.excluded_by:
        names = " ".join(node.excluded_by)
        return names, (f"node(s) didn't satisfy plugin(s) [{names}]",), Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    plugin, status = next(iter(node.filters.items()))
    return plugin, status.reasons, status.code


def _weighted(node: NodeExplanation, plugin: str) -> int:
    if plugin == EXTENDER:
        return sum(node.extender_scores.values())
    score = node.scores.get(plugin)
    return score.weighted if score is not None else 0


def _lead(scored: Sequence[NodeExplanation], best: set[str], plugins: Sequence[str]) -> str:
    """Return how the winner differs from the next best node, plugin by plugin; "" when all are equal."""
    winner = next((node for node in scored if node.name in best), None)
    if winner is None or winner.total is None:
        return ""
    second = next((node for node in scored if node.total is not None and node.total < (winner.total or 0)), None)
    if second is None or second.total is None:
        return ""
    differences = {p: _weighted(winner, p) - _weighted(second, p) for p in plugins}
    parts = [f"{p} {d:+}" for p, d in sorted(differences.items(), key=lambda item: (-abs(item[1]), item[0])) if d]
    return f"{winner.name} is {winner.total - second.total} ahead of {second.name}: {', '.join(parts)}."

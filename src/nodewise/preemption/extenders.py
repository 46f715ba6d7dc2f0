"""What extenders leave of the candidates for preemption."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nodewise.framework.extender import Extender, ExtenderError, NodeVictims
from nodewise.framework.plugin import FilterVerdict
from nodewise.preemption.candidates import Candidate
from nodewise.preemption.victims import Victims
from nodewise.state.pod_info import PodInfo


def call_extenders(
    extenders: Sequence[Extender], verdict: FilterVerdict, candidates: Sequence[Candidate]
) -> list[Candidate]:
    """Let the extenders with a preempt verb drop candidates, or change their victims (Evaluator.callExtenders).

    Raises
    ------
    ExtenderError
        An extender failed that may not be ignored, or left a node without victims.
    """
    pod = verdict.pod
    victims = {c.node_name: NodeVictims(c.victims.pods, c.victims.n_pdb_violations) for c in candidates}

    def pods_on(node_name: str) -> Iterable[PodInfo] | None:
        row = verdict.snapshot.columns.row_of(node_name)
        return None if row is None else verdict.snapshot.pods_on(row).values()

    for extender in extenders:
        if not victims:
            break
        if not extender.supports_preemption or not extender.is_interested(pod.pod):
            continue
        try:
            left = extender.process_preemption(pod, victims, pods_on)
        except ExtenderError:
            if extender.is_ignorable:
                continue
            raise
        empty = [name for name, found in left.items() if not found.pods]
        if empty and not extender.is_ignorable:
            raise ExtenderError(f'expected at least one victim pod on node "{empty[0]}"')
        victims = {name: found for name, found in left.items() if found.pods}
    return [Candidate(name, Victims(found.pods, found.n_pdb_violations)) for name, found in victims.items()]

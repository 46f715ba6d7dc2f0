"""The pod that `explain` is asked about: found in the cluster, and made to wait again when it has a node."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nodewise.api.objects import Pod, replace
from nodewise.cli.inputs import Inputs, UsageError
from nodewise.cluster.unplaced import unplace
from nodewise.simulation.explain import Explanation


@dataclass(slots=True)
class Subject:
    """The pod that is judged.

    Attributes
    ----------
    pod : Pod
        As it stands in the cluster, waiting.
    placed_on : str
        The node that it is on in truth, "" for none.
    """

    pod: Pod
    placed_on: str = ""

    def tell(self, explanation: Explanation, notes: list[str]) -> None:
        """Say of a pod that has a node whether it would get the same one now."""
        if not self.placed_on:
            return
        explanation.placed_on = self.placed_on
        if explanation.skipped or explanation.error:
            verdict = "no node was chosen"
        elif self.placed_on in explanation.best:
            n_best = len(explanation.best)
            verdict = f"is one of the {n_best:,} best nodes, all alike" if n_best > 1 else "would be chosen again"
        elif self.placed_on in explanation.feasible:
            verdict = f"would still do, but {' or '.join(explanation.best[:3])} would be chosen"
        else:
            verdict = "would not do"
        subject = "" if explanation.skipped or explanation.error else f"{self.placed_on} "
        notes.append(
            f"Pod {explanation.pod} is on node {self.placed_on}; judged as if it were pending and not there: "
            f"{subject}{verdict}"
        )


def find_subject(inputs: Inputs, name: str, namespace: str) -> Subject:
    """Find a pod by its name, with or without its namespace; pending ones are looked at first.

    A pod of a scheduler that no profile is for is judged by the first profile.

    Raises
    ------
    UsageError
        There is no such pod, or several.
    """
    pods = inputs.cluster.objects.pods
    pod = _chosen([pod for pod in pods if not pod.spec.node_name], name, namespace) or _chosen(pods, name, namespace)
    if pod is None:
        raise UsageError(f"no pod {name} in the input{_hint([pod.key for pod in pods], name)}")
    placed_on = pod.spec.node_name
    if placed_on:
        pod = unplace(inputs.cluster.objects, pod)
    return Subject(_with_profile(inputs, pod), placed_on)


def _with_profile(inputs: Inputs, pod: Pod) -> Pod:
    """Let the first profile judge a pod that none is for."""
    names = [profile.scheduler_name for profile in inputs.configuration.profiles]
    own = pod.spec.scheduler_name
    if own in names:
        return pod
    judged = replace(pod, spec=replace(pod.spec, scheduler_name=names[0]))
    pods = inputs.cluster.objects.pods
    inputs.cluster.objects.pods = [judged if other is pod else other for other in pods]
    inputs.cluster.notes.append(f"Pod {pod.key} is of scheduler {own}; judged as if it were of {names[0]}")
    return judged


def _chosen(pods: Iterable[Pod], name: str, namespace: str) -> Pod | None:
    found = [pod for pod in pods if pod.key == name or ("/" not in name and _is_named(pod, name, namespace))]
    if len(found) > 1:
        raise UsageError(f"pod {name} is ambiguous: {', '.join(sorted(pod.key for pod in found))}")
    return found[0] if found else None


def _is_named(pod: Pod, name: str, namespace: str) -> bool:
    return pod.metadata.name == name and namespace in ("", pod.metadata.namespace)


def _hint(keys: Iterable[str], name: str) -> str:
    close = sorted(key for key in keys if name.partition("/")[2] in key or name in key)
    return f"; did you mean {' or '.join(close[:3])}?" if close and name.strip("/") else ""

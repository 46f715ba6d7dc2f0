"""What the nominations of a group's own pods count for while the group is tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from nodewise.api.objects import ObjectMeta, Pod, PodSpec
from nodewise.queue.nominator import Nominations
from nodewise.state.pod_info import PodInfo


@contextmanager
def own_nominations_as_stubs(nominations: Nominations, pods: Sequence[PodInfo]) -> Iterator[None]:
    """Let nominated pods of a group hold no more than one place among the pods of their nodes meanwhile.

    QUIRK: kube-scheduler looks a nominated pod up in the queue. The pods of the group that is being tried are not
    there, and a pod with nothing but a name stands for each of them: it asks for nothing and has priority 0.
    """
    nominated = [(pod, node_name) for pod in pods if (node_name := nominations.node_of(pod.uid))]
    for pod, node_name in nominated:
        nominations.add(_stub(pod), node_name)
    try:
        yield
    finally:
        for pod, _ in nominated:
            nominations.add(pod, nominations.node_of(pod.uid))


def _stub(pod: PodInfo) -> PodInfo:
    metadata = pod.pod.metadata
    named = ObjectMeta(name=metadata.name, namespace=metadata.namespace, uid=metadata.uid)
    return PodInfo(Pod(named, PodSpec(scheduling_group=pod.pod.spec.scheduling_group)))

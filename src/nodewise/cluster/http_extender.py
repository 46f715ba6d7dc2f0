"""An extender behind HTTP (HTTPExtender)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from nodewise.api.objects import Container, Node, Pod
from nodewise.cluster.extender_messages import (
    MetaVictims,
    binding_body,
    nodes_body,
    preemption_body,
    read_binding_reply,
    read_filter_reply,
    read_preemption_reply,
    read_prioritize_reply,
)
from nodewise.cluster.extender_transport import ExtenderTransport
from nodewise.cluster.object_documents import ObjectDocuments
from nodewise.config.go_text import quote
from nodewise.config.model import Extender as ExtenderConfig
from nodewise.framework.extender import ExtenderError, FilterAnswer, HostPriority, NodeVictims, PodsOn
from nodewise.state.pod_info import PodInfo


class HttpExtender:
    """Asks a web service about pods, one POST a question, connections kept open between questions.

    Parameters
    ----------
    config : ExtenderConfig
    documents : ObjectDocuments
        Make JSON texts of pods and nodes.

    Raises
    ------
    ExtenderError
        The TLS files cannot be read or do not fit together.
    """

    def __init__(self, config: ExtenderConfig, documents: ObjectDocuments) -> None:
        self._config = config
        self._documents = documents
        self._managed = frozenset(resource.name for resource in config.managed_resources)
        self._transport = ExtenderTransport(config)
        self._failures: Counter[str] = Counter()

    @property
    def name(self) -> str:
        return self._config.url_prefix

    @property
    def weight(self) -> int:
        return self._config.weight if self._config.prioritize_verb else 0

    @property
    def failures(self) -> Mapping[str, int]:
        return self._failures

    @contextmanager
    def _counting_failures(self) -> Iterator[None]:
        try:
            yield
        except ExtenderError as error:
            self._failures[str(error)] += 1
            raise

    @property
    def is_ignorable(self) -> bool:
        return self._config.ignorable

    @property
    def is_filter(self) -> bool:
        return bool(self._config.filter_verb)

    @property
    def is_prioritizer(self) -> bool:
        return bool(self._config.prioritize_verb)

    @property
    def is_binder(self) -> bool:
        return bool(self._config.bind_verb)

    @property
    def supports_preemption(self) -> bool:
        return bool(self._config.preempt_verb)

    def is_interested(self, pod: Pod) -> bool:
        """Tell whether a container asks for a managed resource, or any pod is of interest."""
        if not self._managed:
            return True
        return self._uses_managed(pod.spec.containers) or self._uses_managed(pod.spec.init_containers)

    def _uses_managed(self, containers: Iterable[Container]) -> bool:
        return any(
            not self._managed.isdisjoint(amounts)
            for container in containers
            for amounts in (container.resources.requests, container.resources.limits)
        )

    def filter(self, pod: PodInfo, nodes: Sequence[Node]) -> FilterAnswer:
        """Ask which nodes the pod may go to; without a filter verb, all (HTTPExtender.Filter)."""
        names = [node.name for node in nodes]
        if not self._config.filter_verb:
            return FilterAnswer(tuple(names))
        capable = self._config.node_cache_capable
        body = nodes_body(pod, nodes, self._documents, names_only=capable)
        with self._counting_failures():
            reply = self._transport.send(self._config.filter_verb, body)
            return self._checked(read_filter_reply(reply, takes_names=capable), names)

    def _checked(self, answer: FilterAnswer, names: Sequence[str]) -> FilterAnswer:
        unknown = set(answer.node_names).difference(names)
        if unknown:
            # kube-scheduler lets unknown nodes pass when they come as objects, and binds to what does not exist.
            first = next(name for name in answer.node_names if name in unknown)
            raise ExtenderError(
                f"extender {quote(self.name)} claims a filtered node {quote(first)} which is not found in the "
                "input node list"
            )
        return answer

    def prioritize(self, pod: PodInfo, nodes: Sequence[Node]) -> Sequence[HostPriority]:
        """Ask how good the nodes are; without a prioritize verb, 0 each (HTTPExtender.Prioritize)."""
        if not self._config.prioritize_verb:
            return [HostPriority(node.name, 0) for node in nodes]
        body = nodes_body(pod, nodes, self._documents, names_only=self._config.node_cache_capable)
        with self._counting_failures():
            return read_prioritize_reply(self._transport.send(self._config.prioritize_verb, body))

    def process_preemption(
        self, pod: PodInfo, victims: Mapping[str, NodeVictims], pods_on: PodsOn
    ) -> dict[str, NodeVictims]:
        """Ask which of these evictions may be done (HTTPExtender.ProcessPreemption)."""
        verb = self._config.preempt_verb
        if not verb:
            raise ExtenderError(f"preempt verb is not defined for extender {self.name} but run into ProcessPreemption")
        body = preemption_body(pod, victims, self._documents, uids_only=self._config.node_cache_capable)
        with self._counting_failures():
            reply = read_preemption_reply(self._transport.send(verb, body))
            return {name: self._victims(name, meta, pods_on) for name, meta in reply.items()}

    def _victims(self, node_name: str, meta: MetaVictims | None, pods_on: PodsOn) -> NodeVictims:
        pods = pods_on(node_name)
        if pods is None:
            raise ExtenderError(f"nodeinfo not found for node name {quote(node_name)}")
        if meta is None:
            return NodeVictims((), 0)
        by_uid = {pod.uid: pod for pod in pods}
        for uid in meta.uids:
            if uid not in by_uid:
                raise ExtenderError(
                    f"extender: {self.name} claims to preempt pod (UID: &{{{uid}}}) on node: {node_name}, but the pod "
                    "is not found on that node"
                )
        return NodeVictims(tuple(by_uid[uid] for uid in meta.uids), meta.n_pdb_violations)

    def bind(self, pod: PodInfo, node_name: str) -> None:
        """Have the pod bound; the extender tells the API server itself (HTTPExtender.Bind)."""
        if not self._config.bind_verb:
            raise ExtenderError("unexpected empty bindVerb in extender")
        with self._counting_failures():
            read_binding_reply(self._transport.send(self._config.bind_verb, binding_body(pod, node_name)))

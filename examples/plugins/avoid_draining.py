"""A plugin that looks at one node at a time."""

from nodewise.api.objects import Node, Pod
from nodewise.framework.events import (
    QUEUE,
    SKIP,
    ActionType,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
    register,
)
from nodewise.framework.node_plugin import NodeView
from nodewise.framework.plugin import Handle
from nodewise.framework.status import Status
from nodewise.state.dirty_log import Reads


class AvoidDraining:
    """Keeps important pods off nodes that are drained soon; others go there last."""

    name = "AvoidDraining"
    reads = Reads.NODE

    def __init__(self, args: object, handle: Handle) -> None:
        pass

    def filter(self, pod: Pod, node: NodeView) -> Status | None:
        if pod.priority > 0 and "example.com/drain-at" in node.annotations:
            return Status.unresolvable("node(s) were to be drained soon")
        return None

    def score(self, pod: Pod, node: NodeView) -> int:
        return 0 if "example.com/drain-at" in node.annotations else 100

    def events_to_register(self) -> list[ClusterEventWithHint]:
        node_changes = ActionType.ADD | ActionType.UPDATE_NODE_ANNOTATION
        return [register(EventResource.NODE, node_changes, self.after_node_change)]

    def after_node_change(self, pod: Pod, old: Node | None, new: Node) -> QueueingHint:
        was_shut = old is None or "example.com/drain-at" in old.metadata.annotations
        return QUEUE if was_shut and "example.com/drain-at" not in new.metadata.annotations else SKIP

"""A plugin that looks at one node at a time."""

from nodewise.api.objects import Pod
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

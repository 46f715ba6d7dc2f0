import pytest

from nodewise.api.objects import Toleration
from nodewise.framework.status import Status
from nodewise.plugins.node_unschedulable import NodeUnschedulable
from nodewise.testing.builders import make_node, make_pod
from nodewise.testing.check_plugin import check_plugin
from tests.plugins.answers import failures

KEY = "node.kubernetes.io/unschedulable"
NODES = [
    make_node("cordoned", unschedulable=True),
    make_node("tainted-only", taints=[f"{KEY}:NoSchedule"]),
    make_node("free"),
]
REJECTED = {"cordoned": Status.unresolvable("node(s) were unschedulable")}


def test_it_keeps_to_the_contract_of_plugins() -> None:
    check_plugin(NodeUnschedulable)


def test_a_cordoned_node_is_rejected_whatever_its_taints() -> None:
    assert failures(NodeUnschedulable, make_pod("p"), NODES) == REJECTED


@pytest.mark.parametrize(
    ("toleration", "tolerates"),
    [
        (Toleration(key=KEY, operator="Exists"), True),
        (Toleration(key=KEY, operator="Equal", effect="NoSchedule"), True),
        (Toleration(operator="Exists"), True),
        (Toleration(key=KEY, operator="Exists", effect="NoExecute"), False),
        (Toleration(key=KEY, value="true"), False),
        (Toleration(key="other", operator="Exists"), False),
    ],
)
def test_only_a_toleration_of_the_cordon_taint_helps(toleration: Toleration, *, tolerates: bool) -> None:
    pod = make_pod("p", tolerations=[toleration])
    assert failures(NodeUnschedulable, pod, NODES) == ({} if tolerates else REJECTED)

from nodewise.framework.plugin import PreFilterResult
from nodewise.framework.status import Status
from nodewise.plugins.node_name import NodeName
from nodewise.testing.builders import FakeHandle, make_node, make_pod
from nodewise.testing.check_plugin import check_plugin
from tests.plugins.answers import failures

NODES = [make_node("n1"), make_node("n2")]


def test_it_keeps_to_the_contract_of_plugins() -> None:
    check_plugin(NodeName)
    check_plugin(NodeName, pods=[make_pod("p", node="node-0"), make_pod("q", node="no-such-node")])


def test_a_pod_that_names_no_node_passes_everywhere() -> None:
    assert failures(NodeName, make_pod("p"), NODES) == {}


def test_a_pod_that_names_a_node_fits_only_there() -> None:
    pod = make_pod("p", node="n2")
    assert failures(NodeName, pod, NODES) == {"n1": Status.unresolvable("node(s) didn't match the requested node name")}
    assert NodeName(None, FakeHandle()).pre_filter("n2") == PreFilterResult(node_names=frozenset({"n2"}))

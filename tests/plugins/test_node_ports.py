from hypothesis import given, strategies as st

from nodewise.api.objects import Container, ContainerPort
from nodewise.framework.status import Status
from nodewise.plugins.node_ports import NodePorts
from nodewise.testing.builders import make_node, make_pod
from nodewise.testing.check_plugin import check_plugin
from tests.plugins.answers import failures

TAKEN = Status.unschedulable("node(s) didn't have free ports for the requested pod ports")
ports = st.builds(
    ContainerPort,
    host_port=st.sampled_from((0, 80, 81)),
    protocol=st.sampled_from(("", "TCP", "UDP")),
    host_ip=st.sampled_from(("", "0.0.0.0", "10.0.0.1", "10.0.0.2")),
)


def test_it_keeps_to_the_contract_of_plugins() -> None:
    check_plugin(NodePorts)


def clashes(wanted: ContainerPort, used: ContainerPort) -> bool:
    if wanted.host_port == 0 or wanted.host_port != used.host_port:
        return False
    ips = {wanted.host_ip or "0.0.0.0", used.host_ip or "0.0.0.0"}
    return (wanted.protocol or "TCP") == (used.protocol or "TCP") and ("0.0.0.0" in ips or len(ips) == 1)


@given(st.lists(st.lists(ports, max_size=3), min_size=1, max_size=4), st.lists(ports, max_size=3))
def test_a_node_is_rejected_when_a_wanted_port_is_in_use(
    used: list[list[ContainerPort]], wanted: list[ContainerPort]
) -> None:
    nodes = [make_node(f"n{index}") for index in range(len(used))]
    running = [
        make_pod(f"p{index}", node=f"n{index}", containers=(Container(ports=tuple(own)),))
        for index, own in enumerate(used)
    ]
    pod = make_pod("new", containers=(Container(ports=tuple(wanted)),))
    expected = {
        f"n{index}": TAKEN
        for index, own in enumerate(used)
        if any(clashes(want, port) for want in wanted for port in own)
    }
    assert failures(NodePorts, pod, nodes, running) == expected


def test_sidecars_count_and_plain_init_containers_do_not() -> None:
    port = (ContainerPort(host_port=80),)
    running = [make_pod("old", node="n1", host_ports=[80])]
    for restart_policy, expected in (("Always", {"n1": TAKEN}), ("", {})):
        pod = make_pod("new", init_containers=(Container(ports=port, restart_policy=restart_policy),))
        assert failures(NodePorts, pod, [make_node("n1")], running) == expected

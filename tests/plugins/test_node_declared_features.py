import pytest

from nodewise.api.objects import Container, ContainerRestartRule, Pod, VolumeMount
from nodewise.framework.status import Status
from nodewise.plugins.node_declared_features import NodeDeclaredFeatures, required_features
from nodewise.testing.builders import make_node, make_pod
from nodewise.testing.check_plugin import check_plugin
from tests.plugins.answers import failures

MISSING = Status.unresolvable("node(s) didn't match Pod's required features")
RESTARTS = Container(restart_policy_rules=(ContainerRestartRule("RestartAllContainers"),))
MOUNTS = Container(volume_mounts=(VolumeMount(bind_mount_options=["noexec"]),))


def test_it_keeps_to_the_contract_of_plugins() -> None:
    check_plugin(NodeDeclaredFeatures)


@pytest.mark.parametrize(
    ("pod", "features"),
    [
        (make_pod("p"), ()),
        (make_pod("p", host_network=True, host_users=False), ("UserNamespacesHostNetworkSupport",)),
        (make_pod("p", host_network=True), ()),
        (make_pod("p", host_users=False), ()),
        (make_pod("p", containers=(RESTARTS,)), ("RestartAllContainersOnContainerExits",)),
        (make_pod("p", containers=(Container(restart_policy_rules=(ContainerRestartRule("Restart"),)),)), ()),
        (make_pod("p", init_containers=(MOUNTS,)), ("VolumeBindMountOptions",)),
        (make_pod("p", containers=(Container(volume_mounts=(VolumeMount(bind_mount_options=[]),)),)), ()),
        (
            make_pod("p", init_containers=(RESTARTS,), containers=(MOUNTS,)),
            ("RestartAllContainersOnContainerExits", "VolumeBindMountOptions"),
        ),
    ],
)
def test_needed_features_follow_from_the_spec(pod: Pod, features: tuple[str, ...]) -> None:
    assert required_features(pod) == features


def test_a_node_must_declare_every_needed_feature() -> None:
    both = ("RestartAllContainersOnContainerExits", "VolumeBindMountOptions")
    nodes = [
        make_node("none"),
        make_node("one", declared_features=both[:1]),
        make_node("more", declared_features=(*both, "X")),
    ]
    pod = make_pod("p", containers=(RESTARTS, MOUNTS))
    assert failures(NodeDeclaredFeatures, pod, nodes) == {"none": MISSING, "one": MISSING}

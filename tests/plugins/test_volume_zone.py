import pytest

from nodewise.api.objects import Node
from nodewise.api.storage import StorageObject
from nodewise.framework.status import Status
from nodewise.plugins.volume_zone import VolumeZone
from nodewise.testing.builders import make_node, make_pod
from nodewise.testing.check_plugin import check_plugin
from nodewise.testing.storage_builders import claim_volumes, make_bound, make_claim, make_class
from tests.plugins.storage_world import ZONE, failures, sample_clusters, sample_pods, with_storage

BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
NO_ZONE = Status.unresolvable("node(s) had no available volume zone")
NODES = [
    make_node("a", labels={ZONE: "a"}),
    make_node("b", labels={ZONE: "b"}),
    make_node("old-a", labels={BETA_ZONE: "a"}),
    make_node("region-only", labels={REGION: "r"}),
    make_node("plain"),
]


def test_it_keeps_to_the_contract_of_plugins() -> None:
    check_plugin(with_storage(VolumeZone), sample_clusters(), sample_pods())


@pytest.mark.parametrize(
    ("labels", "rejected"),
    [
        ({}, ()),
        ({ZONE: "a"}, ("b", "old-a", "region-only")),
        ({BETA_ZONE: "a"}, ("b", "region-only")),
        ({ZONE: "a__b"}, ("old-a", "region-only")),
        ({ZONE: "a__ b__c"}, ("old-a", "region-only")),
        ({ZONE: "a____b"}, ()),  # an empty zone makes the label count for nothing
        ({ZONE: "a", REGION: "r"}, ("a", "b", "old-a", "region-only")),
    ],
)
def test_a_node_is_rejected_that_is_in_none_of_the_volumes_zones(
    labels: dict[str, str], rejected: tuple[str, ...]
) -> None:
    pod = make_pod("p", volumes=claim_volumes(["data"]))
    found = failures(VolumeZone, pod, NODES, make_bound("data", labels=labels))
    assert found == dict.fromkeys(rejected, NO_ZONE)


@pytest.mark.parametrize(
    ("storage", "reason"),
    [
        ([], 'persistentvolumeclaim "data" not found'),
        ([make_bound("data")[0]], 'persistentvolume "vol-data" not found'),
        ([make_claim("data")], "PersistentVolumeClaim had no pv name and storageClass name"),
        ([make_claim("data", storage_class="c")], 'storageclass.storage.k8s.io "c" not found'),
        ([make_claim("data", storage_class="c"), make_class("c", mode="Immediate")], "PersistentVolume had no name"),
    ],
)
def test_a_claim_whose_volume_cannot_be_known_rejects_the_pod(storage: list[StorageObject], reason: str) -> None:
    pod = make_pod("p", volumes=claim_volumes(["data"]))
    assert failures(VolumeZone, pod, NODES, storage) == Status.unresolvable(reason)


def test_a_claim_that_waits_for_the_pod_is_no_matter() -> None:
    nodes: list[Node] = NODES
    storage: list[StorageObject] = [make_claim("data", storage_class="c"), make_class("c")]
    assert failures(VolumeZone, make_pod("p", volumes=claim_volumes(["data"])), nodes, storage) == {}

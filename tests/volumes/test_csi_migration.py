import pytest

from nodewise.api.objects import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Volume
from nodewise.api.storage import AWSElasticBlockStore, AzureDisk, Cinder, GCEPersistentDisk, OtherSource, PortworxVolume
from nodewise.testing.storage_builders import make_csi_node, make_volume
from nodewise.volumes.csi_migration import (
    EBS,
    CSIVolume,
    TranslationError,
    in_tree_plugin,
    is_migrated_on,
    translated_affinity,
    translated_inline,
    translated_volume,
)

ZONE, BETA_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("volume", "driver", "handle"),
    [
        (Volume(aws_elastic_block_store=AWSElasticBlockStore("vol-1")), "ebs.csi.aws.com", "vol-1"),
        (Volume(aws_elastic_block_store=AWSElasticBlockStore("aws://z/vol-1")), "ebs.csi.aws.com", "vol-1"),
        (Volume(aws_elastic_block_store=AWSElasticBlockStore("aws:///vol-1")), "ebs.csi.aws.com", "vol-1"),
        (
            Volume(gce_persistent_disk=GCEPersistentDisk("pd")),
            "pd.csi.storage.gke.io",
            "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/pd",
        ),
        (Volume(azure_disk=AzureDisk("/d", "Managed")), "disk.csi.azure.com", "/d"),
        (Volume(cinder=Cinder("c")), "cinder.csi.openstack.org", "c"),
        (Volume(portworx_volume=PortworxVolume("p")), "pxd.portworx.com", "p"),
    ],
)
def test_a_volume_that_a_pod_names_itself_has_the_drivers_handle(volume: Volume, driver: str, handle: str) -> None:
    assert translated_inline(volume) == CSIVolume(driver, handle)


@pytest.mark.parametrize(
    "volume",
    [
        Volume(aws_elastic_block_store=AWSElasticBlockStore("aws://z/disk")),
        Volume(azure_disk=AzureDisk("/d", "Shared")),
    ],
)
def test_a_volume_that_the_driver_does_not_know_is_an_error(volume: Volume) -> None:
    with pytest.raises(TranslationError):
        translated_inline(volume)


@pytest.mark.parametrize(
    ("labels", "place"),
    [
        ({}, "zones/UNSPECIFIED"),
        ({ZONE: "us-east1-b"}, "zones/us-east1-b"),
        ({ZONE: "us-east1-b", BETA_ZONE: "us-east1-c"}, "zones/us-east1-c"),
        ({ZONE: "us-east1-b__us-east1-c"}, "regions/us-east1"),
    ],
)
def test_a_google_disks_handle_tells_its_zone_or_region(labels: dict[str, str], place: str) -> None:
    volume = make_volume("v", labels=labels, gce_persistent_disk=GCEPersistentDisk("pd"))
    assert translated_volume(volume).handle == f"projects/UNSPECIFIED/{place}/disks/pd"


@pytest.mark.parametrize("zones", ["a__b", "us-east1-b__us-west1-b"])
def test_a_google_disk_in_zones_of_no_one_region_has_no_handle(zones: str) -> None:
    with pytest.raises(TranslationError, match="failed to get region from zones"):
        translated_volume(make_volume("v", labels={ZONE: zones}, gce_persistent_disk=GCEPersistentDisk("pd")))


def one_term(*requirements: tuple[str, str]) -> NodeSelector:
    return NodeSelector((NodeSelectorTerm(tuple(NodeSelectorRequirement(k, "In", (v,)) for k, v in requirements)),))


def test_zones_in_the_affinity_are_told_by_the_drivers_label() -> None:
    source = AWSElasticBlockStore("vol-1")
    volume = make_volume("v", nodes={ZONE: "a", "disk": "ssd"}, aws_elastic_block_store=source)
    assert translated_affinity(volume) == one_term(("topology.ebs.csi.aws.com/zone", "a"), ("disk", "ssd"))


def test_zones_in_labels_are_asked_for_too_when_the_affinity_has_none() -> None:
    volume = make_volume("v", labels={BETA_ZONE: "b"}, nodes={"disk": "ssd"}, cinder=Cinder("c"))
    assert translated_affinity(volume) == one_term(("disk", "ssd"), ("topology.cinder.csi.openstack.org/zone", "b"))


def test_other_in_tree_volumes_are_known_and_keep_their_affinity() -> None:
    assert in_tree_plugin(Volume(azure_file=OtherSource())) == "kubernetes.io/azure-file"
    assert in_tree_plugin(Volume(name="empty")) == ""
    volume = make_volume("v", nodes={ZONE: "a"}, azure_disk=AzureDisk("/d", "Managed"))
    assert translated_affinity(volume) == one_term((ZONE, "a"))


def test_a_node_says_in_an_annotation_which_plugins_it_has_moved() -> None:
    key = "storage.alpha.kubernetes.io/migrated-plugins"
    node = make_csi_node("n1", {}, **{key: "kubernetes.io/gce-pd,kubernetes.io/aws-ebs"})
    assert is_migrated_on(EBS, node)
    assert not is_migrated_on(EBS, make_csi_node("n1", {}))
    assert not is_migrated_on(EBS, None)

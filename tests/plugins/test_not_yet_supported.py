from dataclasses import dataclass
from typing import Any, cast

import pytest

from nodewise.api.objects import (
    DeviceClass,
    DeviceClassSpec,
    ObjectMeta,
    PersistentVolumeClaimVolumeSource,
    PodResourceClaim,
    Volume,
)
from nodewise.framework.plugin import EXTENSION_POINTS, FilterVerdict, PostFilterResult
from nodewise.framework.status import Status
from nodewise.plugins.not_yet_supported import (
    DynamicResources,
    NodeVolumeLimits,
    VolumeBinding,
    VolumeRestrictions,
    VolumeZone,
    unsupported_need,
)
from nodewise.state.listers import Listers
from nodewise.testing.builders import FakeHandle, make_node, make_pod
from nodewise.testing.check_plugin import check_plugin
from tests.plugins.answers import failures, scores

ALL = [VolumeRestrictions, NodeVolumeLimits, VolumeBinding, VolumeZone, DynamicResources]
FILTERS = {"preFilter", "filter"}


@dataclass(frozen=True, slots=True)
class Verdict:
    stopped_in_pre_filter: str


@pytest.mark.parametrize("plugin", ALL)
def test_they_keep_to_the_contract_of_plugins(plugin: type) -> None:
    check_plugin(plugin)


@pytest.mark.parametrize("plugin", ALL)
def test_they_reject_nothing(plugin: type) -> None:
    assert failures(plugin, make_pod("p"), [make_node("n1")]) == {}


@pytest.mark.parametrize("plugin", [VolumeBinding, DynamicResources])
def test_two_of_them_score_zero_on_every_node(plugin: type) -> None:
    assert scores(plugin, make_pod("p"), [make_node("n1")]) == ({"n1": 0}, {"n1": 0})


@pytest.mark.parametrize(
    ("plugin", "points"),
    [
        (VolumeRestrictions, FILTERS),
        (NodeVolumeLimits, FILTERS),
        (VolumeZone, FILTERS),
        (VolumeBinding, FILTERS | {"score", "reserve", "preBind"}),
        (DynamicResources, FILTERS | {"preEnqueue", "postFilter", "score", "reserve", "preBind"}),
    ],
)
def test_they_take_part_where_kube_schedulers_do(plugin: Any, points: set[str]) -> None:
    made = plugin(None, FakeHandle())
    assert {point for point, protocol in EXTENSION_POINTS.items() if isinstance(made, protocol)} == points


def test_post_filter_is_not_found_when_an_earlier_pre_filter_ended_the_cycle() -> None:
    plugin = DynamicResources(None, FakeHandle())

    def post_filter(stopped: str) -> PostFilterResult:
        return plugin.post_filter(cast(FilterVerdict, Verdict(stopped)))

    assert post_filter("NodeAffinity") == PostFilterResult(Status.error("not found"))
    assert post_filter("") == PostFilterResult(Status.unschedulable())


@pytest.mark.parametrize(
    ("volume", "source"),
    [
        (Volume(persistent_volume_claim=PersistentVolumeClaimVolumeSource("data")), "persistentVolumeClaim"),
        (Volume(ephemeral={}), "ephemeral"),
        (Volume(gce_persistent_disk={"pdName": "d"}), "gcePersistentDisk"),
        (Volume(rbd={}), "rbd"),
    ],
)
def test_a_volume_that_some_rule_judges_is_told(volume: Volume, source: str) -> None:
    need = unsupported_need(make_pod("p", volumes=(Volume(name="empty"), volume)), Listers())
    assert need == (f"spec.volumes[1].{source}", f"not supported yet: volumes of type {source}")


def test_an_inline_csi_volume_is_read_by_no_rule() -> None:
    assert unsupported_need(make_pod("p", volumes=(Volume(csi={"driver": "secrets"}),)), Listers()) is None


def test_resource_claims_are_told() -> None:
    need = unsupported_need(make_pod("p", resource_claims=(PodResourceClaim("gpu"),)), Listers())
    assert need == ("spec.resourceClaims[0]", "not supported yet: dynamic resource allocation")


@pytest.mark.parametrize(
    ("resource", "amount", "is_told"),
    [
        ("example.com/gpu", "1", True),
        ("example.com/gpu", "0", False),
        ("example.com/other", "1", False),
        ("deviceclass.resource.kubernetes.io/gpus", "2", True),
        ("deviceclass.resource.kubernetes.io/none", "2", False),
    ],
)
def test_an_extended_resource_that_a_device_class_maps_is_told(resource: str, amount: str, *, is_told: bool) -> None:
    listers = Listers()
    listers.fill(
        device_classes=[DeviceClass(ObjectMeta(name="gpus"), DeviceClassSpec(extended_resource_name="example.com/gpu"))]
    )
    need = unsupported_need(make_pod("p", resources={resource: amount}), listers)
    assert (need is not None) is is_told
    assert unsupported_need(make_pod("p", resources={resource: amount}), Listers()) is None

"""Claims that pods get from templates."""

from pathlib import Path

from tests.devices.world import (
    Json,
    device,
    device_class,
    devices_of,
    exactly,
    node,
    open_cluster,
    place,
    place_all,
    pod,
    slice_of,
)

TEMPLATE: Json = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "one", "namespace": "default"},
    "spec": {"metadata": {"labels": {"a": "b"}}, "spec": {"devices": {"requests": [exactly()]}}},
}


def from_template(name: str) -> Json:
    """Make a pod that wants a claim of its own."""
    made = pod(name)
    made["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "one"}]
    return made


def test_each_pod_gets_a_claim_of_its_own(tmp_path: Path) -> None:
    items = (node("n1"), device_class(), slice_of("n1", device("d0"), device("d1")), TEMPLATE)
    session = open_cluster(tmp_path, *items, from_template("p"), from_template("q"), workloads="expand")
    assert [placement.node for placement in place_all(session).values()] == ["n1", "n1"]
    claims = session.listers.devices.claims
    assert sorted(name.rpartition("-")[0] for _, name in claims) == ["p-gpu", "q-gpu"]
    assert {devices_of(session, name)[0] for _, name in claims} == {"n1/d0", "n1/d1"}
    assert all(claim.metadata.labels == {"a": "b"} for claim in claims.values())


def test_without_expansion_a_pod_waits_for_its_claim(tmp_path: Path) -> None:
    placement = place(tmp_path, node("n1"), device_class(), TEMPLATE, from_template("p"))["p"]
    assert placement.message == 'pod "default/p": ResourceClaim not created yet'


def test_a_missing_template_leaves_the_pod_waiting(tmp_path: Path) -> None:
    placement = place(tmp_path, node("n1"), device_class(), from_template("p"), workloads="expand")["p"]
    assert placement.message == 'pod "default/p": ResourceClaim not created yet'

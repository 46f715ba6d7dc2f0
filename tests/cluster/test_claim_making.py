"""The claims that controllers would make."""

from typing import Any

import pytest
import yaml

from nodewise.api.storage import PersistentVolume, PersistentVolumeClaim
from nodewise.cluster.load import LoadedCluster, load_cluster
from tests.cluster.test_workloads import SPEC, load, workload

TEMPLATE: dict[str, Any] = {
    "metadata": {"name": "data", "labels": {"tier": "db"}},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
EPHEMERAL = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": TEMPLATE["spec"]}}}


def storage_class(name: str, mode: str = "WaitForFirstConsumer", **annotations: str) -> dict[str, Any]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, "annotations": annotations},
        "provisioner": "csi.test",
        "volumeBindingMode": mode,
    }


def claims(loaded: LoadedCluster) -> dict[str, PersistentVolumeClaim]:
    found = [obj for obj in loaded.objects.storage if isinstance(obj, PersistentVolumeClaim)]
    return {claim.metadata.name: claim for claim in found}


def pod(name: str, **fields: Any) -> dict[str, Any]:
    spec = {**SPEC, "volumes": [EPHEMERAL], **fields}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def test_a_stateful_set_has_a_claim_of_each_template_for_each_replica() -> None:
    loaded = load(workload("StatefulSet", replicas=2, volumeClaimTemplates=[TEMPLATE], serviceName="web"))
    found = claims(loaded)
    assert sorted(found) == ["data-web-0", "data-web-1"]
    assert found["data-web-0"].metadata.labels == {"tier": "db", "app": "web"}
    assert found["data-web-0"].status.phase == "Pending"
    assert "made the claims that controllers lack: 2 of StatefulSets" in loaded.notes
    used = [volume.persistent_volume_claim for pod in loaded.objects.pods for volume in pod.spec.volumes]
    assert sorted(source.claim_name for source in used if source is not None) == sorted(found)


def test_a_claim_that_is_there_is_kept() -> None:
    metadata = {"name": "data-web-0", "annotations": {"mine": "yes"}}
    mine = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": TEMPLATE["spec"]}
    loaded = load(mine, workload("StatefulSet", replicas=1, volumeClaimTemplates=[TEMPLATE], serviceName="web"))
    assert claims(loaded)["data-web-0"].metadata.annotations == {"mine": "yes"}
    assert not any("claims" in note for note in loaded.notes)


def test_an_ephemeral_volume_has_a_claim_that_the_pod_owns() -> None:
    loaded = load(pod("p"))
    (owner,) = claims(loaded)["p-scratch"].metadata.owner_references
    assert owner.controller
    assert owner.uid == loaded.objects.pods[0].metadata.uid


def test_a_claim_without_a_class_gets_the_default_one() -> None:
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    loaded = load(storage_class("other"), storage_class("standard", **default), pod("p"))
    assert claims(loaded)["p-scratch"].spec.storage_class_name == "standard"
    assert claims(load(pod("p")))["p-scratch"].spec.storage_class_name is None


@pytest.mark.parametrize("mode", ["Immediate", "WaitForFirstConsumer"])
def test_a_made_claim_is_bound_at_once_when_its_class_does_not_wait(mode: str) -> None:
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    loaded = load(storage_class("standard", mode, **default), pod("p"))
    claim = claims(loaded)["p-scratch"]
    volumes = [obj for obj in loaded.objects.storage if isinstance(obj, PersistentVolume)]
    assert [volume.metadata.name for volume in volumes] == ([claim.spec.volume_name] if mode == "Immediate" else [])
    assert any("do not wait for a pod" in note for note in loaded.notes) is (mode == "Immediate")


def test_nothing_is_made_when_workloads_are_ignored(tmp_path: Any) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(yaml.safe_dump(pod("p")))
    assert claims(load_cluster([str(path)], workloads="ignore")) == {}

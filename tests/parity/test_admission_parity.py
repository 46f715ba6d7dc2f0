"""A loaded cluster is what the real API machinery makes of the same input (`oracle admit`)."""

import json
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nodewise.api.decoding import decode_object
from nodewise.api.kinds import KINDS
from nodewise.api.quantity import parse_quantity
from nodewise.cluster.load import LoadedCluster, load_cluster
from tests.oracle import Oracle

AMOUNT_FIELDS = {"requests", "limits", "overhead", "capacity", "allocatable", "allocated_resources"}
CASES = Path(__file__).parents[1] / "cases"
Key = tuple[str, str, str]

BAD_PODS: list[dict[str, Any]] = [
    {"containers": []},
    {"containers": [{"name": "A", "image": ""}]},
    {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 70000, "protocol": "X"}]}]},
    {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}]},
    {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"a.test/b": "1"}}}]},
    {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"hugepages-2Mi": "3Mi"}}}]},
    {"tolerations": [{"key": "a", "operator": "X", "effect": "Y", "tolerationSeconds": 1}]},
    {"topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "X", "minDomains": -1}]},
    {"schedulingGates": [{"name": "a"}, {"name": "a"}], "nodeName": "X"},
    {"nodeSelector": {"-": "-"}},
    {"restartPolicy": "X", "preemptionPolicy": "Y"},
    {"overhead": {"cpu": "-1"}},
    {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1", "ephemeral-storage": "1"}}},
    {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}},
    {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"matchLabelKeys": ["a"]}]}}},
]


def admit(oracle: Path, cluster: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([oracle, "admit", cluster], capture_output=True, text=True, check=True)


def comparable(value: Any, field: str = "") -> Any:
    """Make structs into dicts and amounts into numbers; generations, which only a live cluster counts, are left out."""
    if isinstance(value, msgspec.Struct):
        fields = [name for name in value.__struct_fields__ if name != "generation"]
        return {name: comparable(getattr(value, name), name) for name in fields}
    if isinstance(value, dict):
        if field in AMOUNT_FIELDS:
            return {name: parse_quantity(text) for name, text in value.items()}
        return {name: comparable(item) for name, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [comparable(item) for item in value]
    return value


def ours(loaded: LoadedCluster) -> dict[Key, Any]:
    objects = loaded.objects
    listed: list[Any] = [
        *objects.pods,
        *objects.nodes,
        *objects.namespaces.values(),
        *objects.pod_disruption_budgets,
        *objects.services,
        *objects.replication_controllers,
        *objects.replica_sets,
        *objects.stateful_sets,
        *objects.storage,
        *objects.device_objects,
        # The two that every cluster has are not in the input.
        *(c for c in objects.priority_classes.values() if c.metadata.uid),
    ]
    return {(type(o).__name__, o.metadata.namespace, o.metadata.name): comparable(o) for o in listed}


def theirs(stored: str) -> dict[Key, Any]:
    found = {}
    for item in json.loads(stored)["items"]:
        if kind := KINDS.get(item["kind"]):
            obj = decode_object(json.dumps(item).encode(), kind)
            found[kind.name, obj.metadata.namespace, obj.metadata.name] = comparable(obj)
    return found


def check(oracle: Path, cluster: Path) -> None:
    loaded = load_cluster([str(cluster)], workloads="ignore")
    assert loaded.errors == []
    expected, found = theirs(admit(oracle, cluster).stdout), ours(loaded)
    assert found == expected
    assert [key for key in found if key[0] == "Pod"] == [key for key in expected if key[0] == "Pod"]


@pytest.mark.parametrize("profile", ["basic", "affinity", "spread", "mixed", "volumes"])
def test_generated_clusters_are_stored_alike(oracle: Path, tmp_path: Path, fresh_seed: int, profile: str) -> None:
    cluster = tmp_path / "cluster.json"
    for seed in range(fresh_seed, fresh_seed + 5):
        cluster.write_bytes(Oracle(oracle).generate(profile, seed=seed, n_nodes=20, n_pods=60, n_pending=40))
        check(oracle, cluster)


@pytest.mark.parametrize("case", sorted(path.name for path in CASES.glob("*/") if (path / "cluster.yaml").is_file()))
def test_the_case_clusters_are_stored_alike(oracle: Path, case: str) -> None:
    check(oracle, CASES / case / "cluster.yaml")


def test_the_same_pods_are_refused_with_the_same_words(oracle: Path, tmp_path: Path) -> None:
    good = {"containers": [{"name": "c", "image": "i"}]}
    pods = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{index}"}, "spec": {**good, **spec}}
        for index, spec in enumerate([*BAD_PODS, good])
    ]
    cluster = tmp_path / "cluster.json"
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))
    warnings = {}
    for line in admit(oracle, cluster).stderr.splitlines():
        _, found, rest = line.partition("an API server would refuse pod ")
        if found:
            name, _, text = rest.partition(": ")
            warnings[f"Pod {name}"] = text
    errors: dict[str, list[str]] = {}
    for error in load_cluster([str(cluster)]).errors:
        errors.setdefault(error.object, []).append(f"{error.field}: {error.message}")
    assert errors.keys() == warnings.keys()
    for pod, messages in errors.items():
        assert len(messages) == warnings[pod].count(": Invalid value") + sum(
            warnings[pod].count(f": {kind}")
            for kind in ("Required value", "Forbidden", "Duplicate", "Unsupported value")
        )
        assert [message for message in messages if message not in warnings[pod]] == []

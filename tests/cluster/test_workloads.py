"""The pods that controllers would make."""

from typing import Any

import pytest
import yaml

from nodewise.cluster.load import LoadedCluster, load_cluster
from tests.cluster.yaml_text import load_text, node, pod_names

SPEC: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}]}


def workload(kind: str, name: str = "web", *, spec: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {**SPEC, **(spec or {})}}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": labels}, "template": template, **fields},
    }


def job(name: str = "job", status: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    template = {"spec": {**SPEC, "restartPolicy": "Never"}}
    spec = {"template": template, **fields}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec, "status": status or {}}


def owned(name: str, kind: str, owner: str, **fields: Any) -> dict[str, Any]:
    """Return a running pod, or another object, of a controller."""
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": owner, "uid": "u", "controller": True}
    metadata = {"name": name, "ownerReferences": [reference], **fields.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": SPEC, **fields}


def load(*objects: dict[str, Any] | str) -> LoadedCluster:
    loaded = load_text("---\n".join(o if isinstance(o, str) else yaml.safe_dump(o) for o in objects))
    assert loaded.errors == []
    return loaded


def test_a_deployment_gets_its_replica_set_and_that_its_pods() -> None:
    loaded = load(workload("Deployment", replicas=2))
    (replica_set,) = loaded.objects.replica_sets
    assert pod_names(loaded) == ["web-1", "web-2"]
    for pod in loaded.objects.pods:
        (owner,) = pod.metadata.owner_references
        assert (owner.kind, owner.name, owner.uid) == (
            "ReplicaSet",
            replica_set.metadata.name,
            replica_set.metadata.uid,
        )
        assert pod.metadata.labels == replica_set.spec.selector.match_labels  # type: ignore[union-attr]
        assert pod.spec.priority == 0
    assert loaded.objects.pods[0].spec is loaded.objects.pods[1].spec


def test_a_replica_set_makes_what_it_lacks() -> None:
    pods = [owned("x", "ReplicaSet", "web"), owned("z", "ReplicaSet", "other"), owned("web-1", "Job", "z")]
    assert pod_names(load(workload("ReplicaSet", replicas=3), *pods)) == ["web-2", "web-3", "x", "z", "web-1"]


def test_a_terminating_pod_is_replaced_and_an_ended_one_too() -> None:
    leaving = owned("x", "ReplicaSet", "web", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    ended = owned("z", "ReplicaSet", "web", status={"phase": "Failed"})
    assert pod_names(load(workload("ReplicaSet", replicas=1), leaving, ended)) == ["web-1", "x"]


def test_a_deployment_and_its_replica_sets_count_once() -> None:
    old, new = workload("ReplicaSet", replicas=0), workload("ReplicaSet", replicas=2)
    for replica_set, name in ((old, "web-old"), (new, "web-new")):
        reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u", "controller": True}
        replica_set["metadata"] = {"name": name, "ownerReferences": [reference]}
    loaded = load(workload("Deployment", replicas=2), old, new, owned("web-new-x", "ReplicaSet", "web-new"))
    assert pod_names(loaded) == ["web-new-1", "web-new-x"]
    assert len(loaded.objects.replica_sets) == 2


def test_a_deployment_knows_its_pods_when_their_replica_set_is_not_given() -> None:
    pods = [
        owned(f"web-abc-{i}", "ReplicaSet", "web-abc", metadata={"labels": {"app": "web", "pod-template-hash": "abc"}})
        for i in range(2)
    ]
    loaded = load(workload("Deployment", replicas=3), *pods)
    assert pod_names(loaded) == ["web-1", "web-abc-0", "web-abc-1"]
    assert [r.metadata.name for r in loaded.objects.replica_sets] == ["web-abc"]


def test_a_stateful_set_fills_its_ordinals_with_their_claims() -> None:
    stateful_set = workload(
        "StatefulSet", "db", replicas=3, ordinals={"start": 1}, volumeClaimTemplates=[{"metadata": {"name": "data"}}]
    )
    loaded = load(stateful_set, owned("db-2", "StatefulSet", "db"))
    assert pod_names(loaded) == ["db-1", "db-3", "db-2"]
    pod = loaded.objects.pods[1]
    assert pod.metadata.labels["apps.kubernetes.io/pod-index"] == "3"
    (volume,) = pod.spec.volumes
    assert volume.persistent_volume_claim is not None
    assert volume.persistent_volume_claim.claim_name == "data-db-3"


def test_a_daemon_set_runs_where_its_template_allows_and_taints_let_it() -> None:
    nodes = [
        node("a").replace("name: a", "name: a, labels: {disk: ssd}"),
        node("b"),
        node("c").replace("name: c", "name: c, labels: {disk: ssd}")
        + "spec: {taints: [{key: k, effect: NoSchedule}]}\n",
        node("d").replace("name: d", "name: d, labels: {disk: ssd}")
        + "spec: {unschedulable: true, taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]}\n",
        node("e").replace("name: e", "name: e, labels: {disk: ssd}"),
    ]
    running = owned("agent-x", "DaemonSet", "agent")
    running["spec"] = {**SPEC, "nodeName": "e"}
    loaded = load(*nodes, running, workload("DaemonSet", "agent", spec={"nodeSelector": {"disk": "ssd"}}))
    assert pod_names(loaded) == ["agent-x", "agent-a", "agent-d"]
    pod = loaded.objects.pods[1]
    assert pod.spec.affinity is not None
    assert pod.spec.affinity.node_affinity is not None
    assert pod.spec.affinity.node_affinity.required is not None
    (term,) = pod.spec.affinity.node_affinity.required.node_selector_terms
    assert [(r.key, r.operator, r.values) for r in term.match_fields] == [("metadata.name", "In", ("a",))]
    assert {t.key for t in pod.spec.tolerations} >= {"node.kubernetes.io/unschedulable", "node.kubernetes.io/not-ready"}
    # Admission adds nothing to what the controller has set.
    assert all(t.toleration_seconds is None for t in pod.spec.tolerations)


@pytest.mark.parametrize(
    ("fields", "status", "n_pods"),
    [
        ({}, {}, 1),
        ({"parallelism": 3}, {}, 3),
        ({"parallelism": 3, "completions": 2}, {}, 2),
        ({"parallelism": 3, "completions": 5}, {"succeeded": 4}, 1),
        ({"parallelism": 3}, {"succeeded": 1}, 0),
        ({"parallelism": 3, "suspend": True}, {}, 0),
        ({"parallelism": 3}, {"conditions": [{"type": "Complete", "status": "True"}]}, 0),
    ],
)
def test_a_job_runs_in_parallel_what_is_left_to_do(fields: dict[str, Any], status: dict[str, Any], n_pods: int) -> None:
    assert len(load(job(status=status, **fields)).objects.pods) == n_pods


def test_an_indexed_job_makes_the_lowest_indexes_that_are_not_done() -> None:
    indexed = job(
        parallelism=3, completions=9, completionMode="Indexed", status={"succeeded": 3, "completedIndexes": "0-1,3"}
    )
    running = owned(
        "job-2-x", "Job", "job", metadata={"annotations": {"batch.kubernetes.io/job-completion-index": "2"}}
    )
    assert pod_names(load(indexed, running)) == ["job-4", "job-5", "job-2-x"]


def test_a_cron_job_counts_as_one_run_unless_one_is_under_way() -> None:
    cron = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c"}}
    cron["spec"] = {"schedule": "* * * * *", "jobTemplate": {"spec": job(parallelism=2)["spec"]}}
    assert pod_names(load(cron)) == ["c-1", "c-2"]
    run = job("c-5")
    run["metadata"]["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": "CronJob", "name": "c", "uid": "u"}]
    assert pod_names(load(cron, run)) == ["c-5-1"]


def test_a_replication_controller_makes_pods_too() -> None:
    spec = {"replicas": 2, "template": {"metadata": {"labels": {"a": "b"}}, "spec": SPEC}}
    controller = {"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "rc"}, "spec": spec}
    assert pod_names(load(controller)) == ["rc-1", "rc-2"]


def test_label_keys_of_the_template_hash_end_up_in_the_selector() -> None:
    constraint = {
        "maxSkew": 1,
        "topologyKey": "z",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "matchLabelKeys": ["pod-template-hash"],
    }
    loaded = load(workload("Deployment", spec={"topologySpreadConstraints": [constraint]}))
    (pod,) = loaded.objects.pods
    (merged,) = pod.spec.topology_spread_constraints
    assert merged.label_selector is not None
    assert merged.label_selector.match_expressions[0].values == (pod.metadata.labels["pod-template-hash"],)


def test_workloads_can_be_left_alone(tmp_path: Any) -> None:
    (tmp_path / "web.yaml").write_text(yaml.safe_dump(workload("Deployment", replicas=2)))
    loaded = load_cluster([str(tmp_path)], workloads="ignore")
    assert (loaded.objects.pods, loaded.objects.replica_sets) == ([], [])


def test_absurdly_many_replicas_are_an_error() -> None:
    loaded = load_text(yaml.safe_dump(workload("Deployment", replicas=2_000_000_000)))
    assert loaded.objects.pods == []
    assert "asks for 2000000000 more pods, which is too many" in str(loaded.errors[0])


def test_a_template_whose_pods_would_be_refused_is_an_error() -> None:
    loaded = load_text(yaml.safe_dump(workload("Deployment", spec={"priorityClassName": "nope"})))
    assert [error.field for error in loaded.errors] == ["spec.priorityClassName"]
    assert loaded.errors[0].object == "Deployment default/web"

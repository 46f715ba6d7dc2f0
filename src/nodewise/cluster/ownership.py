"""Which objects of a cluster belong to which controller, and which pod names are taken."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from nodewise.api.objects import AnyObject, Job, JobStatus, Node, ObjectMeta, OwnerReference, Pod, ReplicaSet

HASH_LABEL = "pod-template-hash"
_FINISHED_CONDITIONS = ("Complete", "Failed", "FailureTarget", "SuccessCriteriaMet")
_Owner = tuple[str, str, str]


class OwnedObjects:
    """Pods, ReplicaSets and Jobs by the namespace, kind and name of their controller."""

    def __init__(self, objects: Iterable[AnyObject], ended_pods: Iterable[Pod]) -> None:
        self.nodes: list[Node] = []
        self._pod_names: set[tuple[str, str]] = set()
        self._replica_set_names: set[tuple[str, str]] = set()
        self._pods: defaultdict[_Owner, list[Pod]] = defaultdict(list)
        self._ended_pods: defaultdict[_Owner, list[Pod]] = defaultdict(list)
        self._replica_sets: defaultdict[_Owner, list[ReplicaSet]] = defaultdict(list)
        self._jobs: defaultdict[_Owner, list[Job]] = defaultdict(list)
        for obj in objects:
            self._add(obj)
        for pod in ended_pods:
            if (owner := _controller(pod)) is not None:
                self._ended_pods[owner].append(pod)

    def _add(self, obj: AnyObject) -> None:
        metadata = obj.metadata
        owner = _controller(obj)
        if isinstance(obj, Pod):
            self._pod_names.add((metadata.namespace, metadata.name))
            if owner is not None:
                self._pods[owner].append(obj)
        elif isinstance(obj, Node):
            self.nodes.append(obj)
        elif isinstance(obj, ReplicaSet):
            self._replica_set_names.add((metadata.namespace, metadata.name))
            if owner is not None:
                self._replica_sets[owner].append(obj)
        elif isinstance(obj, Job) and owner is not None:
            self._jobs[owner].append(obj)

    def take_name(self, namespace: str, name: str) -> bool:
        """Claim a pod's name; False when it is another pod's."""
        if (namespace, name) in self._pod_names:
            return False
        self._pod_names.add((namespace, name))
        return True

    def active_pods(self, owner: OwnerReference, namespace: str) -> list[Pod]:
        """Return the owner's pods that have neither ended nor are on their way out."""
        pods = self._pods.get((namespace, owner.kind, owner.name), ())
        return [pod for pod in pods if not pod.is_terminating]

    def succeeded_pods(self, owner: OwnerReference, namespace: str) -> list[Pod]:
        pods = self._ended_pods.get((namespace, owner.kind, owner.name), ())
        return [pod for pod in pods if pod.status.phase == "Succeeded"]

    def replica_sets(self, deployment: ObjectMeta) -> list[ReplicaSet]:
        return self._replica_sets.get((deployment.namespace, "Deployment", deployment.name), [])

    def jobs(self, cron_job: ObjectMeta) -> list[Job]:
        return self._jobs.get((cron_job.namespace, "CronJob", cron_job.name), [])

    def hash_in_use(self, deployment: ObjectMeta) -> str:
        """Return the template hash of most pods whose ReplicaSet would be this Deployment's but is not given."""
        namespace, prefix = deployment.namespace, f"{deployment.name}-"
        hashes: Counter[str] = Counter()
        for (pod_namespace, kind, name), pods in self._pods.items():
            if pod_namespace != namespace or kind != "ReplicaSet" or not name.startswith(prefix):
                continue
            hash_text = pods[0].metadata.labels.get(HASH_LABEL, "")
            if name == prefix + hash_text and (namespace, name) not in self._replica_set_names:
                hashes[hash_text] += len(pods)
        return hashes.most_common(1)[0][0] if hashes else ""


def is_finished(status: JobStatus) -> bool:
    """Tell whether a Job has ended, well or not."""
    return any(c.type in _FINISHED_CONDITIONS and c.status == "True" for c in status.conditions)


def _controller(obj: AnyObject) -> _Owner | None:
    """Return namespace, kind and name of the object's controller, or of its only owner."""
    references = obj.metadata.owner_references
    for reference in references:
        if reference.controller or len(references) == 1:
            return obj.metadata.namespace, reference.kind, reference.name
    return None

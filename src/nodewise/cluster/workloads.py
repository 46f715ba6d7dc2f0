"""Which pods the controllers in a cluster would still make: those they want, less those that are there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import count, islice

from nodewise.api.admission import identified
from nodewise.api.field_errors import InvalidFieldError
from nodewise.api.objects import (
    AnyObject,
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    JobSpec,
    JobStatus,
    LabelSelector,
    ObjectMeta,
    OwnerReference,
    PersistentVolumeClaimVolumeSource,
    Pod,
    PodSpec,
    PodTemplateSpec,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
    Volume,
    WorkloadSpec,
    replace,
)
from nodewise.cluster.daemon_pods import pinned_node, pinned_to, should_run, with_daemon_tolerations
from nodewise.cluster.ownership import HASH_LABEL, OwnedObjects, is_finished
from nodewise.cluster.pod_making import (
    COMPLETION_INDEX,
    PodMaker,
    completion_index,
    owner_of,
    parse_indexes,
    template_hash,
)

MAX_PODS = 300_000
_REVISION_LABEL = "controller-revision-hash"


class WorkloadExpander:
    """Makes the missing pods of one controller's object after another.

    Parameters
    ----------
    objects
        Every admitted object.
    ended_pods
        Pods that have succeeded or failed; they count for Jobs only.
    """

    def __init__(
        self, objects: Iterable[AnyObject], ended_pods: Iterable[Pod], classes: Mapping[str, PriorityClass]
    ) -> None:
        self.n_made: Counter[str] = Counter()
        self._classes = classes
        self._owned = OwnedObjects(objects, ended_pods)

    @property
    def notes(self) -> list[str]:
        """What was made, in one line."""
        if not self.n_made:
            return []
        parts = [f"{count:,} of {kind}s" for kind, count in sorted(self.n_made.items())]
        return [f"made the pods that controllers lack: {', '.join(parts)}"]

    def expand(self, obj: AnyObject, position: int) -> list[Pod | ReplicaSet]:
        """Return the pods that this object's controller would make, after the ReplicaSet it would make for them.

        Raises
        ------
        InvalidFieldError
            When an API server would refuse the pods, or there are too many.
        """
        made = list(self._created(obj, position))
        n_pods = sum(isinstance(created, Pod) for created in made)
        if n_pods:
            self.n_made[type(obj).__name__] += n_pods
        return made

    def _created(self, obj: AnyObject, position: int) -> Iterator[Pod | ReplicaSet]:
        if isinstance(obj, Deployment):
            yield from self._of_deployment(obj, position)
        elif isinstance(obj, ReplicaSet):
            yield from self._of_replica_set(obj, position)
        elif isinstance(obj, ReplicationController) and obj.spec.template is not None:
            owner = owner_of("ReplicationController", "v1", obj.metadata)
            missing = (obj.spec.replicas or 0) - len(self._owned.active_pods(owner, obj.metadata.namespace))
            yield from self._numbered(obj.spec.template, owner, obj.metadata, position, missing, {})
        elif isinstance(obj, StatefulSet):
            yield from self._of_stateful_set(obj, position)
        elif isinstance(obj, DaemonSet):
            yield from self._of_daemon_set(obj, position)
        elif isinstance(obj, Job):
            owner = owner_of("Job", "batch/v1", obj.metadata)
            yield from self._of_job(obj.spec, obj.status, owner, obj.metadata, position)
        elif isinstance(obj, CronJob):
            yield from self._of_cron_job(obj, position)

    def _of_deployment(self, deployment: Deployment, position: int) -> Iterator[Pod | ReplicaSet]:
        """Make what the Deployment's ReplicaSets do not ask for yet; they make their own pods."""
        metadata, spec = deployment.metadata, deployment.spec
        replica_sets = self._owned.replica_sets(metadata)
        missing = (spec.replicas or 0) - sum(r.spec.replicas or 0 for r in replica_sets)
        if replica_sets and (missing <= 0 or spec.paused):
            return
        current = next((r for r in replica_sets if _is_made_of(r, spec.template)), None)
        if current is None:
            current = self._new_replica_set(deployment, position)
            yield current
            missing -= len(
                self._owned.active_pods(owner_of("ReplicaSet", "apps/v1", current.metadata), metadata.namespace)
            )
        yield from self._replicas_of(current, metadata, position, missing)

    def _new_replica_set(self, deployment: Deployment, position: int) -> ReplicaSet:
        """Return the ReplicaSet that the Deployment would make, or that its pods in the input tell of."""
        metadata, template = deployment.metadata, deployment.spec.template
        hash_text = self._owned.hash_in_use(metadata) or template_hash(template)
        labels = {**template.metadata.labels, HASH_LABEL: hash_text}
        old = deployment.spec.selector or LabelSelector()
        selector = LabelSelector({**old.match_labels, HASH_LABEL: hash_text}, old.match_expressions)
        own = ObjectMeta(
            name=f"{metadata.name}-{hash_text}",
            namespace=metadata.namespace,
            labels=labels,
            creation_timestamp=metadata.creation_timestamp,
            owner_references=(owner_of("Deployment", "apps/v1", metadata),),
        )
        template = replace(template, metadata=replace(template.metadata, labels=labels))
        spec = WorkloadSpec(deployment.spec.replicas, selector, template)
        return ReplicaSet(identified(own, "ReplicaSet", position), spec)

    def _of_replica_set(self, replica_set: ReplicaSet, position: int) -> Iterator[Pod]:
        metadata = replica_set.metadata
        owner = owner_of("ReplicaSet", "apps/v1", metadata)
        missing = (replica_set.spec.replicas or 0) - len(self._owned.active_pods(owner, metadata.namespace))
        yield from self._replicas_of(replica_set, metadata, position, missing)

    def _replicas_of(
        self, replica_set: ReplicaSet, named_after: ObjectMeta, position: int, missing: int
    ) -> Iterator[Pod]:
        owner = owner_of("ReplicaSet", "apps/v1", replica_set.metadata)
        template = replica_set.spec.template
        metadata = replace(replica_set.metadata, name=named_after.name)
        yield from self._numbered(template, owner, metadata, position, missing, {})

    def _of_stateful_set(self, stateful_set: StatefulSet, position: int) -> Iterator[Pod]:
        metadata, spec = stateful_set.metadata, stateful_set.spec
        owner = owner_of("StatefulSet", "apps/v1", metadata)
        maker = PodMaker(spec.template, owner, metadata, position)
        revision = f"{metadata.name}-{template_hash(spec.template)}"
        self._check_count(spec.replicas or 0)
        start = spec.ordinals.start if spec.ordinals is not None else 0
        for ordinal in range(start, start + (spec.replicas or 0)):
            name = f"{metadata.name}-{ordinal}"
            if not self._owned.take_name(metadata.namespace, name):
                continue
            labels = {
                "statefulset.kubernetes.io/pod-name": name,
                "apps.kubernetes.io/pod-index": str(ordinal),
                _REVISION_LABEL: revision,
            }
            pod_spec = _with_claims(stateful_set, name) if spec.volume_claim_templates else None
            yield maker.make(name, self._classes, labels=labels, spec=pod_spec)

    def _of_daemon_set(self, daemon_set: DaemonSet, position: int) -> Iterator[Pod]:
        metadata, template = daemon_set.metadata, daemon_set.spec.template
        owner = owner_of("DaemonSet", "apps/v1", metadata)
        served = {pinned_node(pod.spec) for pod in self._owned.active_pods(owner, metadata.namespace)}
        spec = with_daemon_tolerations(template.spec)
        maker = PodMaker(template, owner, metadata, position)
        labels = {_REVISION_LABEL: template_hash(template)}
        for node in self._owned.nodes:
            name = f"{metadata.name}-{node.name}"
            if node.name in served or not should_run(spec, node) or not self._owned.take_name(metadata.namespace, name):
                continue
            yield maker.make(name, self._classes, labels=labels, spec=pinned_to(spec, node.name))

    def _of_job(
        self, spec: JobSpec, status: JobStatus, owner: OwnerReference, metadata: ObjectMeta, position: int
    ) -> Iterator[Pod]:
        """Make the pods that a Job wants running at once, less those that run and those that are done."""
        if spec.suspend or is_finished(status):
            return
        succeeded_pods = self._owned.succeeded_pods(owner, metadata.namespace)
        active = self._owned.active_pods(owner, metadata.namespace)
        n_succeeded = max(status.succeeded, len(succeeded_pods))
        wanted = spec.parallelism or 0
        if spec.completions is not None:
            wanted = min(wanted, spec.completions - n_succeeded)
        elif n_succeeded:
            wanted = 0  # of a work queue one success says that there is no more work
        labels = dict.fromkeys(("batch.kubernetes.io/job-name", "job-name"), owner.name)
        labels |= dict.fromkeys(("batch.kubernetes.io/controller-uid", "controller-uid"), owner.uid)
        missing = wanted - len(active)
        if spec.completion_mode != "Indexed":
            yield from self._numbered(spec.template, owner, metadata, position, missing, labels)
            return
        done = parse_indexes(status.completed_indexes)
        done.update(completion_index(pod) for pod in (*active, *succeeded_pods))
        maker = PodMaker(spec.template, owner, metadata, position)
        self._check_count(missing)
        free = (i for i in range(spec.completions or 0) if i not in done)
        for index in islice(free, max(missing, 0)):
            name = f"{metadata.name}-{index}"
            if self._owned.take_name(metadata.namespace, name):
                yield maker.make(name, self._classes, labels={**labels, COMPLETION_INDEX: str(index)})

    def _of_cron_job(self, cron_job: CronJob, position: int) -> Iterator[Pod]:
        """Make the pods of one run, unless one is under way."""
        metadata, spec = cron_job.metadata, cron_job.spec
        if spec.suspend or any(not is_finished(job.status) for job in self._owned.jobs(metadata)):
            return
        job = ObjectMeta(
            name=f"{metadata.name}-run",
            namespace=metadata.namespace,
            creation_timestamp=metadata.creation_timestamp,
        )
        owner = owner_of("Job", "batch/v1", identified(job, "Job", position))
        yield from self._of_job(spec.job_template.spec, JobStatus(), owner, metadata, position)

    def _check_count(self, wanted: int) -> None:
        if wanted > MAX_PODS - self.n_made.total():
            raise InvalidFieldError(
                "", f"asks for {wanted} more pods, which is too many: {MAX_PODS} can be made in all"
            )

    def _numbered(
        self,
        template: PodTemplateSpec,
        owner: OwnerReference,
        metadata: ObjectMeta,
        position: int,
        missing: int,
        labels: Mapping[str, str],
    ) -> Iterator[Pod]:
        """Make so many pods named after the controller, by the first numbers that are free."""
        maker = PodMaker(template, owner, metadata, position)
        self._check_count(missing)
        numbers = count(1)
        for _ in range(missing):
            name = next(n for i in numbers if self._owned.take_name(metadata.namespace, n := f"{metadata.name}-{i}"))
            yield maker.make(name, self._classes, labels=labels)


def _is_made_of(replica_set: ReplicaSet, template: PodTemplateSpec) -> bool:
    """Tell whether the ReplicaSet's template is this one, its hash label aside (EqualIgnoreHash)."""
    own = replica_set.spec.template
    labels = {key: value for key, value in own.metadata.labels.items() if key != HASH_LABEL}
    return labels == template.metadata.labels and own.spec == template.spec


def _with_claims(stateful_set: StatefulSet, pod_name: str) -> PodSpec:
    """Return the template's spec with the volumes of this pod's own claims."""
    spec = stateful_set.spec.template.spec
    claims = {
        claim.metadata.name: Volume(
            name=claim.metadata.name,
            persistent_volume_claim=PersistentVolumeClaimVolumeSource(f"{claim.metadata.name}-{pod_name}"),
        )
        for claim in stateful_set.spec.volume_claim_templates
    }
    kept = tuple(volume for volume in spec.volumes if volume.name not in claims)
    return replace(spec, volumes=(*claims.values(), *kept))

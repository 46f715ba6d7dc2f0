"""Words without a meaning for words that could tell whose cluster it is."""

from __future__ import annotations

import hashlib
import re
from base64 import b32encode
from collections.abc import Iterable

from nodewise.api.admission import made_up_uid

_HASH_BYTES = 8
_HASH_CHARS = 12
_SHORT_CHARS = 8
_PIECES = "__"  # several zones in one label

_KINDS = (
    "ReplicaSet StatefulSet DaemonSet Deployment Job CronJob ReplicationController Node Pod PodGroup CompositePodGroup "
    "Workload v1 v1beta1 v1beta2 v1alpha1 v1alpha3 apps batch policy pods podgroups"
)
_CHOICES = (
    "In NotIn Exists DoesNotExist Gt Lt Equal NoSchedule PreferNoSchedule NoExecute DoNotSchedule ScheduleAnyway Honor "
    "Ignore TCP UDP SCTP Always OnFailure Never Restart RestartAllContainers PreemptLowerPriority Pending Running "
    "Succeeded Failed Unknown Available Bound Released Lost True False Ready PodScheduled DisruptionTarget Complete "
    "FailureTarget SuccessCriteriaMet Indexed NonIndexed ReadWriteOnce ReadOnlyMany ReadWriteMany ReadWriteOncePod "
    "Filesystem Block Immediate WaitForFirstConsumer ExactCount All None Managed Dedicated Shared MemoryPressure "
    "DiskPressure PIDPressure NetworkUnavailable true false yes latest sha256"
)
_NAMES = (
    "default kube-system kube-public kube-node-lease default-scheduler system-node-critical system-cluster-critical "
    "linux windows amd64 arm64 metadata.name"
)
_RESOURCES = (
    "cpu memory ephemeral-storage storage pods gpu nvidia.com amd.com attachable-volumes-aws-ebs "
    "attachable-volumes-gce-pd attachable-volumes-azure-disk attachable-volumes-cinder"
)
_LABELS = (
    "kubernetes.io beta.kubernetes.io node.kubernetes.io node-role.kubernetes.io topology.kubernetes.io "
    "failure-domain.beta.kubernetes.io app.kubernetes.io apps.kubernetes.io batch.kubernetes.io "
    "statefulset.kubernetes.io resource.kubernetes.io deviceclass.resource.kubernetes.io volume.kubernetes.io "
    "volume.beta.kubernetes.io pv.kubernetes.io storage.alpha.kubernetes.io storageclass.kubernetes.io "
    "storageclass.beta.kubernetes.io pdb.kubernetes.io scheduling.k8s.io resource.k8s.io storage.k8s.io "
    "hostname zone region os arch instance-type name instance version component part-of managed-by control-plane "
    "master worker not-ready unreachable unschedulable disk-pressure memory-pressure pid-pressure network-unavailable "
    "out-of-service metadata.name pod-name pod-index job-name controller-uid job-completion-index pod-template-hash "
    "controller-revision-hash pod-template-generation extended-resource-claim pod-claim-name selected-node "
    "bind-completed bound-by-controller storage-class migrated-plugins is-default-class pcieRoot numaNode pciBusID "
    "deprecated-v1beta1-empty-selector-match exclude-from-external-load-balancers"
)
_DRIVERS = (
    "no-provisioner aws-ebs gce-pd cinder azure-disk azure-file portworx-volume vsphere-volume pd.csi.storage.gke.io "
    "ebs.csi.aws.com cinder.csi.openstack.org disk.csi.azure.com file.csi.azure.com csi.vsphere.vmware.com "
    "pxd.portworx.com topology.ebs.csi.aws.com topology.gke.io topology.cinder.csi.openstack.org "
    "topology.disk.csi.azure.com"
)
_DEVICES = "driver attributes capacity allowMultipleAllocations"
_FEATURES = "RestartAllContainersOnContainerExits UserNamespacesHostNetworkSupport VolumeBindMountOptions"
PUBLIC_WORDS = frozenset(
    " ".join((_KINDS, _CHOICES, _NAMES, _RESOURCES, _LABELS, _DRIVERS, _DEVICES, _FEATURES)).split()
)
"""Kubernetes' own words and those of public drivers, which stand in every cluster and stay as they are."""
_PUBLIC_PATTERN = re.compile(r"hugepages-\d+[KMG]i|container-\d{1,4}-request-\d{1,4}")
_CSI_LIMIT = "attachable-volumes-csi-"
_VERSION = re.compile(r"(v?\d+(?:\.\d+){0,2})([-+].*)?")
_ORDINAL = re.compile(r"\d{1,6}")


class AnonymousWords:
    """Gives the same word for the same word, and tells nothing about it to those who do not know the salt.

    Parameters
    ----------
    salt : bytes
        Random and secret; without it words could be found by trying.
    """

    def __init__(self, salt: bytes) -> None:
        self._salt = salt
        self._known: dict[str, str] = {}

    def word(self, text: str) -> str:
        """Return the replacement of a name; of `domain/name` and the like each part has its own."""
        return "/".join([self._part(part) for part in text.split("/")])

    def set_zone(self, text: str) -> None:
        """Keep the form of a zone or region, `locale-region-zone`, which volumes of some drivers depend on."""
        for zone in text.split(_PIECES):
            if zone and zone not in PUBLIC_WORDS:
                self._known[zone] = "-".join([self._hash(piece, _SHORT_CHARS) for piece in zone.split("-")])

    def set_derived(self, text: str, *parts: str) -> None:
        """Let a name that is made of others stay made of them: `web-0` of `web`."""
        pieces = [part if _ORDINAL.fullmatch(part) else self.word(part) for part in parts]
        self._known[text] = "-".join(pieces)

    def set_uid(self, kind: str, namespace: str, name: str) -> None:
        """Let the uid that an object without one gets be that of its new name: others may refer to it."""
        made_up = made_up_uid(kind, self.word(namespace), self.word(name))
        self._known[made_up_uid(kind, namespace, name)] = made_up

    def image(self, text: str) -> str:
        """Return the replacement of an image; a tag or digest stays one, since none means `latest`."""
        name, at, digest = text.partition("@")
        path, slash, last = name.rpartition("/")
        last, colon, tag = last.partition(":")
        name = self.word(f"{path}{slash}{last}".replace(":", "/"))
        return f"{name}{colon}{self.word(tag) if tag else ''}{at}{self._digest(digest) if at else ''}"

    def _digest(self, text: str) -> str:
        return f"sha256:{hashlib.blake2b(text.encode(), key=self._salt, digest_size=32).hexdigest()}"

    def version(self, text: str) -> str:
        """Return a version without its own words: numbers stay, names of builds and pre-releases do not."""
        found = _VERSION.fullmatch(text)
        if found is None:
            return self.word(text)
        return f"{found[1]}{found[2][0]}{self.word(found[2][1:])}" if found[2] else text

    def address(self, text: str) -> str:
        """Return the replacement of an IP address, one for private use."""
        if text in ("", "0.0.0.0", "::", "127.0.0.1", "::1"):
            return text
        digest = hashlib.blake2b(text.encode(), key=self._salt, digest_size=8).hexdigest()
        return f"fd00::{':'.join(digest[i : i + 4].lstrip('0') or '0' for i in (0, 4, 8, 12))}"

    def _part(self, text: str) -> str:
        if not text or text in PUBLIC_WORDS or _PUBLIC_PATTERN.fullmatch(text):
            return text
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = self._made(text)
        return known

    def _made(self, text: str) -> str:
        if _PIECES in text:
            return _PIECES.join([self._part(piece) for piece in text.split(_PIECES)])
        if text.startswith(_CSI_LIMIT):
            return f"{_CSI_LIMIT}{self._part(text.removeprefix(_CSI_LIMIT))}"
        return self._hash(text, _HASH_CHARS)

    def _hash(self, text: str, n_chars: int) -> str:
        """Return a word that is a name of any kind: of letters and digits, a letter first."""
        digest = hashlib.blake2b(text.encode(), key=self._salt, digest_size=_HASH_BYTES).digest()
        return f"x{b32encode(digest).decode().lower()[: n_chars - 1]}"


def ranks(numbers: Iterable[str]) -> dict[str, str]:
    """Return small numbers in the same order for numbers in texts; leading zeros stay."""
    texts = set(numbers)
    order = {value: rank for rank, value in enumerate(sorted({int(text) for text in texts}), start=1)}
    return {text: "0" * (len(text) - len(str(int(text)))) + str(order[int(text)]) for text in texts}

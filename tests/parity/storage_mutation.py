"""Random changes to the storage objects of a generated cluster: odd but valid ones that the generator does not make."""

import copy
import random
from collections.abc import Callable, Mapping
from typing import Any

Json = dict[str, Any]
Change = Callable[[random.Random, "Storage"], None]

ZONE, BETA_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
ZONES = ("zone-a", "zone-b", "zone-c", "zone-d", "us-east1-b", "us-east1-c__us-east1-d", "zone-a__zone-b", "a____b")
IN_TREE: tuple[Json, ...] = (
    {"awsElasticBlockStore": {"volumeID": "aws://zone-a/vol-1"}},
    {"awsElasticBlockStore": {"volumeID": "vol-2"}},
    {"gcePersistentDisk": {"pdName": "pd-1"}},
    {
        "azureDisk": {
            "diskName": "d",
            "diskURI": "/subscriptions/s/resourcegroups/r/providers/microsoft.compute/disks/d1",
            "kind": "Managed",
        }
    },
    {"cinder": {"volumeID": "c-1"}},
    {"portworxVolume": {"volumeID": "p-1"}},
    {"azureFile": {"secretName": "s", "shareName": "x"}},
    {"nfs": {"server": "10.0.0.9", "path": "/x"}},
)
INLINE: tuple[Json, ...] = (
    *IN_TREE[1:],
    {"awsElasticBlockStore": {"volumeID": "aws:///vol-2"}},
    {"rbd": {"monitors": ["10.0.0.1"], "image": "img-1"}},
    {"iscsi": {"targetPortal": "10.0.0.1:3260", "iqn": "iqn.2026-01.example:a", "lun": 0, "readOnly": True}},
)
PLUGINS = ("aws-ebs", "gce-pd", "azure-disk", "cinder", "portworx-volume")
CSI_DRIVERS = ("csi.example.com", "ebs.csi.aws.com", "pd.csi.storage.gke.io", "cinder.csi.openstack.org")
SELECTED_NODE = "volume.kubernetes.io/selected-node"
SOURCES = ("csi", "nfs", "local", *(key for source in IN_TREE for key in source))


class Storage:
    """The objects of a cluster by kind, in place."""

    def __init__(self, cluster: Mapping[str, Any]) -> None:
        self.items: list[Json] = cluster["items"]
        self.n_added = 0
        self._by_kind: dict[str, list[Json]] = {}
        for item in self.items:
            self._by_kind.setdefault(item["kind"], []).append(item)
        self.pods = [pod for pod in self.of("Pod") if pod["spec"].get("volumes")]
        self.node_names = [node["metadata"]["name"] for node in self.of("Node")]

    def of(self, kind: str) -> list[Json]:
        return self._by_kind.get(kind, [])

    def add(self, item: Json) -> None:
        self.n_added += 1
        self.items.append(item)
        self._by_kind.setdefault(item["kind"], []).append(item)

    def remove(self, item: Json) -> None:
        self.items.remove(item)
        self._by_kind[item["kind"]].remove(item)


def with_odd_storage(cluster: Mapping[str, Any], seed: int, n_changes: int) -> Json:
    """Return a copy with so many random changes; its volumes differ in size, since chance decides between equals."""
    generator = random.Random(seed)
    changed = copy.deepcopy(dict(cluster))
    storage = Storage(changed)
    for _ in range(n_changes):
        generator.choice(CHANGES)(generator, storage)
    for number, volume in enumerate(storage.of("PersistentVolume")):
        size = volume["spec"]["capacity"]["storage"].removesuffix("Gi")
        if size.isdecimal():
            volume["spec"]["capacity"]["storage"] = str((int(size) << 30) + number)
    return changed


def _one(generator: random.Random, items: list[Json]) -> Json:
    return generator.choice(items) if items else {"kind": "", "metadata": {}, "spec": {}, "status": {}}


# --- claims -----------------------------------------------------------------------------------------------------------


def change_a_claim(generator: random.Random, storage: Storage) -> None:
    spec = _one(generator, storage.of("PersistentVolumeClaim"))["spec"]
    field, value = generator.choice(
        [
            ("accessModes", ["ReadWriteMany"]),
            ("accessModes", ["ReadWriteOncePod"]),
            ("accessModes", ["ReadWriteOnce", "ReadOnlyMany"]),
            ("volumeMode", "Block"),
            ("volumeAttributesClassName", "fast"),
            ("selector", {"matchLabels": {"tier": "gold"}}),
            ("selector", {"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}),
            ("storageClassName", generator.choice(["local", "wait", "sized", "now", "gone", "in-tree", ""])),
            ("resources", {"requests": {"storage": generator.choice(["1", "3Gi", "7Gi", "1500m", "11G", "60Gi"])}}),
        ]
    )
    spec[field] = value


def annotate_a_claim(generator: random.Random, storage: Storage) -> None:
    claim = _one(generator, storage.of("PersistentVolumeClaim"))
    annotations = claim["metadata"].setdefault("annotations", {})
    kind = generator.choice(["node", "node", "unfinish"])
    if kind == "node":
        annotations[SELECTED_NODE] = generator.choice([*storage.node_names, "gone"])
    else:
        annotations.pop("pv.kubernetes.io/bind-completed", None)


def remove_something(generator: random.Random, storage: Storage) -> None:
    kind = generator.choice(["PersistentVolumeClaim", "PersistentVolume", "CSINode", "CSINode", "VolumeAttachment"])
    if storage.of(kind):
        storage.remove(generator.choice(storage.of(kind)))


def use_another_claim(generator: random.Random, storage: Storage) -> None:
    """Let a pod use a claim of its namespace too, perhaps one that another pod uses."""
    pod = _one(generator, storage.pods)
    namespace = pod["metadata"].get("namespace")
    claims = [c for c in storage.of("PersistentVolumeClaim") if c["metadata"]["namespace"] == namespace]
    if claims:
        name = generator.choice(claims)["metadata"]["name"]
        volumes = pod["spec"]["volumes"]
        volumes.append({"name": f"more-{len(volumes)}", "persistentVolumeClaim": {"claimName": name}})


def add_local_claims(generator: random.Random, storage: Storage) -> None:
    """Let a pod use up to three claims of one class, for which there may be volumes."""
    pod = _one(generator, storage.pods)
    namespace = pod["metadata"].get("namespace")
    for _ in range(generator.randint(1, 3)):
        number = storage.n_added
        # of different sizes: claims of one size come in no certain order
        size = str((generator.choice([1, 4, 8, 15]) << 30) - number)
        claim = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": f"added-{number}", "namespace": namespace},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": generator.choice(["local", "local", "wait", "sized", "wait-zoned", "in-tree"]),
                "resources": {"requests": {"storage": size}},
            },
        }
        if pod["kind"]:
            storage.add(claim)
            volumes = pod["spec"]["volumes"]
            volumes.append({"name": f"more-{len(volumes)}", "persistentVolumeClaim": {"claimName": f"added-{number}"}})


# --- volumes ----------------------------------------------------------------------------------------------------------


def change_a_volume(generator: random.Random, storage: Storage) -> None:
    volume = _one(generator, storage.of("PersistentVolume"))
    labels = volume["metadata"].setdefault("labels", {})
    kind = generator.choice(["label", "tier", "phase", "mode", "class", "deleted", "affinity", "ref", "access"])
    if kind == "label":
        labels[generator.choice([ZONE, BETA_ZONE, "topology.kubernetes.io/region"])] = generator.choice(ZONES)
    elif kind == "tier":
        labels["tier"] = generator.choice(["gold", "lead"])
    elif kind == "phase":
        volume["status"] = {"phase": generator.choice(["Available", "Released", "Pending"])}
    elif kind == "mode":
        volume["spec"]["volumeMode"] = "Block"
    elif kind == "class":
        volume["spec"]["volumeAttributesClassName"] = "fast"
    elif kind == "deleted":
        volume["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/keep"]}
    elif kind == "access":
        volume["spec"]["accessModes"] = generator.choice([["ReadWriteMany"], ["ReadWriteOnce", "ReadOnlyMany"]])
    elif kind == "ref":
        # For a claim that no other volume is for: of two the scheduler takes any.
        refs = [other["spec"].get("claimRef", {}) for other in storage.of("PersistentVolume")]
        taken = {(ref.get("namespace"), ref.get("name")) for ref in refs}
        claims = [item["metadata"] for item in storage.of("PersistentVolumeClaim")]
        free = [claim for claim in claims if (claim["namespace"], claim["name"]) not in taken]
        claim = generator.choice(free) if free else {}
        volume["spec"]["claimRef"] = {"namespace": claim.get("namespace", "x"), "name": claim.get("name", "x")}
    else:
        volume["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [_term(generator, storage)]}}


def _term(generator: random.Random, storage: Storage) -> Json:
    name = generator.choice(storage.node_names)
    return generator.choice(
        [
            {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["zone-a", "zone-b"]}]},
            {"matchExpressions": [{"key": BETA_ZONE, "operator": "In", "values": ["zone-a"]}]},
            {"matchExpressions": [{"key": "disk", "operator": "Exists"}]},
            {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "NotIn", "values": [name]}]},
            {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": [name]}]},
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]},
        ]
    )


def make_a_volume_in_tree(generator: random.Random, storage: Storage) -> None:
    spec = _one(generator, storage.of("PersistentVolume"))["spec"]
    for source in SOURCES:
        spec.pop(source, None)
    spec |= copy.deepcopy(generator.choice(IN_TREE))


def add_an_inline_volume(generator: random.Random, storage: Storage) -> None:
    volumes = _one(generator, storage.pods)["spec"].setdefault("volumes", [])
    volumes.append({"name": f"inline-{len(volumes)}", **copy.deepcopy(generator.choice(INLINE))})


# --- the cluster ------------------------------------------------------------------------------------------------------


def change_a_csi_node(generator: random.Random, storage: Storage) -> None:
    node = _one(generator, storage.of("CSINode"))
    if generator.random() < 0.5:
        plugins = generator.sample(PLUGINS, 3)
        key = "storage.alpha.kubernetes.io/migrated-plugins"
        node["metadata"].setdefault("annotations", {})[key] = ",".join(f"kubernetes.io/{name}" for name in plugins)
    else:
        node["spec"]["drivers"] = [
            {"name": name, "nodeID": "n", "allocatable": {"count": generator.randint(0, 3)}, "topologyKeys": None}
            for name in generator.sample(CSI_DRIVERS, 2)
        ]


def want_a_driver(generator: random.Random, storage: Storage) -> None:
    name = "csi.example.com"
    for driver in storage.of("CSIDriver"):
        if driver["metadata"]["name"] == name:
            driver["spec"]["preventPodSchedulingIfMissing"] = True


def change_a_class(generator: random.Random, storage: Storage) -> None:
    if not any(item["metadata"]["name"] == "in-tree" for item in storage.of("StorageClass")):
        storage.add(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": {"name": "in-tree"},
                "provisioner": f"kubernetes.io/{generator.choice(PLUGINS)}",
                "volumeBindingMode": "WaitForFirstConsumer",
            }
        )
    elif generator.random() < 0.3:
        term = {"matchLabelExpressions": [{"key": "disk", "values": ["ssd"]}, {"key": ZONE, "values": ["zone-a"]}]}
        _one(generator, storage.of("StorageClass"))["allowedTopologies"] = [term]


def attach_a_volume(generator: random.Random, storage: Storage) -> None:
    volumes = storage.of("PersistentVolume")
    if volumes:
        storage.add(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "VolumeAttachment",
                "metadata": {"name": f"more-{storage.n_added}"},
                "spec": {
                    "attacher": generator.choice(CSI_DRIVERS),
                    "nodeName": generator.choice(storage.node_names),
                    "source": {"persistentVolumeName": generator.choice(volumes)["metadata"]["name"]},
                },
            }
        )


def nominate_a_pod(generator: random.Random, storage: Storage) -> None:
    pending = [pod for pod in storage.pods if not pod["spec"].get("nodeName")]
    # The oracle takes errors in its dry run of preemption for its own, and claims made for other pods cause them.
    pod = _one(generator, [pod for pod in pending if not any("ephemeral" in v for v in pod["spec"]["volumes"])])
    pod["spec"]["priority"] = generator.choice([0, 100, 1000])
    pod["status"] = {"nominatedNodeName": generator.choice(storage.node_names)}


CHANGES: tuple[Change, ...] = (
    change_a_claim,
    change_a_claim,
    annotate_a_claim,
    remove_something,
    use_another_claim,
    use_another_claim,
    add_local_claims,
    add_local_claims,
    change_a_volume,
    change_a_volume,
    make_a_volume_in_tree,
    add_an_inline_volume,
    change_a_csi_node,
    want_a_driver,
    change_a_class,
    attach_a_volume,
    nominate_a_pod,
)

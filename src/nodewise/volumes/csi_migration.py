"""How volumes of in-tree drivers look to the CSI drivers that took their place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from nodewise.api.meta import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from nodewise.api.objects import Volume, replace
from nodewise.api.storage import CSINode, PersistentVolume, PersistentVolumeSpec

MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"
"""The annotation of a CSINode that lists them."""

_ZONE, _REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
_BETA_ZONE, _BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
_ZONE_DELIMITER = "__"
_UNSPECIFIED = "UNSPECIFIED"
_AWS_VOLUME = re.compile(r"vol-[^/]*")

EBS, GCE_PD, CINDER = "kubernetes.io/aws-ebs", "kubernetes.io/gce-pd", "kubernetes.io/cinder"
AZURE_DISK, AZURE_FILE = "kubernetes.io/azure-disk", "kubernetes.io/azure-file"
PORTWORX, VSPHERE = "kubernetes.io/portworx-volume", "kubernetes.io/vsphere-volume"

CSI_DRIVER = {
    GCE_PD: "pd.csi.storage.gke.io",
    EBS: "ebs.csi.aws.com",
    CINDER: "cinder.csi.openstack.org",
    AZURE_DISK: "disk.csi.azure.com",
    AZURE_FILE: "file.csi.azure.com",
    VSPHERE: "csi.vsphere.vmware.com",
    PORTWORX: "pxd.portworx.com",
}
"""In-tree plugin to the CSI driver that has its volumes now."""
ALWAYS_MIGRATED = frozenset({EBS, GCE_PD, AZURE_DISK, CINDER, PORTWORX})
"""Plugins whose volumes are the CSI driver's wherever there is a CSINode."""
_TOPOLOGY_KEY = {
    EBS: "topology.ebs.csi.aws.com/zone",
    GCE_PD: "topology.gke.io/zone",
    CINDER: "topology.cinder.csi.openstack.org/zone",
}


@dataclass(frozen=True, slots=True)
class CSIVolume:
    """A volume as its CSI driver knows it."""

    driver: str
    handle: str


class TranslationError(ValueError):
    """A volume of an in-tree driver has no CSI form; the text is that of csi-translation-lib."""


def in_tree_plugin(source: Volume | PersistentVolumeSpec) -> str:
    """Return the in-tree plugin of a volume that has a CSI form, "" for any other volume."""
    if source.gce_persistent_disk is not None:
        return GCE_PD
    if source.aws_elastic_block_store is not None:
        return EBS
    if source.cinder is not None:
        return CINDER
    if source.azure_disk is not None:
        return AZURE_DISK
    if source.azure_file is not None:
        return AZURE_FILE
    if source.vsphere_volume is not None:
        return VSPHERE
    return PORTWORX if source.portworx_volume is not None else ""


def is_migrated_on(plugin: str, csi_node: CSINode | None) -> bool:
    """Tell whether a node's annotation says that it has moved a plugin to CSI (isPluginMigratedToCSIOnNode)."""
    if csi_node is None:
        return False
    return plugin in csi_node.metadata.annotations.get(MIGRATED_PLUGINS, "").split(",")


def translated_inline(volume: Volume) -> CSIVolume:
    """Return the CSI form of a pod's own in-tree volume, one of a plugin in `ALWAYS_MIGRATED`.

    Raises
    ------
    TranslationError
    """
    plugin = in_tree_plugin(volume)
    if volume.gce_persistent_disk is not None:
        disk = volume.gce_persistent_disk.pd_name
        return CSIVolume(CSI_DRIVER[plugin], f"projects/{_UNSPECIFIED}/zones/{_UNSPECIFIED}/disks/{disk}")
    return CSIVolume(CSI_DRIVER[plugin], _handle(volume))


def driver_of_inline(volume: Volume) -> str:
    """Return the CSI driver that has a pod's own in-tree volume now.

    Raises
    ------
    TranslationError
        When the volume has no CSI form.
    """
    plugin = in_tree_plugin(volume)
    return translated_inline(volume).driver if plugin in ALWAYS_MIGRATED else CSI_DRIVER[plugin]


def translated_volume(volume: PersistentVolume) -> CSIVolume:
    """Return the CSI form of a PersistentVolume of a plugin in `ALWAYS_MIGRATED`.

    Raises
    ------
    TranslationError
    """
    plugin = in_tree_plugin(volume.spec)
    if volume.spec.gce_persistent_disk is not None:
        return CSIVolume(CSI_DRIVER[plugin], _gce_handle(volume))
    return CSIVolume(CSI_DRIVER[plugin], _handle(volume.spec))


def translated_affinity(volume: PersistentVolume) -> NodeSelector | None:
    """Return the node affinity that the CSI form of a volume has (translateTopologyFromInTreeToCSI).

    Raises
    ------
    TranslationError
        When the volume has no CSI form at all.
    """
    translated_volume(volume)
    affinity = volume.spec.node_affinity
    required = affinity.required if affinity is not None else None
    key = _TOPOLOGY_KEY.get(in_tree_plugin(volume.spec))
    if key is None:
        return required
    zone_key, region_key = _topology_labels(volume, required)
    if _values_of(required, zone_key):
        required = _renamed(required, zone_key, key)
    elif zone_key in volume.metadata.labels:
        zones = {zone.strip() for zone in volume.metadata.labels[zone_key].split(_ZONE_DELIMITER)} - {""}
        if zones:
            required = _with_zones(required, NodeSelectorRequirement(key, "In", tuple(sorted(zones))))
    if region_key == _BETA_REGION and _values_of(required, region_key):
        required = _renamed(required, region_key, _REGION)
    return required


def _handle(source: Volume | PersistentVolumeSpec) -> str:
    if source.aws_elastic_block_store is not None:
        return _ebs_volume_id(source.aws_elastic_block_store.volume_id)
    if source.azure_disk is not None:
        kind = source.azure_disk.kind
        if kind is not None and kind.casefold() != "managed":
            raise TranslationError(f"kind({kind}) is not supported in csi migration")
        return source.azure_disk.disk_uri
    if source.cinder is not None:
        return source.cinder.volume_id
    if source.portworx_volume is not None:
        return source.portworx_volume.volume_id
    raise AssertionError("only asked about volumes that have a CSI form")


def _ebs_volume_id(text: str) -> str:
    """Read `aws://zone/vol-1`, `aws:///vol-1` or just `vol-1` (KubernetesVolumeIDToEBSVolumeID)."""
    if not text.startswith("aws://"):
        return text
    volume_id = _split(text).path.strip("/")
    if not _AWS_VOLUME.fullmatch(volume_id):
        raise TranslationError(
            f"failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume ({text})"
        )
    return volume_id


def _split(text: str) -> SplitResult:
    try:
        return urlsplit(text)
    except ValueError as error:
        message = f"failed to translate Kubernetes ID to EBS Volume ID Invalid disk name ({text}): {error}"
        raise TranslationError(message) from error


def _gce_handle(volume: PersistentVolume) -> str:
    assert volume.spec.gce_persistent_disk is not None
    disk = volume.spec.gce_persistent_disk.pd_name
    labels = volume.metadata.labels
    text = labels.get(_BETA_ZONE) or labels.get(_ZONE, "")
    zones = text.split(_ZONE_DELIMITER)
    if len(zones) > 1:
        return f"projects/{_UNSPECIFIED}/regions/{_gce_region(zones)}/disks/{disk}"
    return f"projects/{_UNSPECIFIED}/zones/{zones[0] or _UNSPECIFIED}/disks/{disk}"


def _gce_region(zones: list[str]) -> str:
    regions = set()
    for zone in zones:
        parts = zone.split("-")
        if len(parts) != 3:
            message = f"zone in unexpected format, expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"
            raise TranslationError(f"failed to get region from zones: {message}")
        regions.add("-".join(parts[:2]))
    if len(regions) != 1:
        shown = ", ".join(f"{region}:{{}}" for region in sorted(regions))
        message = f"multiple or no regions gotten from zones, got: map[{shown.replace(', ', ' ')}]"
        raise TranslationError(f"failed to get region from zones: {message}")
    return regions.pop()


# --- topology ---------------------------------------------------------------------------------------------------------


def _topology_labels(volume: PersistentVolume, required: NodeSelector | None) -> tuple[str, str]:
    for zone_key, region_key in ((_ZONE, _REGION), (_BETA_ZONE, _BETA_REGION)):
        if _mentions(required, zone_key):
            return zone_key, region_key
    for zone_key, region_key in ((_ZONE, _REGION), (_BETA_ZONE, _BETA_REGION)):
        if zone_key in volume.metadata.labels:
            return zone_key, region_key
    return _ZONE, _REGION


def _terms(required: NodeSelector | None) -> tuple[NodeSelectorTerm, ...]:
    return required.node_selector_terms if required is not None else ()


def _mentions(required: NodeSelector | None, key: str) -> bool:
    return any(expression.key == key for term in _terms(required) for expression in term.match_expressions)


def _values_of(required: NodeSelector | None, key: str) -> bool:
    return any(e.key == key and e.values for term in _terms(required) for e in term.match_expressions)


def _renamed(required: NodeSelector | None, old: str, new: str) -> NodeSelector:
    return NodeSelector(
        tuple(
            replace(
                term,
                match_expressions=tuple(
                    replace(expression, key=new) if expression.key == old else expression
                    for expression in term.match_expressions
                ),
            )
            for term in _terms(required)
        )
    )


def _with_zones(required: NodeSelector | None, zones: NodeSelectorRequirement) -> NodeSelector:
    terms = _terms(required) or (NodeSelectorTerm(),)
    return NodeSelector(tuple(replace(term, match_expressions=(*term.match_expressions, zones)) for term in terms))

"""Predicates and priorities of kube-scheduler 1.0 to 1.22, and the plugins that came after them."""

from __future__ import annotations

from typing import Final, NamedTuple

FILTERING: Final = ("preFilter", "filter")
SCORING: Final = ("preScore", "score")
BINDING_VOLUMES: Final = (*FILTERING, "reserve", "preBind")

LEAST, MOST, RATIO = "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"
FIT, SPREAD, AFFINITY, INTER_POD = "NodeResourcesFit", "PodTopologySpread", "NodeAffinity", "InterPodAffinity"
RATIO_PRIORITY, LABEL_PRIORITY, SERVICE_PRIORITY = "RequestedToCapacityRatio", "NodeLabel", "ServiceAffinity"
LABEL_PREDICATE, SERVICE_PREDICATE = "CheckNodeLabelPresence", "CheckServiceAffinity"
SELECTOR_SPREAD, EVEN_SPREAD = "SelectorSpreadPriority", "EvenPodsSpreadPriority"


class Successor(NamedTuple):
    """What takes the place of a predicate or priority.

    Attributes
    ----------
    plugins : tuple[str, ...]
        None: nothing does.
    note : str
        What is different, "" for nothing.
    strategy : str
        The scoring strategy of NodeResourcesFit that stands for a priority.
    """

    plugins: tuple[str, ...] = ()
    note: str = ""
    strategy: str = ""


_BY_TAINTS = "conditions of nodes are taints since 1.17: TaintToleration, which is always there, keeps pods off"
_NO_LABELS = "does nothing without its labels"

PREDICATES: Final[dict[str, Successor]] = {
    # in the order in which predicates ran
    "CheckNodeCondition": Successor(("TaintToleration", "NodeUnschedulable"), _BY_TAINTS),
    "CheckNodeUnschedulable": Successor(("NodeUnschedulable",)),
    "GeneralPredicates": Successor((FIT, "NodeName", "NodePorts", AFFINITY)),
    "HostName": Successor(("NodeName",)),
    "PodFitsHostPorts": Successor(("NodePorts",)),
    "MatchNodeSelector": Successor((AFFINITY,)),
    "PodFitsResources": Successor((FIT,)),
    "NoDiskConflict": Successor(("VolumeRestrictions",)),
    "PodToleratesNodeTaints": Successor(("TaintToleration",)),
    "PodToleratesNodeNoExecuteTaints": Successor(
        ("TaintToleration",), "TaintToleration looks at NoSchedule taints as well"
    ),
    LABEL_PREDICATE: Successor((), _NO_LABELS),
    SERVICE_PREDICATE: Successor((), _NO_LABELS),
    # disks of these kinds are counted by their CSI drivers
    "MaxEBSVolumeCount": Successor(("NodeVolumeLimits",)),
    "MaxGCEPDVolumeCount": Successor(("NodeVolumeLimits",)),
    "MaxCSIVolumeCountPred": Successor(("NodeVolumeLimits",)),
    "MaxAzureDiskVolumeCount": Successor(("NodeVolumeLimits",)),
    "MaxCinderVolumeCount": Successor(("NodeVolumeLimits",)),
    "CheckVolumeBinding": Successor(("VolumeBinding",)),
    "NoVolumeZoneConflict": Successor(("VolumeZone",)),
    "CheckNodeMemoryPressure": Successor((), _BY_TAINTS),
    "CheckNodePIDPressure": Successor((), _BY_TAINTS),
    "CheckNodeDiskPressure": Successor((), _BY_TAINTS),
    "EvenPodsSpread": Successor((SPREAD,)),
    "MatchInterPodAffinity": Successor((INTER_POD,)),
}
"""Successors at preFilter and filter (VolumeBinding: at reserve and preBind as well), in the order they run."""

PRIORITIES: Final[dict[str, Successor]] = {
    "BalancedResourceAllocation": Successor(("NodeResourcesBalancedAllocation",)),
    EVEN_SPREAD: Successor((SPREAD,)),
    "ImageLocalityPriority": Successor(("ImageLocality",)),
    "InterPodAffinityPriority": Successor((INTER_POD,)),
    "LeastRequestedPriority": Successor((FIT,), strategy=LEAST),
    "MostRequestedPriority": Successor((FIT,), strategy=MOST),
    "NodeAffinityPriority": Successor((AFFINITY,)),
    LABEL_PRIORITY: Successor((AFFINITY,)),
    "NodePreferAvoidPodsPriority": Successor(
        (), "the annotation that it reads is gone since 1.24; taints (PreferNoSchedule) say the same"
    ),
    RATIO_PRIORITY: Successor((FIT,), strategy=RATIO),
    "ResourceLimitsPriority": Successor((), "nothing looks at limits any more"),
    SELECTOR_SPREAD: Successor((SPREAD,)),
    SERVICE_PRIORITY: Successor((SPREAD,)),
    "TaintTolerationPriority": Successor(("TaintToleration",)),
    "EqualPriority": Successor((), "rates all nodes alike, which changes nothing"),
}
"""Successors at preScore and score, in the order of their names, which is that of older versions."""

SHOWN_NAMES: Final = {
    LABEL_PREDICATE: "labelsPresence",
    SERVICE_PREDICATE: "serviceAffinity",
    LABEL_PRIORITY: "labelPreference",
    SERVICE_PRIORITY: "serviceAntiAffinity",
    RATIO_PRIORITY: "requestedToCapacityRatioArguments",
}
"""What people write for predicates and priorities of their own."""

ALIASES: Final = {
    "PodFitsPorts": "PodFitsHostPorts",
    "NewNodeLabelPredicate": LABEL_PREDICATE,
    "ServiceSpreadingPriority": SELECTOR_SPREAD,
}
"""Names that were kept for those who still used them."""

MANDATORY_PREDICATES: Final = ("CheckNodeUnschedulable", "PodToleratesNodeTaints")
"""They ran whatever a policy said (1.12 and later; before that only CheckNodeCondition did)."""

DEFAULT_PREDICATES: Final = (
    "NoVolumeZoneConflict",
    "MaxEBSVolumeCount",
    "MaxGCEPDVolumeCount",
    "MaxAzureDiskVolumeCount",
    "MaxCSIVolumeCountPred",
    "MatchInterPodAffinity",
    "NoDiskConflict",
    "GeneralPredicates",
    "PodToleratesNodeTaints",
    "CheckVolumeBinding",
    "CheckNodeUnschedulable",
    "EvenPodsSpread",
)
"""Those of the providers, and of a policy that does not say."""

DEFAULT_PRIORITIES: Final = {
    SELECTOR_SPREAD: 1,
    "InterPodAffinityPriority": 1,
    "LeastRequestedPriority": 1,
    "BalancedResourceAllocation": 1,
    "NodePreferAvoidPodsPriority": 10_000,
    "NodeAffinityPriority": 1,
    "TaintTolerationPriority": 1,
    "ImageLocalityPriority": 1,
    EVEN_SPREAD: 2,
}
"""Weights of the provider's priorities, and of a policy that does not say."""

DEFAULT_PROVIDER, AUTOSCALER_PROVIDER = "DefaultProvider", "ClusterAutoscalerProvider"
PROVIDERS: Final = {
    DEFAULT_PROVIDER: DEFAULT_PRIORITIES,
    AUTOSCALER_PROVIDER: {
        "MostRequestedPriority" if name == "LeastRequestedPriority" else name: weight
        for name, weight in DEFAULT_PRIORITIES.items()
    },
}
"""The algorithm providers' priorities; their predicates are the same."""

"""The states of a pod in the scheduler cache, and the answers to operations that do not fit a state.

::

                assume_pod                   add_pod (the confirmation)
    Initial -----------------> Assumed --------------------------------> Added ---+
     |   ^                     |     |                                   ^ |  ^   | update_pod
     |   +---------------------+     | cleanup (only with expiry)        | |  +---+
     |     forget_pod                v                                   | |
     |     remove_assumed_pod     Expired -------------------------------+ |
     |     remove_pod                     add_pod (a late confirmation)  | | remove_pod
     |                                                                   | v
     +-------------------------------------------------------------------+ Deleted
                       add_pod (bound already: start-up, other schedulers, static pods)

Initial, Expired and Deleted are one state for the cache: it knows nothing of such a pod, and its uid may come again.

================================  =================  =================================================================
Operation                         State              Answer
================================  =================  =================================================================
assume_pod                        Assumed, Added     error
forget_pod, remove_assumed_pod    unknown            nothing happens (an error in `CacheRules.KUBE_1_22`)
forget_pod, remove_assumed_pod    Assumed elsewhere  error
forget_pod, remove_assumed_pod    Added              error
add_pod                           Assumed elsewhere  the API's node wins; logged and counted
add_pod                           Added              error
update_pod                        unknown, Expired   error
update_pod                        Assumed            error
update_pod to another node        Added              the pod moves; logged and counted (kube-scheduler 1.37 exits)
update_pod to another uid         any                the old pod goes, the new one comes; logged and counted
remove_pod                        unknown            error
remove_pod                        Assumed            the pod goes (an error in `CacheRules.KUBE_1_22`)
remove_pod naming another node    Assumed, Added     the pod goes; logged and counted (kube-scheduler 1.37 exits)
finish_binding                    unknown, Added     nothing happens
================================  =================  =================================================================
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from nodewise.errors import CacheError
from nodewise.state.pod_info import PodInfo


class PodPhase(enum.Enum):
    """Where a pod is in the diagram of this module; a pod of which the cache knows nothing has no phase."""

    ASSUMED = "Assumed"
    ADDED = "Added"


@dataclass(frozen=True, slots=True)
class PodState:
    """What the cache knows of a pod, at the time of asking.

    Attributes
    ----------
    pod : PodInfo
        The pod as it is counted on its node.
    phase : PodPhase
    is_binding_finished : bool
        Whether `finish_binding` was called; always False for an added pod.
    deadline_s : float | None
        When an assumed pod expires; None: not, or not yet known.
    """

    pod: PodInfo
    phase: PodPhase
    is_binding_finished: bool = False
    deadline_s: float | None = None


@dataclass(frozen=True, slots=True)
class AssumedPodExpiry:
    """When assumed pods are given up whose confirmation does not come.

    kube-scheduler has had no such thing for some releases before 1.37: there an assumed pod holds its place until it
    is confirmed or deleted. The defaults here are those of versions up to about 1.22.

    Attributes
    ----------
    ttl_s : float
        Seconds from the end of binding; 0: never.
    sweep_period_s : float
        How often the owner of the cache is to call `SchedulerCache.cleanup`.
    """

    ttl_s: float = 30.0
    sweep_period_s: float = 1.0


class CacheRules(enum.Enum):
    """Whose answers the cache gives where versions of kube-scheduler differ."""

    KUBE_1_37 = "1.37"
    KUBE_1_22 = "1.22"
    """Forgetting an unknown pod and removing an assumed one are errors; texts name pods by their uid alone."""


@dataclass(slots=True)
class CacheCounters:
    """How often something happened that should be rare, since the cache was made; for metrics."""

    n_expired: int = 0
    n_confirmed_elsewhere: int = 0
    n_moved: int = 0
    n_replaced: int = 0
    n_removed_elsewhere: int = 0
    n_snapshot_repairs: int = 0


@dataclass(frozen=True, slots=True)
class CacheSizes:
    """What is in the cache now: the label values of kube-scheduler's metric scheduler_cache_size."""

    assumed_pods: int
    pods: int
    nodes: int


class PodStateError(CacheError):
    """An operation does not fit the state that a pod is in; the text is kube-scheduler's.

    Attributes
    ----------
    uid, key : str
        The pod.
    phase : PodPhase | None
        Its state; None: the cache does not know it.
    node_name : str
        Where the cache has it; empty when it is not known.
    """

    def __init__(
        self, pod: PodInfo, text: str, known: PodInfo | None, phase: PodPhase | None, rules: CacheRules
    ) -> None:
        named = pod.uid if rules is CacheRules.KUBE_1_22 else f"{pod.uid}({pod.key})"
        super().__init__(text.format(pod=named))
        self.uid = pod.uid
        self.key = pod.key
        self.phase = phase
        self.node_name = known.node_name if known is not None else ""


KNOWN_SO_NOT_ASSUMED = "pod {pod} is in the cache, so can't be assumed"
ASSUMED_ELSEWHERE = "pod {{pod}} was assumed on {asked} but assigned to {known}"
NOT_ASSUMED = "pod {pod} is not assumed, so it cannot be removed or forgotten"
NOT_ASSUMED_1_22 = "pod {pod} wasn't assumed so cannot be forgotten"
ALREADY_ADDED = "pod {pod} was already in added state"
UPDATE_OF_UNKNOWN = "pod {pod} is not added to scheduler cache, so cannot be updated"
UPDATE_OF_ASSUMED = "assumed pod {pod} should not be updated"
REMOVAL_OF_UNKNOWN = "pod {pod} is not found in scheduler cache, so cannot be removed from it"
UNKNOWN = "pod {pod} does not exist in scheduler cache"
NO_UID = "cannot get cache key for pod with empty UID"

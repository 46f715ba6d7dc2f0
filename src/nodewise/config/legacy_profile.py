"""Sets of predicates and priorities, turned into a profile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nodewise.config.errors import ConfigError
from nodewise.config.go_text import quote
from nodewise.config.legacy_names import (
    AFFINITY,
    ALIASES,
    BINDING_VOLUMES,
    FILTERING,
    FIT,
    INTER_POD,
    LABEL_PREDICATE,
    LABEL_PRIORITY,
    LEAST,
    MANDATORY_PREDICATES,
    PREDICATES,
    PRIORITIES,
    RATIO,
    RATIO_PRIORITY,
    SCORING,
    SELECTOR_SPREAD,
    SERVICE_PREDICATE,
    SERVICE_PRIORITY,
    SHOWN_NAMES,
    SPREAD,
)
from nodewise.config.plugins import IN_TREE_POINTS

Document = dict[str, Any]
LATER_PLUGINS = ("DynamicResources", "NodeDeclaredFeatures")
_ALWAYS: dict[str, tuple[str, ...]] = {
    "preEnqueue": ("SchedulingGates", "DefaultPreemption"),
    "queueSort": ("PrioritySort",),
    "postFilter": ("DefaultPreemption",),
    "bind": ("DefaultBinder",),
}
_SYSTEM_CONSTRAINTS = (("kubernetes.io/hostname", 3), ("topology.kubernetes.io/zone", 5))


@dataclass(slots=True)
class LegacyAlgorithm:
    """A scheduler as it was made from keys.

    Attributes
    ----------
    predicates : list[str]
    priorities : dict[str, int]
        Weights by name.
    present_labels, absent_labels : list[str]
        A node must have them all, or none (labelsPresence).
    preferred_labels : list[tuple[str, bool]]
        Labels that a node had better have, or not have (labelPreference).
    spread_labels : list[str]
        A service's pods are spread over their values (serviceAntiAffinity).
    ratio : Mapping[str, Any] | None
        Shape and resources (requestedToCapacityRatioArguments).
    hard_affinity_weight : int | None
        hardPodAffinitySymmetricWeight.
    preempts : bool
    bind_timeout_seconds : int | None
    """

    predicates: list[str] = field(default_factory=list)
    priorities: dict[str, int] = field(default_factory=dict)
    present_labels: list[str] = field(default_factory=list)
    absent_labels: list[str] = field(default_factory=list)
    preferred_labels: list[tuple[str, bool]] = field(default_factory=list)
    spread_labels: list[str] = field(default_factory=list)
    ratio: Mapping[str, Any] | None = None
    hard_affinity_weight: int | None = None
    preempts: bool = True
    bind_timeout_seconds: int | None = None


def known_predicate(name: str) -> str:
    """Return the name that a predicate goes by.

    Raises
    ------
    ConfigError
        With the text of older versions, when there was none of this name.
    """
    known = ALIASES.get(name, name)
    if known not in PREDICATES:
        raise ConfigError(f"predicate type not found for {quote(name)}")
    return known


def known_priority(name: str) -> str:
    """Return the name that a priority goes by.

    Raises
    ------
    ConfigError
        With the text of older versions, when there was none of this name.
    """
    known = ALIASES.get(name, name)
    if known not in PRIORITIES:
        raise ConfigError(f"priority type not found for {quote(name)}")
    return known


class ProfileMaker:
    """Makes the profile of one algorithm, and notes what cannot be said in it."""

    def __init__(self, algorithm: LegacyAlgorithm) -> None:
        self._algorithm = algorithm
        self._points: dict[str, dict[str, int]] = {point: dict.fromkeys(names, 0) for point, names in _ALWAYS.items()}
        self._args: dict[str, Document] = {}
        self.notes: list[str] = []
        if not algorithm.preempts:
            del self._points["postFilter"]
            del self._points["preEnqueue"]["DefaultPreemption"]

    def make(self, scheduler_name: str | None = None) -> Document:
        """Return the profile."""
        self._add_predicates()
        self._add_priorities()
        self._set_arguments()
        self.notes.append(f"plugins that came later are not in the profile: {', '.join(LATER_PLUGINS)}")
        plugins: Document = {"multiPoint": {"disabled": [{"name": "*"}]}}
        for point in (*_ALWAYS, *BINDING_VOLUMES, *SCORING):
            refs = self._points.get(point)
            if refs:
                plugins[point] = {
                    "enabled": [
                        {"name": name} | ({"weight": weight} if weight else {}) for name, weight in refs.items()
                    ]
                }
        profile: Document = {} if scheduler_name is None else {"schedulerName": scheduler_name}
        profile["plugins"] = plugins
        if self._args:
            profile["pluginConfig"] = [{"name": name, "args": args} for name, args in sorted(self._args.items())]
        return profile

    # --- predicates ---------------------------------------------------------------------------------------------------

    def _add_predicates(self) -> None:
        algorithm = self._algorithm
        has_labels = bool(algorithm.present_labels or algorithm.absent_labels)
        for name in PREDICATES:
            if name not in algorithm.predicates and name not in MANDATORY_PREDICATES:
                continue
            if name == LABEL_PREDICATE and has_labels:
                self._enable(AFFINITY, FILTERING)
                continue
            if name == SERVICE_PREDICATE and algorithm.predicates.count(name):
                self._note(
                    name, "nothing keeps a service's pods together by labels of nodes; podAffinity of the pods can"
                )
                continue
            successor = PREDICATES[name]
            for plugin in successor.plugins:
                self._enable(plugin, BINDING_VOLUMES if plugin == "VolumeBinding" else FILTERING)
            if successor.note and name in algorithm.predicates:
                self._note(name, successor.note, has_successor=bool(successor.plugins))
        if has_labels and not {"MatchNodeSelector", "GeneralPredicates"} & set(algorithm.predicates):
            self._note(LABEL_PREDICATE, "NodeAffinity checks the node selectors of pods as well", has_successor=True)

    def _enable(self, plugin: str, points: Sequence[str], weight: int = 0) -> None:
        for point in points:
            if point in IN_TREE_POINTS[plugin]:
                self._points.setdefault(point, {}).setdefault(plugin, weight if point == "score" else 0)

    def _note(self, name: str, text: str, *, has_successor: bool = False) -> None:
        shown = SHOWN_NAMES.get(name, name)
        self.notes.append(f"{shown}: {text}" if has_successor else f"{shown} has no successor: {text}")

    # --- priorities ---------------------------------------------------------------------------------------------------

    def _add_priorities(self) -> None:
        priorities = self._algorithm.priorities
        scoring_fit = [name for name in PRIORITIES if name in priorities and PRIORITIES[name].strategy]
        kept_fit = max(scoring_fit, key=lambda name: priorities[name], default="")
        for name, successor in PRIORITIES.items():
            if name not in priorities:
                continue
            if not successor.plugins:
                self._note(name, successor.note)
                continue
            if successor.strategy and name != kept_fit:
                self._note(name, f"NodeResourcesFit has one scoring strategy, that of {kept_fit}")
                continue
            weight = priorities[name]
            for plugin in successor.plugins:
                known = self._points.get("score", {}).get(plugin)
                if known is not None and known != weight and name != SELECTOR_SPREAD:
                    # With EvenPodsSpreadPriority beside it, SelectorSpreadPriority never had a weight of its own.
                    self._note(
                        name, f"{plugin} has the weight of another priority already, {known}", has_successor=True
                    )
                self._enable(plugin, SCORING, weight)
        self._set_strategy(PRIORITIES[kept_fit].strategy if kept_fit else LEAST)

    def _set_strategy(self, strategy: str) -> None:
        if strategy == LEAST:
            return
        scoring: Document = {"type": strategy}
        ratio = self._algorithm.ratio
        if strategy == RATIO and ratio is not None:
            scoring |= {"resources": ratio["resources"]} if ratio.get("resources") else {}
            scoring["requestedToCapacityRatio"] = {"shape": ratio.get("shape") or []}
        self._args[FIT] = {"scoringStrategy": scoring}

    # --- arguments ----------------------------------------------------------------------------------------------------

    def _set_arguments(self) -> None:
        algorithm = self._algorithm
        enabled = {name for refs in self._points.values() for name in refs}
        if algorithm.hard_affinity_weight is not None and INTER_POD in enabled:
            self._args[INTER_POD] = {"hardPodAffinityWeight": algorithm.hard_affinity_weight}
        if algorithm.bind_timeout_seconds is not None and "VolumeBinding" in enabled:
            self._args["VolumeBinding"] = {"bindTimeoutSeconds": algorithm.bind_timeout_seconds}
        self._set_added_affinity()
        if SPREAD in self._points.get("score", {}):
            self._set_spreading()

    def _set_added_affinity(self) -> None:
        algorithm = self._algorithm
        required = [_has_label(label, present=True) for label in algorithm.present_labels]
        required += [_has_label(label, present=False) for label in algorithm.absent_labels]
        affinity: Document = {}
        if required:
            terms = [{"matchExpressions": required}]
            affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
        if algorithm.preferred_labels and LABEL_PRIORITY in algorithm.priorities:
            affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
                {"weight": 1, "preference": {"matchExpressions": [_has_label(label, present=present)]}}
                for label, present in algorithm.preferred_labels
            ]
            self._note(
                LABEL_PRIORITY, "as addedAffinity it is weighed together with what pods prefer", has_successor=True
            )
        if affinity:
            self._args[AFFINITY] = {"addedAffinity": affinity}

    def _set_spreading(self) -> None:
        """Say what pods without constraints of their own are spread by."""
        algorithm = self._algorithm
        by_selector = SELECTOR_SPREAD in algorithm.priorities
        by_label = SERVICE_PRIORITY in algorithm.priorities and bool(algorithm.spread_labels)
        if not by_label:
            if not by_selector:
                self._args[SPREAD] = {"defaultingType": "List"}
            return
        constraints = [_soft_constraint(key, skew) for key, skew in _SYSTEM_CONSTRAINTS if by_selector]
        constraints += [_soft_constraint(label, 1) for label in algorithm.spread_labels]
        self._args[SPREAD] = {"defaultingType": "List", "defaultConstraints": constraints}
        note = "as default constraints they count by zones of a label, for controllers' pods as well as services'"
        self._note(SERVICE_PRIORITY, note, has_successor=True)


def _has_label(key: str, *, present: bool) -> Document:
    return {"key": key, "operator": "Exists" if present else "DoesNotExist"}


def _soft_constraint(key: str, max_skew: int) -> Document:
    return {"maxSkew": max_skew, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway"}


def algorithm_of_keys(predicates: Iterable[str], priorities: Mapping[str, int]) -> LegacyAlgorithm:
    """Return the algorithm of plain names (CreateFromKeys).

    Raises
    ------
    ConfigError
        With the text of older versions, for a name that there never was.
    """
    known = {known_priority(name): weight for name, weight in priorities.items()}
    for name in (LABEL_PRIORITY, SERVICE_PRIORITY, RATIO_PRIORITY):
        if name in known:
            raise ConfigError(f"priority type not found for {quote(name)}")
    return LegacyAlgorithm([known_predicate(name) for name in predicates], known)

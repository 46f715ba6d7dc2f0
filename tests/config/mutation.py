"""Configurations with mistakes: random changes to one that kube-scheduler takes."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

from nodewise.config.plugins import CONSTRUCTION_ORDER, IN_TREE_POINTS

Tree = dict[str, Any]
HEADER = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}

_TERM = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
_FIELD_TERM = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
_CONSTRAINT = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
_SHAPE = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
_RATIO = {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": _SHAPE}}
ARGS: dict[str, list[Tree]] = {
    "DefaultPreemption": [{"minCandidateNodesPercentage": 5, "minCandidateNodesAbsolute": 7}],
    "InterPodAffinity": [{"hardPodAffinityWeight": 3, "ignorePreferredTermsOfExistingPods": True}],
    "NodeAffinity": [
        {
            "addedAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_TERM, _FIELD_TERM]},
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 2, "preference": _TERM}],
            }
        }
    ],
    "NodeResourcesBalancedAllocation": [{"resources": [{"name": "cpu", "weight": 1}, {"name": "example.com/gpu"}]}],
    "NodeResourcesFit": [
        {"ignoredResources": ["example.com/a"], "ignoredResourceGroups": ["example.org"]},
        {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 3}]}},
        {"scoringStrategy": _RATIO},
    ],
    "PodTopologySpread": [
        {"defaultingType": "List", "defaultConstraints": [_CONSTRAINT, {**_CONSTRAINT, "topologyKey": "rack"}]}
    ],
    "VolumeBinding": [{"bindTimeoutSeconds": 60, "shape": _SHAPE}],
    "DynamicResources": [{"filterTimeout": "3s", "bindingTimeout": "1m30s"}],
}
_LEADER_ELECTION = {
    "leaderElect": True,
    "leaseDuration": "20s",
    "renewDeadline": "15s",
    "retryPeriod": "3s",
    "resourceLock": "leases",
    "resourceName": "mine",
    "resourceNamespace": "default",
}
_CLIENT_CONNECTION = {"kubeconfig": "a", "acceptContentTypes": "b", "contentType": "c", "qps": 30.5, "burst": 70}
_EXTENDER = {
    "urlPrefix": "http://127.0.0.1:1/x",
    "filterVerb": "filter",
    "prioritizeVerb": "prioritize",
    "weight": 2,
    "httpTimeout": "2s",
    "nodeCacheCapable": True,
    "managedResources": [{"name": "example.com/a", "ignoredByScheduler": True}],
    "ignorable": True,
}
_ODD_VALUES: tuple[Any, ...] = (
    None,
    0,
    1,
    -1,
    101,
    2.5,
    10**12,
    True,
    "",
    "x",
    "a b",
    "15s",
    "leases",
    "-2s",
    "Foo",
    "<&>",
    [],
    {},
    [1],
    {"x": 1},
    ["a/b"],
)


def random_configuration(random: Random) -> Tree:
    """Make a configuration that kube-scheduler takes, with something about every part of it."""
    tree: Tree = dict(HEADER)
    for name, value in (
        ("parallelism", 8),
        ("leaderElection", _LEADER_ELECTION),
        ("clientConnection", _CLIENT_CONNECTION),
        ("enableProfiling", False),
        ("enableContentionProfiling", True),
        ("percentageOfNodesToScore", 40),
        ("podInitialBackoffSeconds", 2),
        ("podMaxBackoffSeconds", 20),
        ("extenders", [_EXTENDER]),
        ("delayCacheUntilActive", True),
    ):
        if random.random() < 0.4:
            tree[name] = copy.deepcopy(value)
    n_profiles = random.choice((0, 1, 1, 1, 2))
    if n_profiles:
        tree["profiles"] = [random_profile(random, f"scheduler-{number}") for number in range(n_profiles)]
    return tree


def random_profile(random: Random, name: str) -> Tree:
    """Make a profile: plugins moved, weighted and left out, arguments."""
    profile: Tree = {"schedulerName": name}
    if random.random() < 0.3:
        profile["percentageOfNodesToScore"] = 30
    if random.random() < 0.6:
        profile["plugins"] = random_plugins(random)
    if random.random() < 0.7:
        configured = random.sample(sorted(ARGS), random.randint(1, 3))
        profile["pluginConfig"] = [
            {"name": plugin, "args": copy.deepcopy(random.choice(ARGS[plugin]))} for plugin in configured
        ]
    return profile


def random_plugins(random: Random) -> Tree:
    plugins: Tree = {}
    for point in random.sample(CONSTRUCTION_ORDER, 2):
        fitting = sorted(name for name, points in IN_TREE_POINTS.items() if point in points)
        if point in ("queueSort", "bind") or not fitting:
            continue
        enabled = random.sample(fitting, random.randint(0, min(2, len(fitting))))
        disabled = random.sample(fitting, random.randint(0, min(2, len(fitting))))
        plugins[point] = {
            "enabled": [{"name": name, "weight": random.randint(1, 9)} for name in enabled],
            "disabled": [{"name": name} for name in disabled],
        }
    if random.random() < 0.3:
        plugins["multiPoint"] = {
            "enabled": [{"name": "NodeAffinity", "weight": 4}],
            "disabled": [{"name": "NodePorts"}],
        }
    return plugins


def mutated(random: Random, tree: Tree) -> Tree:
    """Return a copy with one to three changes anywhere."""
    tree = copy.deepcopy(tree)
    for _ in range(random.randint(1, 3)):
        places = list(_places(tree))
        if not places:
            break
        container, key = random.choice(places)
        _change(random, container, key)
    return tree


def _places(value: Any) -> list[tuple[Any, Any]]:
    """List every place in a tree but its head, as container and key."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    found = [(value, key) for key in keys if key not in ("apiVersion", "kind")]
    for key in keys:
        found += _places(value[key])
    return found


def _change(random: Random, container: Any, key: Any) -> None:
    kind = random.randrange(6)
    if kind == 0 and isinstance(container, dict):
        container[random.choice(("foo", "name", "weight", "args", f"{key}x"))] = random.choice(_ODD_VALUES)
    elif kind == 1 and isinstance(container, list):
        container.append(copy.deepcopy(container[key]))
    elif kind == 2:
        del container[key]
    elif kind == 3 and isinstance(container[key], str):
        container[key] = random.choice((f"{container[key]} ", container[key].upper(), *IN_TREE_POINTS))
    else:
        container[key] = copy.deepcopy(random.choice(_ODD_VALUES))

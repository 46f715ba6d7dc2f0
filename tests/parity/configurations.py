"""Random KubeSchedulerConfigurations: other profiles, arguments and weights than the default ones."""

import random
from typing import Any

Json = dict[str, Any]

SCORING = (
    "ImageLocality",
    "InterPodAffinity",
    "NodeAffinity",
    "NodeResourcesBalancedAllocation",
    "NodeResourcesFit",
    "PodTopologySpread",
    "TaintToleration",
    "VolumeBinding",
)
FILTERING = ("NodeName", "NodePorts", "NodeUnschedulable", *SCORING[1:3], *SCORING[4:])
KEYS = ("kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/region", "rack", "disk")
RESOURCES = ("cpu", "memory", "ephemeral-storage", "example.com/gpu", "example.com/fpga", "hugepages-2Mi", "pods")
SECOND_SCHEDULER = "second-scheduler"


def configuration(seed: int) -> Json:
    """Return a configuration, as a document to be written as JSON."""
    generator = random.Random(seed)
    profiles = [_profile(generator, "default-scheduler")]
    if generator.random() < 0.4:
        profiles.append(_profile(generator, SECOND_SCHEDULER))
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": profiles,
        **generator.choice([{}, {"percentageOfNodesToScore": 30}]),
    }


def with_two_schedulers(cluster: Json, seed: int) -> Json:
    """Change a cluster: give about every third pending pod to the second scheduler."""
    generator = random.Random(seed)
    for item in cluster["items"]:
        if item["kind"] == "Pod" and not item["spec"].get("nodeName") and generator.random() < 0.3:
            item["spec"]["schedulerName"] = SECOND_SCHEDULER
    return cluster


def _profile(generator: random.Random, name: str) -> Json:
    profile: Json = {"schedulerName": name}
    arguments = [make(generator) for make in ARGUMENTS if generator.random() < 0.6]
    if arguments:
        profile["pluginConfig"] = [
            {
                "name": kind,
                "args": {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": f"{kind}Args", **args},
            }
            for kind, args in arguments
        ]
    plugins = _plugins(generator)
    if plugins:
        profile["plugins"] = plugins
    if generator.random() < 0.3:
        profile["percentageOfNodesToScore"] = generator.choice([10, 60, 100])
    return profile


# --- which plugins run ------------------------------------------------------------------------------------------------


def _plugins(generator: random.Random) -> Json:
    kind = generator.choice(["default", "weights", "weights", "points", "points", "none but", "reordered"])
    if kind == "weights":
        chosen = generator.sample(SCORING, generator.randint(1, 4))
        enabled = [{"name": name, "weight": generator.choice([1, 3, 10, 100])} for name in chosen]
        return {"multiPoint": {"enabled": enabled}}
    if kind == "points":
        return _points(generator)
    if kind == "none but":
        scores = generator.sample(SCORING, generator.randint(0, 3))
        enabled = [{"name": name, "weight": generator.randint(1, 5)} for name in scores]
        return {"score": {"disabled": [{"name": "*"}], "enabled": enabled}, **_without_preemption(generator)}
    if kind == "reordered":
        filters = generator.sample(FILTERING, len(FILTERING))
        return {"filter": {"disabled": [{"name": "*"}], "enabled": [{"name": name} for name in filters]}}
    return {}


def _points(generator: random.Random) -> Json:
    plugins: Json = _without_preemption(generator)
    off = generator.sample(SCORING, generator.randint(1, 3))
    plugins["score"] = {"disabled": [{"name": name} for name in off]}
    again = generator.choice(off)
    if generator.random() < 0.5:
        plugins["score"]["enabled"] = [{"name": again, "weight": generator.choice([2, 7])}]
    if generator.random() < 0.5:
        plugins["filter"] = {"disabled": [{"name": generator.choice(FILTERING)}]}
    if generator.random() < 0.3:
        # not the one that scores again: without its PreScore, kube-scheduler fails every pod
        name = next(n for n in ("ImageLocality", "TaintToleration") if n != again)
        plugins["multiPoint"] = {"disabled": [{"name": name}]}
    return plugins


def _without_preemption(generator: random.Random) -> Json:
    return {"postFilter": {"disabled": [{"name": "*"}]}} if generator.random() < 0.3 else {}


# --- arguments --------------------------------------------------------------------------------------------------------


def _resources(generator: random.Random, names: tuple[str, ...], *, weight_at_most: int) -> list[Json]:
    chosen = generator.sample(names, generator.randint(1, len(names)))
    return [{"name": name, "weight": generator.randint(1, weight_at_most)} for name in chosen]


def _fit(generator: random.Random) -> tuple[str, Json]:
    args: Json = {}
    if generator.random() < 0.4:
        args["ignoredResources"] = generator.sample(["example.com/gpu", "example.com/fpga", "other.test/x"], 1)
    if generator.random() < 0.3:
        args["ignoredResourceGroups"] = ["example.com"]
    kind = generator.choice(["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio", "RequestedToCapacityRatio"])
    strategy: Json = {"type": kind}
    if generator.random() < 0.8:
        strategy["resources"] = _resources(generator, RESOURCES[:-1], weight_at_most=9)
    if kind == "RequestedToCapacityRatio":
        at = sorted(generator.sample(range(101), generator.randint(1, 4)))
        shape = [{"utilization": utilization, "score": generator.randint(0, 10)} for utilization in at]
        strategy["requestedToCapacityRatio"] = {"shape": shape}
    if generator.random() < 0.9:
        args["scoringStrategy"] = strategy
    return "NodeResourcesFit", args


def _balance(generator: random.Random) -> tuple[str, Json]:
    return "NodeResourcesBalancedAllocation", {"resources": _resources(generator, RESOURCES[:-1], weight_at_most=1)}


def _inter_pod_affinity(generator: random.Random) -> tuple[str, Json]:
    return "InterPodAffinity", {
        "hardPodAffinityWeight": generator.choice([0, 1, 50, 100]),
        "ignorePreferredTermsOfExistingPods": generator.random() < 0.5,
    }


def _spread(generator: random.Random) -> tuple[str, Json]:
    if generator.random() < 0.2:
        return "PodTopologySpread", {"defaultingType": "System"}
    pairs = [(key, when) for key in KEYS for when in ("DoNotSchedule", "ScheduleAnyway")]
    constraints = []
    for key, when in generator.sample(pairs, generator.randint(0, 3)):
        constraint = {"maxSkew": generator.randint(1, 5), "topologyKey": key, "whenUnsatisfiable": when}
        for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if generator.random() < 0.3:
                constraint[policy] = generator.choice(["Honor", "Ignore"])
        constraints.append(constraint)
    return "PodTopologySpread", {"defaultingType": "List", "defaultConstraints": constraints}


def _node_affinity(generator: random.Random) -> tuple[str, Json]:
    added: Json = {}
    if generator.random() < 0.6:
        expression = generator.choice(
            [
                {"key": "disk", "operator": "In", "values": ["ssd", "hdd"]},
                {"key": "rack", "operator": "Exists"},
                {"key": "generation", "operator": "Gt", "values": ["2"]},
                {"key": "special", "operator": "DoesNotExist"},
            ]
        )
        added["requiredDuringSchedulingIgnoredDuringExecution"] = {
            "nodeSelectorTerms": [{"matchExpressions": [expression]}]
        }
    if generator.random() < 0.7:
        preference = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
        added["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": generator.choice([1, 40, 100]), "preference": preference}
        ]
    return "NodeAffinity", {"addedAffinity": added} if added else {}


def _preemption(generator: random.Random) -> tuple[str, Json]:
    # Enough for every node of the clusters here: with fewer, kube-scheduler starts at a random node.
    percentage, absolute = generator.choice([(100, 0), (0, 100), (10, 200), (100, 100)])
    return "DefaultPreemption", {"minCandidateNodesPercentage": percentage, "minCandidateNodesAbsolute": absolute}


def _volume_binding(generator: random.Random) -> tuple[str, Json]:
    at = sorted(generator.sample(range(101), generator.randint(1, 4)))
    shape = [{"utilization": utilization, "score": generator.randint(0, 10)} for utilization in at]
    return "VolumeBinding", {"shape": shape}


ARGUMENTS = (_fit, _balance, _inter_pod_affinity, _spread, _node_affinity, _preemption, _volume_binding)

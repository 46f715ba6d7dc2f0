"""The very nodes that kube-scheduler takes among equals, with its own sampling, put beside ``--tie-break kube``."""

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.command import nodewise
from tests.oracle import Oracle, OracleError
from tests.parity.comparison import N_SHOWN
from tests.parity.differences import Difference, given_up_at, placement_differences
from tests.parity.trial import Trial, cluster_file

Json = Mapping[str, Any]
ADAPTIVE, ALL = 0, 100
NOMINATED = "preemption: found a potential placement for pod on node "
NOTHING_BOUND = "nothing was scheduled"
LOOP = "loop --parallelism=1"
PATIENCE_S, LONG_PATIENCE_S = 1.0, 20.0
"""How long `oracle loop` waits for a pod that is still coming; the longer time where the shorter was not enough."""
MAX_RUNS = 8
"""Runs of a loop with resource claims: whether the next pod sees a claim as it was written is a matter of luck."""

# Nobody takes away the victims in `oracle loop`, so nobody is evicted; nobody is tried twice before all were tried.
LOOP_CONFIGURATION = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "podInitialBackoffSeconds": 3600,
    "podMaxBackoffSeconds": 3600,
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "plugins": {"postFilter": {"disabled": [{"name": "DefaultPreemption"}]}},
        }
    ],
}


@dataclass(slots=True)
class ChoiceOutcome:
    """What a comparison of choices found: nothing, when both agree.

    Attributes
    ----------
    title : str
    differences : dict[str, list[Difference]]
        By what was compared.
    notes : list[str]
        Where a comparison ended early, and why.
    n_decisions : int
        Pods whose node, or whose having none, was compared.
    """

    title: str
    differences: dict[str, list[Difference]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    n_decisions: int = 0

    @property
    def is_equal(self) -> bool:
        return not any(self.differences.values())

    def __str__(self) -> str:
        parts = [self.title, *self.notes]
        for what, found in self.differences.items():
            if found:
                parts.append(f"{what}: {len(found)} differences")
                parts += [f"  {difference}" for difference in found[:N_SHOWN]]
        return "\n".join(parts)


def run_choice_trial(oracle: Oracle, trial: Trial) -> ChoiceOutcome:
    """Put one cluster to both and compare every choice."""
    with cluster_file(oracle, trial) as cluster:
        return compare_choices(oracle, cluster, f"{trial}\n  {trial.command}")


def compare_choices(oracle: Oracle, cluster: Path, title: str) -> ChoiceOutcome:
    """Compare with kube-scheduler's algorithm, over all nodes and over its own sample, and with its whole loop."""
    outcome = ChoiceOutcome(title)
    objects = json.loads(cluster.read_bytes())["items"]
    with tempfile.TemporaryDirectory(prefix="nodewise-parity-") as folder:
        config = Path(folder) / "config.json"
        config.write_text(json.dumps(LOOP_CONFIGURATION))
        for_schedule, for_loop = Path(folder) / "schedule.json", Path(folder) / "loop.json"
        _write_list(for_schedule, _for_schedule(objects))
        _write_list(for_loop, _for_loop(objects))
        for percentage in (ADAPTIVE, ALL):
            _compare_schedule(oracle, for_schedule, percentage, outcome)
        _compare_loop(oracle, for_loop, objects, config, outcome)
    return outcome


def _write_list(file: Path, objects: Sequence[Json]) -> None:
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))


def _compare_schedule(oracle: Oracle, cluster: Path, percentage: int, outcome: ChoiceOutcome) -> None:
    what = f"schedule --choice=native --percentage-of-nodes-to-score={percentage}"
    placed = _simulate(cluster, percentage)
    scheduled = oracle.schedule(cluster, choice="native", percentage=percentage)
    found = _schedule_differences(scheduled, placed, percentage)
    if found:  # counts when the oracle repeats its answer, see comparison.compare
        again = oracle.schedule(cluster, choice="native", percentage=percentage)
        if again != scheduled:
            outcome.notes.append(f"{what}: the oracle answered otherwise when it was asked again, and that is compared")
            found = _schedule_differences(again, placed, percentage)
        scheduled = again
    if stop := given_up_at(scheduled):
        outcome.notes.append(f"{what}: compared up to pod {stop}, where the oracle gives up")
    outcome.differences[what] = found
    outcome.n_decisions += len(scheduled)


def _schedule_differences(scheduled: Sequence[Json], placed: Sequence[Json], percentage: int) -> list[Difference]:
    """Compare all but the lists of the best: where nodes are sampled, the oracle's is that of all nodes."""
    differences = placement_differences([_settled(line) for line in scheduled], placed)
    return [difference for difference in differences if percentage == ALL or difference.what != "best"]


def _compare_loop(oracle: Oracle, cluster: Path, objects: Sequence[Json], config: Path, outcome: ChoiceOutcome) -> None:
    expected = [(pod["pod"], pod["node"]) for pod in _simulate(cluster, ADAPTIVE, config) if pod["node"]]
    outcome.n_decisions += len(expected)
    outcome.differences[LOOP] = []
    if not expected:
        return
    runs = [_loop_decisions(oracle, cluster, config, n_expected=len(expected))]
    n_runs = MAX_RUNS if any(o["kind"] == "ResourceClaim" for o in objects) else 1
    while not _begins_with(runs[-1], expected) and len(runs) < n_runs:
        runs.append(_loop_decisions(oracle, cluster, config, n_expected=len(expected)))
    if not any(runs):
        outcome.notes.append(f"{LOOP}: not compared, all bindings wait for volumes")
        return
    if any(run != runs[0] for run in runs):
        outcome.notes.append(f"{LOOP}: kube-scheduler decided otherwise from run to run ({len(runs)} runs)")
    found = _loop_differences(runs[-1], expected)
    if found and len(named_nodes(objects, found[0].pod)) > 1:
        pod = found[0].pod
        outcome.notes.append(f"{LOOP}: compared up to pod {pod}, whose nodes kube-scheduler looks at in any order")
        found = []
    outcome.differences[LOOP] = found


def _loop_decisions(oracle: Oracle, cluster: Path, config: Path, *, n_expected: int) -> list[tuple[str, str]]:
    """Return what the loop decides; it is given more time where it seems to have been cut off."""
    decided: list[tuple[str, str]] = []
    for patience_s in (PATIENCE_S, LONG_PATIENCE_S):
        try:
            decided = oracle.loop_decisions(cluster, config, patience_s=patience_s)
        except OracleError as error:
            # Bindings that wait for volumes do not count, and it ends without a word when there is no other.
            if NOTHING_BOUND not in str(error):
                raise
        if len(decided) >= n_expected:
            break
    return decided


def _begins_with(decided: Sequence[tuple[str, str]], expected: Sequence[tuple[str, str]]) -> bool:
    """Whether the decisions are those expected; whatever follows was tried again, after pods that came later."""
    return list(decided[: len(expected)]) == list(expected)


def _loop_differences(decided: Sequence[tuple[str, str]], expected: Sequence[tuple[str, str]]) -> list[Difference]:
    return [
        Difference(pod, f"decision {position}", decided[position : position + 1], (pod, node))
        for position, (pod, node) in enumerate(expected)
        if list(decided[position : position + 1]) != [(pod, node)]
    ]


def _simulate(cluster: Path, percentage: int, config: Path | None = None) -> list[Json]:
    # fmt: off
    flags = [
        "--workloads", "ignore", "--tie-break", "kube", "--percentage-of-nodes-to-score", str(percentage),
        *(["--config", str(config)] if config is not None else []),
    ]
    # fmt: on
    pods: list[Json] = nodewise("simulate", str(cluster), *flags, "-o", "json").json()["pods"]
    return pods


def _settled(line: Json) -> Json:
    """Put the node that the oracle evicts pods from into the message.

    Where evictions may help on more than 100 nodes, kube-scheduler tries some, from a random one on. The node that its
    message names is then not always the best; the oracle tries all of them, and takes the best.
    """
    message, found, _ = str(line.get("message", "")).partition(NOMINATED)
    if not found or not line.get("nominated"):
        return line
    return {**line, "message": f"{message}{NOMINATED}{line['nominated']}, preempting {len(line['victims'])} victims"}


def named_nodes(objects: Sequence[Json], key: str) -> set[str]:
    """Return the nodes that a pod's NodeAffinity names, when only these are looked at; empty when all are."""
    pod = next(o for o in objects if _is_pending(o) and _key(o) == key)
    required = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    terms = required.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", [])
    names: set[str] = set()
    for term in terms:
        fields = [f for f in term.get("matchFields", []) if f["operator"] == "In"]
        if not fields:
            return set()
        names.update(name for f in fields for name in f["values"])
    return names


def _for_schedule(objects: Sequence[Json]) -> list[Json]:
    """Leave out pods that name their nodes.

    When such a pod fits nowhere, the next search of kube-scheduler starts a little further on; `oracle schedule` does
    not let kube-scheduler search for a pod that fits nowhere. `oracle loop` does.
    """
    return [o for o in objects if not (_is_pending(o) and named_nodes(objects, _key(o)))]


def _for_loop(objects: Sequence[Json]) -> list[Json]:
    """Leave out pods that are being deleted while a node is nominated for them.

    Once its queue has dropped such a pod, kube-scheduler goes on counting it as a pod without any requests; `simulate`
    and `oracle schedule` count it in full (`known_differences.yaml`).
    """
    return [
        o
        for o in objects
        if not (
            _is_pending(o) and o["metadata"].get("deletionTimestamp") and o.get("status", {}).get("nominatedNodeName")
        )
    ]


def _is_pending(o: Json) -> bool:
    return o["kind"] == "Pod" and not o["spec"].get("nodeName")


def _key(pod: Json) -> str:
    return f"{pod['metadata'].get('namespace', 'default')}/{pod['metadata']['name']}"

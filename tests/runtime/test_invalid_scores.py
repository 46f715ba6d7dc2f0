"""A score out of 0..100 fails the one pod, as in kube-scheduler, and not the run."""

from typing import ClassVar

import numpy as np
import pytest

from nodewise.api.objects import Pod
from nodewise.cluster.object_set import ObjectSet
from nodewise.config.load import default_configuration
from nodewise.framework.plugin import Handle
from nodewise.plugins import in_tree_registry
from nodewise.scheduler.assembly import SchedulerOptions
from nodewise.simulation.explain import explain_all
from nodewise.simulation.session import Session, open_session
from nodewise.simulation.simulate import simulate
from nodewise.state.columns import Columns, IntArray, Rows
from nodewise.state.dirty_log import Reads
from nodewise.state.snapshot import Snapshot
from nodewise.testing.builders import make_node, make_pod

MESSAGE = (
    'applying score defaultWeights on Score plugins: plugin "Odd" returns an invalid score 101, '
    "it should in the range of [0, 100] after normalizing"
)


class Odd:
    """Scores 101 and more for pods whose name says so."""

    name: ClassVar[str] = "Odd"
    reads: ClassVar[Reads] = Reads.NODE

    def __init__(self, args: object, handle: Handle) -> None:
        pass

    def class_key(self, pod: Pod) -> bool:
        return pod.metadata.name == "odd"

    def compile(self, pod: Pod, snapshot: Snapshot) -> bool | None:
        return True if pod.metadata.name == "odd" else None

    def score(self, state: bool, columns: Columns, rows: Rows) -> IntArray:
        return 101 + np.arange(len(columns.alive))[rows]


class OddInTheEnd(Odd):
    """The same, but only normalising makes it so."""

    def normalize(self, state: bool, scores: IntArray) -> IntArray:
        return scores.copy()


def session_with(plugin: type[Odd]) -> Session:
    registry = in_tree_registry()
    registry.register(Odd.name, plugin)
    pods = [make_pod(name, scheduler_name="default-scheduler") for name in ("odd", "even")]
    objects = ObjectSet(pods=pods, nodes=[make_node("a"), make_node("b")])
    return open_session(objects, default_configuration(), registry, SchedulerOptions(added_plugins=(Odd.name,)))


@pytest.mark.parametrize("plugin", [Odd, OddInTheEnd])
def test_only_the_pod_with_the_invalid_score_fails(plugin: type[Odd]) -> None:
    odd, even = simulate(session_with(plugin))
    assert (odd.node, odd.reason, odd.message) == (None, "SchedulerError", MESSAGE)
    assert (even.node, even.reason) == ("a", None)


@pytest.mark.parametrize("plugin", [Odd, OddInTheEnd])
def test_an_explanation_says_what_is_wrong_with_the_score(plugin: type[Odd]) -> None:
    odd, even = explain_all(session_with(plugin))
    assert (odd.error, odd.feasible, odd.best) == (MESSAGE, ["a", "b"], [])
    assert (even.error, even.best) == ("", ["a", "b"])

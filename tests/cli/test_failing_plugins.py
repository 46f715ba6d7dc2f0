"""A plugin from elsewhere that fails costs the pod, which says so, and nothing else."""

import re
import sys
from pathlib import Path

import pytest

from tests.cli.small_clusters import node, pod, write
from tests.command import nodewise

PLUGINS = """
import numpy as np
from nodewise.framework.plugin import PostFilterResult
from nodewise.framework.status import Status
from nodewise.state.dirty_log import Reads

class Plain:
    def __init__(self, args, handle): ...

class NoLicence(Plain):
    name = "NoLicence"
    def __init__(self, args, handle): raise RuntimeError("no licence")
    def filter(self, pod, node): ...

class WithoutMethods(Plain):
    name = "WithoutMethods"

class Dividing(Plain):
    name = "Dividing"
    def filter(self, pod, node):
        if pod.metadata.name == "bad": 1 / 0

class Leaving(Plain):
    name = "Leaving"
    def filter(self, pod, node): raise SystemExit(0)

class Erring(Plain):
    name = "Erring"
    def filter(self, pod, node): return Status.error("no connection")

class Searching(Plain):
    name = "Searching"
    def score(self, pod, node): return {}["disk"]

class Normalizing(Plain):
    name = "Normalizing"
    def score(self, pod, node): return int(node.name[1:])
    def normalize(self, pod, scores): raise ValueError("two\\nlines")

class Gatekeeper(Plain):
    name = "Gatekeeper"
    def pre_enqueue(self, pod): raise ValueError("x")

class Doorman(Plain):
    name = "Doorman"
    def pre_enqueue(self, pod): return Status.unresolvable("not on the list")

class Rescuer(Plain):
    name = "Rescuer"
    def post_filter(self, verdict): raise ValueError("x")

class Columns(Plain):
    reads = Reads.NODE
    def class_key(self, pod): return 0
    def compile(self, pod, snapshot): return 1

class Compiling(Columns):
    name = "Compiling"
    def compile(self, pod, snapshot): raise ValueError("x")
    def score(self, state, columns, rows): ...

class Listing(Columns):
    name = "Listing"
    def class_key(self, pod): return []
    def score(self, state, columns, rows): ...

class Early(Columns):
    name = "Early"
    def pre_filter(self, state): raise ValueError("x")

class Short(Columns):
    name = "Short"
    def filter(self, state, columns, rows): return np.zeros(7, np.int64)
    def rejection(self, state, code): ...

class Halves(Columns):
    name = "Halves"
    def score(self, state, columns, rows): return np.full(columns.n_rows, 0.5)

class Unfinished(Columns):
    name = "Unfinished"
    def filter(self, state, columns, rows): ...
"""
FAILURES = {
    "Dividing": 'running "Dividing" filter plugin: ZeroDivisionError: division by zero (failing_plugins.py:N)',
    "Leaving": 'running "Leaving" filter plugin: SystemExit: 0 (failing_plugins.py:N)',
    "Erring": 'running "Erring" filter plugin: no connection',
    "Searching": "running Score plugins: plugin \"Searching\" failed with: KeyError: 'disk' (failing_plugins.py:N)",
    "Normalizing": 'running Normalize on Score plugins: plugin "Normalizing" failed with: ValueError: two lines '
    "(failing_plugins.py:N)",
    "Gatekeeper": 'running PreEnqueue plugin "Gatekeeper": ValueError: x (failing_plugins.py:N)',
    "Compiling": 'running compile of plugin "Compiling": ValueError: x (failing_plugins.py:N)',
    "Listing": 'running class_key of plugin "Listing": returned [], expected something hashable',
    "Early": 'running PreFilter plugin "Early": ValueError: x (failing_plugins.py:N)',
    "Short": 'running "Short" filter plugin: returned an array of shape (7,), expected (2,)',
    "Halves": 'running Score plugins: plugin "Halves" failed with: returned an array of float64, expected int64',
}


def unnumbered(text: str) -> str:
    """Return a message with line numbers of the plugins' file left out."""
    return re.sub(r"\(failing_plugins\.py:\d+\)", "(failing_plugins.py:N)", text)


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Give a file of two nodes and two pods, with the plugins importable."""
    write(tmp_path / "failing_plugins.py", PLUGINS)
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("failing_plugins", None)
    return write(tmp_path / "cluster.yaml", node("n1") + node("n2") + pod("bad") + pod("good"))


@pytest.mark.parametrize("name", sorted(FAILURES))
def test_simulate_gives_the_pod_a_scheduler_error(cluster: str, name: str) -> None:
    completed = nodewise("simulate", cluster, "--plugin", f"failing_plugins:{name}", "-o", "json")
    bad, good = completed.json()["pods"]
    assert (bad["node"], bad["reason"]) == (None, "SchedulerError")
    assert unnumbered(bad["message"]) == FAILURES[name]
    assert completed.exit_code == 2
    both = "" if good["node"] else " and 1 more"
    assert unnumbered(completed.stderr) == f"nodewise: Pod default/bad{both}: {FAILURES[name]}\n"
    assert (good["node"] is not None) == (name == "Dividing")


@pytest.mark.parametrize("name", sorted(FAILURES))
def test_explain_gives_the_pod_an_error(cluster: str, name: str) -> None:
    completed = nodewise("explain", cluster, "bad", "--plugin", f"failing_plugins:{name}", "-o", "json")
    assert unnumbered(completed.json()["pods"][0]["error"]) == FAILURES[name]
    assert completed.exit_code == 2
    table = nodewise("explain", cluster, "bad", "--plugin", f"failing_plugins:{name}")
    assert f"default/bad: error: {FAILURES[name]}" in unnumbered(table.stdout)


def test_the_line_in_the_plugin_is_named(cluster: str) -> None:
    line = PLUGINS[: PLUGINS.index("1 / 0")].count("\n") + 1
    completed = nodewise("simulate", cluster, "--plugin", "failing_plugins:Dividing")
    assert f"(failing_plugins.py:{line})" in completed.stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("NoLicence", 'initializing plugin "NoLicence": RuntimeError: no licence (failing_plugins.py:N)'),
        (
            "WithoutMethods",
            'initializing plugin "WithoutMethods": plugin WithoutMethods: has no method of any extension',
        ),
        ("Unfinished", 'initializing plugin "Unfinished": plugin Unfinished: has filter but not rejection'),
        ("Plain", "plugin failing_plugins:Plain: has no `name`"),
        ("Absent", "has no Absent"),
    ],
)
def test_a_plugin_that_cannot_be_made_ends_the_command_in_one_line(cluster: str, name: str, message: str) -> None:
    completed = nodewise("simulate", cluster, "--plugin", f"failing_plugins:{name}")
    assert completed.exit_code == 2
    assert message in unnumbered(completed.stderr)
    assert len(completed.stderr.splitlines()) == 1


def test_a_post_filter_that_fails_leaves_the_pod_unschedulable(tmp_path: Path, cluster: str) -> None:
    write(tmp_path / "cluster.yaml", node() + pod("big", "99"))
    completed = nodewise("simulate", cluster, "--plugin", "failing_plugins:Rescuer", "-o", "json")
    (big,) = completed.json()["pods"]
    assert big["reason"] == "Unschedulable"
    assert big["message"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert completed.exit_code == 2 or "Rescuer" not in completed.stderr


def test_a_pod_that_a_plugin_keeps_out_of_the_queue_is_gated(cluster: str) -> None:
    completed = nodewise("simulate", cluster, "--plugin", "failing_plugins:Doorman", "-o", "json")
    assert {(p["reason"], p["detail"]) for p in completed.json()["pods"]} == {("SchedulingGated", "not on the list")}
    explained = nodewise("explain", cluster, "bad", "--plugin", "failing_plugins:Doorman", "-o", "json")
    assert explained.json()["pods"][0]["skipped"] == "Doorman: not on the list"

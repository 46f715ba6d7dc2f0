"""Commands in which time passes: what they print, their exit codes, and that equal runs give equal bytes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.small_clusters import node, pod, run, write
from tests.command import nodewise

TRACE = """apiVersion: nodewise/v1
kind: Trace
events:
- {at: 0, pod: web, count: 5, every: 10s, requests: {cpu: "1"}, duration: 1m}
- {at: 30s, nodeDown: n1}
- {at: 90s, nodeUp: n1}
"""


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    return write(tmp_path / "cluster.yaml", node() + pod("p1") + pod("giant", "99"))


@pytest.fixture
def trace(tmp_path: Path) -> str:
    return write(tmp_path / "trace.yaml", TRACE)


def test_until_settled_says_how_long_pods_waited(cluster: str) -> None:
    completed = nodewise("simulate", cluster, "--until", "settled", "-o", "json")
    assert completed.exit_code == 1
    document = completed.json()
    assert [(p["pod"], p["node"], p.get("waitedSeconds")) for p in document["pods"]] == [
        ("default/p1", "n1", 0.0),
        ("default/giant", None, None),
    ]
    assert document["pods"][1]["reason"] == "Unschedulable"
    assert document["summary"] | {"seconds": 0} == {
        "nodes": 1, "pending": 2, "placed": 1, "unschedulable": 1, "gated": 0, "seconds": 0
    }  # fmt: skip


def test_a_replay_tells_each_pods_way_and_the_sums(cluster: str, trace: str) -> None:
    completed = nodewise("simulate", cluster, "--trace", trace, "-o", "json")
    document = completed.json()
    assert document["kind"] == "Replay"
    ways = [(p["pod"], p["created"][14:19], p["ended"] and p["ended"][14:19]) for p in document["pods"]]
    assert ("default/web-1", "00:00", "00:30") in ways  # its node failed
    assert document["summary"]["created"] == len(document["pods"])
    assert document["summary"]["waiting"] == 1
    assert completed.exit_code == 1
    assert document["series"][0]["nodes"] == 1


@pytest.mark.parametrize("output", ["wide", "json"])
@pytest.mark.parametrize("flag", ["--until=settled", "--trace=TRACE"])
def test_equal_runs_give_equal_bytes(cluster: str, trace: str, output: str, flag: str) -> None:
    flag = flag.replace("TRACE", trace)
    first, second = (run("simulate", cluster, flag, "-o", output) for _ in range(2))
    assert first.stdout == second.stdout != b""
    assert first.stderr == second.stderr


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_a_picture_is_drawn_with_equal_bytes(tmp_path: Path, cluster: str, trace: str, suffix: str) -> None:
    pictures = [tmp_path / f"{number}.{suffix}" for number in (1, 2)]
    for picture in pictures:
        assert nodewise("simulate", cluster, "--trace", trace, "--chart", str(picture)).exit_code == 1
    first, second = (picture.read_bytes() for picture in pictures)
    assert first == second
    assert first.startswith(b"<?xml" if suffix == "svg" else b"\x89PNG")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ("--until", "soon"),
            '--until soon: time: invalid duration "soon"; expected settled or a duration such as 24h',
        ),
        (("--trace", "missing.yaml"), "--trace missing.yaml: no such file or directory"),
        (("--trace", "TRACE", "--chart", "out.pdf"), "--chart out.pdf: expected a name that ends in .svg or .png"),
        (("--trace", "TRACE", "--chart", "no/such/folder/out.svg"), "--chart no/such/folder/out.svg: cannot write:"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_2(
    cluster: str, trace: str, flags: tuple[str, ...], message: str
) -> None:
    completed = nodewise("simulate", cluster, *(trace if flag == "TRACE" else flag for flag in flags))
    assert completed.exit_code == 2
    assert message in completed.stderr
    assert "Traceback" not in completed.stderr


def test_a_bad_event_is_named_and_the_rest_is_played(tmp_path: Path, cluster: str) -> None:
    bad = write(tmp_path / "bad.yaml", TRACE + "- {at: 1, pod: x, requests: {cpu: lots}}\n")
    completed = nodewise("simulate", cluster, "--trace", bad, "-o", "json")
    assert completed.exit_code == 2
    assert "bad.yaml: events[3]: spec.containers[0].resources.requests" in completed.stderr
    (error,) = completed.json()["inputErrors"]
    assert error["object"] == "events[3]"
    assert completed.json()["summary"]["placed"] > 5


def test_jsonl_has_a_line_for_each_pod(cluster: str, trace: str) -> None:
    completed = nodewise("simulate", cluster, "--trace", trace, "-o", "jsonl")
    pods = [json.loads(line) for line in completed.stdout.splitlines()]
    assert {p["pod"] for p in pods} == {"default/p1", "default/giant", *(f"default/web-{n}" for n in range(1, 6))}

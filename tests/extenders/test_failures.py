"""An extender that fails: kube-scheduler's words, in bounded time, and what may be ignored."""

import threading
import time
from pathlib import Path

import pytest

from tests.cli.small_clusters import node, pod, write
from tests.command import nodewise
from tests.extenders.conftest import Serve, WriteConfig
from tests.extenders.failures import ANSWERS, URL, URLS, extender, verbs_of
from tests.extenders.server import Json


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    return write(tmp_path / "cluster.yaml", node("n1") + node("n2") + pod("p"))


@pytest.mark.parametrize("case", ANSWERS)
def test_a_bad_answer_is_an_error_of_the_cycle_in_kube_schedulers_words(
    serve: Serve, write_config: WriteConfig, cluster: str, case: str
) -> None:
    answer, text = ANSWERS[case]
    server = serve(verbs_of(answer))

    done = nodewise("simulate", cluster, "-o", "json", "--config", write_config(extender(server.url)))

    (placement,) = done.json()["pods"]
    assert placement["reason"] == "SchedulerError"
    assert placement["message"].replace(server.url, URL) == text
    assert done.exit_code == 2


@pytest.mark.parametrize("url", URLS)
def test_an_extender_that_nobody_reaches_makes_every_pod_an_error(
    write_config: WriteConfig, tmp_path: Path, url: str
) -> None:
    cluster = write(tmp_path / "cluster.yaml", node("n1") + pod("p") + pod("q"))

    done = nodewise("simulate", cluster, "-o", "json", "--config", write_config(extender(url)))

    assert [placement["message"] for placement in done.json()["pods"]] == [URLS[url]] * 2
    assert done.stderr.splitlines()[0] == f"nodewise: Pod default/p and 1 more: {URLS[url]}"
    assert done.exit_code == 2


def test_an_extender_that_does_not_answer_in_time_is_given_up(
    serve: Serve, write_config: WriteConfig, cluster: str
) -> None:
    is_over = threading.Event()
    server = serve({"filter": lambda body: is_over.wait(60)})
    config = write_config(extender(server.url, httpTimeout="200ms"))

    started_s = time.monotonic()
    done = nodewise("explain", cluster, "-o", "jsonl", "--config", config)
    took_s = time.monotonic() - started_s
    is_over.set()

    (explanation,) = done.json_lines()
    text = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
    assert explanation["error"] == f'Post "{server.url}/filter": {text}'
    assert 0.2 <= took_s < 5
    assert done.exit_code == 2


def test_an_extender_that_may_be_ignored_is_passed_over_with_a_note(
    serve: Serve, write_config: WriteConfig, cluster: str
) -> None:
    server = serve({"filter": lambda body: 500})

    done = nodewise("simulate", cluster, "-o", "json", "--config", write_config(extender(server.url, ignorable=True)))

    assert done.json()["pods"][0]["node"] == "n1"
    text = f"failed filter with extender at URL {server.url}/filter, code 500"
    assert f"note: extender {server.url}: 1 call failed and was passed over: {text}\n" in done.stderr
    assert done.exit_code == 0


def test_those_that_may_be_ignored_are_asked_after_the_others(
    serve: Serve, write_config: WriteConfig, cluster: str
) -> None:
    order: list[str] = []

    def answer(name: str) -> dict[str, object]:
        def filter_(body: Json) -> Json:
            order.append(name)
            return {"NodeNames": body["NodeNames"]}

        return {"filter": filter_}

    names = {"first": True, "second": False, "third": True, "fourth": False}
    extenders = [extender(serve(answer(name)).url, ignorable=ignorable) for name, ignorable in names.items()]

    nodewise("explain", cluster, "--config", write_config(*extenders))

    assert order == ["second", "fourth", "first", "third"]


def test_a_score_that_fails_counts_for_nothing(serve: Serve, write_config: WriteConfig, cluster: str) -> None:
    server = serve({"prioritize": lambda body: [{"Host": "n2", "Score": "high"}]})
    config = write_config({"urlPrefix": server.url, "prioritizeVerb": "prioritize", "weight": 9})

    done = nodewise("simulate", cluster, "-o", "json", "--config", config)

    assert done.json()["pods"][0]["node"] == "n1"
    text = "json: cannot unmarshal string into Go struct field HostPriority.Score of type int64"
    assert text in done.stderr
    assert done.exit_code == 0


@pytest.mark.parametrize(("ignorable", "n_victims"), [(True, 1), (False, 0)])
def test_a_preempt_that_fails_is_an_error_unless_it_may_be_ignored(
    serve: Serve, write_config: WriteConfig, tmp_path: Path, ignorable: bool, n_victims: int
) -> None:
    running = (
        pod("low", "3")
        .replace("spec: {", "spec: {nodeName: n1, priority: 1, ")
        .replace("{name: low}", "{name: low, uid: u}")
    )
    waiting = (
        pod("high", "3").replace("spec: {", "spec: {priority: 9, ").replace("{name: high}", "{name: high, uid: v}")
    )
    cluster = write(tmp_path / "cluster.yaml", node("n1") + running + waiting)
    server = serve({"preempt": lambda body: 500})
    config = write_config({"urlPrefix": server.url, "preemptVerb": "preempt", "ignorable": ignorable})

    (placement,) = nodewise("simulate", cluster, "-o", "json", "--config", config).json()["pods"]

    assert len(placement["victims"]) == n_victims
    text = f"preemption: failed preempt with extender at URL {server.url}/preempt, code 500"
    assert placement["message"].endswith(text) is not ignorable

"""What kube-scheduler says when an extender fails, and so what nodewise has to say."""

import json
from pathlib import Path

import pytest

from tests.cli.small_clusters import node, pod, write
from tests.extenders.failures import ANSWERS, URL, URLS, extender, verbs_of
from tests.extenders.server import extender_server
from tests.oracle import Oracle


def _error(oracle: Path, folder: Path, url: str) -> str:
    cluster, config = folder / "cluster.yaml", folder / "config.json"
    write(cluster, node("n1") + node("n2") + pod("p"))
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [extender(url)],
    }
    config.write_text(json.dumps(document), encoding="utf-8")
    (verdict,) = Oracle(oracle).evaluate(cluster, config)
    return str(verdict["error"])


@pytest.mark.parametrize("case", ANSWERS)
def test_the_texts_for_bad_answers_are_kube_schedulers(oracle: Path, tmp_path: Path, case: str) -> None:
    answer, text = ANSWERS[case]
    with extender_server(verbs_of(answer)) as server:
        assert _error(oracle, tmp_path, server.url).replace(server.url, URL) == text


@pytest.mark.parametrize("url", URLS)
def test_the_texts_for_extenders_out_of_reach_are_kube_schedulers(oracle: Path, tmp_path: Path, url: str) -> None:
    assert _error(oracle, tmp_path, url) == URLS[url]

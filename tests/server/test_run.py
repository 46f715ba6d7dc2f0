"""`nodewise run` as a process on a real API server: it schedules, reports, and leaves in good order."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from nodewise.cluster.live.api_client import ApiClient
from nodewise.cluster.live.kubeconfig import load_connection
from tests.live.api_server import ApiServer

NODEWISE = Path(sys.executable).parent / "nodewise"
PATIENCE_S = 40.0
NAMESPACE = "test-run"


def configuration(folder: Path, server: ApiServer, name: str) -> Path:
    path = folder / f"{name}.yaml"
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": server.kubeconfig, "qps": 500, "burst": 500},
        "leaderElection": {"resourceNamespace": NAMESPACE, "resourceName": name},
        "profiles": [{"schedulerName": name}],
    }
    path.write_text(yaml.safe_dump(document))
    return path


@contextmanager
def running(*flags: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [NODEWISE, "run", "--secure-port", "0", *flags], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ask(server: ApiServer, method: str, path: str, body: Any = None) -> Any:
    async def request() -> bytes:
        async with ApiClient(await load_connection(server.kubeconfig), qps=0) as client:
            if method == "GET":
                return await client.get(path)
            if method == "DELETE":
                return await client.delete(path)
            return await client.post(path, body)

    return json.loads(asyncio.run(request()))


def make_namespace(server: ApiServer) -> None:
    names = [item["metadata"]["name"] for item in ask(server, "GET", "/api/v1/namespaces")["items"]]
    if NAMESPACE not in names:
        ask(server, "POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})


def make_node(server: ApiServer, name: str) -> None:
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    body = {
        "metadata": {"name": name, "labels": {"run": name}},
        "status": {"allocatable": amounts, "capacity": amounts},
    }
    ask(server, "POST", "/api/v1/nodes", body)


def make_pod(server: ApiServer, name: str, scheduler: str, node: str) -> None:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    spec = {"schedulerName": scheduler, "nodeSelector": {"run": node}, "containers": [container]}
    ask(server, "POST", f"/api/v1/namespaces/{NAMESPACE}/pods", {"metadata": {"name": name}, "spec": spec})


def pod_of(server: ApiServer, name: str) -> Any:
    return ask(server, "GET", f"/api/v1/namespaces/{NAMESPACE}/pods/{name}")


def wait_until(is_so: Any) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline_s, "nothing came of it in time"
        time.sleep(0.1)


def test_it_binds_pods_tells_why_others_wait_and_releases_its_lease(api_server: ApiServer, tmp_path: Path) -> None:
    name = "run-binds"
    make_namespace(api_server)
    make_node(api_server, name)
    for pod in ("fits", "waits"):
        make_pod(api_server, f"{name}-{pod}", name, name if pod == "fits" else "nowhere")
    with running("--config", str(configuration(tmp_path, api_server, name))) as process:
        wait_until(lambda: pod_of(api_server, f"{name}-fits")["spec"].get("nodeName") == name)
        wait_until(lambda: pod_of(api_server, f"{name}-waits")["status"].get("conditions"))
        (condition,) = pod_of(api_server, f"{name}-waits")["status"]["conditions"]
        assert condition["reason"] == "Unschedulable"
        assert "node(s) didn't match Pod's node affinity/selector" in condition["message"]
        process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, stderr
    lease = ask(api_server, "GET", f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{name}")
    assert not lease["spec"].get("holderIdentity")


def test_a_dry_run_says_what_it_would_do_and_writes_nothing(api_server: ApiServer, tmp_path: Path) -> None:
    name = "run-dry"
    make_namespace(api_server)
    make_node(api_server, name)
    make_pod(api_server, name, name, name)
    config = configuration(tmp_path, api_server, name)
    with running("--config", str(config), "--leader-elect=false", "--dry-run") as process:
        assert process.stderr is not None
        line = next(line for line in process.stderr if "dry run: would bind" in line)
        assert f"would bind {NAMESPACE}/{name} to {name}" in line
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)
    pod = pod_of(api_server, name)
    assert "nodeName" not in pod["spec"]
    assert not pod["status"].get("conditions")


def test_what_keeps_it_from_starting_is_one_line(tmp_path: Path) -> None:
    missing = str(tmp_path / "none")
    for flags in (("--kubeconfig", missing), ("--config", missing), ("--feature-gates", "GenericWorkload=true")):
        done = subprocess.run([NODEWISE, "run", *flags], capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1, done.stderr
        assert "Traceback" not in done.stderr

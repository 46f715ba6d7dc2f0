"""A real API server with etcd for tests, shared by all workers of a run."""

from __future__ import annotations

import fcntl
import os
import random
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "tools" / "kube"
_PORTS = (3, 9, 10)
"""Those of tools/kube/cluster that an API server with etcd takes, from PORT_BASE on."""


@dataclass(frozen=True)
class ApiServer:
    """Where it is and how to get in."""

    folder: Path
    port_base: int

    @property
    def kubeconfig(self) -> str:
        """That of an administrator, by token."""
        return str(self.folder / "admin.kubeconfig")

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port_base + 3}"


def start(folder: Path) -> ApiServer:
    """Start an API server with etcd; their state and logs are in the folder."""
    subprocess.run([TOOLS / "build"], check=True, stdout=subprocess.DEVNULL)
    port_base = _free_port_base()
    _cluster("up", folder, port_base)
    return ApiServer(folder, port_base)


def stop(server: ApiServer) -> None:
    """Stop both."""
    _cluster("down", server.folder, server.port_base)


@contextmanager
def shared(folder: Path) -> Iterator[ApiServer]:
    """Give the one server of a test run: the first that asks starts it, the last that leaves stops it."""
    with _counted(folder) as count:
        if not count.users:
            count.port_base = start(folder).port_base
        count.users += 1
        server = ApiServer(folder, count.port_base)
    try:
        yield server
    finally:
        with _counted(folder) as count:
            count.users -= 1
            if not count.users:
                stop(server)


@dataclass
class _Count:
    users: int
    port_base: int


@contextmanager
def _counted(folder: Path) -> Iterator[_Count]:
    """Let one process at a time look at and change how many use the server."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "users", "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        users, port_base = (int(word) for word in (file.read() or "0 0").split())
        count = _Count(users, port_base)
        yield count
        file.seek(0)
        file.truncate()
        file.write(f"{count.users} {count.port_base}")


def _free_port_base() -> int:
    picker = random.SystemRandom()
    while True:
        base = picker.randrange(20_000, 32_000)
        if all(_is_free(base + offset) for offset in _PORTS):
            return base


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def _cluster(verb: str, folder: Path, port_base: int) -> None:
    environment = {**os.environ, "PORT_BASE": str(port_base)}
    done = subprocess.run([TOOLS / "cluster", verb, folder], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"tools/kube/cluster {verb}: {done.stderr}"

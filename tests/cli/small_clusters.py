"""Small cluster files, and the command as a process of its own."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

NODE = """
apiVersion: v1
kind: Node
metadata: {name: %s, labels: {topology.kubernetes.io/zone: %s}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "%s"}}}]}
---
"""


def node(name: str = "n1", zone: str = "a") -> str:
    return NODE % (name, zone)


def pod(name: str = "p", cpu: str = "1") -> str:
    return POD % (name, cpu)


def write(path: Path, text: str | bytes) -> str:
    """Write a file and return its name."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def command(*argv: str) -> list[str]:
    return [sys.executable, "-m", "nodewise", *argv]


def run(
    *argv: str, stdin: bytes = b"", env: Mapping[str, str] | None = None, timeout_s: float = 60
) -> subprocess.CompletedProcess[bytes]:
    """Run the command as a process."""
    return subprocess.run(
        command(*argv),
        input=stdin,
        capture_output=True,
        env={**os.environ, **(env or {})},
        timeout=timeout_s,
        check=False,
    )

"""The oracle, which is the real kube-scheduler's code behind a command line, as a Python object."""

import fcntl
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROJECT_ROOT = Path(__file__).resolve().parent.parent
BUILD_DIR = PROJECT_ROOT / ".build"


class OracleError(Exception):
    """The oracle ended with an error, or one of its self-checks failed."""


@dataclass(frozen=True, slots=True)
class Oracle:
    """A built oracle binary."""

    binary: Path

    def generate(self, profile: str, *, seed: int, n_nodes: int, n_pods: int, n_pending: int) -> bytes:
        """Give a random cluster as the JSON text of a v1 List."""
        return self._run(
            "generate",
            *("--profile", profile, "--seed", str(seed)),
            *("--nodes", str(n_nodes), "--pods", str(n_pods), "--pending", str(n_pending)),
        )

    def evaluate(self, cluster: Path, config: Path | None = None) -> list[dict[str, Any]]:
        """Judge every pending pod against the cluster as given."""
        return _json_lines(self._run("evaluate", *_config_flags(config), str(cluster)))

    def schedule(self, cluster: Path, config: Path | None = None) -> list[dict[str, Any]]:
        """Place the pending pods one after another in queue order, with preemption."""
        return _json_lines(self._run("schedule", "--sort", "--preempt", *_config_flags(config), str(cluster)))

    def loop(self, cluster: Path, *, preload: bool) -> dict[str, Any]:
        """Time the whole scheduler over the pending pods."""
        flags = ["--preload"] if preload else []
        timings: dict[str, Any]
        (timings,) = _json_lines(self._run("loop", *flags, str(cluster)))
        return timings

    def snapshot(self, *, n_nodes: int, n_pods: int, n_changes: int, n_spots: int) -> dict[str, Any]:
        """Time the scheduler's cache over nodes and pods of its own making."""
        sizes = ("--nodes", str(n_nodes), "--pods", str(n_pods), "--changes", str(n_changes), "--spots", str(n_spots))
        timings: dict[str, Any]
        (timings,) = _json_lines(self._run("snapshot", *sizes))
        return timings

    def _run(self, *args: str) -> bytes:
        done = subprocess.run([self.binary, *args], capture_output=True, check=False)
        if done.returncode != 0:
            command = " ".join(["oracle", *args])
            raise OracleError(f"{command}: exit status {done.returncode}: {done.stderr.decode(errors='replace')}")
        return done.stdout


def find_oracle() -> Oracle:
    """Find the binary that NODEWISE_ORACLE names, or build .build/oracle where it is missing.

    Raises
    ------
    OracleError
        NODEWISE_ORACLE names no file.
    subprocess.CalledProcessError
        The build failed.
    """
    if named := os.environ.get("NODEWISE_ORACLE"):
        if not Path(named).is_file():
            raise OracleError(f"NODEWISE_ORACLE is {named!r}: no such file; expected a built oracle (make oracle)")
        return Oracle(Path(named))
    binary = BUILD_DIR / "oracle"
    BUILD_DIR.mkdir(exist_ok=True)
    with (BUILD_DIR / "oracle.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # pytest-xdist starts several processes that find it missing
        if not binary.is_file():
            subprocess.run([PROJECT_ROOT / "tools" / "build-oracle", binary], check=True)
    return Oracle(binary)


def _config_flags(config: Path | None) -> list[str]:
    return [] if config is None else ["--config", str(config)]


def _json_lines(text: bytes) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]

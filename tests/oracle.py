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

    def admit(self, cluster: Path) -> bytes:
        """Give a cluster as an API server would have stored it."""
        return self._run("admit", str(cluster))

    def evaluate(self, cluster: Path, config: Path | None = None) -> list[dict[str, Any]]:
        """Judge every pending pod against the cluster as given."""
        return _json_lines(self._run("evaluate", *_config_flags(config), str(cluster)))

    def schedule(
        self, cluster: Path, config: Path | None = None, *, choice: str = "first", percentage: int = 100
    ) -> list[dict[str, Any]]:
        """Place the pending pods one after another in queue order, with preemption.

        Parameters
        ----------
        choice : str
            Which of the best nodes is taken: the `first` by name, or `native`: the one that kube-scheduler takes.
        percentage : int
            Of nodes to score; 0 is kube-scheduler's adaptive rule.
        """
        flags = ("--choice", choice, "--percentage-of-nodes-to-score", str(percentage), *_config_flags(config))
        return _json_lines(self._run("schedule", "--sort", "--preempt", *flags, str(cluster)))

    def loop_decisions(self, cluster: Path, config: Path, *, patience_s: float) -> list[tuple[str, str]]:
        """Run the whole scheduler, one node at a time, over a full queue, and give its decisions: pod and node.

        The adaptive percentage is used. The run ends when nothing was bound for so long.
        """
        flags = ("--trace", "--preload", "--parallelism", "1", "--percentage-of-nodes-to-score", "0")
        lines = _json_lines(
            self._run("loop", *flags, "--patience", f"{patience_s}s", "--config", str(config), str(cluster))
        )
        return [(line["pod"], line["node"]) for line in lines if "pod" in line]

    def hints(self, cluster: Path, questions: Path, feature_gates: str = "") -> list[dict[str, Any]]:
        """Ask the queueing hints of all plugins."""
        flags = ("--questions", str(questions), "--feature-gates", feature_gates)
        return _json_lines(self._run("hints", *flags, str(cluster)))

    def registrations(self, cluster: Path) -> list[dict[str, Any]]:
        """List the events that plugins register."""
        return _json_lines(self._run("hints", "--list", str(cluster)))

    def groups(self, cluster: Path, feature_gates: str) -> list[dict[str, Any]]:
        """Run the whole scheduler over pods and pod groups, each tried until it is placed or fits nowhere."""
        return _json_lines(self._run("groups", "--feature-gates", feature_gates, str(cluster)))

    def loop(self, cluster: Path, *, preload: bool) -> dict[str, Any]:
        """Time the whole scheduler over the pending pods."""
        flags = ["--preload"] if preload else []
        timings: dict[str, Any]
        (timings,) = _json_lines(self._run("loop", *flags, str(cluster)))
        return timings

    def loop_placements(self, cluster: Path) -> tuple[dict[str, str], dict[str, Any]]:
        """Give node by pod as the whole scheduler, with one worker, chooses among all nodes; and its timing."""
        flags = ["--trace", "--preload", "--parallelism=1", "--percentage-of-nodes-to-score=100"]
        *decisions, timings = _json_lines(self._run("loop", *flags, str(cluster)))
        return {decision["pod"]: decision["node"] for decision in decisions}, timings

    def snapshot(self, *, n_nodes: int, n_pods: int, n_changes: int, n_spots: int) -> dict[str, Any]:
        """Time the scheduler's cache over nodes and pods of its own making."""
        sizes = ("--nodes", str(n_nodes), "--pods", str(n_pods), "--changes", str(n_changes), "--spots", str(n_spots))
        timings: dict[str, Any]
        (timings,) = _json_lines(self._run("snapshot", *sizes))
        return timings

    def answer_selectors(self, expressions: list[str], device: dict[str, Any]) -> list[dict[str, Any]]:
        """Evaluate device selectors for a device, which has its driver in it."""
        questions = [json.dumps({"expression": expression, "device": device}) for expression in expressions]
        return _json_lines(self._run("cel", stdin="\n".join(questions).encode()))

    def selector_functions(self) -> list[dict[str, Any]]:
        """List the forms of all functions that device selectors may use."""
        return _json_lines(self._run("cel", "--functions"))

    def _run(self, *args: str, stdin: bytes | None = None) -> bytes:
        done = subprocess.run([self.binary, *args], input=stdin, capture_output=True, check=False)
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

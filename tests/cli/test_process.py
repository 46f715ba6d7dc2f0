"""The command as a process: signals, pipes, terminals, entry points, and how quickly it starts."""

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from tests.cli.small_clusters import command, node, pod, run, write

SLOW_PLUGIN = """
import os, signal

class Interrupting:
    name = "Interrupting"
    def __init__(self, args, handle): ...
    def pre_enqueue(self, pod):
        from nodewise.framework.status import SUCCESS
        if pod.metadata.name == "p2":
            os.kill(os.getpid(), signal.SIGINT)
        return SUCCESS
"""


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    return write(tmp_path / "cluster.yaml", node() + "".join(pod(f"p{i}") for i in range(1, 5)))


@pytest.mark.parametrize("verb", ["simulate", "explain"])
def test_an_interrupt_keeps_what_is_done(tmp_path: Path, cluster: str, verb: str) -> None:
    write(tmp_path / "interrupting.py", SLOW_PLUGIN)
    plugin = ("--plugin", "interrupting:Interrupting")
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    completed = run(verb, cluster, *plugin, "-o", "json", env={"PYTHONPATH": path})
    assert completed.returncode == 130
    assert [p["pod"] for p in json.loads(completed.stdout)["pods"]] == ["default/p1", "default/p2"]
    assert completed.stderr.startswith(b"note: interrupted: 2 of 4 pods ")


def test_an_interrupt_while_reading_is_one_line(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = subprocess.Popen(command("simulate", str(pipe)), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with open(pipe, "wb"):  # opens as soon as the process does
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"nodewise: interrupted\n")


@pytest.mark.parametrize("output", ["table", "json", "yaml", "jsonl"])
def test_a_reader_that_goes_away_is_no_error(tmp_path: Path, output: str) -> None:
    cluster = write(tmp_path / "many.yaml", node() + "".join(pod(f"p{i}", "99") for i in range(2000)))
    process = subprocess.Popen(
        command("simulate", cluster, "-o", output), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(1)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=60) in (0, 1)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_one_line(cluster: str) -> None:
    with open("/dev/full", "wb") as full:
        completed = subprocess.run(command("simulate", cluster), stdout=full, stderr=subprocess.PIPE, check=False)
    assert completed.returncode == 2
    assert completed.stderr == b"nodewise: cannot write the result: No space left on device\n"


@pytest.mark.parametrize(
    ("redirection", "exit_code", "said"),
    [(">&-", 2, b"nodewise: standard output is closed\n"), ("2>&-", 0, b""), ("<&-", 0, b"")],
)
def test_closed_streams_do_no_harm(cluster: str, redirection: str, exit_code: int, said: bytes) -> None:
    line = f'exec "$0" -m nodewise simulate "$1" {redirection}'
    completed = subprocess.run(["sh", "-c", line, sys.executable, cluster], capture_output=True, check=False)
    assert (completed.returncode, completed.stderr) == (exit_code, said)


def test_the_help_imports_nothing_heavy() -> None:
    code = """
import sys
from nodewise.cli.main import main
try:
    main(["simulate", "--help"])
except SystemExit:
    pass
sys.exit(", ".join({"numpy", "yaml", "rich", "msgspec"} & set(sys.modules)) or 0)
"""
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (completed.returncode, completed.stderr) == (0, b"")


def test_both_entry_points_name_themselves() -> None:
    scripts = Path(sys.executable).parent
    for name, usage in {"nodewise": b"usage: nodewise", "kubectl-nodewise": b"usage: kubectl nodewise"}.items():
        if not (scripts / name).exists():
            pytest.skip(f"{name} is not installed beside the interpreter")
        completed = subprocess.run([scripts / name, "explain", "--help"], capture_output=True, check=True)
        assert completed.stdout.startswith(usage + b" explain")
    assert run("--version").stdout.startswith(b"nodewise ")


NODEWISE = command()
WITHOUT_DELAY = [
    sys.executable,
    "-c",
    "import sys; from nodewise.cli import main, progress; progress.QUIET_S = 0; sys.exit(main.main())",
]


def in_terminal(program: list[str], argv: list[str], *, columns: int, env: dict[str, str] | None = None) -> str:
    """Run the command on a pseudo-terminal and return all that it shows."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    settings = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")}
    settings |= {"TERM": "xterm", **(env or {})}
    process = subprocess.Popen([*program, *argv], stdin=follower, stdout=follower, stderr=follower, env=settings)
    os.close(follower)
    shown = b""
    while True:
        try:
            piece = os.read(leader, 1 << 16)
        except OSError:  # how Linux says that the other side is closed
            break
        if not piece:
            break
        shown += piece
    os.close(leader)
    process.wait(timeout=60)
    return shown.decode()


def test_a_terminal_gets_colours_and_its_width(cluster: str) -> None:
    shown = in_terminal(NODEWISE, ["explain", cluster, "p1"], columns=60)
    assert "\x1b[1m" in shown
    assert "\x1b[1m" not in in_terminal(NODEWISE, ["explain", cluster, "p1"], columns=60, env={"NO_COLOR": "1"})


def test_a_bar_shows_on_a_terminal_only(tmp_path: Path) -> None:
    items = "".join(f"- {{kind: ConfigMap, apiVersion: v1, metadata: {{name: c{i}}}}}\n" for i in range(5_000))
    cluster = write(tmp_path / "list.yaml", f"apiVersion: v1\nkind: List\nitems:\n{items}")
    assert "reading" in in_terminal(WITHOUT_DELAY, ["simulate", cluster], columns=100)
    piped = subprocess.run([*WITHOUT_DELAY, "simulate", cluster], capture_output=True, check=True)
    assert b"reading" not in piped.stderr

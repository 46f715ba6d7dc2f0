"""A picture of a replay, SVG or PNG."""

from __future__ import annotations

from typing import Any

from nodewise.cli.inputs import UsageError
from nodewise.simulation.replay import Replay

MAX_RESOURCES = 4
_ALWAYS = ("cpu", "memory")


def draw_chart(replay: Replay, path: str) -> None:
    """Draw requested shares, running and waiting pods, and evictions over time into a file.

    The same replay gives the same bytes.

    Raises
    ------
    UsageError
        When matplotlib is missing, or the file cannot be written.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError("--chart needs matplotlib: pip install 'nodewise[charts]'") from error
    mpl.rcParams["svg.hashsalt"] = "nodewise"
    figure = Figure(figsize=(11, 8), layout="constrained")
    shares, pods, evictions = figure.subplots(3, 1, sharex=True, height_ratios=(2, 2, 1))
    samples = replay.history.samples
    hours = [(sample.at_s - replay.history.started_s) / 3600 for sample in samples]
    for name in _resources(replay):
        share = [100 * sample.used.get(name, 0) / (sample.room.get(name) or 1) for sample in samples]
        shares.plot(hours, share, label=name, drawstyle="steps-post")
    _label(shares, "requested, % of allocatable")
    pods.plot(hours, [sample.n_running for sample in samples], label="running", drawstyle="steps-post")
    pods.plot(hours, [sample.n_waiting for sample in samples], label="waiting", drawstyle="steps-post")
    _label(pods, "pods")
    evictions.plot(hours, [sample.n_evicted for sample in samples], label="evicted so far", drawstyle="steps-post")
    _label(evictions, "pods")
    evictions.set_xlabel("hours")
    try:
        # A creation date would make every file another one.
        figure.savefig(path, metadata={"Date": None} if path.lower().endswith(".svg") else {"Software": "nodewise"})
    except OSError as error:
        raise UsageError(f"--chart {path}: cannot write: {error.strerror or error}") from error


def _label(axes: Any, text: str) -> None:
    axes.set_ylabel(text)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(loc="upper left")


def _resources(replay: Replay) -> list[str]:
    """Return the resources to show: cpu and memory, then those that are used most."""
    history = replay.history
    others = [name for name in history.room_seconds if name not in (*_ALWAYS, "pods", "ephemeral-storage")]
    used = [name for name in others if history.used_seconds.get(name)]
    used.sort(key=lambda name: (-history.used_seconds[name] / history.room_seconds[name], name))
    return [*_ALWAYS, *used[: MAX_RESOURCES - len(_ALWAYS)]]

"""What `explain` prints for people about many pods: a line each."""

from __future__ import annotations

from nodewise.cli.console import Console, some_of
from nodewise.cli.text_table import Column, Table
from nodewise.cluster.object_set import InputError
from nodewise.simulation.explain import Explanation

SHORT_LIST = 200
BEST_SHOWN = 3


class ExplanationList:
    """Collects a line for each pod."""

    def __init__(self, *, wide: bool) -> None:
        self._wide = wide
        self._table = Table(
            Column("POD"), Column("FITS ON", is_right=True), Column("BEST"), Column("MESSAGE", flows=True)
        )
        self._n_pods = self._n_fitting = self._n_skipped = 0

    def add(self, explanation: Explanation) -> None:
        """Take in one pod."""
        e = explanation
        self._n_pods += 1
        self._n_fitting += bool(e.feasible)
        self._n_skipped += bool(e.skipped)
        if self._n_pods > SHORT_LIST and not self._wide:
            return
        fits = "-" if e.skipped or e.error else f"{len(e.feasible)}/{e.n_nodes}"
        best = some_of(e.best, len(e.best) if self._wide else BEST_SHOWN)
        self._table.add(e.pod, fits, best, _message(e))

    def close(self, errors: list[InputError]) -> None:
        """Print the table and how many pods fit."""
        console = Console()
        if self._n_pods == 0:
            console.print("no pending pods to explain")
            return
        self._table.print(console)
        if self._n_pods > SHORT_LIST and not self._wide:
            console.print(f"… and {self._n_pods - SHORT_LIST:,} more (-o wide lists all)")
        skipped = f", {self._n_skipped:,} would not be tried" if self._n_skipped else ""
        console.print(f"\n{self._n_fitting:,} of {self._n_pods:,} pods fit, each judged by itself{skipped}")


def _message(explanation: Explanation) -> str:
    if explanation.skipped:
        return f"not tried: {explanation.skipped}"
    if explanation.error:
        return explanation.error
    group = explanation.pod_group
    if group is None or group.node or group.message == explanation.message:
        return explanation.message
    of_group = f"pod group {group.name}: {group.message or group.detail}"
    return f"{explanation.message}; {of_group}" if explanation.message else of_group

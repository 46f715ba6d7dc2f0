"""Filters on one node with some pods less or more: nominated pods and preemption."""

from __future__ import annotations

from collections.abc import Sequence

from nodewise.framework.plugin import PodsChange
from nodewise.framework.status import Status
from nodewise.runtime.pod_class import PodClass
from nodewise.state.columns import ALL_ROWS
from nodewise.state.dirty_log import Reads
from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot
from nodewise.state.what_if import WhatIfColumns

_DEPENDS_ON_PODS = int(Reads.RESOURCES | Reads.PODS | Reads.DOMAIN | Reads.ALWAYS)


class RowWhatIf:
    """Tries changes of the pods on one row, for one pod class (RunFilterPluginsWithNominatedPods)."""

    def __init__(self, pod_class: PodClass, snapshot: Snapshot, row: int, nominated: tuple[PodInfo, ...]) -> None:
        self._class = pod_class
        self._snapshot = snapshot
        self._row = row
        self._nominated = nominated
        self._columns = WhatIfColumns(snapshot.columns, row)
        self._removed: dict[PodInfo, None] = {}

    def failure(self, removed: Sequence[PodInfo], elsewhere: Sequence[tuple[int, PodInfo]] = ()) -> Status | None:
        """Return the first failure with some pods gone, first with nominated pods in place, then without."""
        for added in (self._nominated, ()) if self._nominated else ((),):
            failures = self.failures(removed=removed, added=added, elsewhere=elsewhere, first_only=True)
            for name, status in failures.items():
                return status.by(name)
        return None

    def failures(
        self,
        *,
        removed: Sequence[PodInfo] = (),
        added: Sequence[PodInfo] = (),
        elsewhere: Sequence[tuple[int, PodInfo]] = (),
        first_only: bool = False,
    ) -> dict[str, Status]:
        """Return what every filter that rejects the pod says, or only the first, in profile order."""
        columns = self._without(removed)
        if added:
            columns = columns.copy()
            for pod in added:
                columns.add(pod)
        change = PodsChange(self._row, tuple(removed), tuple(added), tuple(elsewhere))
        found: dict[str, Status] = {}
        for view in self._class.filter_views:
            plugin, state = view.plugin, view.state
            if view.reads & _DEPENDS_ON_PODS:
                if view.traits.extends_pre_filter:
                    state = plugin.with_pods(state, self._snapshot.columns, change)
                if view.traits.filters_rows:
                    code = plugin.filter_row(state, columns, 0)
                else:
                    code = int(plugin.filter(state, columns, ALL_ROWS)[0])
            else:
                view.refresh_filter()
                code = int(view.codes[self._row])
            if code:
                found[plugin.name] = plugin.rejection(state, code)
                if first_only:
                    break
        return found

    def _without(self, removed: Sequence[PodInfo]) -> WhatIfColumns:
        """Return the row with just these pods gone; one pod after the other comes and goes, as in a dry run."""
        wanted = dict.fromkeys(removed)
        for pod in [pod for pod in self._removed if pod not in wanted]:
            self._columns.add(pod)
            del self._removed[pod]
        for pod in wanted:
            if pod not in self._removed:
                self._columns.remove(pod)
                self._removed[pod] = None
        return self._columns

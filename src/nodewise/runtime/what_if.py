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

    def failure(self, removed: Sequence[PodInfo]) -> Status | None:
        """Return the first failure with some pods gone, first with nominated pods in place, then without."""
        if self._nominated:
            failures = self.failures(removed=removed, added=self._nominated, first_only=True)
            for name, status in failures.items():
                return status.by(name)
        for name, status in self.failures(removed=removed, first_only=True).items():
            return status.by(name)
        return None

    def failures(
        self, *, removed: Sequence[PodInfo] = (), added: Sequence[PodInfo] = (), first_only: bool = False
    ) -> dict[str, Status]:
        """Return what every filter that rejects the pod says, or only the first, in profile order."""
        columns = WhatIfColumns(self._snapshot.columns, self._row)
        for pod in removed:
            columns.remove(pod)
        for pod in added:
            columns.add(pod)
        change = PodsChange(self._row, tuple(removed), tuple(added))
        found: dict[str, Status] = {}
        for view in self._class.filter_views:
            plugin, state = view.plugin, view.state
            if view.reads & _DEPENDS_ON_PODS:
                if view.traits.extends_pre_filter:
                    state = plugin.with_pods(state, self._snapshot.columns, change)
                code = int(plugin.filter(state, columns, ALL_ROWS)[0])
            else:
                view.refresh_filter()
                code = int(view.codes[self._row])
            if code:
                found[plugin.name] = plugin.rejection(state, code)
                if first_only:
                    break
        return found

"""PreEnqueue: what keeps a pod out of the active queue."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from nodewise.framework.plugin import PreEnqueuePlugin
from nodewise.framework.status import SUCCESS, Code, Status
from nodewise.queue.metrics import QueueMetrics
from nodewise.queue.queued_pod import QueuedEntity, QueuedPod
from nodewise.state.log_message import LogMessage

LOGGER = logging.getLogger("nodewise.queue")


class Gates:
    """Runs the PreEnqueue plugins (runPreEnqueuePlugins).

    The plugin that gated a pod last is asked first, then the others in the order of the profile, until one objects;
    kube-scheduler takes the others in no certain order.

    Parameters
    ----------
    plugins : Mapping[str, Sequence[PreEnqueuePlugin]]
        By scheduler name.
    metrics : QueueMetrics
    """

    def __init__(self, plugins: Mapping[str, Sequence[PreEnqueuePlugin]], metrics: QueueMetrics) -> None:
        self._plugins = plugins
        self._metrics = metrics

    def check(self, entity: QueuedEntity) -> None:
        """Ask for each pod of an entity, all of them, and note who gates it; one gated pod gates the entity."""
        gating_plugin = ""
        for member in entity.members:
            self._check_pod(member)
            gating_plugin = member.gating_plugin or gating_plugin
        entity.gating_plugin = gating_plugin

    def _check_pod(self, queued: QueuedPod) -> None:
        plugins = self._plugins.get(queued.profile, ())
        last = queued.gating_plugin
        if last:
            plugins = sorted(plugins, key=lambda plugin: plugin.name != last)
        pod = queued.info.pod
        for plugin in plugins:
            status = plugin.pre_enqueue(pod)
            if status is not SUCCESS and not status.is_success:
                self._note(queued, plugin.name, status)
                return
        queued.gating_plugin = ""
        queued.gating_status = None

    def _note(self, queued: QueuedPod, name: str, status: Status) -> None:
        if name not in queued.rejectors:
            self._metrics.unschedulable(name, queued.profile, 1)
            queued.unschedulable_plugins |= {name}
        queued.gating_plugin = name
        queued.gating_status = status.by(name)
        if status.code is Code.ERROR:
            LOGGER.error(
                LogMessage(
                    "Unexpected error running PreEnqueue plugin", pod=queued.key, plugin=name, err=status.message
                )
            )

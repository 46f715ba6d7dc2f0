"""From a configuration to the extenders that are asked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from nodewise.config.errors import ConfigError
from nodewise.config.extender_validation import in_calling_order
from nodewise.config.model import KubeSchedulerConfiguration
from nodewise.framework.cycle_state import CycleState
from nodewise.framework.extender import EXTENDER, Extender, ExtenderError
from nodewise.framework.status import Code, Status
from nodewise.runtime.extenders import bind_with_extenders, binds
from nodewise.state.pod_info import PodInfo


class ExtenderBinder:
    """Has pods bound by the extender that binds; each call waits in a thread of its own.

    Only for schedulers over a real cluster: extenders tell the API server themselves.
    """

    name: str = EXTENDER

    def __init__(self, extenders: Sequence[Extender]) -> None:
        self._extenders = extenders

    async def bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status:
        """Return how it went, or Skip where no extender is interested (extendersBinding)."""
        if not binds(self._extenders, pod):
            return Status(Code.SKIP)
        status = await asyncio.to_thread(bind_with_extenders, self._extenders, pod, node_name)
        return Status(Code.SKIP) if status is None else status


def build_extenders(
    configuration: KubeSchedulerConfiguration, originals: Mapping[tuple[str, str], bytes] | None = None
) -> tuple[Extender, ...]:
    """Make a configuration's extenders, in the order in which they are asked; none of them is asked yet.

    Parameters
    ----------
    originals
        What pods and nodes were read from, see `ObjectDocuments`.

    Raises
    ------
    ConfigError
        TLS files cannot be read, or do not fit together.
    """
    if not configuration.extenders:
        return ()
    # Here, since a scheduler without extenders needs no HTTP client.
    from nodewise.cluster.http_extender import HttpExtender
    from nodewise.cluster.object_documents import ObjectDocuments

    documents = ObjectDocuments(originals)
    try:
        return tuple(HttpExtender(config, documents) for config in in_calling_order(configuration.extenders))
    except ExtenderError as error:
        raise ConfigError(f"couldn't build extenders: {error}") from error

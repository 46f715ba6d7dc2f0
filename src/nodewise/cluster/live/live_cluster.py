"""Writes a scheduler's decisions to an API server."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from nodewise.api.objects import Pod, PodCondition
from nodewise.cluster.client import PodEvent
from nodewise.cluster.live.api_client import ApiClient
from nodewise.cluster.live.errors import ApiError, ConnectionFailedError, RequestError
from nodewise.cluster.live.event_recorder import EventRecorder
from nodewise.cluster.live.object_writer import LiveObjectWriter
from nodewise.cluster.live.pause import Sleep
from nodewise.cluster.live.resources import RESOURCES
from nodewise.framework.status import SUCCESS, Status
from nodewise.state.pod_info import PodInfo

LOGGER = logging.getLogger("nodewise")
BIND_TRIES = 4
BIND_RETRY_S = 0.01
BIND_RETRY_FACTOR = 5.0
BIND_JITTER = 0.1
READ_BACK_TRIES = 6
READ_BACK_S = 0.5
_PODS = RESOURCES["Pod"]


class _PodMetadata(msgspec.Struct):
    uid: str = ""


class _PodSpec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _BoundPod(msgspec.Struct):
    """What of a pod says whether it is bound."""

    metadata: _PodMetadata
    spec: _PodSpec


_BOUND_POD = msgspec.json.Decoder(_BoundPod)


class LiveCluster:
    """The writing side of a cluster behind an API server (nodewise.cluster.client.ClusterClient).

    Parameters
    ----------
    client : ApiClient
    recorder : EventRecorder
        Writes the events; whoever assembles the process runs it.
    now : Callable[[], datetime]
        For the times of conditions.
    rng : random.Random
        Spreads waits.

    Attributes
    ----------
    objects : LiveObjectWriter
        Where plugins write volumes and claims.
    """

    def __init__(
        self,
        client: ApiClient,
        recorder: EventRecorder,
        *,
        now: Callable[[], datetime],
        rng: random.Random,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.client = client
        self.objects = LiveObjectWriter(client)
        self.recorder = recorder
        self._now = now
        self._rng = rng
        self._sleep = sleep

    def record(self, event: PodEvent) -> None:
        self.recorder.record(event)

    # --- binding ------------------------------------------------------------------------------------------------------

    async def bind(self, pod: PodInfo, node_name: str) -> Status:
        """Create the Binding of a pod to a node (DefaultBinder.Bind).

        Tried again, up to four times, when the server has an internal error, is not available or refuses connections.
        A conflict is final: the pod is bound elsewhere, or another one has its name. When no answer comes, the pod is
        read back before anything else is said or done: the server may have bound it. kube-scheduler takes it for not
        bound.
        """
        metadata = pod.pod.metadata
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"namespace": metadata.namespace, "name": metadata.name, "uid": metadata.uid},
            "target": {"kind": "Node", "name": node_name},
        }
        path = f"{_PODS.path_of(metadata.namespace, metadata.name)}/binding"
        is_doubtful = False
        wait_s = BIND_RETRY_S
        for tries_left in reversed(range(BIND_TRIES)):
            try:
                await self.client.post(path, body)
                return SUCCESS
            except RequestError as error:
                if isinstance(error, ConnectionFailedError) and not error.is_refused:
                    is_doubtful = True
                if is_doubtful and await self._is_bound_to(pod, node_name):
                    return SUCCESS
                if not tries_left or not _may_bind_again(error):
                    return Status.error(str(error))
                LOGGER.info("bind %s to %s: %s, trying again", pod.key, node_name, error)
            await self._sleep(wait_s * (1 + BIND_JITTER * self._rng.random()))
            wait_s *= BIND_RETRY_FACTOR
        raise AssertionError("the last try returns")

    async def _is_bound_to(self, pod: PodInfo, node_name: str) -> bool:
        """Read a pod back after a request whose answer is not known; waits for a server that is away."""
        metadata = pod.pod.metadata
        path = _PODS.path_of(metadata.namespace, metadata.name)
        for tries_left in reversed(range(READ_BACK_TRIES)):
            try:
                found = _BOUND_POD.decode(await self.client.get(path))
            except ApiError as error:
                if error.status < 500 or not tries_left:
                    return False
            except ConnectionFailedError:
                if not tries_left:
                    return False
            else:
                return found.metadata.uid == metadata.uid and found.spec.node_name == node_name
            await self._sleep(READ_BACK_S)
        return False

    # --- pods ---------------------------------------------------------------------------------------------------------

    async def patch_pod_status(
        self, pod: Pod, *, condition: PodCondition | None = None, nominated_node_name: str | None = None
    ) -> None:
        """Change a condition and the nominated node of a pod by a strategic merge patch of its status.

        A condition keeps the time of its last transition while its status stays the same. What the pod as given has
        already is not sent; where nothing is left there is no request. A pod that is gone is no error.

        Raises
        ------
        RequestError
            The server refused, or did not answer.
        """
        status: dict[str, Any] = {}
        if condition is not None and condition not in pod.status.conditions:
            status["conditions"] = [self._condition(pod, condition)]
        if nominated_node_name is not None and nominated_node_name != pod.status.nominated_node_name:
            status["nominatedNodeName"] = nominated_node_name or None
        if not status:
            return
        metadata = pod.metadata
        body = {"metadata": {"uid": metadata.uid}, "status": status}
        try:
            await self.client.patch(f"{_PODS.path_of(metadata.namespace, metadata.name)}/status", body)
        except ApiError as error:
            if not error.is_not_found and not _is_another_pod(error):
                raise

    def _condition(self, pod: Pod, condition: PodCondition) -> dict[str, Any]:
        old = next((other for other in pod.status.conditions if other.type == condition.type), None)
        body: dict[str, Any] = {
            "type": condition.type,
            "status": condition.status,
            "reason": condition.reason or None,
            "message": condition.message or None,
        }
        if pod.metadata.generation:
            body["observedGeneration"] = pod.metadata.generation
        if old is None or old.status != condition.status:
            body["lastTransitionTime"] = self._now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        if old is None:
            return {key: value for key, value in body.items() if value is not None} | {"lastProbeTime": None}
        return body

    async def delete_pod(self, pod: PodInfo) -> None:
        """Delete a pod with its own grace period; one that is gone is no error.

        kube-scheduler names no uid: a pod that was made anew under the same name meanwhile would be deleted in place of
        the one that was chosen. Here it stays.

        Raises
        ------
        RequestError
            The server refused, or did not answer.
        """
        metadata = pod.pod.metadata
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": metadata.uid}}
        try:
            await self.client.delete(_PODS.path_of(metadata.namespace, metadata.name), options)
        except ApiError as error:
            if not error.is_not_found and not error.is_conflict:
                raise


def _is_another_pod(error: ApiError) -> bool:
    """Tell whether the pod that was meant is gone and another one has its name: a uid cannot be changed."""
    return error.is_invalid and "metadata.uid" in error.message and "field is immutable" in error.message


def _may_bind_again(error: RequestError) -> bool:
    """Tell whether another try may help (isRetryableBindError); a try without an answer is another matter, and may."""
    if isinstance(error, ApiError):
        return error.status in (500, 503)
    return isinstance(error, ConnectionFailedError)

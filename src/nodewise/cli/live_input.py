"""A running cluster as the input of a verb."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from nodewise.cluster.collect import Progress
from nodewise.cluster.load import LoadedCluster, load_listed
from nodewise.cluster.object_set import InputError
from nodewise.config.feature_gates import FeatureGates
from nodewise.errors import NodewiseError

if TYPE_CHECKING:
    from nodewise.cluster.live.listing import Listing

_TIMEOUT_S = 120.0
FOR_CONTROLLERS = ("Deployment", "DaemonSet", "Job", "CronJob", "ResourceClaimTemplate")
"""What only those read who make pods; they also read priority classes."""
_OF_GATES = {"PodGroup": "GenericWorkload", "CompositePodGroup": "CompositePodGroup"}


class LiveInputError(NodewiseError):
    """A cluster cannot be read."""


def read_live_cluster(
    arguments: argparse.Namespace,
    *,
    workloads: Literal["expand", "ignore"],
    gates: FeatureGates,
    keep_documents: bool,
    progress: Progress | None,
) -> LoadedCluster:
    """Read the cluster that the flags name, all of it that scheduling depends on.

    Raises
    ------
    NodewiseError
        There is no such cluster, it does not answer, or it does not give nodes or pods away.
    """
    with _live_packages():
        from nodewise.cluster.live.listing import LISTABLE
    kinds = [kind for kind in LISTABLE if kind not in _OF_GATES or gates.enabled(_OF_GATES[kind])]
    if workloads == "ignore":
        kinds = [kind for kind in kinds if kind not in FOR_CONTROLLERS]
        if not getattr(arguments, "trace", ""):
            kinds.remove("PriorityClass")
    listing = list_live(arguments, kinds, with_ended_pods=workloads == "expand", progress=progress)
    cluster = load_listed(
        [(listed.resource.kind, listed.resource.api_version, listed.items) for listed in listing.kinds],
        workloads=workloads,
        gates=gates,
        keep_documents=keep_documents,
    )
    cluster.errors += refusals(listing)
    return cluster


def list_live(
    arguments: argparse.Namespace, kinds: Iterable[str], *, with_ended_pods: bool = False, progress: Progress | None
) -> Listing:
    """List some kinds of objects in the cluster that the flags name, the current one when they name none.

    Raises
    ------
    NodewiseError
        As of `read_live_cluster`.
    """
    with _live_packages():
        from nodewise.cluster.live.api_client import ApiClient, user_agent
        from nodewise.cluster.live.kubeconfig import load_connection
        from nodewise.cluster.live.listing import LISTABLE, list_cluster
    resources = [LISTABLE[kind] for kind in kinds]
    if with_ended_pods:
        resources = [replace(resource, field_selector="") for resource in resources]

    async def read() -> Listing:
        connection = await load_connection(arguments.kubeconfig, arguments.context or None)
        agent = user_agent(arguments.verb)
        async with ApiClient(connection, qps=0, agent=agent, timeout_s=_TIMEOUT_S) as client:
            return await list_cluster(client, resources, progress)

    return asyncio.run(read())


def refusals(listing: Listing) -> list[InputError]:
    """Return what the user may not list; the rest has been read."""
    return [
        InputError("", kind, "", f"cannot be listed and is left out: {words}")
        for kind, words in listing.refused.items()
    ]


@contextmanager
def _live_packages() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise LiveInputError(
            f"reading a cluster needs more packages: pip install 'nodewise[live]' ({error})"
        ) from error

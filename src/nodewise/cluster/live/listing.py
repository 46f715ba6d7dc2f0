"""Reads a whole cluster once: every kind that is asked for, in pages, nothing but GET requests."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import msgspec

from nodewise.api.kinds import KINDS
from nodewise.cluster.collect import Progress
from nodewise.cluster.live.api_client import ApiClient
from nodewise.cluster.live.errors import ApiError, ConnectionFailedError, RequestError
from nodewise.cluster.live.resources import RESOURCES, Resource
from nodewise.cluster.live.wire import WireReader
from nodewise.errors import NodewiseError

PAGE_SIZE = 500
NEEDED = ("Node", "Pod")
"""Without these no question about scheduling has an answer."""
_PHASE = "listing pods"

_CONTROLLERS = {
    "Deployment": "deployments",
    "DaemonSet": "daemonsets",
    "Job": "jobs",
    "CronJob": "cronjobs",
    "ResourceClaimTemplate": "resourceclaimtemplates",
}
LISTABLE: dict[str, Resource] = {
    **RESOURCES,
    **{name: Resource(KINDS[name], KINDS[name].api_versions[0], plural) for name, plural in _CONTROLLERS.items()},
}
"""All that can be listed, by kind; of pods those that have not ended."""


@dataclass(slots=True)
class ListedKind:
    """The objects of one kind, as the server wrote them (without kind and apiVersion)."""

    resource: Resource
    items: list[msgspec.Raw] = field(default_factory=list)


@dataclass(slots=True)
class Listing:
    """A cluster at about one moment: each kind is a consistent list, different kinds may be milliseconds apart.

    Attributes
    ----------
    kinds : list[ListedKind]
        In the order asked for; those that the server does not know are absent.
    refused : dict[str, str]
        The kinds that this user may not list, with the server's words.
    """

    kinds: list[ListedKind] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)


class ListingError(NodewiseError):
    """A cluster cannot be read."""


async def list_cluster(client: ApiClient, resources: Sequence[Resource], progress: Progress | None = None) -> Listing:
    """List all objects of some kinds.

    Parameters
    ----------
    progress
        Called with a phase, the pods read so far and about how many there are.

    Raises
    ------
    ListingError
        The server cannot be asked, or does not give nodes or pods away.
    """
    answers = await asyncio.gather(*(_list_kind(client, resource, progress) for resource in resources))
    listing = Listing()
    for resource, answer in zip(resources, answers, strict=True):
        if isinstance(answer, ListedKind):
            listing.kinds.append(answer)
        elif resource.kind.name in NEEDED or not isinstance(answer, ApiError) or answer.status not in (403, 404):
            raise ListingError(f"cannot list {resource.plural}: {_words(client, answer)}") from answer
        elif answer.status == 403:
            listing.refused[resource.kind.name] = str(answer)
    return listing


def _words(client: ApiClient, error: RequestError) -> str:
    if isinstance(error, ConnectionFailedError) and error.is_refused:
        return f"nobody listens at {client.connection.base_url} (connection refused)"
    if isinstance(error, ApiError) and error.status == 401:
        return f"{client.connection.base_url} does not know who asks ({error})"
    return str(error)


async def _list_kind(client: ApiClient, resource: Resource, progress: Progress | None) -> ListedKind | RequestError:
    """List one kind in the newest version that the server has; an error is for the caller to judge."""
    for api_version in resource.kind.api_versions:
        in_version = replace(resource, api_version=api_version)
        try:
            return ListedKind(in_version, await _pages(client, in_version, progress))
        except RequestError as error:
            if not (isinstance(error, ApiError) and await _is_absent(client, in_version, error)):
                return error
    return ApiError(f"GET {resource.path}", 404, "NotFound", f"the server does not know {resource.plural}")


async def _is_absent(client: ApiClient, resource: Resource, error: ApiError) -> bool:
    """Tell whether the server does not know a kind; it may refuse to list it then, since it asks about rights first."""
    if error.is_not_found:
        return True
    if error.status != 403 or "/" not in resource.api_version:
        return False
    try:
        body = await client.get(f"/apis/{resource.api_version}")
    except ApiError as unknown:
        return unknown.is_not_found
    except RequestError:
        return False
    return resource.plural not in {found.name for found in msgspec.json.decode(body, type=_Discovered).resources}


async def _pages(client: ApiClient, resource: Resource, progress: Progress | None) -> list[msgspec.Raw]:
    is_told = progress is not None and resource.kind.name == "Pod"
    total = await _count(client, resource) if is_told else 0
    query = {"fieldSelector": resource.field_selector} if resource.field_selector else {}
    items: list[msgspec.Raw] = []
    continuation = ""
    while True:
        page_query = {**query, "limit": str(PAGE_SIZE)}
        if continuation:
            page_query["continue"] = continuation
        try:
            body = await client.get(resource.path, page_query, is_list=True)
        except ApiError as error:
            if not (error.is_expired and continuation):
                raise
            # The pages that came before are of a moment that the server has forgotten: all at once then.
            body, items = await client.get(resource.path, query, is_list=True), []
        page = WireReader(resource).page(body)
        items += page.items
        if progress is not None and is_told:
            progress(_PHASE, len(items), max(total, len(items)))
        if not page.continuation:
            return items
        continuation = page.continuation


class _Named(msgspec.Struct):
    name: str = ""


class _Discovered(msgspec.Struct):
    resources: list[_Named] = []


class _Metadata(msgspec.Struct, rename="camel"):
    remaining_item_count: int = 0


class _Counted(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    items: list[msgspec.Raw] | None = None


async def _count(client: ApiClient, resource: Resource) -> int:
    """Return about how many objects there are: servers count only those of lists without a selector."""
    found = msgspec.json.decode(await client.get(resource.path, {"limit": "1"}), type=_Counted)
    return len(found.items or ()) + found.metadata.remaining_item_count

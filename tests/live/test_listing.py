"""Reading a whole cluster once: pages, versions, and servers that do not give everything away."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from nodewise.cluster.live.api_client import ApiClient
from nodewise.cluster.live.listing import LISTABLE, Listing, ListingError, list_cluster
from nodewise.cluster.live.resources import PODS_THAT_RUN
from tests.live.scripted_server import Answer, ScriptedServer, cut, pod, pod_list, refuse, reply


async def read(server: ScriptedServer, *kinds: str, told: list[tuple[str, int, int]] | None = None) -> Listing:
    def progress(phase: str, done: int, total: int) -> None:
        assert told is not None
        told.append((phase, done, total))

    async with asyncio.timeout(30), ApiClient(server.connection) as client:
        resources = [LISTABLE[kind] for kind in kinds]
        return await list_cluster(client, resources, None if told is None else progress)


def list_with(answers: Sequence[Answer], *kinds: str) -> tuple[Listing, list[dict[str, Any]]]:
    async def scenario() -> tuple[Listing, list[dict[str, Any]]]:
        async with ScriptedServer(*answers) as server:
            return await read(server, *kinds), server.requests

    return asyncio.run(scenario())


def names(listing: Listing) -> list[str]:
    return [msgspec.json.decode(item)["metadata"]["name"] for kind in listing.kinds for item in kind.items]


def class_list(*items: str) -> dict[str, Any]:
    return {"kind": "DeviceClassList", "items": [{"metadata": {"name": name}} for name in items]}


def test_a_list_is_asked_for_in_compressed_pages_without_pods_that_have_ended() -> None:
    first, second = pod_list("9", [pod("a", "1")], continuation="next"), pod_list("9", [pod("b", "2")])
    listing, requests = list_with([reply(first), reply(second)], "Pod")
    assert names(listing) == ["a", "b"]
    assert [request.get("continue") for request in requests] == [None, "next"]
    for request in requests:
        assert (request[":method"], request["limit"], request["fieldSelector"]) == ("GET", "500", PODS_THAT_RUN)
        assert request[":headers"]["Accept-Encoding"] == "gzip"


def test_pages_that_the_server_has_forgotten_are_asked_for_again_in_one() -> None:
    first, whole = pod_list("9", [pod("a", "1")], continuation="next"), pod_list("12", [pod("b", "1"), pod("c", "2")])
    listing, requests = list_with([reply(first), refuse(410, "Expired", "too old"), reply(whole)], "Pod")
    assert names(listing) == ["b", "c"]
    assert "limit" not in requests[-1]


def test_an_older_version_is_asked_for_where_the_newest_is_not_served() -> None:
    answers = [refuse(404, "NotFound"), refuse(404, "NotFound"), reply(class_list("gpu"))]
    listing, requests = list_with(answers, "DeviceClass")
    assert names(listing) == ["gpu"]
    assert [request[":path"].split("/")[3] for request in requests] == ["v1", "v1beta2", "v1beta1"]
    assert listing.kinds[0].resource.api_version == "resource.k8s.io/v1beta1"


def test_a_kind_that_the_server_does_not_know_is_absent() -> None:
    listing, _ = list_with([refuse(404, "NotFound")] * 2, "PodGroup")
    assert (listing.kinds, listing.refused) == ([], {})


def test_a_kind_that_may_not_be_listed_and_is_not_even_served_is_absent() -> None:
    discovered = reply({"kind": "APIResourceList", "resources": [{"name": "priorityclasses"}]})
    answers = [refuse(403, "Forbidden"), discovered, refuse(403, "Forbidden"), refuse(404, "NotFound")]
    listing, requests = list_with(answers, "PodGroup")
    assert (listing.kinds, listing.refused) == ([], {})
    assert requests[1][":path"] == "/apis/scheduling.k8s.io/v1beta1"


def test_a_kind_that_is_served_and_may_not_be_listed_is_refused() -> None:
    discovered = reply({"kind": "APIResourceList", "resources": [{"name": "podgroups"}]})
    listing, _ = list_with([refuse(403, "Forbidden", "no"), discovered], "PodGroup")
    assert listing.refused == {"PodGroup": "no"}


def test_a_kind_that_this_user_may_not_list_is_named_with_the_words_of_the_server() -> None:
    listing, _ = list_with([refuse(403, "Forbidden", "services is forbidden: no")], "Service")
    assert listing.refused == {"Service": "services is forbidden: no"}


@pytest.mark.parametrize("kind", ["Node", "Pod"])
def test_without_nodes_and_pods_there_is_no_answer(kind: str) -> None:
    with pytest.raises(ListingError, match=rf"cannot list {kind.lower()}s: they are forbidden"):
        list_with([refuse(403, "Forbidden", "they are forbidden")], kind)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (refuse(401, "Unauthorized", "Unauthorized"), "does not know who asks"),
        (refuse(500, "InternalError", "etcd is away"), "etcd is away"),
        (cut(), "GET /api/v1/services"),
    ],
)
def test_a_server_that_fails_ends_the_reading(answer: Answer, words: str) -> None:
    with pytest.raises(ListingError, match=rf"cannot list services: .*{words}"):
        list_with([answer, answer], "Service")  # the library asks once more where a connection broke off


def test_nobody_at_the_address_is_said_so() -> None:
    async def scenario() -> None:
        async with ScriptedServer() as server:
            pass
        await read(server, "Service")

    with pytest.raises(ListingError, match=r"cannot list services: nobody listens at http://127.0.0.1:\d+"):
        asyncio.run(scenario())


def test_progress_is_told_by_the_pods_there_are() -> None:
    async def scenario() -> list[tuple[str, int, int]]:
        told: list[tuple[str, int, int]] = []
        counted = {"kind": "PodList", "metadata": {"remainingItemCount": 4}, "items": [pod("a", "1")]}
        pages = [pod_list("9", [pod("a", "1"), pod("b", "2")], continuation="x"), pod_list("9", [pod("c", "3")])]
        async with ScriptedServer(reply(counted), *map(reply, pages)) as server:
            await read(server, "Pod", told=told)
        return told

    assert asyncio.run(scenario()) == [("listing pods", 2, 5), ("listing pods", 3, 5)]

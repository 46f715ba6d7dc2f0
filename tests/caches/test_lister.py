"""Listers: by key, by namespace, by label selector."""

import logging

import pytest

from nodewise.api.objects import Node, ObjectMeta, Pod
from nodewise.api.selectors import EVERYTHING, NOTHING, Selector
from nodewise.caches import NAMESPACE_INDEX, Indexer, Lister, NotFoundError, meta_namespace_index

FRONT = Selector.from_map({"tier": "front"})


def lister(*, with_index: bool = True) -> Lister[Pod]:
    indexer = Indexer[Pod](indexers={NAMESPACE_INDEX: meta_namespace_index} if with_index else None)
    for namespace, name, tier in (("shop", "web", "front"), ("blog", "web", "front"), ("shop", "db", "back")):
        indexer.add(Pod(metadata=ObjectMeta(name=name, namespace=namespace, labels={"tier": tier})))
    return Lister(indexer, "pods")


def keys(pods: list[Pod]) -> list[str]:
    return [f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in pods]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (None, ["shop/web", "blog/web", "shop/db"]),
        (EVERYTHING, ["shop/web", "blog/web", "shop/db"]),
        (FRONT, ["shop/web", "blog/web"]),
        (NOTHING, []),
    ],
)
def test_all_namespaces_are_listed_by_selector(selector: Selector | None, expected: list[str]) -> None:
    assert keys(lister().list(selector)) == expected
    assert keys(lister().by_namespace("").list(selector)) == expected


@pytest.mark.parametrize("with_index", [True, False])
@pytest.mark.parametrize(
    ("selector", "expected"),
    [(None, ["shop/web", "shop/db"]), (EVERYTHING, ["shop/web", "shop/db"]), (FRONT, ["shop/web"]), (NOTHING, [])],
)
def test_one_namespace_is_listed_with_and_without_the_index(
    selector: Selector | None, expected: list[str], *, with_index: bool
) -> None:
    assert keys(lister(with_index=with_index).by_namespace("shop").list(selector)) == expected


def test_a_missing_namespace_index_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        lister().by_namespace("shop").list()
        assert caplog.messages == []
        lister(with_index=False).by_namespace("shop").list()
    assert caplog.messages == [
        "Warning: can not retrieve list of objects using index: Index with name namespace does not exist"
    ]


def test_an_unknown_namespace_is_empty() -> None:
    assert lister().by_namespace("other").list() == []


def test_get_goes_by_key_and_in_a_namespace_by_name() -> None:
    assert keys([lister().get("shop/db"), lister().by_namespace("blog").get("web")]) == ["shop/db", "blog/web"]


def test_objects_of_the_cluster_are_got_by_name() -> None:
    indexer = Indexer[Node]()
    indexer.add(Node(metadata=ObjectMeta(name="node-1")))
    assert Lister(indexer, "nodes").get("node-1").metadata.name == "node-1"


def test_what_is_not_there_is_not_found() -> None:
    with pytest.raises(NotFoundError, match=r'^pods "a/b" not found$'):
        lister().get("a/b")
    with pytest.raises(NotFoundError, match=r'^pods "cart" not found$'):
        lister().by_namespace("shop").get("cart")
    with pytest.raises(NotFoundError) as caught:
        Lister(Indexer[Pod](), "deployments.apps").get("b")
    assert str(caught.value) == 'deployments.apps "b" not found'
    assert (caught.value.resource, caught.value.name) == ("deployments.apps", "b")

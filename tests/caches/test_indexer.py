"""The indexer: a store that makes its keys itself."""

import msgspec
import pytest

from nodewise.api.objects import ObjectMeta, Pod
from nodewise.caches import (
    NAMESPACE_INDEX,
    CacheUsageError,
    ChangeKind,
    ExplicitKey,
    Indexer,
    IndexerConflictError,
    LateIndexers,
    NoMetadataError,
    ObjectKeyError,
    TransactionError,
    meta_namespace_index,
)

NO_KEY = "couldn't create key for object 3: object has no meta: object does not implement the Object interfaces"


def pod(key: str, resource_version: str = "") -> Pod:
    namespace, name = key.split("/")
    return Pod(metadata=ObjectMeta(name=name, namespace=namespace, resource_version=resource_version))


def indexer_of(*keys: str) -> Indexer[Pod]:
    indexer = Indexer[Pod](indexers={NAMESPACE_INDEX: meta_namespace_index})
    for key in keys:
        indexer.add(pod(key))
    return indexer


def test_objects_are_stored_under_their_own_keys() -> None:
    indexer = indexer_of("shop/web", "blog/web")
    assert indexer.list_keys() == ["shop/web", "blog/web"]
    assert indexer.get(pod("shop/web", "7")) == pod("shop/web")
    assert indexer.get(pod("shop/db")) is None
    assert indexer.get_by_key("blog/web") == pod("blog/web")
    assert len(indexer) == 2


def test_update_and_delete_go_by_key() -> None:
    indexer = indexer_of("shop/web", "shop/db")
    indexer.update(pod("shop/web", "2"))
    indexer.delete(pod("shop/db", "3"))
    assert indexer.list() == [pod("shop/web", "2")]
    assert indexer.last_store_sync_resource_version() == "3"


def test_an_explicit_key_finds_its_object() -> None:
    indexer = Indexer[object]()
    indexer.add(pod("shop/web"))
    assert indexer.get(ExplicitKey("shop/web")) == pod("shop/web")


def test_indices_are_those_of_the_store() -> None:
    indexer = indexer_of("shop/web", "blog/web", "shop/db")
    assert indexer.index_keys(NAMESPACE_INDEX, "shop") == ["shop/db", "shop/web"]
    assert indexer.by_index(NAMESPACE_INDEX, "blog") == [pod("blog/web")]
    assert indexer.index(NAMESPACE_INDEX, pod("shop/other")) == [pod("shop/web"), pod("shop/db")]
    assert indexer.list_index_func_values(NAMESPACE_INDEX) == ["shop", "blog"]
    indexer.add_indexers({"name": lambda obj: [obj.metadata.name]})
    assert indexer.index_keys("name", "web") == ["blog/web", "shop/web"]
    assert list(indexer.get_indexers()) == [NAMESPACE_INDEX, "name"]
    with pytest.raises(IndexerConflictError):
        indexer.add_indexers({"name": meta_namespace_index})
    indexer.resync()
    assert indexer.check() == []


def test_replace_swaps_everything() -> None:
    indexer = indexer_of("shop/web")
    indexer.replace([pod("blog/a"), pod("blog/b")], "30")
    assert indexer.list_index_func_values(NAMESPACE_INDEX) == ["blog"]
    assert indexer.last_store_sync_resource_version() == "30"
    indexer.bookmark("31")
    assert indexer.last_store_sync_resource_version() == "31"


@pytest.mark.parametrize("operation", ["add", "update", "delete", "get"])
def test_an_object_without_a_key_is_an_error(operation: str) -> None:
    indexer = Indexer[object]()
    with pytest.raises(ObjectKeyError) as caught:
        getattr(indexer, operation)(3)
    assert str(caught.value) == NO_KEY
    assert caught.value.obj == 3
    assert isinstance(caught.value.__cause__, NoMetadataError)


def test_one_object_without_a_key_keeps_all_of_a_replacement_out() -> None:
    indexer = Indexer[object]()
    indexer.add(pod("shop/web"))
    with pytest.raises(ObjectKeyError):
        indexer.replace([pod("shop/db"), 3])
    assert indexer.list_keys() == ["shop/web"]


def test_a_key_function_of_ones_own_may_fail_in_its_own_way() -> None:
    def first(obj: str) -> str:
        return obj[0]

    indexer = Indexer(first)
    indexer.add("web")
    assert indexer.list_keys() == ["w"]
    with pytest.raises(ObjectKeyError, match="couldn't create key for object : string index out of range"):
        indexer.add("")


def test_a_transaction_makes_its_changes() -> None:
    indexer = indexer_of("shop/web")
    indexer.transaction([(ChangeKind.ADD, pod("shop/db", "4")), (ChangeKind.DELETE, pod("shop/web", "5"))])
    assert indexer.list_keys() == ["shop/db"]
    assert indexer.last_store_sync_resource_version() == "5"


def test_a_transaction_leaves_out_what_has_no_key_and_says_so() -> None:
    indexer = Indexer[object]()
    with pytest.raises(TransactionError) as caught:
        indexer.transaction([(ChangeKind.ADD, 3), (ChangeKind.ADD, pod("shop/web")), (ChangeKind.DELETE, 3)])
    assert str(caught.value) == f"failed to execute (2/3) transactions failed due to: [{NO_KEY} {NO_KEY}]"
    assert caught.value.successful_idx == (1,)
    assert caught.value.n_changes == 3
    assert [error.obj for error in caught.value.errors] == [3, 3]
    assert indexer.list_keys() == ["shop/web"]


def test_a_transformer_changes_what_add_update_and_replace_store() -> None:
    def without_version(obj: Pod) -> Pod:
        return msgspec.structs.replace(obj, metadata=msgspec.structs.replace(obj.metadata, resource_version=""))

    indexer = Indexer(transformer=without_version)
    indexer.add(pod("shop/a", "1"))
    indexer.update(pod("shop/b", "2"))
    assert indexer.list() == [pod("shop/a"), pod("shop/b")]
    indexer.replace([pod("shop/c", "3")])
    assert indexer.list() == [pod("shop/c")]
    indexer.transaction([(ChangeKind.ADD, pod("shop/d", "4"))])
    assert indexer.get_by_key("shop/d") == pod("shop/d", "4")


def test_late_indexers_can_be_refused() -> None:
    indexer = Indexer[Pod](late_indexers=LateIndexers.REFUSED)
    indexer.add(pod("shop/web"))
    with pytest.raises(CacheUsageError, match="cannot add indexers to running index"):
        indexer.add_indexers({NAMESPACE_INDEX: meta_namespace_index})

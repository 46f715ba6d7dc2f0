"""The thread-safe store: objects, indices, conflicts, failures, transactions."""

from collections.abc import Iterable

import pytest

from nodewise.api.objects import ObjectMeta, Pod, PodSpec
from nodewise.caches import (
    CacheUsageError,
    ChangeKind,
    IndexerConflictError,
    IndexFunctionError,
    LateIndexers,
    StoreChange,
    ThreadSafeStore,
    UnknownIndexError,
)


def letters(text: str) -> list[str]:
    """Index a text by its letters; a digit is an error."""
    if any(letter.isdigit() for letter in text):
        raise ValueError("boom")
    return list(text)


def length(text: str) -> Iterable[str]:
    return (str(len(text)),)


def store_of(*texts: str) -> ThreadSafeStore[str]:
    """Make a store with two indices; every text is its own key."""
    store = ThreadSafeStore[str]({"letter": letters, "length": length})
    for text in texts:
        store.add(text, text)
    return store


def pod(name: str, resource_version: str, node_name: str = "") -> Pod:
    return Pod(metadata=ObjectMeta(name=name, resource_version=resource_version), spec=PodSpec(node_name=node_name))


# --- objects ----------------------------------------------------------------------------------------------------------


def test_what_was_added_is_found_and_listed_in_order() -> None:
    store = store_of("b", "a")
    assert store.get("a") == "a"
    assert store.list() == ["b", "a"]
    assert store.list_keys() == ["b", "a"]
    assert "a" in store
    assert len(store) == 2


def test_a_missing_key_gives_the_default() -> None:
    store = store_of("a")
    assert store.get("x") is None
    assert store.get("x", 3) == 3


@pytest.mark.parametrize("change", ["add", "update"])
def test_add_and_update_do_the_same(change: str) -> None:
    store = store_of("a")
    getattr(store, change)("a", "bc")
    getattr(store, change)("new", "d")
    assert store.list() == ["bc", "d"]
    assert store.index_keys("letter", "a") == []
    assert store.index_keys("letter", "b") == ["a"]


def test_lists_are_copies() -> None:
    store = store_of("a")
    store.list().clear()
    store.list_keys().clear()
    store.by_index("letter", "a").clear()
    store.get_indexers().clear()
    assert store.list() == ["a"]
    assert store.by_index("letter", "a") == ["a"]


def test_a_deleted_object_is_in_no_index() -> None:
    store = store_of("ab", "b")
    store.delete("ab")
    store.delete("ab")
    assert store.list() == ["b"]
    assert store.by_index("letter", "b") == ["b"]
    assert store.list_index_func_values("letter") == ["b"]


def test_replace_swaps_everything() -> None:
    store = store_of("a", "b")
    items = {"x": "cd"}
    store.replace(items, "17")
    items["y"] = "e"
    assert store.list_keys() == ["x"]
    assert sorted(store.list_index_func_values("letter")) == ["c", "d"]
    assert store.last_store_sync_resource_version() == "17"


def test_none_can_be_stored() -> None:
    store = ThreadSafeStore[None]()
    store.add("a", None)
    assert store.get("a", "missing") is None
    assert store.list() == [None]


def test_resync_does_nothing() -> None:
    store = store_of("a")
    store.resync()
    assert store.list() == ["a"]


# --- indices ----------------------------------------------------------------------------------------------------------


def test_an_object_is_found_under_each_of_its_values() -> None:
    store = store_of("ab", "bc", "d")
    assert store.by_index("letter", "b") == ["ab", "bc"]
    assert store.by_index("letter", "c") == ["bc"]


def test_an_object_without_values_is_in_the_store_only() -> None:
    store = store_of("")
    assert store.list() == [""]
    assert store.list_index_func_values("letter") == []


def test_a_value_given_twice_counts_once() -> None:
    store = store_of("aa")
    assert store.by_index("letter", "a") == ["aa"]
    store.delete("aa")
    assert store.list_index_func_values("letter") == []


def test_index_keys_are_sorted() -> None:
    assert store_of("cx", "ax", "bx").index_keys("letter", "x") == ["ax", "bx", "cx"]


def test_index_finds_what_shares_a_value_each_object_once() -> None:
    store = store_of("ab", "bc", "d")
    assert store.index("letter", "abc") == ["ab", "bc"]
    assert store.index("letter", "d") == ["d"]
    assert store.index("letter", "xyz") == []
    assert store.index("letter", "") == []


def test_a_value_that_nobody_has_is_no_error() -> None:
    store = store_of("a")
    assert store.by_index("letter", "x") == []
    assert store.index_keys("letter", "x") == []


def test_an_index_that_does_not_exist_is_an_error() -> None:
    store = store_of("a")
    for ask in (store.index, store.index_keys, store.by_index):
        with pytest.raises(UnknownIndexError, match=r"^Index with name color does not exist$") as caught:
            ask("color", "red")
        assert caught.value.index_name == "color"


def test_an_index_that_does_not_exist_has_no_values() -> None:
    assert store_of("a").list_index_func_values("color") == []


def test_values_that_nobody_has_any_more_are_forgotten() -> None:
    store = store_of("ab")
    store.update("ab", "bc")
    assert sorted(store.list_index_func_values("letter")) == ["b", "c"]


# --- adding indexers --------------------------------------------------------------------------------------------------


def test_indexers_may_come_before_and_after_the_items() -> None:
    store = ThreadSafeStore[str]()
    store.add_indexers({"length": length})
    store.add("ab", "ab")
    store.add_indexers({"letter": letters})
    assert store.by_index("length", "2") == ["ab"]
    assert store.by_index("letter", "b") == ["ab"]
    assert list(store.get_indexers()) == ["length", "letter"]


def test_a_name_that_is_taken_is_a_conflict_and_nothing_is_added() -> None:
    store = store_of("a")
    with pytest.raises(IndexerConflictError) as caught:
        store.add_indexers({"new": length, "letter": length, "length": length})
    assert str(caught.value) == "indexer conflict: map[length:{} letter:{}]"
    assert caught.value.index_names == ("length", "letter")
    assert list(store.get_indexers()) == ["letter", "length"]


def test_up_to_1_29_indexers_could_not_be_added_to_a_store_with_items() -> None:
    store = ThreadSafeStore[str](late_indexers=LateIndexers.REFUSED)
    store.add_indexers({"length": length})
    store.add("a", "a")
    with pytest.raises(CacheUsageError, match=r"^cannot add indexers to running index$"):
        store.add_indexers({"length": length})
    store.delete("a")
    store.add_indexers({"letter": letters})
    assert list(store.get_indexers()) == ["length", "letter"]


# --- failing index functions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", ["add", "update", "replace", "transaction"])
def test_an_index_function_that_fails_leaves_the_store_as_it_was(operation: str) -> None:
    store = store_of("ab", "c")
    operations = {
        "add": lambda: store.add('k"1', "a1"),
        "update": lambda: store.update('k"1', "a1"),
        "replace": lambda: store.replace({"z": "z", 'k"1': "a1"}, "9"),
        "transaction": lambda: store.transaction(
            [StoreChange(ChangeKind.ADD, "z", "z"), StoreChange(ChangeKind.UPDATE, 'k"1', "a1")]
        ),
    }
    with pytest.raises(IndexFunctionError) as caught:
        operations[operation]()
    assert str(caught.value) == r'unable to calculate an index entry for key "k\"1" on index "letter": boom'
    assert (caught.value.key, caught.value.index_name) == ('k"1', "letter")
    assert isinstance(caught.value.__cause__, ValueError)
    assert store.list() == ["ab", "c"]
    assert sorted(store.list_index_func_values("letter")) == ["a", "b", "c"]
    assert store.last_store_sync_resource_version() == ""
    assert store.check() == []


def test_an_indexer_that_fails_on_a_stored_object_is_not_added() -> None:
    store = ThreadSafeStore[str]()
    store.add("k", "a1")
    with pytest.raises(IndexFunctionError, match='key "k" on index "letter": boom'):
        store.add_indexers({"length": length, "letter": letters})
    assert store.get_indexers() == {}


def test_asking_with_an_object_that_the_function_fails_on_raises_its_own_error() -> None:
    with pytest.raises(ValueError, match="boom"):
        store_of("a").index("letter", "1")


def test_check_tells_of_objects_that_were_changed_in_the_store() -> None:
    store = ThreadSafeStore[list[str]]({"first": lambda items: items[:1]})
    items = ["a"]
    store.add("k", items)
    assert store.check() == []
    items[0] = "b"
    assert store.check() == [
        "index first: value 'a' has keys ['k'], expected []",
        "index first: value 'b' has keys [], expected ['k']",
    ]


# --- transactions and resource versions -------------------------------------------------------------------------------


def test_a_transaction_makes_all_its_changes_in_order() -> None:
    store = store_of("a")
    store.transaction(
        [
            StoreChange(ChangeKind.ADD, "b", "b"),
            StoreChange(ChangeKind.UPDATE, "b", "bb"),
            StoreChange(ChangeKind.DELETE, "a", "whatever"),
            StoreChange(ChangeKind.DELETE, "x", "unknown"),
        ]
    )
    assert store.list() == ["bb"]
    assert store.check() == []


def test_an_empty_transaction_does_nothing() -> None:
    store = ThreadSafeStore[Pod]()
    store.bookmark("3")
    store.transaction([])
    assert store.last_store_sync_resource_version() == "3"


def test_the_store_remembers_the_resource_version_of_what_it_saw_last() -> None:
    store = ThreadSafeStore[Pod]()
    versions = [store.last_store_sync_resource_version()]

    def note() -> None:
        versions.append(store.last_store_sync_resource_version())

    store.add("a", pod("a", "5"))
    note()
    store.update("a", pod("a", "6"))
    note()
    store.delete("a")
    note()
    store.delete_with_object("a", pod("a", "7"))
    note()
    store.bookmark("9")
    note()
    store.transaction(
        [StoreChange(ChangeKind.ADD, "a", pod("a", "12")), StoreChange(ChangeKind.ADD, "b", pod("b", "11"))]
    )
    note()
    store.replace({}, "20")
    note()
    assert versions == ["", "5", "6", "6", "7", "9", "11", "20"]


def test_objects_without_metadata_leave_the_resource_version_alone() -> None:
    store = store_of()
    store.bookmark("4")
    store.add("a", "a")
    store.delete_with_object("a", "a")
    assert store.last_store_sync_resource_version() == "4"

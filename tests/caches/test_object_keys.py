"""Keys of objects in a store, and the namespace index."""

import pytest

from nodewise.api.objects import Node, ObjectMeta, Pod
from nodewise.caches import (
    DeletedFinalStateUnknown,
    ExplicitKey,
    KeyFormatError,
    NoMetadataError,
    deletion_handling_meta_namespace_key,
    meta_namespace_index,
    meta_namespace_key,
    split_meta_namespace_key,
)

WEB = Pod(metadata=ObjectMeta(name="web", namespace="shop"))
NODE = Node(metadata=ObjectMeta(name="node-1"))


def test_a_key_is_namespace_and_name_or_the_name_alone() -> None:
    assert meta_namespace_key(WEB) == "shop/web"
    assert meta_namespace_key(NODE) == "node-1"


def test_an_explicit_key_passes_through() -> None:
    assert meta_namespace_key(ExplicitKey("a/b/c")) == "a/b/c"


@pytest.mark.parametrize("function", [meta_namespace_key, meta_namespace_index, deletion_handling_meta_namespace_key])
@pytest.mark.parametrize("obj", [3, "shop/web", None])
def test_what_has_no_metadata_has_no_key(function: object, obj: object) -> None:
    assert callable(function)
    with pytest.raises(NoMetadataError, match=r"^object has no meta: object does not implement the Object interfaces$"):
        function(obj)


def test_a_missed_deletion_keeps_the_key_it_was_stored_under() -> None:
    assert deletion_handling_meta_namespace_key(DeletedFinalStateUnknown("old/key", WEB)) == "old/key"
    assert deletion_handling_meta_namespace_key(WEB) == "shop/web"


@pytest.mark.parametrize(
    ("key", "parts"),
    [
        ("shop/web", ("shop", "web")),
        ("node-1", ("", "node-1")),
        ("", ("", "")),
        ("/web", ("", "web")),
        ("a/", ("a", "")),
    ],
)
def test_a_key_splits_into_namespace_and_name(key: str, parts: tuple[str, str]) -> None:
    assert split_meta_namespace_key(key) == parts


def test_a_key_of_three_parts_is_an_error() -> None:
    with pytest.raises(KeyFormatError) as caught:
        split_meta_namespace_key('a/b/c"é')
    assert str(caught.value) == 'unexpected key format: "a/b/c\\"é"'


def test_the_namespace_is_the_only_value_of_the_namespace_index() -> None:
    assert meta_namespace_index(WEB) == ("shop",)
    assert meta_namespace_index(NODE) == ("",)

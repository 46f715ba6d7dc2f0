"""The exceptions of the caches; texts that Kubernetes has are Kubernetes' own."""

from __future__ import annotations

import json
from collections.abc import Sequence

from nodewise.errors import NodewiseError


class CacheUsageError(NodewiseError):
    """A cache is made or used in a way that it does not allow."""


class UnknownIndexError(NodewiseError):
    """A store was asked for an index that it does not have.

    Attributes
    ----------
    index_name
        The name asked for.
    """

    def __init__(self, index_name: str) -> None:
        super().__init__(f"Index with name {index_name} does not exist")
        self.index_name = index_name


class IndexerConflictError(NodewiseError):
    """Indexers were added under names that the store already has; none of them was added.

    Attributes
    ----------
    index_names
        The names that were there before, sorted.
    """

    def __init__(self, index_names: Sequence[str]) -> None:
        # Go prints the set of names as the map that it is
        super().__init__(f"indexer conflict: map[{' '.join(f'{name}:{{}}' for name in index_names)}]")
        self.index_names = tuple(index_names)


class IndexFunctionError(NodewiseError):
    """An index function failed on an object that was to be stored; the store is as it was before.

    Attributes
    ----------
    key
        The object's key in the store.
    index_name
        The index whose function failed.
    """

    def __init__(self, key: str, index_name: str, cause: Exception) -> None:
        super().__init__(
            f"unable to calculate an index entry for key {_quoted(key)} on index {_quoted(index_name)}: {cause}"
        )
        self.key = key
        self.index_name = index_name


class NoMetadataError(NodewiseError):
    """An object without metadata was to be keyed or indexed by its metadata."""

    def __init__(self) -> None:
        super().__init__("object has no meta: object does not implement the Object interfaces")


class KeyFormatError(NodewiseError):
    """A text is not a store key.

    Attributes
    ----------
    key
        The text.
    """

    def __init__(self, key: str) -> None:
        super().__init__(f"unexpected key format: {_quoted(key)}")
        self.key = key


class ObjectKeyError(NodewiseError):
    """A key function failed on an object.

    Attributes
    ----------
    obj
        The object.
    """

    def __init__(self, obj: object, cause: Exception) -> None:
        super().__init__(f"couldn't create key for object {obj}: {cause}")
        self.obj = obj


class TransactionError(NodewiseError):
    """Some changes of a transaction were left out because their objects have no key; the others were made.

    Attributes
    ----------
    successful_idx
        The positions of the changes that were made.
    n_changes
        How many there were in all.
    errors
        Why the others were not made, in order.
    """

    def __init__(self, successful_idx: Sequence[int], n_changes: int, errors: Sequence[ObjectKeyError]) -> None:
        failed = f"{n_changes - len(successful_idx)}/{n_changes}"
        shown = " ".join(str(error) for error in errors)
        super().__init__(f"failed to execute ({failed}) transactions failed due to: [{shown}]")
        self.successful_idx = tuple(successful_idx)
        self.n_changes = n_changes
        self.errors = tuple(errors)


class NotFoundError(NodewiseError):
    """A lister has no object of this name.

    Attributes
    ----------
    resource
        Such as `pods` or `deployments.apps`.
    name
        The name asked for.
    """

    def __init__(self, resource: str, name: str) -> None:
        super().__init__(f"{resource} {_quoted(name)} not found")
        self.resource = resource
        self.name = name


class TooManyRequestsError(NodewiseError):
    """Events come faster than the limits allow.

    Attributes
    ----------
    reasons
        One for every limit that was reached.
    """

    def __init__(self, reasons: Sequence[str]) -> None:
        unique = list(dict.fromkeys(reasons))
        super().__init__(f"Too many requests: {unique[0] if len(unique) == 1 else '[' + ', '.join(unique) + ']'}")
        self.reasons = tuple(reasons)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)

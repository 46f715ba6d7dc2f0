"""Says under which key a store keeps a Kubernetes object, and which values the namespace index gives it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from nodewise.caches.errors import KeyFormatError, NoMetadataError

T_contra = TypeVar("T_contra", contravariant=True)

NAMESPACE_INDEX: Final = "namespace"


class Metadata(Protocol):
    """What stores and listers read of an object's metadata."""

    @property
    def name(self) -> str:
        """The name, unique in its namespace."""
        ...

    @property
    def namespace(self) -> str:
        """The namespace; empty for an object of the cluster."""
        ...

    @property
    def labels(self) -> Mapping[str, str]:
        """What selectors read."""
        ...

    @property
    def resource_version(self) -> str:
        """The version that the API server gave it."""
        ...


KeyFunc = Callable[[T_contra], str]


class ExplicitKey(str):
    """A key to be passed where an object is expected."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class DeletedFinalStateUnknown:
    """Stands for an object whose deletion the watch has missed.

    Attributes
    ----------
    key
        The key it had.
    obj
        What was last known of it; it may be out of date.
    """

    key: str
    obj: object = None


def metadata_of(obj: object) -> Metadata:
    """Return the metadata of an object.

    Raises
    ------
    NoMetadataError
        When it has none.
    """
    try:
        metadata: Metadata = obj.metadata  # type: ignore[attr-defined]
    except AttributeError:
        raise NoMetadataError from None
    return metadata


def meta_namespace_key(obj: object) -> str:
    """Return `namespace/name`, or the name alone without a namespace (MetaNamespaceKeyFunc); an explicit key as it is.

    Raises
    ------
    NoMetadataError
        When the object has no metadata.

    Examples
    --------
    >>> meta_namespace_key(ExplicitKey("shop/web"))
    'shop/web'
    """
    if isinstance(obj, ExplicitKey):
        return str(obj)
    metadata = metadata_of(obj)
    return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name


def deletion_handling_meta_namespace_key(obj: object) -> str:
    """Return the key of an object that may be deleted (DeletionHandlingMetaNamespaceKeyFunc).

    Examples
    --------
    >>> deletion_handling_meta_namespace_key(DeletedFinalStateUnknown("shop/web"))
    'shop/web'
    """
    return obj.key if isinstance(obj, DeletedFinalStateUnknown) else meta_namespace_key(obj)


def split_meta_namespace_key(key: str) -> tuple[str, str]:
    """Return the namespace and the name that a key is made of (SplitMetaNamespaceKey).

    Raises
    ------
    KeyFormatError
        When the key has more than two parts.

    Examples
    --------
    >>> split_meta_namespace_key("shop/web"), split_meta_namespace_key("node-1")
    (('shop', 'web'), ('', 'node-1'))
    """
    parts = key.split("/")
    if len(parts) > 2:
        raise KeyFormatError(key)
    return (parts[0], parts[1]) if len(parts) == 2 else ("", parts[0])


def meta_namespace_index(obj: object) -> tuple[str]:
    """Return the namespace as the one value of the namespace index (MetaNamespaceIndexFunc).

    Raises
    ------
    NoMetadataError
        When the object has no metadata.
    """
    return (metadata_of(obj).namespace,)

"""Finds stored objects by name, namespace and labels (client-go's GenericLister)."""

from __future__ import annotations

import builtins
import logging
from collections.abc import Iterable, Mapping
from typing import Generic, Protocol, TypeVar

from nodewise.caches.errors import NotFoundError, UnknownIndexError
from nodewise.caches.indexer import Indexer
from nodewise.caches.object_keys import NAMESPACE_INDEX, metadata_of

T = TypeVar("T")

_logger = logging.getLogger(__name__)


class LabelsSelector(Protocol):
    """What listers ask of a label selector; `nodewise.api.selectors.Selector` is one."""

    @property
    def is_empty(self) -> bool:
        """Whether everything matches."""
        ...

    @property
    def is_nothing(self) -> bool:
        """Whether nothing can match."""
        ...

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Tell whether these labels match."""
        ...


class Lister(Generic[T]):
    """What an indexer holds, by label selector and by key.

    Parameters
    ----------
    indexer : Indexer[T]
        Holds the objects; with an index named `namespace`, the listers of namespaces need not look at all of them.
    resource : str
        Such as `pods` or `deployments.apps`, for error texts.

    Examples
    --------
    >>> from nodewise.api.objects import ObjectMeta, Pod
    >>> from nodewise.api.selectors import Selector
    >>> from nodewise.caches import NAMESPACE_INDEX, meta_namespace_index
    >>> indexer = Indexer[Pod](indexers={NAMESPACE_INDEX: meta_namespace_index})
    >>> indexer.add(Pod(metadata=ObjectMeta(name="web", namespace="shop", labels={"tier": "front"})))
    >>> indexer.add(Pod(metadata=ObjectMeta(name="db", namespace="shop")))
    >>> lister = Lister(indexer, "pods")
    >>> lister.get("shop/web").metadata.name
    'web'
    >>> [pod.metadata.name for pod in lister.by_namespace("shop").list(Selector.from_map({"tier": "front"}))]
    ['web']
    >>> lister.by_namespace("shop").get("cart")
    Traceback (most recent call last):
    nodewise.caches.errors.NotFoundError: pods "cart" not found
    """

    __slots__ = ("_indexer", "_resource")

    def __init__(self, indexer: Indexer[T], resource: str) -> None:
        self._indexer = indexer
        self._resource = resource

    def list(self, selector: LabelsSelector | None = None) -> builtins.list[T]:  # builtins: list is this method
        """Return the objects of all namespaces that match; without a selector, all."""
        return _matching(self._indexer.list(), selector)

    def get(self, key: str) -> T:
        """Return the object of the key.

        Raises
        ------
        NotFoundError
            When there is none.
        """
        return _found(self._indexer, key, self._resource, key)

    def by_namespace(self, namespace: str) -> NamespaceLister[T]:
        """Return the lister of one namespace; "" means all when listing."""
        return NamespaceLister(self._indexer, self._resource, namespace)


class NamespaceLister(Generic[T]):
    """What an indexer holds of one namespace, by label selector and by name; made by `Lister.by_namespace`."""

    __slots__ = ("_indexer", "_namespace", "_resource")

    def __init__(self, indexer: Indexer[T], resource: str, namespace: str) -> None:
        self._indexer = indexer
        self._resource = resource
        self._namespace = namespace

    def list(self, selector: LabelsSelector | None = None) -> builtins.list[T]:
        """Return the objects of the namespace that match; without a selector, all."""
        if selector is not None and selector.is_nothing:
            return []
        if not self._namespace:
            return _matching(self._indexer.list(), selector)
        try:
            return _matching(self._indexer.by_index(NAMESPACE_INDEX, self._namespace), selector)
        except UnknownIndexError as error:
            _logger.warning("Warning: can not retrieve list of objects using index: %s", error)
        objects = [obj for obj in self._indexer.list() if metadata_of(obj).namespace == self._namespace]
        return _matching(objects, selector)

    def get(self, name: str) -> T:
        """Return the object of the name.

        Raises
        ------
        NotFoundError
            When there is none.
        """
        return _found(self._indexer, f"{self._namespace}/{name}", self._resource, name)


def _matching(objects: Iterable[T], selector: LabelsSelector | None) -> list[T]:
    if selector is None or selector.is_empty:
        return list(objects)
    if selector.is_nothing:
        return []
    return [obj for obj in objects if selector.matches(metadata_of(obj).labels)]


def _found(indexer: Indexer[T], key: str, resource: str, name: str) -> T:
    obj = indexer.get_by_key(key)
    if obj is None:
        raise NotFoundError(resource, name)
    return obj

"""Caches that are usable on their own, under the names and rules of the Kubernetes ones."""

from nodewise.caches.errors import (
    CacheUsageError,
    IndexerConflictError,
    IndexFunctionError,
    KeyFormatError,
    NoMetadataError,
    NotFoundError,
    ObjectKeyError,
    TooManyRequestsError,
    TransactionError,
    UnknownIndexError,
)
from nodewise.caches.event_rate_limit import EventRateLimit, EventRequest, Limit, LimitType, validate_limits
from nodewise.caches.expiring_lru import ExpireOn, ExpiringLRUCache
from nodewise.caches.get_or_create import GetOrCreateCache, Getter, SingleCache
from nodewise.caches.indexer import Indexer
from nodewise.caches.lister import Lister, NamespaceLister
from nodewise.caches.lru import LRUCache
from nodewise.caches.object_keys import (
    NAMESPACE_INDEX,
    DeletedFinalStateUnknown,
    ExplicitKey,
    deletion_handling_meta_namespace_key,
    meta_namespace_index,
    meta_namespace_key,
    split_meta_namespace_key,
)
from nodewise.caches.store_index import Indexers, IndexFunc
from nodewise.caches.thread_safe_store import ChangeKind, LateIndexers, StoreChange, ThreadSafeStore
from nodewise.caches.token_bucket import TokenBucket

__all__ = [
    "NAMESPACE_INDEX",
    "CacheUsageError",
    "ChangeKind",
    "DeletedFinalStateUnknown",
    "EventRateLimit",
    "EventRequest",
    "ExpireOn",
    "ExpiringLRUCache",
    "ExplicitKey",
    "GetOrCreateCache",
    "Getter",
    "IndexFunc",
    "IndexFunctionError",
    "Indexer",
    "IndexerConflictError",
    "Indexers",
    "KeyFormatError",
    "LRUCache",
    "LateIndexers",
    "Limit",
    "LimitType",
    "Lister",
    "NamespaceLister",
    "NoMetadataError",
    "NotFoundError",
    "ObjectKeyError",
    "SingleCache",
    "StoreChange",
    "ThreadSafeStore",
    "TokenBucket",
    "TooManyRequestsError",
    "TransactionError",
    "UnknownIndexError",
    "deletion_handling_meta_namespace_key",
    "meta_namespace_index",
    "meta_namespace_key",
    "split_meta_namespace_key",
    "validate_limits",
]

"""Decides which Events come too fast (the EventRateLimit admission plugin)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final

from nodewise.api.field_errors import FieldError, invalid, not_supported
from nodewise.caches.errors import TooManyRequestsError
from nodewise.caches.get_or_create import DEFAULT_SIZE, GetOrCreateCache, Getter, SingleCache
from nodewise.caches.token_bucket import TokenBucket
from nodewise.clock import Clock


class LimitType(StrEnum):
    """What shares a bucket: all Events, or those of one namespace, one user, or one source about one object."""

    SERVER = "Server"
    NAMESPACE = "Namespace"
    USER = "User"
    SOURCE_AND_OBJECT = "SourceAndObject"


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit.

    Attributes
    ----------
    type
        What shares a bucket; text as in a configuration file, checked by `validate_limits`.
    qps
        Events that a bucket lets pass a second in the long run.
    burst
        Events that a full bucket lets pass at once.
    cache_size
        For how many keys buckets are kept; 0: 4096. Without meaning for Server.
    """

    type: str
    qps: int
    burst: int
    cache_size: int = 0


@dataclass(frozen=True, slots=True)
class EventRequest:
    """What the limits read of a request to create or update an Event."""

    namespace: str = ""
    user: str = ""
    source_component: str = ""
    source_host: str = ""
    object_kind: str = ""
    object_namespace: str = ""
    object_name: str = ""
    object_uid: str = ""
    object_api_version: str = ""


_KEYS: Final[dict[str, Callable[[EventRequest], str]]] = {
    LimitType.SERVER: lambda event: "",
    LimitType.NAMESPACE: lambda event: event.namespace,
    LimitType.USER: lambda event: event.user,
    # without separators, as the real one does it
    LimitType.SOURCE_AND_OBJECT: lambda event: (
        event.source_component
        + event.source_host
        + event.object_kind
        + event.object_namespace
        + event.object_name
        + event.object_uid
        + event.object_api_version
    ),
}


def validate_limits(limits: Sequence[Limit]) -> list[FieldError]:
    """Return what is wrong with the limits of a configuration."""
    if not limits:
        return [FieldError("limits", "Invalid value: null: must not be empty")]
    errors: list[FieldError] = []
    for idx, limit in enumerate(limits):
        path = f"limits[{idx}]"
        if limit.type not in _KEYS:
            errors.append(not_supported(f"{path}.type", limit.type, tuple(_KEYS)))
        if limit.burst <= 0:
            errors.append(invalid(f"{path}.burst", limit.burst, "must be positive"))
        if limit.qps <= 0:
            errors.append(invalid(f"{path}.qps", limit.qps, "must be positive"))
        if limit.type != LimitType.SERVER and limit.cache_size < 0:
            errors.append(invalid(f"{path}.cacheSize", limit.cache_size, "must not be negative"))
    return errors


class EventRateLimit:
    """Valid limits, and how much of each is used up.

    Thread-safe. A key that was pushed out of a limit's cache starts anew with a full bucket.

    Examples
    --------
    >>> from nodewise.testing.clock import FakeClock
    >>> limits = EventRateLimit([Limit("Namespace", qps=1, burst=2)], FakeClock())
    >>> for _ in range(3):
    ...     limits.check(EventRequest(namespace="shop"))
    Traceback (most recent call last):
    nodewise.caches.errors.TooManyRequestsError: Too many requests: limit reached on type Namespace for key shop
    """

    def __init__(self, limits: Sequence[Limit], clock: Clock) -> None:
        self._limits = [(limit.type, _KEYS[limit.type], _buckets(limit, clock)) for limit in limits]

    def check(self, event: EventRequest) -> None:
        """Let an Event pass; every limit counts it, also when another refuses it.

        Raises
        ------
        TooManyRequestsError
            When a limit is reached.
        """
        reasons = []
        for limit_type, key_of, buckets in self._limits:
            key = key_of(event)
            if not buckets.get(key).try_accept():
                reasons.append(f"limit reached on type {limit_type} for key {key}")
        if reasons:
            raise TooManyRequestsError(reasons)


def _buckets(limit: Limit, clock: Clock) -> Getter[str, TokenBucket]:
    make = partial(TokenBucket, limit.qps, limit.burst, clock)
    if limit.type == LimitType.SERVER:
        return SingleCache(make())
    return GetOrCreateCache(lambda key: make(), limit.cache_size or DEFAULT_SIZE)

"""Decides who may see which endpoint of this process (delegating authorization)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from nodewise.caches.expiring_lru import ExpiringLRUCache
from nodewise.clock import Clock
from nodewise.cluster.live.errors import RequestError
from nodewise.server.users import MASTERS, ReviewClient, User, review_access

ALWAYS_ALLOWED = ("/healthz", "/readyz", "/livez")
CACHED_ANSWERS = 8192
REVIEW_TRIES, REVIEW_RETRY_S = 3, 0.5


class Authorizer:
    """Tells whether somebody may.

    Members of system:masters may do everything, and everybody may see the paths that are always allowed; about all else
    the API server is asked.

    Parameters
    ----------
    client : ReviewClient | None
        None: nobody else may.
    clock : Clock
    always_allowed : Iterable[str]
        Paths; one that ends with `*` stands for all that begin with it (`--authorization-always-allow-paths`).
    allowed_ttl_s, denied_ttl_s : float
        How long an answer is good for.
    """

    def __init__(
        self,
        client: ReviewClient | None,
        *,
        clock: Clock,
        always_allowed: Iterable[str] = ALWAYS_ALLOWED,
        allowed_ttl_s: float = 10.0,
        denied_ttl_s: float = 10.0,
    ) -> None:
        paths = [path.strip().lstrip("/") for path in always_allowed]
        self._paths = frozenset(path for path in paths if not path.endswith("*"))
        self._prefixes = tuple(path.removesuffix("*") for path in paths if path.endswith("*"))
        self._client = client
        self._ttl_s = {True: allowed_ttl_s, False: denied_ttl_s}
        self._known: ExpiringLRUCache[Any, tuple[bool, str]] = ExpiringLRUCache(CACHED_ANSWERS, clock=clock)

    async def allows(self, user: User, verb: str, path: str) -> tuple[bool, str]:
        """Return whether a user may, and why not if that is known.

        Parameters
        ----------
        verb : str
            The HTTP method in lower case.

        Raises
        ------
        RequestError
            The API server did not say.
        """
        bare = path.lstrip("/")
        if MASTERS in user.groups or bare in self._paths or (self._prefixes and bare.startswith(self._prefixes)):
            return True, ""
        if self._client is None:
            return False, ""
        key = (user.key(), verb, path)
        found = self._known.get(key)
        if found is None:
            found = await self._review(self._client, user, verb, path)
            self._known.add(key, found, self._ttl_s[found[0]])
        return found

    @staticmethod
    async def _review(client: ReviewClient, user: User, verb: str, path: str) -> tuple[bool, str]:
        for tries_left in reversed(range(REVIEW_TRIES)):
            try:
                return await review_access(client, user, verb, path)
            except RequestError:
                if not tries_left:
                    raise
            await asyncio.sleep(REVIEW_RETRY_S)
        raise AssertionError("the last try returns")

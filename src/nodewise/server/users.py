"""Who asks an endpoint of this process, and what the API server is asked about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from nodewise.cluster.live.errors import RequestError

ANONYMOUS = "system:anonymous"
AUTHENTICATED, UNAUTHENTICATED = "system:authenticated", "system:unauthenticated"
MASTERS = "system:masters"
TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
SUBJECT_ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


class ReviewClient(Protocol):
    """What is asked of an API client here; `ApiClient` is one."""

    async def post(self, path: str, body: Any) -> bytes: ...


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who asks.

    Attributes
    ----------
    name, uid : str
    groups : tuple[str, ...]
    extra : Mapping[str, tuple[str, ...]]
    """

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def key(self) -> tuple[Any, ...]:
        """Return what tells users apart."""
        return self.name, self.uid, self.groups, tuple(sorted(self.extra.items()))


ANYBODY = User(ANONYMOUS, (UNAUTHENTICATED,))


class _UserBody(msgspec.Struct):
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)


class _TokenStatus(msgspec.Struct):
    authenticated: bool = False
    user: _UserBody = msgspec.field(default_factory=_UserBody)
    error: str = ""


class _TokenReview(msgspec.Struct):
    status: _TokenStatus = msgspec.field(default_factory=_TokenStatus)


class _AccessStatus(msgspec.Struct):
    allowed: bool = False
    denied: bool = False
    reason: str = ""


class _AccessReview(msgspec.Struct):
    status: _AccessStatus = msgspec.field(default_factory=_AccessStatus)


async def review_token(client: ReviewClient, token: str) -> User | None:
    """Ask whose token it is; None: nobody's (TokenReview).

    Raises
    ------
    RequestError
    """
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
    status = _decode(await client.post(TOKEN_REVIEWS, body), _TokenReview).status
    if not status.authenticated:
        return None
    user = status.user
    return User(user.username, user.groups, user.uid, user.extra)


async def review_access(client: ReviewClient, user: User, verb: str, path: str) -> tuple[bool, str]:
    """Ask whether a user may do that, and why (SubjectAccessReview).

    Raises
    ------
    RequestError
    """
    spec = {
        "user": user.name,
        "groups": user.groups,
        "uid": user.uid,
        "extra": {name: list(values) for name, values in user.extra.items()},
        "nonResourceAttributes": {"path": path, "verb": verb},
    }
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    status = _decode(await client.post(SUBJECT_ACCESS_REVIEWS, body), _AccessReview).status
    return status.allowed and not status.denied, status.reason


def _decode(body: bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.MsgspecError as error:
        raise RequestError("review", f"the answer to a review is not readable: {error}") from error

"""The cluster in this process does what every cluster must."""

import asyncio
import itertools
from datetime import UTC, datetime
from typing import Any

import pytest

from nodewise.api.objects import Pod, replace
from nodewise.cluster.embedded import EmbeddedCluster
from nodewise.testing.cluster_conformance import CLUSTER_CHECKS, Changes, Check


class Embedded:
    def __init__(self) -> None:
        self.client = EmbeddedCluster(lambda: datetime(2026, 6, 1, tzinfo=UTC))
        self.namespace = "default"
        self.changes: Changes = []
        self._uids = itertools.count()
        self.client.watch(lambda old, new: self.changes.append((old, new)))

    async def create(self, pod: Pod) -> Pod:
        uid = f"uid-{next(self._uids)}"
        kept: Pod = self.client.put(replace(pod, metadata=replace(pod.metadata, uid=uid)))
        return kept

    async def get(self, name: str) -> Pod | None:
        return self.client.get(Pod, f"{self.namespace}/{name}")

    async def settle(self) -> None:
        """Have nothing to wait for."""

    async def listen_anew(self) -> Changes:
        told: Changes = []

        def tell(old: Any, new: Any) -> None:
            told.append((old, new))

        self.client.watch(tell)
        return told


@pytest.mark.parametrize("check", CLUSTER_CHECKS, ids=lambda check: check.__name__)
def test_the_embedded_cluster(check: Check) -> None:
    asyncio.run(check(Embedded()))  # type: ignore[arg-type]

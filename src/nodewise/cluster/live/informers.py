"""Listens to everything that a scheduler has to know of a cluster."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable

from nodewise.clock import Clock, SystemClock
from nodewise.cluster.live.api_client import ApiClient
from nodewise.cluster.live.pause import Sleep
from nodewise.cluster.live.reflector import Deliver, Reflector
from nodewise.cluster.live.resources import Resource
from nodewise.cluster.live.wire import Documents


class Informers:
    """Reflectors of several resources that tell one listener.

    The first lists are told resource by resource, in the order given, so that pods come when all that they depend on is
    known. After that every change is told at once, on the event loop, one after another.

    Parameters
    ----------
    client : ApiClient
    resources : Iterable[Resource]
        As `resources_for` gives them.
    deliver : Callable[[Any, Any], None]
        Takes an object as it was and as it is; None where there is none.
    rng : random.Random
    clock : Clock | None
    sleep : Callable[[float], Awaitable[None]]
    documents : Documents | None
        Where to keep what objects were read from: extenders get all fields of pods and nodes.

    Attributes
    ----------
    reflectors : list[Reflector]
    """

    def __init__(
        self,
        client: ApiClient,
        resources: Iterable[Resource],
        deliver: Deliver,
        *,
        rng: random.Random,
        clock: Clock | None = None,
        sleep: Sleep = asyncio.sleep,
        documents: Documents | None = None,
    ) -> None:
        clock = clock or SystemClock()
        self.reflectors = [
            Reflector(client, resource, deliver, rng=rng, clock=clock, sleep=sleep, documents=documents)
            for resource in resources
        ]

    @property
    def has_synced(self) -> bool:
        """Whether everything that there was at first has been told."""
        return all(reflector.synced.is_set() for reflector in self.reflectors)

    async def wait_synced(self) -> None:
        """Wait until it has."""
        for reflector in self.reflectors:
            await reflector.synced.wait()

    def waiting_for(self) -> list[str]:
        """Return the resources that are not synced yet."""
        return [reflector.resource.plural for reflector in self.reflectors if not reflector.synced.is_set()]

    async def run(self) -> None:
        """Listen until cancelled.

        An exception that the listener raises ends all: it is a bug, and nothing would be known for certain after it.
        """
        async with asyncio.TaskGroup() as group:
            for reflector in self.reflectors:
                group.create_task(reflector.run(), name=f"reflect {reflector.resource.plural}")
                # the next one begins when this one's list has been told
                await reflector.synced.wait()

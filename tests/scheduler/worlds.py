"""Small worlds in virtual time for tests of the control loop."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from nodewise.api.objects import Node, Pod
from nodewise.cluster.object_set import ObjectSet
from nodewise.config.load import default_configuration
from nodewise.plugins import in_tree_registry
from nodewise.scheduler.assembly import SchedulerOptions
from nodewise.simulation.world import World

START = datetime(2026, 6, 1, tzinfo=UTC)


def make_world(nodes: Iterable[Node] = (), pods: Iterable[Pod] = (), *plugins: type) -> World:
    """Make a world with these nodes and pods, where nothing has happened yet."""
    registry = in_tree_registry()
    for plugin in plugins:
        registry.register(plugin.name, plugin)  # type: ignore[attr-defined]
    names = tuple(plugin.name for plugin in plugins)  # type: ignore[attr-defined]
    world = World(default_configuration(), registry, SchedulerOptions(added_plugins=names), START)
    world.add(ObjectSet(pods=[ours(pod) for pod in pods], nodes=list(nodes)))
    return world


def ours(pod: Pod) -> Pod:
    """Return a pod with the scheduler name that an API server gives it."""
    return replace(pod, spec=replace(pod.spec, scheduler_name="default-scheduler"))


def create(world: World, pod: Pod) -> None:
    """Let a pod arrive."""
    world.cluster.put(ours(pod))


def play_for(world: World, seconds: float) -> None:
    """Let some time pass."""
    world.play(world.now() + timedelta(seconds=seconds))


def pod_of(world: World, name: str) -> Pod:
    """Return a pod of namespace default."""
    pod = world.cluster.get(Pod, f"default/{name}")
    assert pod is not None, f"pod {name} is gone"
    return pod


def node_of(world: World, name: str) -> str | None:
    """Return where a pod of namespace default is, "" while it waits, None when it is gone."""
    pod = world.cluster.get(Pod, f"default/{name}")
    return pod.spec.node_name if pod is not None else None


def message_of(world: World, name: str) -> str:
    """Return what the PodScheduled condition of a waiting pod says."""
    pod = pod_of(world, name)
    return next(condition.message for condition in pod.status.conditions if condition.type == "PodScheduled")


def reasons(world: World) -> list[tuple[str, str]]:
    """Return the events recorded so far as (pod, reason)."""
    return [(event.pod.pod.metadata.name, event.reason) for event in world.cluster.events]

"""Which container uses the devices of which request, where devices stand for extended resources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodewise.api.devices import ResourceClaim
from nodewise.api.objects import Container, ContainerExtendedResourceRequest, Pod
from nodewise.api.quantity import parse_quantity


def request_mappings(pod: Pod, claim: ResourceClaim) -> tuple[ContainerExtendedResourceRequest, ...]:
    """Return the requests of a pod's special claim by container and resource (createRequestsAndMappings).

    A container that runs before others uses the devices of those that run for long after it, and what it still lacks
    is in the one request that all such containers share.
    """
    counts = {r.name: r.exactly.count for r in claim.spec.devices.requests if r.exactly is not None}
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    n_init = len(pod.spec.init_containers)
    found: list[ContainerExtendedResourceRequest] = []
    for name in _resources(containers, counts):
        own = [_request_name(index, container, name) for index, container in enumerate(containers)]
        is_short = [index < n_init and c.restart_policy != "Always" for index, c in enumerate(containers)]
        long_lived = [
            request if request in counts and not short else "" for request, short in zip(own, is_short, strict=True)
        ]
        shared = next((r for r, short in zip(own, is_short, strict=True) if short and r in counts), "")
        for index, container in enumerate(containers):
            if long_lived[index]:
                found.append(ContainerExtendedResourceRequest(container.name, name, long_lived[index]))
        for index, container in enumerate(containers):
            if is_short[index]:
                used = _used(container, name, [request for request in long_lived[index:] if request], counts, shared)
                found += [ContainerExtendedResourceRequest(container.name, name, request) for request in used]
    return tuple(found)


def _resources(containers: Sequence[Container], requests: dict[str, int]) -> list[str]:
    """Return the resources that the requests are for, by name."""
    found: set[str] = set()
    for index, container in enumerate(containers):
        names = sorted(container.resources.requests or ())
        found.update(name for name in names if _request_name(index, container, name) in requests)
    return sorted(found)


def _request_name(index: int, container: Container, resource: str) -> str:
    names = sorted(container.resources.requests or ())
    return f"container-{index}-request-{names.index(resource)}" if resource in names else ""


def _used(
    container: Container, resource: str, reusable: Sequence[str], counts: dict[str, int], shared: str
) -> Iterator[str]:
    """Yield the requests that a container uses which runs before others."""
    requests = container.resources.requests or {}
    wanted = parse_quantity(requests[resource]).value() if resource in requests else 0
    if not wanted:
        return
    for request in reusable:
        yield request
        wanted -= counts[request]
        if wanted <= 0:
            return
    yield shared

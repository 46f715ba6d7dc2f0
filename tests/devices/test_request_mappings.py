"""Which container of a pod uses which request of the claim for its extended resources."""

from hypothesis import given, strategies as st

from nodewise.api.devices import DeviceClass, DeviceClassSpec
from nodewise.api.objects import Container, ObjectMeta, Pod, PodSpec, ResourceRequirements
from nodewise.devices.extended_resources import device_requests, special_claim
from nodewise.devices.request_mappings import request_mappings
from nodewise.state.device_listers import DeviceListers

GPU, NIC = "example.com/gpu", "example.com/nic"
LISTERS = DeviceListers()
LISTERS.fill([DeviceClass(ObjectMeta(name=name), DeviceClassSpec(extended_resource_name=name)) for name in (GPU, NIC)])


def container(name: str, n_gpus: int, n_nics: int = 0, *, is_sidecar: bool = False) -> Container:
    amounts = {GPU: n_gpus, NIC: n_nics, "cpu": 1}
    requests = {key: str(amount) for key, amount in amounts.items() if amount}
    restart = "Always" if is_sidecar else ""
    return Container(name=name, resources=ResourceRequirements(requests=requests), restart_policy=restart)


def mapped(init: list[Container], main: list[Container]) -> list[tuple[str, str, str]]:
    pod = Pod(ObjectMeta(name="web", uid="u"), PodSpec(init_containers=tuple(init), containers=tuple(main)))
    claim = special_claim(pod, device_requests(pod, frozenset({GPU, NIC}), LISTERS))
    return [(m.container_name, m.resource_name, m.request_name) for m in request_mappings(pod, claim)]


def test_every_container_has_requests_of_its_own() -> None:
    assert mapped([], [container("a", 1, 1), container("b", 0), container("c", 2)]) == [
        ("a", GPU, "container-0-request-1"),
        ("c", GPU, "container-2-request-1"),
        ("a", NIC, "container-0-request-2"),
    ]


def test_a_container_that_runs_before_uses_the_devices_of_those_after_it() -> None:
    assert mapped([container("init", 1)], [container("a", 1), container("b", 1)]) == [
        ("a", GPU, "container-1-request-1"),
        ("b", GPU, "container-2-request-1"),
        ("init", GPU, "container-1-request-1"),
    ]


def test_what_they_lack_is_in_one_request_of_the_greediest() -> None:
    assert mapped([container("i", 2), container("j", 4)], [container("a", 1)]) == [
        ("a", GPU, "container-2-request-1"),
        ("i", GPU, "container-2-request-1"),
        ("i", GPU, "container-1-request-1"),
        ("j", GPU, "container-2-request-1"),
        ("j", GPU, "container-1-request-1"),
    ]


def test_sidecars_keep_their_devices() -> None:
    assert mapped([container("side", 1, is_sidecar=True)], [container("a", 1)]) == [
        ("side", GPU, "container-0-request-1"),
        ("a", GPU, "container-1-request-1"),
    ]


amounts = st.tuples(st.integers(0, 3), st.integers(0, 3), st.booleans())


@given(st.lists(amounts, max_size=3), st.lists(amounts, min_size=1, max_size=3))
def test_every_container_gets_what_it_asks_for(
    init: list[tuple[int, int, bool]], main: list[tuple[int, int, bool]]
) -> None:
    inits = [container(f"i{n}", gpus, nics, is_sidecar=side) for n, (gpus, nics, side) in enumerate(init)]
    mains = [container(f"m{n}", gpus, nics) for n, (gpus, nics, _) in enumerate(main)]
    pod = Pod(ObjectMeta(name="web", uid="u"), PodSpec(init_containers=tuple(inits), containers=tuple(mains)))
    requests = device_requests(pod, frozenset({GPU, NIC}), LISTERS)
    counts = {r.name: r.exactly.count for r in requests if r.exactly is not None}
    found = request_mappings(pod, special_claim(pod, requests))
    for owner in (*inits, *mains):
        for resource in (GPU, NIC):
            wanted = int((owner.resources.requests or {}).get(resource, 0))
            used = [m.request_name for m in found if (m.container_name, m.resource_name) == (owner.name, resource)]
            assert sum(counts[name] for name in used) >= wanted
            assert bool(used) == bool(wanted)

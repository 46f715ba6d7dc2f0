from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings, strategies as st

from nodewise.api.objects import LabelSelector, Node
from nodewise.api.quantity import parse_quantity
from nodewise.api.storage import PersistentVolume, PersistentVolumeClaim
from nodewise.state.columns import ALL_ROWS
from nodewise.testing.builders import make_node, make_snapshot
from nodewise.testing.storage_builders import make_claim, make_volume
from nodewise.volumes.matching import NONE, FittingVolumes, KnownVolume

SIZES = ("1Gi", "2Gi", "1500Mi", "3G")
LABELS = st.dictionaries(st.sampled_from(("zone", "disk")), st.sampled_from("ab"), max_size=2)

claims = st.builds(
    make_claim,
    st.sampled_from(("c0", "c1", "c2")),
    st.sampled_from((None, *SIZES)),
    storage_class=st.just("local"),
    access_modes=st.sampled_from((("ReadWriteOnce",), ("ReadWriteOnce", "ReadOnlyMany"), ())),
    volume_mode=st.sampled_from((None, "Filesystem", "Block")),
    selector=st.sampled_from((None, None, LabelSelector(match_labels={"tier": "gold"}))),
)
volumes = st.builds(
    make_volume,
    st.just("v"),
    st.sampled_from(SIZES),
    storage_class=st.just("local"),
    labels=st.sampled_from(({}, {"tier": "gold"})),
    nodes=LABELS,
    claim=st.sampled_from((None, None, None, *(make_claim(name) for name in ("c0", "c1", "other")))),
    access_modes=st.sampled_from((("ReadWriteOnce",), ("ReadWriteOnce", "ReadOnlyMany"))),
    phase=st.sampled_from(("Available", "Available", "Released")),
    volume_mode=st.sampled_from((None, "Filesystem", "Block")),
)


def reaches(volume: PersistentVolume, node: Node) -> bool:
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return True
    (term,) = affinity.required.node_selector_terms
    return all(node.metadata.labels.get(e.key) in e.values for e in term.match_expressions)


def best_volume(
    claim: PersistentVolumeClaim, candidates: Sequence[PersistentVolume], node: Node, taken: set[int]
) -> int:
    """Say which volume a claim gets on a node, as kube-scheduler's rules are written down."""
    wanted = parse_quantity(claim.spec.resources.requests.get("storage", "0"))
    best = NONE
    for number, volume in enumerate(candidates):
        ref = volume.spec.claim_ref
        is_own = ref is not None and (ref.name, ref.uid) == (claim.metadata.name, claim.metadata.uid)
        size = parse_quantity(volume.spec.capacity["storage"])
        if number in taken or (ref is not None and not is_own) or size < wanted:
            continue
        if (claim.spec.volume_mode or "Filesystem") != (volume.spec.volume_mode or "Filesystem"):
            continue
        if is_own:
            return number if reaches(volume, node) else NONE
        selector = claim.spec.selector
        if selector is not None and not selector.match_labels.items() <= volume.metadata.labels.items():
            continue
        if volume.status.phase != "Available" or not reaches(volume, node):
            continue
        if not set(claim.spec.access_modes) <= set(volume.spec.access_modes):
            continue
        if best == NONE or size < parse_quantity(candidates[best].spec.capacity["storage"]):
            best = number
    return best


@settings(max_examples=300)
@given(
    st.lists(claims, min_size=1, max_size=3), st.lists(volumes, max_size=8), st.lists(LABELS, min_size=1, max_size=5)
)
def test_each_claim_gets_the_smallest_volume_that_fits_and_no_earlier_claim_has(
    wanted: list[PersistentVolumeClaim], candidates: list[PersistentVolume], labels: list[dict[str, str]]
) -> None:
    nodes = [make_node(f"n{index}", labels=own) for index, own in enumerate(labels)]
    columns = make_snapshot(nodes).columns
    taken: list[np.ndarray] = []
    expected: list[list[int]] = [[] for _ in nodes]
    for claim in wanted:
        fitting = FittingVolumes(claim, enumerate(map(KnownVolume.of, candidates)))
        numbers = fitting.choose(columns, ALL_ROWS, taken)
        for own, node in zip(expected, nodes, strict=True):
            own.append(best_volume(claim, candidates, node, set(own)))
        some = np.arange(len(nodes))[::2]
        assert fitting.choose(columns, some, [others[some] for others in taken]).tolist() == numbers[some].tolist()
        taken.append(numbers)
    assert [list(own) for own in zip(*(numbers.tolist() for numbers in taken), strict=True)] == expected


def test_a_volume_made_for_the_claim_goes_before_smaller_ones_even_where_it_cannot_be_used() -> None:
    claim = make_claim("data", storage_class="local")
    own = make_volume("own", "9Gi", storage_class="local", claim=claim, nodes={"zone": "a"})
    small = make_volume("small", storage_class="local")
    columns = make_snapshot([make_node("n1", labels={"zone": "a"}), make_node("n2", labels={"zone": "b"})]).columns
    numbers = FittingVolumes(claim, enumerate(map(KnownVolume.of, [small, own]))).choose(columns, ALL_ROWS, [])
    assert numbers.tolist() == [1, NONE]

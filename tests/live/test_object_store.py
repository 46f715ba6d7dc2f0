"""The differences that are told lead from what was known to what is."""

from hypothesis import given, strategies as st

from nodewise.api.objects import AnyObject, ObjectMeta, Pod
from nodewise.cluster.live.object_store import Difference, ObjectStore

names = st.sampled_from(["a", "b", "c", "d"])


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    metadata = ObjectMeta(
        name=draw(names),
        namespace="default",
        uid=draw(st.sampled_from(["u1", "u2"])),
        resource_version=str(draw(st.integers(1, 3))),
    )
    return Pod(metadata=metadata)


lists = st.lists(pods(), unique_by=lambda pod: pod.metadata.name)


def play(known: dict[str, AnyObject], differences: list[Difference]) -> None:
    """Follow differences as a listener does, and check that each fits what it knows."""
    for old, new in differences:
        obj = new if new is not None else old
        assert obj is not None
        name = obj.metadata.name
        if old is None:
            assert name not in known
        else:
            assert known[name].metadata.uid == old.metadata.uid
        if new is None:
            del known[name]
        else:
            assert old is None or old.metadata.uid == new.metadata.uid
            known[name] = new


@given(st.lists(st.one_of(lists, st.tuples(st.booleans(), pods())), max_size=8))
def test_a_listener_that_follows_knows_what_the_store_was_told_last(steps: list[list[Pod] | tuple[bool, Pod]]) -> None:
    store = ObjectStore()
    known: dict[str, AnyObject] = {}
    expected: dict[str, Pod] = {}
    for step in steps:
        if isinstance(step, list):
            play(known, store.replace(step))
            expected = {pod.metadata.name: pod for pod in step}
        elif step[0]:
            play(known, store.put(step[1]))
            expected[step[1].metadata.name] = step[1]
        else:
            play(known, store.remove(step[1]))
            expected.pop(step[1].metadata.name, None)
        assert known == expected
        assert len(store) == len(expected)


@given(lists)
def test_the_same_list_again_makes_no_difference(pods: list[Pod]) -> None:
    store = ObjectStore()
    store.replace(pods)
    assert store.replace(pods) == []

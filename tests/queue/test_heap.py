from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from nodewise.queue.heap import KeyedHeap


@dataclass(eq=False)
class Item:
    key: str


def test_equal_items_leave_in_the_order_they_came() -> None:
    heap: KeyedHeap[Item] = KeyedHeap()
    for key in "cab":
        heap.put(Item(key), 1)
    assert [item.key for item in iter(heap.pop, None)] == ["c", "a", "b"]


def test_an_item_that_is_put_again_keeps_its_turn_among_equals() -> None:
    heap: KeyedHeap[Item] = KeyedHeap()
    for key in ("a", "b", "a"):
        heap.put(Item(key), 1)
    assert [item.key for item in iter(heap.pop, None)] == ["a", "b"]


def test_an_item_that_is_put_again_with_another_order_changes_its_place() -> None:
    heap: KeyedHeap[Item] = KeyedHeap()
    for key, order in (("a", 1), ("b", 2), ("a", 3)):
        heap.put(Item(key), order)
    assert [item.key for item in iter(heap.pop, None)] == ["b", "a"]


def test_changing_one_item_for_ever_does_not_take_memory() -> None:
    heap: KeyedHeap[Item] = KeyedHeap()
    for n in range(10_000):
        heap.put(Item("a"), -n)
    assert len(heap) == 1
    assert len(heap._heap) < 100


class HeapMachine(RuleBasedStateMachine):
    """The model is a list of (order, place among equals, key)."""

    def __init__(self) -> None:
        super().__init__()
        self.heap: KeyedHeap[Item] = KeyedHeap()
        self.model: dict[str, tuple[int, int]] = {}
        self.n = 0

    @rule(key=st.sampled_from("abcdefgh"), order=st.integers(0, 3))
    def put(self, key: str, order: int) -> None:
        self.n += 1
        self.heap.put(Item(key), order)
        self.model[key] = (order, self.model.get(key, (0, self.n))[1])

    @rule(key=st.sampled_from("abcdefgh"))
    def remove(self, key: str) -> None:
        item = self.heap.remove(key)
        assert (item.key if item else None) == (key if key in self.model else None)
        self.model.pop(key, None)

    @rule()
    def pop(self) -> None:
        item = self.heap.pop()
        expected = min(self.model, key=lambda key: self.model[key], default=None)
        assert (item.key if item else None) == expected
        if expected is not None:
            del self.model[expected]

    @invariant()
    def it_holds_what_the_model_holds(self) -> None:
        assert len(self.heap) == len(self.model)
        assert sorted(item.key for item in self.heap) == sorted(self.model)
        first = self.heap.peek()
        assert (first.key if first else None) == min(self.model, key=lambda key: self.model[key], default=None)
        assert self.heap.first_order() == min((order for order, _ in self.model.values()), default=None)


TestHeap = HeapMachine.TestCase

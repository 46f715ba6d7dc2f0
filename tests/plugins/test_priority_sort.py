from nodewise.plugins.priority_sort import PrioritySort
from nodewise.testing.builders import FakeHandle, make_pod


def test_higher_priority_goes_first_and_no_priority_counts_as_zero() -> None:
    plugin = PrioritySort(None, FakeHandle())
    pods = [make_pod("none"), make_pod("low", priority=-1), make_pod("high", priority=5), make_pod("zero", priority=0)]
    assert [pod.metadata.name for pod in sorted(pods, key=plugin.sort_key)] == ["high", "none", "zero", "low"]

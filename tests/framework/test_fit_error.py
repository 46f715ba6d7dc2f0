from nodewise.framework.fit_error import count_reasons, fit_error_message
from nodewise.framework.status import Status


def test_entries_are_sorted_as_texts() -> None:
    counts = {"x": 10, "Insufficient cpu": 2, "a": 9}
    assert fit_error_message(21, "", counts, "") == "0/21 nodes are available: 10 x, 2 Insufficient cpu, 9 a."


def test_the_message_of_post_filter_gets_no_dot() -> None:
    message = fit_error_message(1, "", {"Insufficient cpu": 1}, "preemption: no candidate node for preemption")
    assert message == "0/1 nodes are available: 1 Insufficient cpu. preemption: no candidate node for preemption"


def test_a_rejection_in_pre_filter_takes_the_place_of_the_counts() -> None:
    assert fit_error_message(2, "claim not found", {"x": 2}, "not found") == (
        "0/2 nodes are available: claim not found. not found"
    )


def test_without_any_reason_nothing_follows_the_colon() -> None:
    assert fit_error_message(2, "", {}, "") == "0/2 nodes are available:"


def test_every_reason_of_a_status_counts() -> None:
    statuses = [Status.unschedulable("a", "b"), Status.unresolvable("b"), Status.unresolvable()]
    assert count_reasons(statuses) == {"a": 1, "b": 2}

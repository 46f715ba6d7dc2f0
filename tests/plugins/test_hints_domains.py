"""Hints of PodTopologySpread and InterPodAffinity."""

from __future__ import annotations

from typing import Any

import pytest

from nodewise.api.objects import (
    Affinity,
    LabelSelector,
    LabelSelectorRequirement,
    Node,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodStatus,
    Service,
    ServiceSpec,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from nodewise.config.arguments import PodTopologySpreadArgs
from nodewise.errors import SelectorError
from nodewise.framework.events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    QUEUE,
    SKIP,
    ActionType,
    ClusterEvent,
    EventResource,
    QueueingHint,
)
from nodewise.testing.builders import FakeHandle, make_node, make_pod
from tests.plugins.hints import ask, make_plugin

POD_LABEL = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE_POD_LABEL)
OWN_LABEL = ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_LABEL)
OWN_TOLERATION = ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_TOLERATION)
NODE_ADD = ClusterEvent(EventResource.NODE, ActionType.ADD)
NODE_DELETE = ClusterEvent(EventResource.NODE, ActionType.DELETE)
NODE_LABEL = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_LABEL)
NODE_TAINT = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)
WEB = LabelSelector(match_labels={"app": "web"})
NOMINATED = PodStatus(nominated_node_name="n1")


def labelled(app: str | None = None, **more: Any) -> Pod:
    return make_pod("other", labels={"app": app} if app else {}, **{"node": "n1", **more})


# --- spreading --------------------------------------------------------------------------------------------------------


def spreading(key: str = "zone", selector: LabelSelector | None = WEB, **more: Any) -> TopologySpreadConstraint:
    return TopologySpreadConstraint(
        **{
            "max_skew": 1,
            "topology_key": key,
            "when_unsatisfiable": "DoNotSchedule",
            "label_selector": selector,
            **more,
        }
    )


def spread(*constraints: TopologySpreadConstraint, **more: Any) -> Pod:
    return make_pod("spread", topology_spread_constraints=constraints or (spreading(),), **more)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (labelled("web"), QUEUE),
        (labelled("db"), SKIP),
        (labelled(), SKIP),
        (labelled("web", namespace="elsewhere"), SKIP),
        (labelled("web", node=""), SKIP),
        (labelled("web", node="", status=NOMINATED), QUEUE),
    ],
)
def test_a_pod_that_came_or_went_counts_for_spreading_when_a_constraint_is_about_it(
    other: Pod, expected: QueueingHint
) -> None:
    plugin = make_plugin("PodTopologySpread")
    assert ask(plugin, ASSIGNED_POD_ADD, spread(), None, other) is expected
    assert ask(plugin, ASSIGNED_POD_DELETE, spread(), other, None) is expected


def test_soft_constraints_bring_no_pod_back() -> None:
    softly = spread(spreading(when_unsatisfiable="ScheduleAnyway"))
    assert ask(make_plugin("PodTopologySpread"), ASSIGNED_POD_ADD, softly, None, labelled("web")) is SKIP


def test_one_constraint_of_several_is_enough_for_a_pod_and_all_keys_are_needed_for_a_node() -> None:
    pod = spread(spreading("zone"), spreading("rack", LabelSelector(match_labels={"app": "db"})))
    plugin = make_plugin("PodTopologySpread")
    assert ask(plugin, ASSIGNED_POD_ADD, pod, None, labelled("db")) is QUEUE
    assert ask(plugin, NODE_ADD, pod, None, make_node("n", labels={"zone": "a"})) is SKIP
    assert ask(plugin, NODE_ADD, pod, None, make_node("n", labels={"zone": "a", "rack": "1"})) is QUEUE


def test_match_label_keys_narrow_the_constraint_in_hints_too() -> None:
    pod = spread(spreading(match_label_keys=("track",)), labels={"app": "web", "track": "x"})
    plugin = make_plugin("PodTopologySpread")
    assert ask(plugin, ASSIGNED_POD_ADD, pod, None, labelled("web")) is SKIP
    on_track = make_pod("other", labels={"app": "web", "track": "x"}, node="n1")
    assert ask(plugin, ASSIGNED_POD_ADD, pod, None, on_track) is QUEUE


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (labelled("web"), labelled("db"), QUEUE),
        (labelled("db"), labelled("web"), QUEUE),
        (labelled("db"), labelled("cache"), SKIP),
        (labelled("web"), labelled("web"), SKIP),
    ],
)
def test_new_labels_count_for_spreading_when_they_change_what_is_counted(
    old: Pod, new: Pod, expected: QueueingHint
) -> None:
    plugin = make_plugin("PodTopologySpread")
    assert ask(plugin, POD_LABEL, spread(), old, new) is expected
    own = [spread(labels=pod.metadata.labels) for pod in (old, new)]
    assert ask(plugin, OWN_LABEL, spread(), *own) is expected


def test_tolerations_count_only_when_a_constraint_honors_taints() -> None:
    plugin = make_plugin("PodTopologySpread")
    tolerant = spread(tolerations=["dedicated"])
    assert ask(plugin, OWN_TOLERATION, tolerant, spread(), tolerant) is SKIP
    honoring = spreading(node_taints_policy="Honor")
    tolerant = spread(honoring, tolerations=["dedicated"])
    assert ask(plugin, OWN_TOLERATION, tolerant, spread(honoring), tolerant) is QUEUE
    assert ask(plugin, OWN_LABEL, tolerant, tolerant, tolerant) is SKIP


ZONED, OTHER_ZONE, ZONELESS = make_node("n", labels={"zone": "a"}), make_node("n", labels={"zone": "b"}), make_node("n")
TAINTED = make_node("n", labels={"zone": "a"}, taints=["dedicated=db:NoSchedule"])


@pytest.mark.parametrize(
    ("event", "old", "new", "expected"),
    [
        (NODE_ADD, None, ZONED, QUEUE),
        (NODE_ADD, None, ZONELESS, SKIP),
        (NODE_DELETE, ZONED, None, QUEUE),
        (NODE_DELETE, ZONELESS, None, SKIP),
        (NODE_LABEL, ZONELESS, ZONED, QUEUE),
        (NODE_LABEL, ZONED, ZONELESS, QUEUE),
        (NODE_LABEL, ZONED, OTHER_ZONE, QUEUE),
        (NODE_LABEL, ZONED, make_node("n", labels={"zone": "a", "x": "y"}), SKIP),
        (NODE_LABEL, ZONELESS, ZONELESS, SKIP),
        (NODE_TAINT, ZONED, TAINTED, QUEUE),
        (NODE_TAINT, ZONELESS, make_node("n", taints=["dedicated=db:NoSchedule"]), SKIP),
    ],
)
def test_a_node_counts_for_spreading_when_domains_change(
    event: ClusterEvent, old: Node | None, new: Node | None, expected: QueueingHint
) -> None:
    assert ask(make_plugin("PodTopologySpread"), event, spread(), old, new) is expected


def test_default_constraints_of_the_profile_count_for_pods_without_their_own() -> None:
    handle = FakeHandle()
    service = Service(ObjectMeta(name="web", namespace="default"), ServiceSpec(selector={"app": "web"}))
    handle.listers.fill([service])
    args = PodTopologySpreadArgs(default_constraints=(spreading(selector=None),), defaulting_type="List")
    plugin = make_plugin("PodTopologySpread", handle, args=args)
    served = make_pod("served", labels={"app": "web"})
    assert ask(plugin, ASSIGNED_POD_ADD, served, None, labelled("web")) is QUEUE
    assert ask(plugin, ASSIGNED_POD_ADD, served, None, labelled("db")) is SKIP
    assert ask(plugin, ASSIGNED_POD_ADD, make_pod("alone"), None, labelled("web")) is SKIP


def test_a_node_counts_for_a_pod_without_any_constraint() -> None:
    plugin = make_plugin("PodTopologySpread")
    assert ask(plugin, NODE_ADD, make_pod("plain"), None, ZONELESS) is QUEUE
    assert ask(plugin, NODE_LABEL, make_pod("plain"), ZONED, ZONELESS) is SKIP


def test_a_selector_that_cannot_be_read_is_an_error() -> None:
    wrong = LabelSelector(match_expressions=(LabelSelectorRequirement("app", "Near"),))
    with pytest.raises(SelectorError):
        ask(make_plugin("PodTopologySpread"), NODE_ADD, spread(spreading(selector=wrong)), None, ZONED)


# --- affinity ---------------------------------------------------------------------------------------------------------


def term(app: str = "web", key: str = "zone", **more: Any) -> PodAffinityTerm:
    return PodAffinityTerm(label_selector=LabelSelector(match_labels={"app": app}), topology_key=key, **more)


def near(*terms: PodAffinityTerm, **more: Any) -> Pod:
    return make_pod("near", affinity=Affinity(pod_affinity=PodAffinity(required=terms)), **more)


def apart(*terms: PodAffinityTerm, **more: Any) -> Pod:
    return make_pod("apart", affinity=Affinity(pod_anti_affinity=PodAffinity(required=terms)), **more)


@pytest.mark.parametrize(
    ("pod", "other", "expected"),
    [
        (near(term()), labelled("web"), QUEUE),
        (near(term()), labelled("db"), SKIP),
        (near(term()), labelled("web", namespace="elsewhere"), SKIP),
        (near(term(namespaces=("elsewhere",))), labelled("web", namespace="elsewhere"), QUEUE),
        (near(term(), term("db")), labelled("web"), SKIP),
        (near(term()), labelled("web", node=""), SKIP),
        (near(term()), labelled("web", node="", status=NOMINATED), QUEUE),
        (apart(term()), labelled("web"), SKIP),
        (make_pod("plain"), labelled("web"), SKIP),
    ],
)
def test_a_pod_that_came_counts_when_all_affinity_terms_are_about_it(
    pod: Pod, other: Pod, expected: QueueingHint
) -> None:
    assert ask(make_plugin("InterPodAffinity"), ASSIGNED_POD_ADD, pod, None, other) is expected


def test_a_namespace_selector_is_matched_against_no_labels_in_hints() -> None:
    plugin, other = make_plugin("InterPodAffinity"), labelled("web", namespace="elsewhere")
    team = LabelSelector(match_labels={"team": "a"})
    not_team = LabelSelector(match_expressions=(LabelSelectorRequirement("team", "DoesNotExist"),))
    for selector, expected in ((LabelSelector(), QUEUE), (team, SKIP), (not_team, QUEUE)):
        pod = near(term(namespace_selector=selector))
        assert ask(plugin, ASSIGNED_POD_ADD, pod, None, other) is expected


@pytest.mark.parametrize(
    ("pod", "other", "expected"),
    [
        (apart(term()), labelled("web"), QUEUE),
        (apart(term("db"), term()), labelled("web"), QUEUE),
        (apart(term()), labelled("db"), SKIP),
        (near(term()), labelled("web"), SKIP),
        (apart(term()), labelled("web", node=""), SKIP),
        (make_pod("plain", labels={"app": "web"}), apart(term(), node="n1"), QUEUE),
        (make_pod("plain", labels={"app": "db"}), apart(term(), node="n1"), SKIP),
        (make_pod("plain", labels={"app": "web"}), near(term(), node="n1"), SKIP),
    ],
)
def test_a_pod_that_went_counts_when_either_wanted_to_be_away_from_the_other(
    pod: Pod, other: Pod, expected: QueueingHint
) -> None:
    assert ask(make_plugin("InterPodAffinity"), ASSIGNED_POD_DELETE, pod, other, None) is expected


@pytest.mark.parametrize(
    ("pod", "old", "new", "expected"),
    [
        (near(term()), labelled("db"), labelled("web"), QUEUE),
        (near(term()), labelled("web"), labelled("web"), SKIP),
        (near(term()), labelled("web"), labelled("db"), SKIP),
        (apart(term()), labelled("web"), labelled("db"), QUEUE),
        (apart(term()), labelled("db"), labelled("web"), SKIP),
        (apart(term(), term("db")), labelled("web"), labelled("db"), SKIP),  # now another term is about it
        (make_pod("plain"), labelled("web"), labelled("db"), SKIP),
    ],
)
def test_new_labels_count_when_a_pod_is_near_or_away_by_them(
    pod: Pod, old: Pod, new: Pod, expected: QueueingHint
) -> None:
    assert ask(make_plugin("InterPodAffinity"), POD_LABEL, pod, old, new) is expected


def test_new_labels_of_another_pod_do_not_free_pods_that_it_wanted_to_be_away_from() -> None:
    old, new = apart(term(), node="n1", labels={"a": "b"}), apart(term(), node="n1")
    assert ask(make_plugin("InterPodAffinity"), POD_LABEL, make_pod("p", labels={"app": "web"}), old, new) is SKIP


def test_new_labels_of_its_own_always_bring_a_pod_back() -> None:
    assert ask(make_plugin("InterPodAffinity"), OWN_LABEL, near(term()), near(term()), near(term())) is QUEUE


@pytest.mark.parametrize(
    ("pod", "old", "new", "expected"),
    [
        (near(term()), None, ZONED, QUEUE),
        (near(term()), None, ZONELESS, SKIP),
        (near(term()), ZONELESS, ZONED, QUEUE),
        (near(term()), ZONED, OTHER_ZONE, QUEUE),
        (near(term()), ZONED, ZONELESS, SKIP),
        (near(term()), ZONED, ZONED, SKIP),
        (near(term(key="rack"), term()), ZONED, OTHER_ZONE, QUEUE),
        (apart(term()), None, ZONELESS, QUEUE),
        (apart(term()), ZONED, ZONELESS, QUEUE),
        (apart(term()), ZONED, OTHER_ZONE, QUEUE),
        (apart(term()), ZONELESS, ZONED, SKIP),
        (apart(term()), ZONED, ZONED, SKIP),
        (make_pod("plain"), None, ZONED, SKIP),
    ],
)
def test_a_node_counts_when_it_comes_to_a_domain_to_be_in_or_leaves_one_to_be_out_of(
    pod: Pod, old: Node | None, new: Node, expected: QueueingHint
) -> None:
    event = NODE_ADD if old is None else NODE_LABEL
    assert ask(make_plugin("InterPodAffinity"), event, pod, old, new) is expected


def test_preferred_terms_bring_no_pod_back() -> None:
    preferred = PodAffinity(preferred=(WeightedPodAffinityTerm(1, term()),))
    liking = make_pod("liking", affinity=Affinity(pod_affinity=preferred, pod_anti_affinity=preferred))
    plugin = make_plugin("InterPodAffinity")
    assert ask(plugin, ASSIGNED_POD_ADD, liking, None, labelled("web")) is SKIP
    assert ask(plugin, ASSIGNED_POD_DELETE, liking, labelled("web"), None) is SKIP
    assert ask(plugin, NODE_ADD, liking, None, ZONED) is SKIP


def test_terms_that_cannot_be_read_are_an_error() -> None:
    wrong = LabelSelector(match_expressions=(LabelSelectorRequirement("app", "Near"),))
    pod = near(PodAffinityTerm(label_selector=wrong, topology_key="zone"))
    with pytest.raises(SelectorError):
        ask(make_plugin("InterPodAffinity"), ASSIGNED_POD_ADD, pod, None, labelled("web"))

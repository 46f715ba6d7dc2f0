"""What becomes of nodes, scores and victims when extenders have a say."""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nodewise.cluster.http_extender import HttpExtender
from nodewise.cluster.object_documents import ObjectDocuments
from nodewise.config.model import Extender, ExtenderManagedResource
from nodewise.framework.extender import ExtenderError
from nodewise.framework.status import SUCCESS, Code
from nodewise.runtime.extenders import bind_with_extenders, binds, need_all
from nodewise.runtime.selection import Selector, TieBreak
from nodewise.state.pod_info import PodInfo
from nodewise.testing.builders import make_pod
from tests.cli.small_clusters import node, pod, write
from tests.command import nodewise
from tests.extenders.conftest import Serve, WriteConfig
from tests.extenders.failures import extender
from tests.extenders.server import Json, node_names

SILENT = {"code": "UnschedulableAndUnresolvable", "reasons": []}


@pytest.fixture
def three_nodes(tmp_path: Path) -> str:
    return write(tmp_path / "cluster.yaml", node("n1") + node("n2") + node("n3") + pod("p"))


def explained(cluster: str, config: str) -> Json:
    (line,) = nodewise("explain", cluster, "-o", "jsonl", "--config", config).json_lines()
    return line


# --- filter -----------------------------------------------------------------------------------------------------------


def test_failed_nodes_count_with_the_extenders_reasons_and_the_final_ones_win(
    serve: Serve, write_config: WriteConfig, three_nodes: str
) -> None:
    reply = {
        "FailedNodes": {"n1": "not now", "n2": "not now"},
        "FailedAndUnresolvableNodes": {"n2": "never"},
        "NodeNames": [],
    }
    server = serve({"filter": lambda body: reply})

    explanation = explained(three_nodes, write_config(extender(server.url)))

    assert explanation["message"].startswith("0/3 nodes are available: 1 never, 1 not now. preemption: ")
    assert {n["name"]: n["extenders"][server.url] for n in explanation["nodes"]} == {
        "n1": {"code": "Unschedulable", "reasons": ["not now"]},
        "n2": {"code": "UnschedulableAndUnresolvable", "reasons": ["never"]},
        "n3": SILENT,
    }
    assert "1 No preemption victims found for incoming pod" in explanation["message"]


def test_reasons_for_nodes_that_do_not_exist_count_too(
    serve: Serve, write_config: WriteConfig, three_nodes: str
) -> None:
    server = serve({"filter": lambda body: {"FailedNodes": {"ghost": "boo", "n1": "no"}, "NodeNames": []}})

    explanation = explained(three_nodes, write_config(extender(server.url)))

    assert explanation["message"].startswith("0/3 nodes are available: 1 boo, 1 no. ")


def test_an_extenders_reason_takes_the_place_of_a_filters(
    serve: Serve, write_config: WriteConfig, tmp_path: Path
) -> None:
    cluster = write(tmp_path / "cluster.yaml", node("n1") + node("n2").replace('"4"', '"1"') + pod("p", "2"))
    server = serve({"filter": lambda body: {"FailedNodes": {"n1": "full", "n2": "also full"}, "NodeNames": []}})

    explanation = explained(cluster, write_config(extender(server.url)))

    assert server.bodies("filter")[0]["NodeNames"] == ["n1"]
    assert explanation["message"].startswith("0/2 nodes are available: 1 also full, 1 full. ")


@pytest.mark.parametrize("reply", [{}, {"Nodes": {"items": []}}, {"NodeNames": []}, {"nodenames": None}])
def test_a_reply_without_nodes_leaves_none(
    serve: Serve, write_config: WriteConfig, three_nodes: str, reply: Json
) -> None:
    server = serve({"filter": lambda body: reply})

    assert explained(three_nodes, write_config(extender(server.url)))["feasible"] == []


@pytest.mark.parametrize("key", ["NodeNames", "nodeNames", "nodenames", "NODENAMES"])
def test_names_in_a_reply_may_have_any_case(
    serve: Serve, write_config: WriteConfig, three_nodes: str, key: str
) -> None:
    server = serve({"filter": lambda body: {key: ["n2"]}})

    assert explained(three_nodes, write_config(extender(server.url)))["feasible"] == ["n2"]


def test_names_do_not_count_for_an_extender_that_was_sent_nodes(
    serve: Serve, write_config: WriteConfig, three_nodes: str
) -> None:
    server = serve({"filter": lambda body: {"NodeNames": ["n1"], "Nodes": {"items": body["Nodes"]["items"][1:]}}})

    explanation = explained(three_nodes, write_config(extender(server.url, nodeCacheCapable=False)))

    assert explanation["feasible"] == ["n2", "n3"]


def test_each_extender_sees_what_the_one_before_it_left(
    serve: Serve, write_config: WriteConfig, three_nodes: str
) -> None:
    def drop_first(body: Json) -> Json:
        return {"NodeNames": body["NodeNames"][1:]}

    servers = [serve({"filter": drop_first}) for _ in range(4)]

    explanation = explained(three_nodes, write_config(*[extender(server.url) for server in servers]))

    seen = [[body["NodeNames"] for body in server.bodies("filter")] for server in servers]
    assert seen == [[["n1", "n2", "n3"]], [["n2", "n3"]], [["n3"]], []]
    assert explanation["feasible"] == []


def test_nodes_that_an_extender_sent_back_are_scored_as_if_they_were_empty(
    serve: Serve, write_config: WriteConfig, tmp_path: Path
) -> None:
    running = pod("other", "3").replace("spec: {", "spec: {nodeName: n1, ")
    cluster = write(tmp_path / "cluster.yaml", node("n1") + node("n2") + running + pod("p"))
    server = serve({"filter": lambda body: {"Nodes": body["Nodes"], "NodeNames": body["NodeNames"]}})

    by_object = explained(cluster, write_config(extender(server.url, nodeCacheCapable=False)))
    by_name = explained(cluster, write_config(extender(server.url)))

    assert by_object["best"] == ["n1", "n2"]
    assert by_name["best"] == ["n2"]


def test_an_extender_is_only_asked_about_pods_that_use_what_it_manages(serve: Serve) -> None:
    managed = (ExtenderManagedResource("example.com/gpu"),)
    asked = HttpExtender(Extender(url_prefix="http://x", managed_resources=managed), ObjectDocuments())
    plain, gpu = make_pod("plain", "1"), make_pod("gpu", resources={"example.com/gpu": "1"})

    assert not asked.is_interested(plain)
    assert asked.is_interested(gpu)
    assert HttpExtender(Extender(url_prefix="http://x"), ObjectDocuments()).is_interested(plain)


def test_resources_that_the_scheduler_is_to_ignore_are_left_to_the_extender(
    serve: Serve, write_config: WriteConfig, tmp_path: Path
) -> None:
    waiting = pod("p").replace('{cpu: "1"}', '{cpu: "1", example.com/gpu: "1"}').replace("requests:", "limits:")
    cluster = write(tmp_path / "cluster.yaml", node("n1") + waiting)
    server = serve({"filter": lambda body: {"NodeNames": body["NodeNames"]}})

    def feasible(*, ignored: bool) -> Any:
        managed = [{"name": "example.com/gpu", "ignoredByScheduler": ignored}]
        return explained(cluster, write_config(extender(server.url, managedResources=managed)))["feasible"]

    assert feasible(ignored=False) == []
    assert feasible(ignored=True) == ["n1"]


def test_profiles_without_arguments_of_the_fit_plugin_cannot_ignore_resources(
    write_config: WriteConfig, three_nodes: str
) -> None:
    managed = [{"name": "example.com/gpu", "ignoredByScheduler": True}]
    profile = {"plugins": {"multiPoint": {"disabled": [{"name": "NodeResourcesFit"}]}}}

    done = nodewise("explain", three_nodes, "--config", write_config({"managedResources": managed}, profiles=[profile]))

    assert done.exit_code == 2
    assert "couldn't build extenders: can't find NodeResourcesFitArgs in plugin config" in done.stderr


# --- nominated node, sampling -----------------------------------------------------------------------------------------


def nominated(name: str, node_name: str) -> str:
    return pod(name).replace("---", f"status: {{nominatedNodeName: {node_name}}}\n---")


def test_the_nominated_node_is_put_to_extenders_alone_and_taken_when_they_agree(
    serve: Serve, write_config: WriteConfig, tmp_path: Path
) -> None:
    cluster = write(tmp_path / "cluster.yaml", node("n1") + node("n2") + nominated("p", "n2"))
    server = serve({"filter": lambda body: {"NodeNames": body["NodeNames"]}})

    explanation = explained(cluster, write_config(extender(server.url, prioritizeVerb="prioritize", weight=1)))

    assert [path for path, _ in server.requests] == ["/filter"]
    assert server.bodies("filter")[0]["NodeNames"] == ["n2"]
    assert server.bodies("filter")[0]["Pod"]["status"]["nominatedNodeName"] == "n2"
    assert explanation["best"] == ["n2"]


@pytest.mark.parametrize("answer", [{"NodeNames": []}, {"Error": "not this one"}])
def test_where_extenders_refuse_the_nominated_node_all_nodes_are_looked_at(
    serve: Serve, write_config: WriteConfig, tmp_path: Path, answer: Json
) -> None:
    cluster = write(tmp_path / "cluster.yaml", node("n1") + node("n2") + nominated("p", "n2"))

    def all_but_the_nominated_one_alone(body: Json) -> Json:
        return answer if body["NodeNames"] == ["n2"] else {"NodeNames": body["NodeNames"]}

    server = serve({"filter": all_but_the_nominated_one_alone})

    explanation = explained(cluster, write_config(extender(server.url)))

    assert [body["NodeNames"] for body in server.bodies("filter")] == [["n2"], ["n1", "n2"]]
    assert explanation["feasible"] == ["n1", "n2"]


def test_nodes_that_the_search_did_not_come_to_have_no_status(
    serve: Serve, write_config: WriteConfig, tmp_path: Path
) -> None:
    nodes = "".join(node(f"n{number:03d}") for number in range(300))
    cluster = write(tmp_path / "cluster.yaml", nodes + pod("p"))
    server = serve({"filter": lambda body: {"FailedNodes": dict.fromkeys(body["NodeNames"], "no"), "NodeNames": []}})
    config = write_config(extender(server.url), percentageOfNodesToScore=40)

    (placement,) = nodewise("simulate", cluster, "-o", "json", "--config", config).json()["pods"]

    assert placement["message"].startswith("0/300 nodes are available: 120 no. ")


def test_the_first_feasible_node_ends_the_search_only_where_nobody_filters_or_scores() -> None:
    def of(**verbs: Any) -> HttpExtender:
        return HttpExtender(Extender(url_prefix="http://x", **verbs), ObjectDocuments())

    assert need_all([of(filter_verb="filter")])
    assert need_all([of(bind_verb="bind"), of(prioritize_verb="prioritize")])
    assert not need_all([of(bind_verb="bind"), of(preempt_verb="preempt")])


# --- scores -----------------------------------------------------------------------------------------------------------


def test_scores_count_ten_times_their_weight(serve: Serve, write_config: WriteConfig, three_nodes: str) -> None:
    reply = [{"Host": "n3", "Score": 2}, {"host": "n1", "score": 1}, {"Host": "elsewhere", "Score": 10}]
    server = serve({"prioritize": lambda body: reply})
    config = write_config({"urlPrefix": server.url, "prioritizeVerb": "prioritize", "weight": 7})

    explanation = explained(three_nodes, config)

    assert [n.get("extenderScores") for n in explanation["nodes"]] == [
        {server.url: 70},
        {server.url: 0},
        {server.url: 140},
    ]
    totals = [n["total"] for n in explanation["nodes"]]
    assert [total - totals[1] for total in totals] == [70, 0, 140]
    assert explanation["best"] == ["n3"]


def test_a_single_feasible_node_is_not_scored(serve: Serve, write_config: WriteConfig, tmp_path: Path) -> None:
    cluster = write(tmp_path / "cluster.yaml", node("n1") + pod("p"))
    server = serve({"prioritize": lambda body: []})
    config = write_config({"urlPrefix": server.url, "prioritizeVerb": "prioritize", "weight": 1})

    nodewise("simulate", cluster, "--config", config)
    nodewise("explain", cluster, "--config", config)

    assert server.requests == []


def test_equal_nodes_that_an_extender_scored_are_chosen_among_at_random_as_kube_scheduler_does() -> None:
    found, totals = np.arange(4), np.array([5, 7, 7, 7])
    rank = np.arange(4)
    everywhere = np.ones(4, bool)

    def chosen(mask: Any) -> Counter[int]:
        selector = Selector(TieBreak.KUBE, random.Random(4))
        return Counter(selector.select(found, totals, rank, randomized=mask) for _ in range(300))

    assert chosen(None) == {1: 300}
    assert chosen(~everywhere) == {1: 300}
    assert set(chosen(everywhere)) == {1, 2, 3}
    assert min(chosen(everywhere).values()) > 60
    # A node without a random number loses against equals that have one.
    assert set(chosen(np.array([True, False, True, True]))) == {2, 3}


# --- preemption -------------------------------------------------------------------------------------------------------


@pytest.fixture
def two_full_nodes(tmp_path: Path) -> str:
    def running(name: str, where: str) -> str:
        text = pod(name, "3").replace("spec: {", f"spec: {{nodeName: {where}, priority: 1, ")
        return text.replace(f"{{name: {name}}}", f"{{name: {name}, uid: u-{name}}}")

    high = pod("high", "3").replace("spec: {", "spec: {priority: 9, ").replace("{name: high}", "{name: high, uid: v}")
    texts = [node("n1"), node("n2"), running("a", "n1"), running("b", "n2"), high]
    return write(tmp_path / "cluster.yaml", "".join(texts))


def preempting(serve: Serve, write_config: WriteConfig, cluster: str, reply: Json, **fields: object) -> Json:
    server = serve({"preempt": lambda body: reply})
    config = write_config({"urlPrefix": server.url, "preemptVerb": "preempt", **fields})
    (placement,) = nodewise("simulate", cluster, "-o", "json", "--config", config).json()["pods"]
    message: Json = {**placement, "message": placement["message"].replace(server.url, "URL")}
    return message


def test_an_extender_may_drop_candidates(serve: Serve, write_config: WriteConfig, two_full_nodes: str) -> None:
    reply = {"nodeNameToMetaVictims": {"n2": {"pods": [{"uid": "u-b"}]}}}

    placement = preempting(serve, write_config, two_full_nodes, reply)

    assert (placement["node"], placement["victims"]) == ("n2", ["default/b"])


def test_without_candidates_left_nothing_is_preempted(
    serve: Serve, write_config: WriteConfig, two_full_nodes: str
) -> None:
    placement = preempting(serve, write_config, two_full_nodes, {})

    assert placement["message"].endswith(" preemption: no candidate node for preemption")


def test_more_broken_budgets_by_an_extenders_count_make_a_candidate_worse(
    serve: Serve, write_config: WriteConfig, two_full_nodes: str
) -> None:
    victims = {
        "n1": {"Pods": [{"UID": "u-a"}], "NumPDBViolations": 1},
        "n2": {"Pods": [{"UID": "u-b"}], "NumPDBViolations": 0},
    }

    assert preempting(serve, write_config, two_full_nodes, {"NodeNameToMetaVictims": victims})["node"] == "n2"


@pytest.mark.parametrize(
    ("victims", "text"),
    [
        ({"n9": {"Pods": [{"UID": "u-a"}]}}, 'nodeinfo not found for node name "n9"'),
        ({"n1": {"Pods": []}}, 'expected at least one victim pod on node "n1"'),
        (
            {"n1": {"Pods": [{"UID": "u-b"}]}},
            "extender: URL claims to preempt pod (UID: &{u-b}) on node: n1, but the pod is not found on that node",
        ),
    ],
)
def test_victims_that_make_no_sense_are_an_error(
    serve: Serve, write_config: WriteConfig, two_full_nodes: str, victims: Json, text: str
) -> None:
    placement = preempting(serve, write_config, two_full_nodes, {"NodeNameToMetaVictims": victims})

    assert placement["message"].endswith(f"preemption: {text}")


def test_a_node_that_an_extender_leaves_without_victims_is_dropped_where_it_may_be_ignored(
    serve: Serve, write_config: WriteConfig, two_full_nodes: str
) -> None:
    victims = {"n1": {"Pods": []}, "n2": {"Pods": [{"UID": "u-b"}]}}

    placement = preempting(serve, write_config, two_full_nodes, {"NodeNameToMetaVictims": victims}, ignorable=True)

    assert (placement["node"], placement["victims"]) == ("n2", ["default/b"])


# --- binding ----------------------------------------------------------------------------------------------------------


def binder(url: str, *, ignorable: bool = False, managed: str = "") -> HttpExtender:
    resources = (ExtenderManagedResource(managed),) if managed else ()
    config = Extender(url_prefix=url, bind_verb="bind", ignorable=ignorable, managed_resources=resources)
    return HttpExtender(config, ObjectDocuments())


def test_the_first_interested_extender_binds(serve: Serve) -> None:
    one, two = serve({"bind": lambda body: {}}), serve({"bind": lambda body: {}})
    extenders = [binder(one.url, managed="example.com/gpu"), binder(two.url)]
    info = PodInfo(make_pod("p"))

    assert binds(extenders, info)
    assert bind_with_extenders(extenders, info, "n1") == SUCCESS
    assert (len(one.requests), len(two.requests)) == (0, 1)


def test_without_an_interested_binder_the_bind_plugins_have_to(serve: Serve) -> None:
    server = serve({"bind": lambda body: {}})
    extenders = [binder(server.url, managed="example.com/gpu")]

    assert not binds(extenders, PodInfo(make_pod("p")))
    assert bind_with_extenders(extenders, PodInfo(make_pod("p")), "n1") is None


def test_a_binding_that_fails_is_an_error_or_goes_to_the_next(serve: Serve) -> None:
    failing = serve({"bind": lambda body: {"Error": "taken"}})
    info = PodInfo(make_pod("p"))

    status = bind_with_extenders([binder(failing.url)], info, "n1")

    assert status is not None
    assert (status.code, status.message) == (Code.ERROR, "taken")
    assert bind_with_extenders([binder(failing.url, ignorable=True)], info, "n1") is None


def test_nothing_is_bound_in_a_simulation(serve: Serve, write_config: WriteConfig, three_nodes: str) -> None:
    server = serve({"bind": lambda body: {}})

    done = nodewise(
        "simulate", three_nodes, "-o", "json", "--config", write_config({"urlPrefix": server.url, "bindVerb": "bind"})
    )

    assert done.json()["pods"][0]["node"] == "n1"
    assert server.requests == []


def test_verbs_that_are_not_configured_are_refused() -> None:
    bare = HttpExtender(Extender(url_prefix="http://x"), ObjectDocuments())
    info = PodInfo(make_pod("p"))

    with pytest.raises(ExtenderError, match=r"^unexpected empty bindVerb in extender$"):
        bare.bind(info, "n1")
    text = "^preempt verb is not defined for extender http://x but run into ProcessPreemption$"
    with pytest.raises(ExtenderError, match=text):
        bare.process_preemption(info, {}, lambda name: None)


# --- what is shown ----------------------------------------------------------------------------------------------------


def test_the_table_tells_extenders_apart_and_has_a_column_of_their_scores(
    serve: Serve, write_config: WriteConfig, three_nodes: str
) -> None:
    def refuse_first(body: Json) -> Json:
        first, *others = node_names(body)
        return {"NodeNames": others, "FailedNodes": {first: "not here"}}

    server = serve({"filter": refuse_first, "prioritize": lambda body: [{"Host": "n3", "Score": 4}]})
    config = write_config(extender(server.url, prioritizeVerb="prioritize", weight=2))

    shown = nodewise("explain", three_nodes, "--config", config).stdout

    assert f"Extender {server.url}" in shown
    assert "not here" in shown
    header, best, *_ = shown[shown.index("TOTAL") :].splitlines()
    assert header.split()[-1] == "Extender"
    assert best.split()[:2] == ["*", "n3"]
    assert best.split()[-1] == "80"


def test_documents_do_not_change_where_there_are_no_extenders(three_nodes: str) -> None:
    (line,) = nodewise("explain", three_nodes, "-o", "jsonl").json_lines()

    assert all(set(n) == {"name", "filters", "excluded_by", "scores", "total"} for n in line["nodes"])
    assert "extenders" not in json.dumps(line)

"""Who binds a pod where extenders may."""

import asyncio

import numpy as np

from nodewise.api.objects import Node
from nodewise.cluster.http_extender import HttpExtender
from nodewise.cluster.object_documents import ObjectDocuments
from nodewise.config.model import Extender
from nodewise.framework.cycle_state import CycleState
from nodewise.framework.extender import FilterAnswer
from nodewise.framework.status import SUCCESS, Code, Status
from nodewise.runtime.extenders import ExtenderVerdict
from nodewise.scheduler.extenders import ExtenderBinder
from nodewise.state.pod_info import PodInfo
from nodewise.testing.builders import make_node, make_pod, make_snapshot
from tests.extenders.conftest import Serve


def bound(binder: ExtenderBinder) -> Status:
    return asyncio.run(binder.bind(CycleState(), PodInfo(make_pod("p")), "n1"))


def extender(url: str, *, ignorable: bool = False) -> HttpExtender:
    return HttpExtender(Extender(url_prefix=url, bind_verb="bind", ignorable=ignorable), ObjectDocuments())


def test_a_binder_gives_what_the_extender_says(serve: Serve) -> None:
    agreeing, refusing = serve({"bind": lambda body: {}}), serve({"bind": lambda body: {"Error": "taken"}})

    assert bound(ExtenderBinder([extender(agreeing.url)])) == SUCCESS
    assert bound(ExtenderBinder([extender(refusing.url)])) == Status.error("taken")


def test_a_binder_skips_where_no_extender_binds(serve: Serve) -> None:
    refusing = serve({"bind": lambda body: 500})
    no_binder = HttpExtender(Extender(url_prefix=refusing.url), ObjectDocuments())

    assert bound(ExtenderBinder([no_binder])).code is Code.SKIP
    assert bound(ExtenderBinder([extender(refusing.url, ignorable=True)])).code is Code.SKIP


def test_statuses_from_the_nominated_node_count_in_the_rotation_once_for_each_other_node(serve: Serve) -> None:
    nodes: list[Node] = [make_node(name) for name in ("a", "b", "c")]
    columns = make_snapshot(nodes).columns
    verdict = ExtenderVerdict()
    asked = extender(serve({}).url)
    verdict.take(asked, ["a"], FilterAnswer((), {"a": "no", "ghost": "no", "c": "no"}))

    rejected = np.array([columns.row_of("c")], np.intp)

    assert verdict.n_beyond(rejected, columns) == 2
    assert ExtenderVerdict().n_beyond(rejected, columns) == 0

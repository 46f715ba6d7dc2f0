"""What differs between the oracle's and nodewise's answers about one cluster."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Within one rejection the oracle's NodeResourcesFit names scalar resources in Go's random map order.
UNORDERED_REASONS = frozenset({"NodeResourcesFit"})
DID_NOT_HELP = "preemption did not help: "
CLAIMS_MISSING = "DynamicResources: "
GAVE_UP = "timed out waiting for "
ABSENT = "(absent)"

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Difference:
    """One value that the two do not agree on."""

    pod: str
    what: str
    oracle: object
    nodewise: object
    node: str | None = None
    plugin: str | None = None

    def __str__(self) -> str:
        where = [f"pod {self.pod}"]
        if self.node is not None:
            where.append(f"node {self.node}")
        if self.plugin is not None:
            where.append(f"plugin {self.plugin}")
        return f"{', '.join(where)}: {self.what}\n    oracle:   {self.oracle!r}\n    nodewise: {self.nodewise!r}"


def evaluation_differences(oracle: Sequence[Json], nodewise: Sequence[Json]) -> list[Difference]:
    """Compare ``oracle evaluate`` with ``nodewise explain --all``, pod by pod."""
    return list(_pairwise(_by(oracle, "pod"), _by(nodewise, "pod"), _verdict_differences))


def placement_differences(oracle: Sequence[Json], nodewise: Sequence[Json]) -> list[Difference]:
    """Compare ``oracle schedule`` with the ``pods`` of ``nodewise simulate``, pod by pod.

    A pod that no profile is responsible for, or that is being deleted, is not in nodewise's list. Where the oracle
    gives up (see `given_up_at`) nothing more is compared.
    """
    stop = given_up_at(oracle)
    if stop:
        n_compared = [line["pod"] for line in oracle].index(stop)
        left_out = {line["pod"] for line in oracle[n_compared:]}
        oracle = oracle[:n_compared]
        nodewise = [line for line in nodewise if line["pod"] not in left_out]
    tried = [line for line in oracle if not line.get("skipped") or _is_gated(line) or _waits_for_claims(line)]
    return list(_pairwise(_by(tried, "pod"), _by(nodewise, "pod"), _placement_differences))


def given_up_at(oracle: Sequence[Json]) -> str:
    """Return the first pod that the oracle timed out on, "" for none.

    That is no decision of the scheduler's: `oracle schedule` waits for its own effects on its fake API, and leaves the
    cluster in between when they do not come.
    """
    return next((line["pod"] for line in oracle if str(line.get("error", "")).startswith(GAVE_UP)), "")


def _pairwise(oracle: Mapping[str, Json], nodewise: Mapping[str, Json], compare: Any) -> Iterator[Difference]:
    for pod in sorted(oracle.keys() | nodewise.keys()):
        mine, other = oracle.get(pod), nodewise.get(pod)
        if mine is None or other is None:
            yield Difference(pod, "answer", ABSENT if mine is None else mine, ABSENT if other is None else other)
        else:
            yield from compare(pod, mine, other)


def _verdict_differences(pod: str, oracle: Json, nodewise: Json) -> Iterator[Difference]:
    was_skipped = bool(oracle.get("skipped") or oracle.get("preenqueue"))
    if was_skipped != bool(nodewise.get("skipped")):
        why = oracle.get("skipped") or oracle.get("preenqueue") or ABSENT
        yield Difference(pod, "skipped", why, nodewise.get("skipped") or ABSENT)
    if was_skipped:
        return
    failed = oracle.get("error", "")
    if failed or nodewise.get("error"):
        yield from _compare(pod, "error", failed, nodewise.get("error", ""))
        return
    yield from _compare(pod, "prefilter", _rejection(oracle.get("prefilter")), _rejection(nodewise.get("prefilter")))
    yield from _node_differences(pod, _by(oracle.get("nodes"), "name"), _by(nodewise.get("nodes"), "name"))
    for key in ("feasible", "best"):
        yield from _compare(pod, key, oracle.get(key) or [], nodewise.get(key) or [])
    yield from _compare(pod, "message", oracle.get("message", ""), nodewise.get("message", ""))


def _node_differences(pod: str, oracle: Mapping[str, Json], nodewise: Mapping[str, Json]) -> Iterator[Difference]:
    for name in sorted(oracle.keys() | nodewise.keys()):
        mine, other = oracle.get(name), nodewise.get(name)
        if mine is None or other is None:
            yield Difference(pod, "node", mine or ABSENT, other or ABSENT, node=name)
            continue
        yield from _plugin_differences(pod, name, "filter", _filters(mine), _filters(other))
        yield from _plugin_differences(pod, name, "score", mine.get("scores") or {}, other.get("scores") or {})
        excluders = [sorted(node.get("excluded_by") or []) for node in (mine, other)]
        yield from _compare(pod, "excluded_by", *excluders, node=name)
        yield from _compare(pod, "total", mine.get("total"), other.get("total"), node=name)
        yield from _compare(pod, "extender", _of_extenders(mine), _of_extenders(other), node=name)
        added = [_without_zeros(node.get(key)) for node, key in ((mine, "extender_scores"), (other, "extenderScores"))]
        yield from _compare(pod, "extender scores", *added, node=name)


def _plugin_differences(
    pod: str, node: str, what: str, oracle: Mapping[str, Any], nodewise: Mapping[str, Any]
) -> Iterator[Difference]:
    for plugin in sorted(oracle.keys() | nodewise.keys()):
        values = oracle.get(plugin, ABSENT), nodewise.get(plugin, ABSENT)
        yield from _compare(pod, what, *values, node=node, plugin=plugin)


def _placement_differences(pod: str, oracle: Json, nodewise: Json) -> Iterator[Difference]:
    if _is_gated(oracle):
        yield from _compare(pod, "reason", "SchedulingGated", nodewise.get("reason"))
        yield from _compare(pod, "node", None, nodewise.get("node"))
        return
    if _waits_for_claims(oracle):
        yield from _compare(pod, "reason", "Unschedulable", nodewise.get("reason"))
        yield from _compare(pod, "message", oracle["skipped"], f"{CLAIMS_MISSING}[{nodewise.get('message')}]")
        return
    if failed := oracle.get("error"):
        if nodewise.get("reason") != "SchedulerError":
            yield Difference(pod, "error", failed, nodewise.get("message"))
        return
    yield from _compare(pod, "node", oracle.get("node"), nodewise.get("node"))
    for key in ("best", "victims"):
        yield from _compare(pod, key, oracle.get(key) or [], nodewise.get(key) or [])
    yield from _compare(pod, "message", oracle.get("message", ""), nodewise.get("message", ""))
    if still := oracle.get("still_unschedulable"):
        # The second refusal of a preemptor that does not fit even without its victims.
        yield from _compare(pod, "detail", f"{DID_NOT_HELP}{still}", nodewise.get("detail", ""))
    reason = None if oracle.get("node") else "Unschedulable"
    yield from _compare(pod, "reason", reason, nodewise.get("reason"))


def _is_gated(line: Json) -> bool:
    """Whether a PreEnqueue plugin keeps the pod out of the queue."""
    return str(line.get("skipped", "")).startswith("SchedulingGates: ")


def _waits_for_claims(line: Json) -> bool:
    """Whether the pod is not tried before its resource claims are there."""
    return str(line.get("skipped", "")).startswith(CLAIMS_MISSING)


def _compare(
    pod: str, what: str, oracle: object, nodewise: object, *, node: str | None = None, plugin: str | None = None
) -> Iterator[Difference]:
    if oracle != nodewise:
        yield Difference(pod, what, oracle, nodewise, node=node, plugin=plugin)


def _filters(node: Json) -> dict[str, Json]:
    statuses: Json = node.get("filters") or {}
    return {plugin: _status(status, is_ordered=plugin not in UNORDERED_REASONS) for plugin, status in statuses.items()}


def _of_extenders(node: Json) -> Json | None:
    """Return the status that extenders gave a node; leaving it out silently is none."""
    statuses = [node.get("extender"), *(node.get("extenders") or {}).values()]
    said = [_status(status, is_ordered=True) for status in statuses if status and status.get("reasons")]
    return said[0] if said else None


def _without_zeros(scores: Json | None) -> Json:
    return {extender: score for extender, score in (scores or {}).items() if score}


def _rejection(status: Json | None) -> Json | None:
    return None if status is None else {"plugin": status.get("plugin"), **_status(status, is_ordered=True)}


def _status(status: Json, *, is_ordered: bool) -> Json:
    reasons = status.get("reasons") or []
    return {"code": status.get("code"), "reasons": reasons if is_ordered else sorted(reasons)}


def _by(answers: Iterable[Json] | None, key: str) -> dict[str, Json]:
    return {answer[key]: answer for answer in answers or ()}

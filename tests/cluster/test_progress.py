"""Reading tells how far it is, within one large list too."""

import io
import json
from itertools import pairwise

import msgspec
import pytest

from nodewise.cluster.load import load_cluster
from nodewise.cluster.yaml_documents import read_yaml

N_ITEMS = 3000
ITEMS = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{i}"}} for i in range(N_ITEMS)]
JSON_LIST = json.dumps({"apiVersion": "v1", "kind": "List", "items": ITEMS})
YAML_LIST = "apiVersion: v1\nkind: List\nitems:\n" + "".join(f"- {json.dumps(item)}\n" for item in ITEMS)
YAML_DOCUMENTS = "".join(f"---\n{json.dumps(item)}\n" for item in ITEMS)


@pytest.mark.parametrize("text", [JSON_LIST, YAML_LIST, YAML_DOCUMENTS], ids=["json list", "yaml list", "documents"])
def test_reports_go_up_to_the_end_in_small_steps(text: str) -> None:
    reports: list[tuple[str, int, int]] = []
    loaded = load_cluster(
        ["-"], stdin=io.BytesIO(text.encode()), progress=lambda phase, done, total: reports.append((phase, done, total))
    )
    assert len(loaded.objects.nodes) == N_ITEMS
    assert {phase for phase, _, _ in reports} == {"reading"}
    done = [n_bytes for _, n_bytes, _ in reports]
    assert done == sorted(done)
    assert done[-1] == len(text)
    assert max(later - earlier for earlier, later in pairwise(done)) < len(text) / 3
    assert all(n_bytes <= total for _, n_bytes, total in reports)


def test_items_of_a_list_share_anchors_and_keep_their_line_numbers() -> None:
    text = b"""kind: List
items:
- &first {a: &labels {x: 1}, b: 2.0}
- {<<: *first, c: *labels}
- *first
- [1, 2]
- plain
"""
    (document,) = read_yaml(text)
    assert document.error == ""
    assert msgspec.json.decode(msgspec.json.encode(document.value)) == {
        "kind": "List",
        "items": [
            {"a": {"x": 1}, "b": 2},
            {"a": {"x": 1}, "b": 2, "c": {"x": 1}},
            {"a": {"x": 1}, "b": 2},
            [1, 2],
            "plain",
        ],
    }

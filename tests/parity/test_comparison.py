"""A difference counts when the oracle repeats the answer that differs."""

import json
from pathlib import Path

import pytest

from tests.oracle import Oracle
from tests.parity.comparison import compare_answers

FALSE_ANSWERS = """\
#!/bin/sh
# The oracle, but its first COUNT placements name another node.
seen=$(cat "{folder}/seen" 2>/dev/null || echo 0)
if [ "$1" = schedule ] && [ "$seen" -lt {count} ]; then
    echo $((seen + 1)) > "{folder}/seen"
    "{oracle}" "$@" | sed 's/"node":"a"/"node":"z"/'
else
    exec "{oracle}" "$@"
fi
"""


@pytest.mark.parametrize(("count", "is_equal", "n_notes"), [(0, True, 0), (1, True, 1), (2, False, 0)])
def test_the_oracle_is_asked_again_where_it_differs(
    oracle: Path, tmp_path: Path, *, count: int, is_equal: bool, n_notes: int
) -> None:
    cluster = tmp_path / "cluster.json"
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "a"},
        "status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "9"}},
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node, pod]}))
    stand_in = tmp_path / "oracle"
    stand_in.write_text(FALSE_ANSWERS.format(folder=tmp_path, oracle=oracle, count=count))
    stand_in.chmod(0o755)
    outcome = compare_answers(Oracle(stand_in), cluster, "one node")
    assert outcome.is_equal is is_equal, str(outcome)
    assert len(outcome.notes) == n_notes

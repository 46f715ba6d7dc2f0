import doctest

import pytest

from nodewise.api.objects import Taint, Toleration
from nodewise.testing import builders, check_plugin as check_plugin_module
from nodewise.testing.builders import make_node, make_pod, make_snapshot, make_taint, make_toleration


@pytest.mark.parametrize("module", [builders, check_plugin_module])
def test_the_examples_in_the_docstrings_hold(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]


def test_taints_and_tolerations_are_written_as_kubectl_does() -> None:
    assert make_taint("a.b/c=d:NoExecute") == Taint("a.b/c", "d", "NoExecute")
    assert make_taint("a:NoSchedule") == Taint("a", "", "NoSchedule")
    assert make_toleration("*") == Toleration(operator="Exists")
    assert make_toleration("a=b:NoSchedule") == Toleration("a", "Equal", "b", "NoSchedule")
    assert make_toleration("a=b") == Toleration("a", "Equal", "b")
    assert make_toleration("a") == Toleration("a", "Exists")


def test_a_snapshot_counts_the_pods_on_their_nodes() -> None:
    snapshot = make_snapshot([make_node("n1"), make_node("n2")], [make_pod("p", "250m", "1Gi", node="n2")])
    row = snapshot.columns.row_of("n2")
    assert row is not None
    assert snapshot.columns.requested[:, row].tolist()[:2] == [250, 1 << 30]
    assert [info.key for info in snapshot.pods_on(row).values()] == ["default/p"]

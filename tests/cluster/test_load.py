"""Loading clusters: forms of input, what is skipped, what is refused and how that is told."""

import json
from pathlib import Path

import pytest

from nodewise.cluster.load import load_cluster
from tests.cluster.yaml_text import load_text, node, pod, pod_names

JSON_POD = (
    '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "NAME"},'
    ' "spec": {"containers": [{"name": "c", "image": "i"}]}}'
)


def json_pod(name: str) -> str:
    return JSON_POD.replace("NAME", name)


@pytest.mark.parametrize(
    "text",
    [
        f"{pod('a')}---\n{pod('b')}",
        f"---\n# only a comment\n---\n{pod('a')}---   # next\n\n---\n{pod('b')}...\n",
        f"{pod('a')}---\n{pod('b')}".replace("\n", "\r\n"),
        f"\ufeff{pod('a')}---\n{pod('b')}",
        json_pod("a") + json_pod("b"),
        json_pod("a") + "\n" + json_pod("b") + "\n",
        json.dumps(json.loads(json_pod("a")), indent=2) + "\n" + json.dumps(json.loads(json_pod("b")), indent=2),
        f'{{"apiVersion": "v1", "kind": "List", "items": [{json_pod("a")}, {json_pod("b")}]}}',
        f'{{"apiVersion": "v1", "kind": "PodList", "items": [{json_pod("a")}, {{"metadata": {{"name": "b"}}, '
        '"spec": {"containers": [{"name": "c", "image": "i"}]}}]}',
        f'{{"kind": "List", "items": [{{"kind": "List", "items": [{json_pod("a")}]}}, {json_pod("b")}]}}',
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: i}]}}\n---\n" + pod("b"),
    ],
)
def test_every_form_of_input_gives_the_same_pods(text: str) -> None:
    loaded = load_text(text)
    assert loaded.errors == []
    assert pod_names(loaded) == ["a", "b"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_other_unicode_encodings_are_read_by_their_byte_order_mark(encoding: str) -> None:
    assert pod_names(load_text(pod("a").encode(encoding))) == ["a"]


def test_a_directory_is_read_with_all_its_folders_in_order(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.yaml").write_text(pod("b"))
    (tmp_path / "sub" / "c.json").write_text(json_pod("c"))
    (tmp_path / "a.yml").write_text(pod("a"))
    (tmp_path / "empty.yaml").write_text("# nothing\n")
    (tmp_path / "notes.txt").write_text("not read")
    loaded = load_cluster([str(tmp_path)])
    assert pod_names(loaded) == ["a", "b", "c"]
    assert loaded.errors == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no object"),
        ("# comment\n", "holds no object"),
        ("[1, 2]", "found a list, expected an object"),
        ("just text", "found a string, expected an object"),
        ("{}", "kind: found nothing"),
        ('{"apiVersion": "v1", "kind": "Pod"', "is not valid JSON"),
        ("a: [1,", "is not valid YAML: "),
        ("a: .nan", "line 1: .nan has no meaning in JSON"),
        ("a: &x [*x]", "anchor 'x' value contains itself"),
        ("a: *x", "unknown anchor 'x' referenced"),
        ("--- foo\n", "only a comment may follow the document separator"),
        ('{"a": ' + "[" * 100_000, "is nested too deeply"),
        ("[" * 100_000, "nesting depth"),
        ("- " * 100_000, "nested more than"),
        ('{"apiVersion": 1, "kind": "Pod"}', "apiVersion: found a number, expected a string"),
        ('{"apiVersion": "v1", "kind": "List", "items": {}}', "items: found a mapping, expected a list"),
        ('{"apiVersion": "v1", "kind": "Pod", "metadata": {}}', "metadata.name: Required value"),
    ],
)
def test_input_that_cannot_be_read_is_one_error(text: str, message: str) -> None:
    (error,) = load_text(text).errors
    assert message in str(error)
    assert str(error).startswith("stdin")


@pytest.mark.parametrize(
    "data", [b"\x89PNG\r\n\x1a\n\x00\x00", b"\x00" * 100, b"a: '\xff'", b"\x1f\x8b\x08\x00", b"\xff\xfe\x00"]
)
def test_binary_data_is_one_error(data: bytes) -> None:
    assert len(load_text(data).errors) == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [("missing.yaml", "no such file or directory"), ("empty", "the directory holds no .yaml, .yml or .json file")],
)
def test_a_path_without_input_is_an_error_that_names_it(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "empty").mkdir()
    (error,) = load_cluster([str(tmp_path / name)]).errors
    assert str(error) == f"{tmp_path / name}: {message}"


def test_a_bad_document_does_not_lose_the_others() -> None:
    loaded = load_text(f"{pod('a')}---\nkind: [\n---\n{pod('b')}")
    assert pod_names(loaded) == ["a", "b"]
    assert [error.source for error in loaded.errors] == ["stdin#2"]


def test_a_bad_json_line_does_not_lose_the_others() -> None:
    loaded = load_text(f'{json_pod("a")}\n{{"kind": nope}}\n{json_pod("b")}\n')
    assert pod_names(loaded) == ["a", "b"]
    assert [error.source for error in loaded.errors] == ["stdin#2"]


def test_a_bad_item_is_told_by_its_place_in_the_list() -> None:
    bad = json_pod("b").replace('"c"', "5")
    loaded = load_text(f'{{"kind": "List", "items": [{json_pod("a")}, {bad}, null]}}')
    assert pod_names(loaded) == ["a"]
    assert [str(error) for error in loaded.errors] == [
        "stdin#1.items[1]: Pod default/b: spec.containers[0].name: "
        "found the number 5, expected a string, put it in quotes",
        "stdin#1.items[2]: found null, expected an object, a mapping with apiVersion and kind",
    ]


def test_a_refused_object_does_not_stop_the_rest() -> None:
    loaded = load_text(f"{pod('a')}---\n{pod('B')}---\n{node('node')}")
    assert pod_names(loaded) == ["a"]
    assert [(error.object, error.field) for error in loaded.errors] == [("Pod default/B", "metadata.name")]
    assert len(loaded.objects.nodes) == 1


def test_kinds_that_do_not_matter_are_skipped_with_a_note_each() -> None:
    loaded = load_text(
        "apiVersion: v1\nkind: ConfigMap\n---\nkind: ConfigMap\napiVersion: v1\n---\nkind: X\napiVersion: y/v1\n"
    )
    assert loaded.errors == []
    assert loaded.notes == ["skipped 2 ConfigMap (v1)", "skipped 1 X (y/v1)"]


def test_a_known_kind_of_a_custom_group_is_another_kind_and_of_a_wrong_built_in_group_an_error() -> None:
    assert load_text(pod("a").replace("v1", "acme.test/v1")).errors == []
    (error,) = load_text(pod("a").replace("v1", "apps/v1")).errors
    assert str(error) == "stdin#1: Pod default/a: apiVersion: found apps/v1, expected v1 for a Pod"


def test_the_same_object_counts_once_and_a_contradiction_is_an_error_naming_both_places() -> None:
    loaded = load_text(f"{pod('a')}---\n{pod('a')}---\n{pod('a').replace('image: i', 'image: j')}")
    assert pod_names(loaded) == ["a"]
    (error,) = loaded.errors
    assert error.source == "stdin#3"
    assert "first in stdin#1" in error.message


def test_pods_that_have_ended_are_left_out_but_their_namespace_is_there() -> None:
    loaded = load_text(pod("a").replace("name: a", "name: a, namespace: old") + "status: {phase: Failed}\n")
    assert loaded.objects.pods == []
    assert list(loaded.objects.namespaces) == ["old"]


def test_a_generated_name_is_always_the_same() -> None:
    text = pod("a").replace("name: a", "generateName: a-")
    (name,) = pod_names(load_text(text))
    assert name.startswith("a-")
    assert [name] == pod_names(load_text(text))


def test_progress_counts_up_to_the_size_of_all_files(tmp_path: Path) -> None:
    calls: list[tuple[str, int, int]] = []
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(f"{pod(name)}---\n{node(name)}")
    load_cluster([str(tmp_path)], progress=lambda phase, done, total: calls.append((phase, done, total)))
    done = [call[1] for call in calls]
    assert done == sorted(done)
    assert calls[-1][1] == calls[-1][2] == sum(file.stat().st_size for file in tmp_path.iterdir())

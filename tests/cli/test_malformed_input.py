"""Whatever is in the input: exit code 2, one clear line each, and the rest is done."""

import os
import re
import threading
from pathlib import Path

import pytest

from tests.cli.small_clusters import node, pod, run, write
from tests.command import Completed, nodewise

BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{','.join([f'*{chr(97 + i)}'] * 9)}]\n" for i in range(9)
)
POD_JSON = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"priority":%s,"containers":[]}}'
TEXTS: dict[str, tuple[str | bytes, str]] = {
    "truncated.yaml": (pod()[:-20], "truncated.yaml#1: is not valid YAML: line 6: .*did not find expected"),
    "truncated.json": ('{"apiVersion":"v1","kind":"List","items":[{"kind', "line 1 is not valid JSON: .*truncated"),
    "binary.yaml": (bytes(range(128, 256)) * 50, "binary.yaml#1: is not valid YAML: .*UTF-8"),
    "zeros.yaml": (b"\0" * 1000, "zeros.yaml#1: is not valid YAML: .*control characters"),
    "list.yaml": ("- a\n", "list.yaml#1: found a list, expected an object, a mapping with apiVersion and kind"),
    "text.yaml": ("just text\n", "found a string, expected an object"),
    "kind.yaml": ("apiVersion: v1\nkind: 7\n", "kind.yaml#1: kind: found a number, expected a string"),
    "type.yaml": (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: q}\nspec: {containers: 5}\n",
        "type.yaml#1: Pod default/q: spec.containers: found the number 5, expected a list",
    ),
    "deep.yaml": ("[" * 100_000, "deep.yaml#1: is not valid YAML: .*nesting depth"),
    "deep.json": ('{"a":' + "[" * 100_000 + "]" * 100_000 + "}", "deep.json#1: is nested too deeply"),
    "bomb.yaml": (BOMB, "bomb.yaml#1: line 4: document contains excessive aliasing"),
    "huge.json": (POD_JSON % ("9" * 400), "huge.json#1: Pod default/x: spec.priority: found the number"),
    "infinite.json": (POD_JSON % "1e400", "infinite.json#1: Pod default/x: spec.priority: found the number 1e400"),
    "nan.json": (POD_JSON % "NaN", "nan.json#1: .*is not valid JSON"),
    "nan.yaml": ("apiVersion: v1\nkind: Node\nmetadata: {name: .nan}\n", r"nan.yaml#1: line 3: \.nan has no meaning"),
    "latin.yaml": (b"apiVersion: v1\nkind: Pod\nmetadata: {name: \xe4}\n", "latin.yaml#1: is not valid YAML: .*UTF-8"),
    "latin.json": (b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"\xe4"}}', "latin.json#1: .*UTF-8"),
    "empty.yaml": ("", "empty.yaml: holds no object"),
    "comments.yaml": ("# nothing\n---\n# here\n", "comments.yaml: holds no object"),
    "escapes.yaml": ('apiVersion: "\x1b[31m"\n', r"escapes.yaml#1: is not valid YAML"),
}


def assert_refused(completed: Completed, message: str) -> None:
    errors = [line for line in completed.stderr.splitlines() if not line.startswith("note: ")]
    assert completed.exit_code == 2
    assert len(errors) == 1, completed.stderr
    assert errors[0].startswith("nodewise: ")
    assert re.search(message, errors[0]), errors[0]
    assert errors[0].isprintable()


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_what_is_wrong_is_said_in_one_line_and_the_rest_is_placed(tmp_path: Path, name: str) -> None:
    text, message = TEXTS[name]
    good, bad = write(tmp_path / "good.yaml", node() + pod()), write(tmp_path / name, text)
    completed = nodewise("simulate", good, bad, "-o", "json")
    assert_refused(completed, message)
    document = completed.json()
    assert [placed["node"] for placed in document["pods"]] == ["n1"]
    (error,) = document["inputErrors"]
    assert error["source"].startswith(bad)


@pytest.mark.parametrize("verb", ["simulate", "explain"])
def test_files_that_cannot_be_read_are_named(tmp_path: Path, verb: str) -> None:
    good = write(tmp_path / "good.yaml", node() + pod())
    (tmp_path / "empty").mkdir()
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    for name, message in {
        "missing.yaml": "missing.yaml: no such file or directory",
        "empty": "empty: the directory holds no .yaml, .yml or .json file",
        "loop.yaml": "loop.yaml: too many levels of symbolic links",
    }.items():
        assert_refused(nodewise(verb, good, str(tmp_path / name), "-o", "json"), message)
    assert_refused(nodewise(verb, good, "-f", "/dev/zero"), "/dev/zero: is a device, expected a file, a directory or -")


def test_a_directory_that_links_to_itself_is_read_once(tmp_path: Path) -> None:
    write(tmp_path / "good.yaml", node() + pod())
    (tmp_path / "self").symlink_to(tmp_path)
    completed = nodewise("simulate", str(tmp_path), "-o", "json")
    assert completed.exit_code == 0
    assert completed.json()["summary"]["placed"] == 1


def test_a_pipe_in_a_directory_is_not_waited_for(tmp_path: Path) -> None:
    write(tmp_path / "good.yaml", node() + pod())
    os.mkfifo(tmp_path / "pipe.yaml")
    assert_refused(nodewise("simulate", str(tmp_path)), "pipe.yaml: is a pipe, expected a file")


def test_a_pipe_that_somebody_writes_to_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(node() + pod(),))
    writer.start()
    completed = nodewise("simulate", str(pipe), "-o", "json")
    writer.join()
    assert completed.json()["summary"]["placed"] == 1


def test_the_same_file_twice_counts_once(tmp_path: Path) -> None:
    good = write(tmp_path / "good.yaml", node() + pod())
    completed = nodewise("simulate", good, good, "-o", "json")
    assert completed.exit_code == 0
    assert completed.json()["summary"]["pending"] == 1
    assert "2 object(s) given again with the same content count once" in completed.stderr


def test_contradicting_duplicates_name_both_places(tmp_path: Path) -> None:
    first, second = write(tmp_path / "1.yaml", node() + pod()), write(tmp_path / "2.yaml", pod(cpu="2"))
    completed = nodewise("simulate", first, second, "-o", "json")
    message = rf"{second}#1: Pod default/p: is given twice with different content, first in {first}#2, which is kept"
    assert_refused(completed, message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "no such file or directory"),
        ("", "Object 'Kind' is missing in ''"),
        ("apiVersion: v1\nkind: Pod\n", 'no kind "Pod" is registered for version "v1"'),
        (b"\xff\xfe\xfa", "but goes on as something else"),
        (BOMB, "Object 'Kind' is missing|excessive aliasing"),
        ("[" * 100_000, "nesting depth"),
        ("a: 0" + "7" * 9000 + "\n", "Object 'Kind' is missing"),
    ],
)
def test_a_bad_configuration_is_named(tmp_path: Path, text: str | bytes | None, message: str) -> None:
    good, config = write(tmp_path / "good.yaml", node() + pod()), str(tmp_path / "config.yaml")
    if text is not None:
        write(tmp_path / "config.yaml", text)
    assert_refused(nodewise("simulate", good, "--config", config), f"--config {config}: .*{message}")


def test_aliases_in_a_configuration_count_as_what_they_stand_for(tmp_path: Path) -> None:
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    bomb = "".join(f"      {line}\n" for line in BOMB.splitlines())
    config = write(tmp_path / "c.yaml", f"{head}profiles:\n- pluginConfig:\n  - name: Other\n    args:\n{bomb}")
    good = write(tmp_path / "good.yaml", node() + pod())
    assert_refused(nodewise("simulate", good, "--config", config), "document contains excessive aliasing")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["simulate"], "no input: give a FILE, a directory, or - for standard input"),
        (["simulate", "F", ""], "'': no such file or directory"),
        (["simulate", "F", "-l", "a b"], "selector 'a b': expected KEY"),
        (["simulate", "F", "--percentage-of-nodes-to-score", "101"], "101 is not a whole number in 0..100"),
        (["simulate", "F", "--seed", "x"], "invalid int value: 'x'"),
        (["simulate", "F", "--bogus"], "unrecognized arguments: --bogus"),
        (["bogus"], "invalid choice: 'bogus'"),
        ([], "required: VERB"),
        (["explain", "F", "q"], "no pod q in the input"),
        (["explain", "F", "other/p"], "no pod other/p in the input; did you mean default/p?"),
        (["explain", "p", "F", "--context", "c"], "give FILE or --context and --kubeconfig, not both"),
        (["dump", "F"], "files are only read with --anonymize; without, dump reads a cluster"),
        (["dump", "F", "--anonymize", "--kubeconfig", "k"], "give FILE or --context and --kubeconfig, not both"),
        (["explain", "F", "p", "--all"], "give the pod p or --all, not both"),
    ],
)
def test_a_command_line_that_cannot_be_followed_is_refused(tmp_path: Path, argv: list[str], message: str) -> None:
    running = pod("busy").replace("spec: {", "spec: {nodeName: n1, ")
    good = write(tmp_path / "good.yaml", node() + pod() + running)
    assert_refused(nodewise(*(good if argument == "F" else argument for argument in argv)), message)


def test_an_ambiguous_pod_is_told_with_its_namespaces(tmp_path: Path) -> None:
    other = pod().replace("name: p", "name: p, namespace: other")
    good = write(tmp_path / "good.yaml", node() + pod() + other)
    assert_refused(nodewise("explain", good, "p"), "pod p is ambiguous: default/p, other/p")
    assert nodewise("explain", good, "p", "-n", "other").exit_code == 0


def test_empty_standard_input_is_an_error() -> None:
    completed = run("simulate", "-", "-o", "json")
    assert completed.returncode == 2
    assert completed.stderr == b"nodewise: stdin: holds no object\n"

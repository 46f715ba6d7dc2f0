"""An anonymous cluster tells nothing about whose it is, and everything about where pods go."""

from __future__ import annotations

import json
import types
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
import yaml
from hypothesis import given, strategies as st

from nodewise.api.kinds import KINDS, Kind
from nodewise.api.meta import Object
from nodewise.cluster.anonymize import Anonymizer, Identified
from nodewise.cluster.anonymous_selectors import anonymous_selector, looks_into_texts
from nodewise.cluster.anonymous_words import AnonymousWords
from tests.cluster.anonymizing import SALT, Pair, own_words
from tests.command import nodewise
from tests.oracle import PROJECT_ROOT, Oracle

SECRET = "zyxsecret"
EXAMPLE = PROJECT_ROOT / "examples" / "cluster.yaml"
PROFILES = ("basic", "affinity", "spread", "volumes", "dra", "mixed")
NODE = {"apiVersion": "v1", "kind": "Node", "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}}


@pytest.mark.parametrize("profile", PROFILES)
def test_every_verdict_and_score_stays_the_same(profile: str, oracle: Path, fresh_seed: int, tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    path.write_bytes(Oracle(oracle).generate(profile, seed=fresh_seed, n_nodes=10, n_pods=25, n_pending=15))
    before, after = Pair(path).judged()
    assert len(before) == 15
    assert after == before


@pytest.mark.parametrize("profile", PROFILES)
def test_no_word_of_a_random_cluster_is_left(profile: str, oracle: Path, fresh_seed: int, tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    path.write_bytes(Oracle(oracle).generate(profile, seed=fresh_seed, n_nodes=10, n_pods=25, n_pending=15))
    original = own_words(json.loads(path.read_text()))
    assert len(original) > 50
    assert not original & own_words(Pair(path).documents)


def test_the_example_is_simulated_with_the_same_outcome(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(EXAMPLE.read_text())
    pair = Pair(path)
    assert not own_words(list(yaml.safe_load_all(path.read_text()))) & own_words(pair.documents)
    before, after = (nodewise("simulate", str(p), "-o", "json").json() for p in (pair.original, pair.anonymous))
    counted = ("nodes", "pending", "placed", "unschedulable", "gated")
    assert [before["summary"][name] for name in counted] == [after["summary"][name] for name in counted]


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_no_text_of_any_field_is_left(kind: Kind) -> None:
    obj = _full_of_secrets(kind.struct)
    document = Anonymizer([Identified(kind, kind.api_versions[0], obj)], SALT).document(
        Identified(kind, kind.api_versions[0], obj)
    )
    assert SECRET in msgspec.json.encode(obj).decode()
    assert SECRET not in json.dumps(document)


def test_fields_that_scheduling_does_not_read_are_left_out(tmp_path: Path) -> None:
    container = {"name": "c", "image": "i", "env": [{"name": "A", "value": "b"}], "command": ["run"], "args": ["x"]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}}
    (written,) = _pair(tmp_path, pod).documents
    assert set(written["spec"]["containers"][0]) == {"name", "image"}


def test_the_same_word_is_the_same_everywhere_and_another_one_with_another_salt() -> None:
    words, others = AnonymousWords(b"one"), AnonymousWords(b"two")
    assert words.word("team-a") == words.word("team-a") != others.word("team-a")
    assert words.word("team-a/web") == f"{words.word('team-a')}/{words.word('web')}"
    assert words.word("kubernetes.io/hostname") == "kubernetes.io/hostname"


@given(st.text("abcdefghijklmnopqrstuvwxyz0123456789-.", min_size=1, max_size=63))
def test_a_replacement_is_a_name_of_any_kind(text: str) -> None:
    word = AnonymousWords(SALT).word(f"zz{text}")
    assert word.isalnum()
    assert word == word.lower()
    assert word[0].isalpha()
    assert len(word) <= 13


@pytest.mark.parametrize(
    ("image", "form"),
    [
        ("nginx", "{nginx}"),
        ("nginx:latest", "{nginx}:latest"),
        ("nginx:1.27", "{nginx}:{1.27}"),
        ("r.example:5000/team/web", "{r.example}/{5000}/{team}/{web}"),
        ("team/web:v2", "{team}/{web}:{v2}"),
    ],
)
def test_an_image_keeps_its_form_so_that_no_tag_still_means_latest(image: str, form: str) -> None:
    words = AnonymousWords(SALT)
    pieces = form.replace("{", "\0{").replace("}", "}\0").split("\0")
    expected = "".join(words.word(piece.strip("{}")) if piece.startswith("{") else piece for piece in pieces)
    assert words.image(image) == expected


@pytest.mark.parametrize(("version", "start"), [("1.2.3", "1.2.3"), ("1.2.3-acme.1", "1.2.3-x"), ("acme", "x")])
def test_a_version_keeps_its_numbers_only(version: str, start: str) -> None:
    written = AnonymousWords(SALT).version(version)
    assert written.startswith(start)
    assert "acme" not in written


def test_numbers_that_are_compared_keep_their_order(tmp_path: Path) -> None:
    nodes = [{**NODE, "metadata": {"name": f"n{size}", "labels": {"size": str(size)}}} for size in (7, 30, 200)]
    needs = {"matchExpressions": [{"key": "size", "operator": "Gt", "values": ["25"]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [needs]}}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"affinity": affinity, "containers": [{"name": "c", "image": "i"}]},
    }
    pair = _pair(tmp_path, *nodes, pod)
    before, after = pair.judged()
    assert after == before
    assert len(after[0]["feasible"]) == 2
    assert sorted(d["metadata"]["labels"][pair.word("size")] for d in pair.documents[:3]) == ["1", "3", "4"]


def test_zones_of_disks_keep_the_form_that_drivers_read(tmp_path: Path) -> None:
    zone = "topology.kubernetes.io/zone"
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "v", "labels": {zone: "europe-west1-b__europe-west1-c"}},
        "spec": {
            "gcePersistentDisk": {"pdName": "d"},
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
        },
    }
    node = {**NODE, "metadata": {"name": "n", "labels": {zone: "europe-west1-c"}}}
    written_volume, written_node = _pair(tmp_path, volume, node).documents
    first, second = written_volume["metadata"]["labels"][zone].split("__")
    assert second == written_node["metadata"]["labels"][zone]
    assert first.rpartition("-")[0] == second.rpartition("-")[0]
    assert len(first.split("-")) == 3


def test_claims_of_a_stateful_set_still_belong_to_its_pods(tmp_path: Path) -> None:
    labels = {"app": "db"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    claim_spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    stateful_set = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "shop"},
        "spec": {
            "replicas": 2,
            "serviceName": "db",
            "selector": {"matchLabels": labels},
            "template": template,
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim_spec}],
        },
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data-db-1", "namespace": "shop"},
        "spec": claim_spec,
    }
    pair = _pair(tmp_path, stateful_set, claim)
    assert pair.documents[1]["metadata"]["name"] == f"{pair.word('data')}-{pair.word('db')}-1"
    (made,) = [line for line in nodewise("simulate", str(pair.anonymous)).stderr.splitlines() if "claims" in line]
    assert "1 of StatefulSets" in made


def test_a_device_selector_means_the_same_with_other_words() -> None:
    words = AnonymousWords(SALT)
    selector = """
        device.driver == "gpu.acme.com" && // only ours
        device.attributes["gpu.acme.com"].model == 'a100' &&
        device.capacity["gpu.acme.com"].memory.compareTo(quantity("40Gi")) >= 0
    """
    driver, model, name, memory = (words.word(word) for word in ("gpu.acme.com", "model", "a100", "memory"))
    assert " ".join(anonymous_selector(words, selector).split()) == (
        f'device.driver == "{driver}" && device.attributes["{driver}"].{model} == "{name}" && '
        f'device.capacity["{driver}"].{memory}.compareTo(quantity("40Gi")) >= 0'
    )


def test_selectors_that_look_into_texts_are_told_of(tmp_path: Path) -> None:
    device_class = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": {"selectors": [{"cel": {"expression": 'device.driver.startsWith("gpu")'}}]},
    }
    assert looks_into_texts('device.driver.startsWith("gpu")')
    assert "1 device selector(s) look into texts" in _pair(tmp_path, device_class).anonymizer.notes[0]


def _pair(tmp_path: Path, *documents: dict[str, Any]) -> Pair:
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}))
    return Pair(path)


def _full_of_secrets(hint: Any, depth: int = 0) -> Any:
    """Make a value of a type with a secret in every text, in the keys of every mapping too."""
    origin = get_origin(hint)
    if origin is Annotated:
        return _full_of_secrets(get_args(hint)[0], depth)
    if origin in (Union, types.UnionType):
        return _full_of_secrets(next(arm for arm in get_args(hint) if arm is not type(None)), depth)
    if origin is tuple:
        return (_full_of_secrets(get_args(hint)[0], depth),)
    if origin is dict:
        return {f"{SECRET}.com/{SECRET}": _full_of_secrets(get_args(hint)[1], depth)}
    if hint is str:
        return f"{SECRET}-1.{SECRET}"
    if hint is Any:
        return {SECRET: [SECRET]} if depth % 2 else SECRET
    if hint is datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)
    if isinstance(hint, type) and issubclass(hint, Object):
        return hint(**dict(_secret_fields(hint, depth + 1)))
    return True if hint is bool else 3


def _secret_fields(struct: type[Object], depth: int) -> Iterator[tuple[str, Any]]:
    for name, hint in get_type_hints(struct, include_extras=True).items():
        yield name, _full_of_secrets(hint, depth)

"""Clusters before and after their words were replaced, and what becomes of their pods."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nodewise.api.kinds import KINDS
from nodewise.cluster.anonymize import Anonymizer, Identified
from nodewise.cluster.anonymous_words import PUBLIC_WORDS
from nodewise.cluster.collect import Collector
from tests.command import nodewise

SALT = b"salt of this test"
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_AMOUNT = re.compile(r"[-+]?[\d.]+(?:[eE][-+]?\d+)?(?:[kKMGTPEmnu]i?)?|v?\d+\.\d+.*|\d{4}-\d\d-\d\dT.*")


class Pair:
    """A cluster file and its anonymous form beside it."""

    def __init__(self, path: Path) -> None:
        collector = Collector()
        collector.read([str(path)])
        assert not collector.errors
        objects = [Identified(found.kind, found.api_version, found.obj) for found in collector.collected]
        self.anonymizer = Anonymizer(objects, SALT)
        self.documents = [self.anonymizer.document(obj) for obj in objects]
        self.original = path
        self.anonymous = path.with_name(f"anonymous-{path.stem}.json")
        self.anonymous.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": self.documents}))

    def word(self, text: str) -> str:
        return self.anonymizer.words.word(text)

    def judged(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Explain all pods of both; names in the first answers are replaced."""
        flags = ("--all", "-o", "jsonl", "--workloads", "ignore")
        before = [self._renamed(line) for line in nodewise("explain", str(self.original), *flags).json_lines()]
        after = [_without_words(line) for line in nodewise("explain", str(self.anonymous), *flags).json_lines()]
        return before, after

    def _renamed(self, line: dict[str, Any]) -> dict[str, Any]:
        line = _without_words(line)
        line["pod"] = self.word(line["pod"])
        for node in line.get("nodes", ()):
            node["name"] = self.word(node["name"])
        for names in ("feasible", "best"):
            if names in line:
                line[names] = sorted(map(self.word, line[names]))
        if "nodes" in line:
            line["nodes"].sort(key=lambda node: node["name"])
        return line


def _without_words(line: dict[str, Any]) -> dict[str, Any]:
    """Leave what names things out, and of equal preemption candidates which one it was."""
    line["message"] = bool(line.get("message"))
    line["preemption"] = "preemption" in line
    if "skipped" in line:
        line["skipped"] = True
    _reduce(line.get("prefilter"))
    for node in line.get("nodes", ()):
        for failure in node["filters"].values():
            _reduce(failure)
    return line


def _reduce(failure: dict[str, Any] | None) -> None:
    if failure is not None:
        failure["reasons"] = len(failure["reasons"])
        failure.pop("detail", None)


def own_words(document: Any) -> set[str]:
    """Return the words in the texts of an object that could tell whose it is; amounts and times are no words."""
    return {word for word in _words_in(document) if word not in PUBLIC_WORDS and word not in KINDS}


def _words_in(document: Any) -> Iterator[str]:
    if isinstance(document, dict):
        for key, value in document.items():
            yield from _WORD.findall(key) if "/" in key else ()
            if key != "expression":
                yield from _words_in(value)
    elif isinstance(document, list):
        for item in document:
            yield from _words_in(item)
    elif isinstance(document, str) and not _AMOUNT.fullmatch(document):
        yield from (word for word in _WORD.findall(document) if not word.isdecimal())

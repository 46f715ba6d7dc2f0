"""What has to be known of a whole cluster before the words of its first object are replaced."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import msgspec

from nodewise.api.kinds import Kind
from nodewise.api.objects import AnyObject, Node, Object, Pod, StatefulSet
from nodewise.api.storage import PersistentVolumeClaim
from nodewise.cluster.anonymous_words import AnonymousWords, ranks
from nodewise.cluster.ownership import HASH_LABEL

_ZONES = re.compile(r"(?:topology|failure-domain\.beta)\.kubernetes\.io/(?:zone|region)")
_ORDERED = ("Gt", "Lt")
_DIGITS = re.compile(r"\d{1,18}")


class Identified(NamedTuple):
    """An object with its kind and the version of the API that it is in."""

    kind: Kind
    api_version: str
    obj: AnyObject


@cache
def struct_fields(struct: type[Object]) -> tuple[tuple[str, str, Any], ...]:
    """Return the fields of a struct: attribute, name in JSON, and the value that need not be written."""
    return tuple(
        (
            field.name,
            field.encode_name,
            field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory(),
        )
        for field in msgspec.structs.fields(struct)
    )


def image_sizes(objects: Iterable[AnyObject]) -> dict[str, int]:
    """Return the size of each image on the first node by name that has it."""
    sizes: dict[str, int] = {}
    for node in sorted((obj for obj in objects if isinstance(obj, Node)), key=lambda node: node.name):
        for image in node.status.images:
            for name in image.names:
                sizes.setdefault(name, image.size_bytes)
    return sizes


class Survey:
    """What has to be known of all objects before the first is written."""

    def __init__(self, objects: Iterable[Identified]) -> None:
        self._owners: dict[str, str] = {}
        self._zones: set[str] = set()
        self._ordered_keys: set[str] = set()
        self._numbers: dict[str, set[str]] = {}
        self._templates: list[tuple[str, str]] = []
        self._claims: list[str] = []
        self._without_uid: list[tuple[str, str, str]] = []
        for kind, _, obj in objects:
            self._look(obj)
            self._note_names(obj)
            if not obj.metadata.uid:
                self._without_uid.append((kind.name, obj.metadata.namespace, obj.metadata.name))

    def teach(self, words: AnonymousWords, numbers: dict[str, dict[str, str]]) -> None:
        """Tell which words keep a form, and which values of labels keep an order."""
        for zone in self._zones:
            words.set_zone(zone)
        taught: set[str] = set()
        for name in self._owners:
            self._teach_name(words, name, taught)
        self._teach_claims(words)
        for place in self._without_uid:
            words.set_uid(*place)
        for key in self._ordered_keys:
            numbers[key] = ranks(self._numbers.get(key, ()))

    def _teach_name(self, words: AnonymousWords, name: str, taught: set[str]) -> None:
        """Let a name be made of that of its owner, which may be made of another one."""
        owner = self._owners.get(name)
        if owner is None or name in taught or not name.startswith(f"{owner}-"):
            return
        taught.add(name)
        self._teach_name(words, owner, taught)
        words.set_derived(name, owner, name.removeprefix(f"{owner}-"))

    def _teach_claims(self, words: AnonymousWords) -> None:
        """Let the claims of a StatefulSet be named after their template, the set and a number."""
        for template, owner in self._templates:
            prefix = f"{template}-{owner}-"
            for claim in self._claims:
                ordinal = claim.removeprefix(prefix)
                if ordinal != claim and _DIGITS.fullmatch(ordinal):
                    words.set_derived(claim, template, owner, ordinal)

    def _note_names(self, obj: AnyObject) -> None:
        metadata = obj.metadata
        for reference in metadata.owner_references:
            if reference.controller:
                self._owners[metadata.name] = reference.name
            hash_text = metadata.labels.get(HASH_LABEL, "")
            if reference.kind == "ReplicaSet" and hash_text and reference.name.endswith(f"-{hash_text}"):
                self._owners[reference.name] = reference.name.removesuffix(f"-{hash_text}")
        if isinstance(obj, Pod):
            for volume in obj.spec.volumes:
                if volume.ephemeral is not None:
                    self._owners[f"{metadata.name}-{volume.name}"] = metadata.name
        elif isinstance(obj, PersistentVolumeClaim):
            self._claims.append(metadata.name)
        elif isinstance(obj, StatefulSet):
            self._templates += ((t.metadata.name, metadata.name) for t in obj.spec.volume_claim_templates)

    def _look(self, value: Any) -> None:
        """Look for zones, for keys whose values are compared as numbers, and for numbers."""
        if isinstance(value, Object):
            key, operator = getattr(value, "key", None), getattr(value, "operator", None)
            if isinstance(key, str):
                if operator in _ORDERED:
                    self._ordered_keys.add(key)
                for text in getattr(value, "values", ()) or (getattr(value, "value", ""),):
                    self._note_value(key, text)
            for name, _, default in struct_fields(type(value)):
                part = getattr(value, name)
                if part is not default and part:
                    self._look(part)
        elif isinstance(value, tuple):
            for item in value:
                if isinstance(item, Object):
                    self._look(item)
        elif isinstance(value, dict):
            for key, item in value.items():
                if isinstance(item, str):
                    self._note_value(key, item)
                elif isinstance(item, Object):
                    self._look(item)

    def _note_value(self, key: str, text: str) -> None:
        if _ZONES.fullmatch(key):
            self._zones.add(text)
        if _DIGITS.fullmatch(text):
            self._numbers.setdefault(key, set()).add(text)

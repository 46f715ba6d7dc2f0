"""Writes a cluster's objects down so that nobody can tell whose they are, and every decision stays the same.

Only fields that scheduling reads are written at all, and in them every text is replaced that is not one of Kubernetes'
own words: what is not known to be harmless does not stay. The same word becomes the same word everywhere, so that
labels still match selectors and references still lead somewhere. Amounts, counts and times stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from nodewise.api.objects import ContainerImage, Object
from nodewise.api.quantity import parse_quantity
from nodewise.cluster.anonymous_selectors import anonymous_selector, looks_into_texts
from nodewise.cluster.anonymous_survey import Identified, Survey, image_sizes, struct_fields
from nodewise.cluster.anonymous_words import AnonymousWords
from nodewise.errors import QuantityError

__all__ = ["Anonymizer", "Identified"]

Json = Any
_INDEXES = frozenset({"apps.kubernetes.io/pod-index", "batch.kubernetes.io/job-completion-index"})
_ANNOTATIONS = frozenset(
    {
        "batch.kubernetes.io/job-completion-index",
        "pv.kubernetes.io/bind-completed",
        "pv.kubernetes.io/bound-by-controller",
        "resource.kubernetes.io/extended-resource-claim",
        "resource.kubernetes.io/pod-claim-name",
        "storage.alpha.kubernetes.io/migrated-plugins",
        "storageclass.beta.kubernetes.io/is-default-class",
        "storageclass.kubernetes.io/is-default-class",
        "volume.beta.kubernetes.io/storage-class",
        "volume.kubernetes.io/selected-node",
    }
)
"""Those that something in scheduling reads."""
_DIGITS = re.compile(r"\d{1,18}")
_INDEX_LIST = re.compile(r"[\d,-]*")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
_AWS_VOLUME = re.compile(r"aws://.*?([^/]*)$")


class Anonymizer:
    """Replaces the words of a whole cluster.

    Parameters
    ----------
    objects : Sequence[Identified]
        All of them: some words depend on what others are used for.
    salt : bytes
        Random and secret.

    Attributes
    ----------
    notes : list[str]
        What may be decided differently, after the documents have been made.
    """

    def __init__(self, objects: Sequence[Identified], salt: bytes) -> None:
        self.words = AnonymousWords(salt)
        self._numbers: dict[str, dict[str, str]] = {}
        self._n_into_texts = 0
        self._image_sizes = image_sizes(obj for _, _, obj in objects)
        Survey(objects).teach(self.words, self._numbers)

    @property
    def notes(self) -> list[str]:
        if not self._n_into_texts:
            return []
        return [
            f"{self._n_into_texts} device selector(s) look into texts (startsWith, matches and the like), which mean "
            "nothing any more: what they select may differ"
        ]

    def document(self, identified: Identified) -> dict[str, Json]:
        """Return an object as JSON values."""
        head = {"apiVersion": identified.api_version, "kind": identified.kind.name}
        return head | self._struct(identified.obj)

    # --- walking ------------------------------------------------------------------------------------------------------

    def _struct(self, obj: Object) -> dict[str, Json]:
        tree: dict[str, Json] = {}
        for name, encoded, default in struct_fields(type(obj)):
            value = getattr(obj, name)
            if value == default or value is None or name in _LEFT_OUT:
                continue
            rule = _RULES.get(name)
            tree[encoded] = self._value(value) if rule is None else rule(self, obj, value)
        return tree

    def _value(self, value: Any) -> Json:
        if isinstance(value, Object):
            return self._struct(value)
        if isinstance(value, str):
            return self.words.word(value)
        if isinstance(value, (tuple, list)):
            return [self._value(item) for item in value]
        if isinstance(value, dict):
            return {self.words.word(key): self._labelled(key, item) for key, item in value.items()}
        if isinstance(value, datetime):
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        return value if isinstance(value, (bool, int)) else None

    def _labelled(self, key: str, value: Any) -> Json:
        """Return the value of a label or taint of some key."""
        if not isinstance(value, str):
            return self._value(value)
        if key in _INDEXES and _DIGITS.fullmatch(value):
            return value
        return self._numbers.get(key, {}).get(value) or self.words.word(value)

    # --- rules for fields by their names ------------------------------------------------------------------------------

    def _values_of_key(self, obj: Any, values: tuple[str, ...]) -> Json:
        return [self._labelled(obj.key, value) for value in values]

    def _value_of_key(self, obj: Any, value: Any) -> Json:
        return self._labelled(obj.key, value) if hasattr(obj, "key") else self._amounts(obj, value)

    def _amounts(self, obj: Any, value: Any) -> Json:
        """Keep amounts; the names of resources are words."""
        if isinstance(value, dict):
            return {self.words.word(name): self._amounts(obj, amount) for name, amount in value.items()}
        if isinstance(value, (tuple, list)):
            return [self._amounts(obj, amount) for amount in value]
        if not isinstance(value, str):
            return self._value(value)
        try:
            parse_quantity(value)
        except QuantityError:
            return self.words.word(value)
        return value

    def _requests(self, obj: Any, value: Any) -> Json:
        return self._amounts(obj, value) if isinstance(value, dict) else self._value(value)

    def _annotations(self, obj: Any, value: dict[str, str]) -> Json:
        return {key: self._annotation(key, text) for key, text in value.items() if key in _ANNOTATIONS}

    def _annotation(self, key: str, text: str) -> str:
        if key in _INDEXES and _DIGITS.fullmatch(text):
            return text
        return ",".join(map(self.words.word, text.split(",")))

    def _image(self, obj: Any, value: Any) -> Json:
        return self.words.image(value) if isinstance(value, str) else self._value(value)

    def _image_list(self, obj: Any, value: tuple[ContainerImage, ...]) -> Json:
        """Give an image the size that counts: that of the first node by name, which is another one from now on."""
        by_size: dict[int, list[str]] = {}
        for image in value:
            for name in image.names:
                by_size.setdefault(self._image_sizes.get(name, image.size_bytes), []).append(self.words.image(name))
        return [{"names": names, "sizeBytes": size} for size, names in by_size.items()]

    def _address(self, obj: Any, value: str) -> Json:
        return self.words.address(value)

    def _presence(self, obj: Any, value: Any) -> Json:
        return self._struct(value) if isinstance(value, Object) else {}

    def _list_presence(self, obj: Any, value: Any) -> Json:
        return []

    def _disrupted(self, obj: Any, value: dict[str, Any]) -> Json:
        return {self.words.word(n): t if isinstance(t, str) and _TIME.fullmatch(t) else None for n, t in value.items()}

    def _indexes(self, obj: Any, value: str) -> Json:
        return value if _INDEX_LIST.fullmatch(value) else ""

    def _version(self, obj: Any, value: Any) -> Json:
        if not isinstance(value, str):
            return [self._version(obj, item) for item in value]
        return self.words.version(value)

    def _selector(self, obj: Any, value: str) -> Json:
        self._n_into_texts += looks_into_texts(value)
        return anonymous_selector(self.words, value)

    def _volume_id(self, obj: Any, value: str) -> Json:
        """Let `aws://zone/vol-1` stay the same volume as `vol-1`."""
        found = _AWS_VOLUME.fullmatch(value)
        return self.words.word(found[1] if found else value)


_Rule = Callable[[Anonymizer, Any, Any], Json]
_RULES: dict[str, _Rule] = {
    "annotations": Anonymizer._annotations,
    "all": Anonymizer._presence,
    "basic": Anonymizer._presence,
    "bind_mount_options": Anonymizer._list_presence,
    "completed_indexes": Anonymizer._indexes,
    "disrupted_pods": Anonymizer._disrupted,
    "expression": Anonymizer._selector,
    "host_ip": Anonymizer._address,
    "image": Anonymizer._image,
    "images": Anonymizer._image_list,
    "reference": Anonymizer._image,
    "requests": Anonymizer._requests,
    "single": Anonymizer._presence,
    "value": Anonymizer._value_of_key,
    "values": Anonymizer._values_of_key,
    "version_value": Anonymizer._version,
    "version_values": Anonymizer._version,
    "volume_id": Anonymizer._volume_id,
    **dict.fromkeys(
        (
            "allocatable",
            "allocated_resources",
            "capacity",
            "consumed_capacity",
            "default",
            "limits",
            "max",
            "maximum_volume_size",
            "min",
            "overhead",
            "step",
            "valid_values",
        ),
        Anonymizer._amounts,
    ),
}
_LEFT_OUT = frozenset(
    {
        "config",
        "data",
        "derived_attributes",
        "generate_name",
        "last_transition_time",
        "message",
        "network_data",
        "reason",
        "resource_version",
    }
)
"""Fields that no decision depends on, or that hold anything at all."""

"""Making pods of a controller's template as the controller and then the API server would."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping

import msgspec

from nodewise.api.admission import create_pod_spec, identified
from nodewise.api.defaults import default_pod_spec
from nodewise.api.field_errors import InvalidFieldError
from nodewise.api.objects import (
    ObjectMeta,
    OwnerReference,
    Pod,
    PodSpec,
    PodStatus,
    PodTemplateSpec,
    PriorityClass,
)
from nodewise.api.validation import validate_object

# Kubernetes' own alphabet for generated names: no vowels, so no words.
_HASH_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
_HASH_LENGTH = 8
_PENDING = PodStatus(phase="Pending")
_MAX_NAME = 253


def template_hash(template: PodTemplateSpec) -> str:
    """Return a short hash of a template, always the same for the same content."""
    # Twice, salted, since one CRC has fewer bits than the name has room for.
    data = msgspec.json.encode(template, order="deterministic")
    number = zlib.crc32(data) << 32 | zlib.crc32(data, 0x9E3779B9)
    letters = []
    for _ in range(_HASH_LENGTH):
        number, digit = divmod(number, len(_HASH_ALPHABET))
        letters.append(_HASH_ALPHABET[digit])
    return "".join(letters)


def owner_of(kind: str, api_version: str, metadata: ObjectMeta) -> OwnerReference:
    """Return the reference by which a controller marks what it has made."""
    return OwnerReference(api_version, kind, metadata.name, metadata.uid, controller=True)


class PodMaker:
    """Makes pods of one template: their specs are one object, admitted and validated once."""

    def __init__(
        self, template: PodTemplateSpec, owner: OwnerReference, owner_metadata: ObjectMeta, position: int
    ) -> None:
        self._template = template
        self._owner = owner
        self._owner_metadata = owner_metadata
        self._position = position
        self._specs: dict[tuple[int, tuple[str | None, ...]], tuple[PodSpec, PodSpec]] = {}

    def make(
        self,
        name: str,
        classes: Mapping[str, PriorityClass],
        *,
        labels: Mapping[str, str],
        spec: PodSpec | None = None,
    ) -> Pod:
        """Make the pod of this name, with these labels beside the template's.

        Raises
        ------
        InvalidFieldError
            When an API server would refuse the pod.
        """
        all_labels = {**self._template.metadata.labels, **labels}
        metadata = ObjectMeta(
            name=name[:_MAX_NAME],
            namespace=self._owner_metadata.namespace,
            labels=all_labels,
            annotations=self._template.metadata.annotations,
            owner_references=(self._owner,),
            creation_timestamp=self._owner_metadata.creation_timestamp,
        )
        base = self._template.spec if spec is None else spec
        key = (id(base), tuple(all_labels.get(key) for key in _merged_label_keys(base)))
        if key not in self._specs:
            created = create_pod_spec(default_pod_spec(base, is_template=False), all_labels, classes)
            for error in validate_object(Pod(metadata, created, _PENDING)):
                raise InvalidFieldError(error.field, f"{error.message} (in the pod {name} made of its template)")
            self._specs[key] = (base, created)  # the base is kept too, so that no other object gets its id
        return Pod(identified(metadata, "Pod", self._position), self._specs[key][1], _PENDING)


def _merged_label_keys(spec: PodSpec) -> tuple[str, ...]:
    """Return the label keys whose values end up in the selectors of the created pod."""
    keys = [key for constraint in spec.topology_spread_constraints for key in constraint.match_label_keys]
    affinity = spec.affinity
    if affinity is not None:
        for pod_affinity in (affinity.pod_affinity, affinity.pod_anti_affinity):
            if pod_affinity is None:
                continue
            for term in (*pod_affinity.required, *(w.pod_affinity_term for w in pod_affinity.preferred)):
                keys += term.match_label_keys + term.mismatch_label_keys
    return tuple(keys)


def parse_indexes(text: str) -> set[int]:
    """Read a Job's completed indexes, such as `1,3-5,7`; anything else in there counts for nothing."""
    indexes: set[int] = set()
    for match in re.finditer(r"(?<![-0-9])([0-9]{1,6})(?:-([0-9]{1,6}))?(?![-0-9])", text, re.ASCII):
        first, last = int(match[1]), int(match[2] or match[1])
        # In ascending order in the API, so a text of many overlapping ranges costs nothing.
        indexes.update(range(max(first, len(indexes)), last + 1) if first < len(indexes) else range(first, last + 1))
    return indexes


def completion_index(pod: Pod) -> int:
    """Return which of its Job's completions a pod is for, -1 when it does not say."""
    text = pod.metadata.annotations.get(COMPLETION_INDEX) or pod.metadata.labels.get(COMPLETION_INDEX, "")
    return int(text) if re.fullmatch("[0-9]{1,10}", text, re.ASCII) else -1

"""Pods of a trace: from a few fields, or from a whole manifest, to what an API server would have stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from nodewise.api.admission import create_pod
from nodewise.api.decoding import DecodingError, decode_object
from nodewise.api.defaults import default_object
from nodewise.api.field_errors import InvalidFieldError
from nodewise.api.kinds import KINDS
from nodewise.api.objects import Pod, PriorityClass
from nodewise.api.resources import is_extended_resource_name
from nodewise.api.validation import validate_object

_PLACEHOLDER = "pod"


class TracePods:
    """Makes the pods of a trace; those that differ in their name only are decoded and admitted once."""

    def __init__(self, classes: Mapping[str, PriorityClass]) -> None:
        self._classes = classes
        self._known: dict[bytes, Pod] = {}

    def make(self, fields: Mapping[str, Any], name: str) -> Pod:
        """Return the pod that some fields describe.

        Parameters
        ----------
        fields : Mapping[str, Any]
            `manifest`, a whole Pod; or any of `namespace`, `labels`, `requests`, `nodeSelector`, `priorityClassName`
            and `priority`.

        Raises
        ------
        InvalidFieldError
            When an API server would refuse the pod.
        """
        key = msgspec.json.encode(fields, order="sorted")
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._decode(fields)
        return replace(known, metadata=replace(known.metadata, name=name))

    def _decode(self, fields: Mapping[str, Any]) -> Pod:
        priority = fields.get("priority")
        document = fields.get("manifest") or _manifest(fields)
        written = document.get("metadata")
        metadata = {"namespace": "default", **(written if isinstance(written, dict) else {}), "name": _PLACEHOLDER}
        try:
            pod = decode_object(msgspec.json.encode({**document, "metadata": metadata}), KINDS["Pod"])
        except DecodingError as error:
            raise InvalidFieldError(error.field, error.message) from error
        defaulted = default_object(pod, "v1")
        assert isinstance(defaulted, Pod)
        created = create_pod(defaulted, self._classes)
        for problem in validate_object(created):
            raise InvalidFieldError(problem.field, problem.message)
        if priority is not None:
            created = replace(created, spec=replace(created.spec, priority=priority))
        return created


def _manifest(fields: Mapping[str, Any]) -> dict[str, Any]:
    requests = fields.get("requests") or {}
    # An API server wants extended resources as limits too.
    limits = {name: amount for name, amount in requests.items() if is_extended_resource_name(name)}
    container = {"name": "main", "image": "trace", "resources": {"requests": requests, "limits": limits}}
    spec: dict[str, Any] = {"containers": [container]}
    for field in ("nodeSelector", "priorityClassName"):
        if fields.get(field):
            spec[field] = fields[field]
    metadata = {"namespace": fields.get("namespace") or "default", "labels": fields.get("labels") or {}}
    return {"metadata": metadata, "spec": spec}

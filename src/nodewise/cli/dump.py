"""`nodewise dump`: a running cluster as a file."""

from __future__ import annotations

import argparse
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from nodewise.api.decoding import decode_object
from nodewise.api.field_errors import InvalidFieldError
from nodewise.cli.cluster_flags import names_cluster
from nodewise.cli.inputs import UsageError
from nodewise.cli.live_input import list_live, refusals
from nodewise.cli.main import EXIT_ERROR, EXIT_OK
from nodewise.cli.problems import print_input_errors, print_notes
from nodewise.cli.progress import progress_bar
from nodewise.cluster.anonymize import Anonymizer, Identified
from nodewise.cluster.collect import Collector, object_label
from nodewise.cluster.object_set import InputError

Json = dict[str, Any]
DUMPED = (
    "Namespace",
    "PriorityClass",
    "Node",
    "CSINode",
    "CSIDriver",
    "StorageClass",
    "CSIStorageCapacity",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "VolumeAttachment",
    "DeviceClass",
    "ResourceSlice",
    "DeviceTaintRule",
    "ResourceClaimTemplate",
    "ResourceClaim",
    "Service",
    "ReplicationController",
    "ReplicaSet",
    "StatefulSet",
    "DaemonSet",
    "PodDisruptionBudget",
    "CompositePodGroup",
    "PodGroup",
    "Pod",
)
"""All that schedulers read, and what says which pods new nodes get. Jobs and Deployments have made their pods."""
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_SALT_BYTES = 32


def run_dump(arguments: argparse.Namespace) -> int:
    """Write the objects of a cluster that scheduling depends on as one List."""
    paths = [*arguments.filename, *arguments.inputs]
    if paths and not arguments.anonymize:
        raise UsageError(f"found {paths[0]}: files are only read with --anonymize; without, dump reads a cluster")
    if paths and names_cluster(arguments):
        raise UsageError(f"give FILE or --context and --kubeconfig, not both: found {paths[0]}")
    errors: list[InputError] = []
    notes: list[str] = []
    if paths:
        documents = _anonymized(_objects_in(paths, errors, notes), notes)
    else:
        with progress_bar() as report:
            listing = list_live(arguments, DUMPED, progress=report)
        errors += refusals(listing)
        raw = (
            (listed.resource.kind.name, listed.resource.api_version, item)
            for listed in listing.kinds
            for item in listed.items
        )
        documents = _anonymized(_decoded(raw, errors), notes) if arguments.anonymize else map(_document, raw)
    _WRITERS[arguments.output](documents)
    sys.stdout.flush()
    print_input_errors(errors)
    print_notes(notes)
    return EXIT_ERROR if errors else EXIT_OK


def _document(listed: tuple[str, str, msgspec.Raw]) -> Json:
    """Return an object as a file has it: with its kind, without who wrote which field and kubectl's copy."""
    kind, api_version, item = listed
    document = {"apiVersion": api_version, "kind": kind, **msgspec.json.decode(item)}
    metadata = document.get("metadata") or {}
    metadata.pop("managedFields", None)
    (metadata.get("annotations") or {}).pop(LAST_APPLIED, None)
    return document


def _anonymized(objects: list[Identified], notes: list[str]) -> Iterator[Json]:
    anonymizer = Anonymizer(objects, secrets.token_bytes(_SALT_BYTES))
    for obj in objects:
        yield anonymizer.document(obj)
    notes += anonymizer.notes


def _objects_in(paths: list[str], errors: list[InputError], notes: list[str]) -> list[Identified]:
    with progress_bar() as report:
        collector = Collector(sys.stdin.buffer if sys.stdin is not None else None, report)
        collector.read(paths)
    errors += collector.errors
    notes += collector.notes
    return [Identified(found.kind, found.api_version, found.obj) for found in collector.collected]


def _decoded(listed: Iterable[tuple[str, str, msgspec.Raw]], errors: list[InputError]) -> list[Identified]:
    from nodewise.api.kinds import KINDS

    objects: list[Identified] = []
    for name, api_version, item in listed:
        try:
            objects.append(Identified(KINDS[name], api_version, decode_object(item, KINDS[name])))
        except InvalidFieldError as error:
            errors.append(InputError("", object_label(name, "", "?"), error.field, error.message))
    return objects


def _write_json(documents: Iterable[Json]) -> None:
    """Write one object a line, so that two dumps can be compared."""
    out = sys.stdout.buffer
    out.write(b'{"apiVersion":"v1","kind":"List","items":[')
    for number, document in enumerate(documents):
        out.write((b",\n" if number else b"\n") + msgspec.json.encode(document))
    out.write(b"\n]}\n")


def _write_yaml(documents: Iterable[Json]) -> None:
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    out = sys.stdout.buffer
    out.write(b"apiVersion: v1\nkind: List\nitems:")
    is_empty = True
    for document in documents:
        text = yaml.dump([document], Dumper=dumper, sort_keys=False, allow_unicode=True, width=1 << 16)
        out.write((b"\n" if is_empty else b"") + text.encode())
        is_empty = False
    if is_empty:
        out.write(b" []\n")


_WRITERS: dict[str, Callable[[Iterable[Json]], None]] = {"json": _write_json, "yaml": _write_yaml}

"""Small clusters with devices, as dicts, and what becomes of their pods."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from nodewise.cluster.load import load_cluster
from nodewise.config.load import default_configuration, load_configuration
from nodewise.plugins import in_tree_registry
from nodewise.scheduler.assembly import SchedulerOptions
from nodewise.simulation.session import Session, open_session
from nodewise.simulation.simulate import Placement, simulate

Json = dict[str, Any]
RESOURCE = "resource.k8s.io/v1"
DRIVER = "gpu.example.com"


def node(name: str, labels: Mapping[str, str] | None = None, **amounts: str) -> Json:
    """Make a node that is big enough for everything but what `amounts` say."""
    offered = {"cpu": "64", "memory": "64Gi", "pods": "110", **{k.replace("__", "/"): v for k, v in amounts.items()}}
    metadata = {"name": name, "labels": dict(labels or {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "status": {"allocatable": offered, "capacity": offered},
    }


def device_class(name: str = "gpu", expression: str = f'device.driver == "{DRIVER}"', **spec: Any) -> Json:
    """Make a class."""
    selectors = [{"cel": {"expression": expression}}] if expression else []
    return {
        "apiVersion": RESOURCE,
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": selectors, **spec},
    }


def device(name: str, **fields: Any) -> Json:
    """Make a device; string attributes can be given as `attributes={"model": "a"}`."""
    attributes = fields.pop("attributes", {})
    typed = {key: {"string": value} if isinstance(value, str) else value for key, value in attributes.items()}
    return {"name": name, "attributes": typed, **fields}


def slice_of(node_name: str | None, *devices: Json, driver: str = DRIVER, **spec: Any) -> Json:
    """Make a slice of a node's own pool, or with other node selection when the node is None."""
    pool = spec.pop("pool", None) or {"name": node_name or "pool", "generation": 1, "resourceSliceCount": 1}
    name = spec.pop("name", f"{driver}-{pool['name']}-{pool['generation']}")
    where = {"nodeName": node_name} if node_name is not None else {}
    return {
        "apiVersion": RESOURCE,
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {"driver": driver, "pool": pool, **where, "devices": list(devices), **spec},
    }


def exactly(name: str = "r", class_name: str = "gpu", *expressions: str, **fields: Any) -> Json:
    """Make a request."""
    selectors = [{"cel": {"expression": expression}} for expression in expressions]
    return {"name": name, "exactly": {"deviceClassName": class_name, "selectors": selectors, **fields}}


def claim(name: str, *requests: Json, status: Json | None = None, **devices: Any) -> Json:
    """Make a claim in the namespace default."""
    return {
        "apiVersion": RESOURCE,
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": list(requests), **devices}},
        **({"status": status} if status is not None else {}),
    }


def pod(name: str, *claims: str, containers: Iterable[Json] = (), **spec: Any) -> Json:
    """Make a pod that uses claims of these names."""
    uses = [{"name": f"c{number}", "resourceClaimName": claim_name} for number, claim_name in enumerate(claims)]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": list(containers) or [{"name": "main", "image": "i"}], "resourceClaims": uses, **spec},
    }


def open_cluster(folder: Path, *items: Json, workloads: Any = "ignore", configuration: str | None = None) -> Session:
    """Read objects and put a scheduler over them."""
    path = folder / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items)}), encoding="utf-8")
    loaded = load_cluster([str(path)], workloads=workloads)
    assert not loaded.errors, loaded.errors
    config = default_configuration() if configuration is None else load_configuration(configuration.encode())
    return open_session(loaded.objects, config, in_tree_registry(), SchedulerOptions())


def place_all(session: Session) -> dict[str, Placement]:
    """Place all pods of a session, and return what became of each by name."""
    return {placement.pod.partition("/")[2]: placement for placement in simulate(session)}


def place(folder: Path, *items: Json, workloads: Any = "ignore") -> dict[str, Placement]:
    """Place all pods, and return what became of each by name."""
    return place_all(open_cluster(folder, *items, workloads=workloads))


def devices_of(session: Session, claim_name: str) -> list[str]:
    """Return the devices that a claim has, as pool/device."""
    found = session.listers.devices.claims["default", claim_name].status.allocation
    assert found is not None, f"claim {claim_name} has no devices"
    return [f"{result.pool}/{result.device}" for result in found.devices.results]

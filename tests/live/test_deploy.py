"""The deployment files, applied to a real API server that enforces who may do what."""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from nodewise.cli.main import build_parser
from nodewise.clock import SystemClock
from nodewise.cluster.live.api_client import ApiClient
from nodewise.cluster.live.errors import ApiError
from nodewise.cluster.live.kubeconfig import load_connection
from nodewise.cluster.live.listing import list_cluster
from nodewise.cluster.live.resources import resources_for
from nodewise.config.load import load_configuration
from nodewise.config.plugins import IN_TREE_POINTS
from nodewise.server.access import CONFIG_MAP
from nodewise.server.flags import add_run_flags
from nodewise.server.leader_election import LeaderElector, Timings, new_identity
from tests.live.api_server import ApiServer
from tests.live.deployments import (
    ACCOUNTS,
    DEPLOY,
    REPLACEMENT,
    SECOND,
    SHADOW,
    Account,
    apply,
    kubeconfig_of,
    kubectl,
    one,
    rendered,
)
from tests.live.test_writing_plugins import Cluster, a_claim, create_devices, scheduling

WRITES = (
    ("create", "", "pods/binding"),
    ("patch", "", "pods/status"),
    ("delete", "", "pods"),
    ("create", "events.k8s.io", "events"),
    ("patch", "events.k8s.io", "events"),
    ("patch", "", "persistentvolumes"),
    ("patch", "", "persistentvolumeclaims"),
    ("create", "resource.k8s.io", "resourceclaims"),
    ("patch", "resource.k8s.io", "resourceclaims"),
    ("delete", "resource.k8s.io", "resourceclaims"),
    ("patch", "resource.k8s.io", "resourceclaims/status"),
)
"""All that nodewise ever writes outside its own namespace."""
NEVER = (
    ("get", "", "secrets"),
    ("list", "", "configmaps"),
    ("create", "", "pods"),
    ("patch", "", "pods"),
    ("patch", "", "nodes"),
    ("delete", "", "nodes"),
    ("delete", "", "persistentvolumeclaims"),
    ("create", "", "pods/eviction"),
    ("create", "apps", "deployments"),
    ("update", "coordination.k8s.io", "leases"),
    ("create", "rbac.authorization.k8s.io", "clusterrolebindings"),
    ("impersonate", "", "users"),
)
SCHEDULES = (SECOND, REPLACEMENT)
by_overlay = pytest.mark.parametrize("account", ACCOUNTS, ids=lambda account: account.overlay)


def is_allowed(server: ApiServer, account: Account, verb: str, group: str, resource: str, **more: str) -> bool:
    """Ask the API server whether a service account may do something, in namespace `shop` unless said otherwise."""
    name, _, subresource = resource.partition("/")
    attributes = {"verb": verb, "group": group, "resource": name, "subresource": subresource, "namespace": "shop"}
    spec = {"user": account.user, "groups": ["system:serviceaccounts"], "resourceAttributes": {**attributes, **more}}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    answer = kubectl("create", "-f", "-", "-o", "json", server=server, stdin=json.dumps(review))
    return bool(json.loads(answer)["status"]["allowed"])


# --- what they say ----------------------------------------------------------------------------------------------------


@by_overlay
def test_the_configuration_is_one_and_its_lease_is_the_one_that_may_be_held(account: Account) -> None:
    objects = rendered(account.overlay)
    configuration = load_configuration(one(objects, "ConfigMap")["data"]["scheduler.yaml"].encode())
    election = configuration.leader_election
    assert bool(election.leader_elect) == (account.lease is not None)
    if account.lease is not None:
        assert (election.resource_namespace, election.resource_name) == account.lease
        role = one(objects, "Role")
        assert role["metadata"]["namespace"] == account.lease[0]
        assert role["rules"][1]["resourceNames"] == [account.lease[1]]
    expected = "nodewise" if account is SECOND else "default-scheduler"
    assert [profile.scheduler_name for profile in configuration.profiles] == [expected]


@by_overlay
def test_the_arguments_are_flags_of_run(account: Account) -> None:
    (container,) = one(rendered(account.overlay), "Deployment")["spec"]["template"]["spec"]["containers"]
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_run_flags(parser)
    arguments = parser.parse_args(container["args"])
    assert arguments.config == "/etc/nodewise/scheduler.yaml"
    assert getattr(arguments, "dry_run", False) == (account is SHADOW)


@by_overlay
def test_every_binding_is_for_the_service_account_that_the_pods_have(account: Account) -> None:
    objects = rendered(account.overlay)
    pod = one(objects, "Deployment")["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == one(objects, "ServiceAccount")["metadata"]["name"] == account.name
    subjects = [subject for obj in objects for subject in obj.get("subjects", ())]
    assert len(subjects) >= 3
    for subject in subjects:
        assert subject == {"kind": "ServiceAccount", "name": account.name, "namespace": account.namespace}


def test_the_image_has_a_tag_and_runs_as_nobody_in_particular() -> None:
    lines = (DEPLOY / "Containerfile").read_text().splitlines()
    images = [line.split()[1] for line in lines if line.startswith("FROM ")]
    assert images
    assert all(":" in image and not image.endswith(":latest") for image in images)
    last_stage = lines[max(n for n, line in enumerate(lines) if line.startswith("FROM ")) :]
    assert [line for line in last_stage if line.startswith("USER ")] == ["USER 65532:65532"]
    assert last_stage[-1] == 'ENTRYPOINT ["nodewise", "run"]'
    assert "run" in build_parser().format_help()


# --- what an API server makes of them ---------------------------------------------------------------------------------


@by_overlay
def test_an_overlay_is_accepted_and_so_are_its_pods(account: Account, api_server: ApiServer) -> None:
    apply(api_server, account)
    template = one(rendered(account.overlay), "Deployment")["spec"]["template"]
    pod = {"apiVersion": "v1", "kind": "Pod", **template}
    pod["metadata"] = {**template["metadata"], "name": "probe", "namespace": account.namespace}
    # Pod Security of the namespace, strict field names and validation are all asked
    kubectl("create", "--dry-run=server", "--validate=strict", "-f", "-", server=api_server, stdin=yaml.safe_dump(pod))


@pytest.mark.parametrize("account", SCHEDULES, ids=lambda account: account.overlay)
def test_a_scheduler_may_write_what_it_writes_and_hold_its_lease(account: Account, api_server: ApiServer) -> None:
    apply(api_server, account)
    assert [write for write in WRITES if not is_allowed(api_server, account, *write)] == []
    assert account.lease is not None
    lease = ("coordination.k8s.io", "leases")
    namespace, name = account.lease
    for verb in ("get", "update"):
        assert is_allowed(api_server, account, verb, *lease, namespace=namespace, name=name)
    assert is_allowed(api_server, account, "create", *lease, namespace=namespace)
    assert not is_allowed(api_server, account, "update", *lease, namespace=namespace, name="other")


@by_overlay
def test_nothing_else_is_allowed(account: Account, api_server: ApiServer) -> None:
    apply(api_server, account)
    assert [request for request in NEVER if is_allowed(api_server, account, *request)] == []


def test_a_shadow_may_write_nothing(api_server: ApiServer) -> None:
    apply(api_server, SHADOW)
    assert [write for write in WRITES if is_allowed(api_server, SHADOW, *write)] == []
    assert not is_allowed(api_server, SHADOW, "create", "coordination.k8s.io", "leases", namespace=SHADOW.namespace)


@by_overlay
def test_all_that_plugins_look_up_can_be_listed(account: Account, api_server: ApiServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with asyncio.timeout(30), ApiClient(await load_connection(kubeconfig), qps=0) as client:
            resources = resources_for(IN_TREE_POINTS, has_pod_groups=True, has_composites=True)
            assert len(resources) > 15
            listing = await list_cluster(client, resources)
            assert listing.refused == {}
            assert await _status_of(client, CONFIG_MAP) in (200, 404)  # it may be read, where there is one

    apply(api_server, account)
    kubeconfig = kubeconfig_of(api_server, account, tmp_path)
    asyncio.run(scenario())


async def _status_of(client: ApiClient, path: str) -> int:
    try:
        await client.get(path)
    except ApiError as error:
        return error.status
    return 200


def test_a_shadow_is_refused_when_it_tries_to_bind(api_server: ApiServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        binding = {"metadata": {"name": "web"}, "target": {"kind": "Node", "name": "n1"}}
        async with asyncio.timeout(30), ApiClient(await load_connection(kubeconfig), qps=0) as client:
            with pytest.raises(ApiError) as caught:
                await client.post("/api/v1/namespaces/default/pods/web/binding", binding)
        assert caught.value.status == 403

    apply(api_server, SHADOW)
    kubeconfig = kubeconfig_of(api_server, SHADOW, tmp_path)
    asyncio.run(scenario())


# --- and at work ------------------------------------------------------------------------------------------------------


def test_a_scheduler_with_these_rights_only_does_all_its_work(api_server: ApiServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with scheduling(api_server, "least-rights", kubeconfig=kubeconfig) as it:
            await _bind_with_devices(it)
            await _bind_a_volume(it)
            await _preempt(it)

    apply(api_server, SECOND)
    kubeconfig = kubeconfig_of(api_server, SECOND, tmp_path)
    asyncio.run(scenario())


async def _bind_with_devices(it: Cluster) -> None:
    await create_devices(it)
    requests = [{"name": "r", "exactly": {"deviceClassName": it.namespace}}]
    await it.create("ResourceClaim", "c", spec={"devices": {"requests": requests}})
    await it.create_pod("devices", resourceClaims=[{"name": "g", "resourceClaimName": "c"}])
    await it.wait_until_bound("devices")


async def _bind_a_volume(it: Cluster) -> None:
    storage_class = {"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"}
    await it.create("StorageClass", "least-rights", **storage_class)
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [it.node]}
    volume = {
        "capacity": {"storage": "2Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "least-rights",
        "local": {"path": "/mnt/disk"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}},
    }
    await it.create("PersistentVolume", "least-rights", spec=volume)
    path = "/api/v1/persistentvolumes/least-rights/status"
    await it.client.patch(path, {"status": {"phase": "Available"}})
    await it.create("PersistentVolumeClaim", "data", spec=a_claim("least-rights"))
    await it.create_pod("volume", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}])
    await it.wait_for("PersistentVolume", "least-rights", lambda found: "claimRef" in found["spec"])


async def _preempt(it: Cluster) -> None:
    """Let a pod of higher priority take the place of another: conditions, events and a deletion."""
    await it.client.post(
        "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "least-rights"}, "value": 1000}
    )
    await it.create_pod("low", {"cpu": "4"})
    await it.wait_until_bound("low")
    await it.create_pod("high", {"cpu": "4"}, priorityClassName="least-rights")
    await it.wait_for("Pod", "low", _is_preempted)
    await it.wait_for("Pod", "high", lambda pod: any(c["type"] == "PodScheduled" for c in _conditions(pod)))
    events = f"/apis/events.k8s.io/v1/namespaces/{it.namespace}/events"
    async for reason in _reasons(it, events):
        if reason == "Scheduled":
            return


async def _reasons(it: Cluster, path: str) -> Any:
    async with it.client.stream(path, {"watch": "true"}, idle_timeout_s=20) as parts:
        rest = b""
        async for part in parts:
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                yield json.loads(line)["object"]["reason"]


def _is_preempted(pod: dict[str, Any]) -> bool:
    return any(c["type"] == "DisruptionTarget" for c in _conditions(pod)) and "deletionTimestamp" in pod["metadata"]


def _conditions(pod: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pod["status"].get("conditions", [])
    return found


@pytest.mark.parametrize("account", SCHEDULES, ids=lambda account: account.overlay)
def test_a_scheduler_gets_its_lease_and_tells_of_it(account: Account, api_server: ApiServer, tmp_path: Path) -> None:
    assert account.lease is not None
    namespace, name = account.lease
    timings = Timings(lease_s=3.0, renew_deadline_s=1.5, retry_s=0.2)

    async def scenario() -> None:
        leads = asyncio.Event()

        async def lead() -> None:
            leads.set()
            await asyncio.Event().wait()

        async with asyncio.timeout(30), ApiClient(await load_connection(kubeconfig), qps=0) as client:
            elector = LeaderElector(
                client,
                new_identity(random.Random(1), "a"),
                namespace=namespace,
                name=name,
                timings=timings,
                clock=SystemClock(),
                now=lambda: datetime.now(UTC),
                generator=random.Random(1),
                event_client=client,
            )
            task = asyncio.create_task(elector.run(lead))
            await leads.wait()
            task.cancel()
            await asyncio.wait({task})

    apply(api_server, account)
    kubeconfig = kubeconfig_of(api_server, account, tmp_path)
    asyncio.run(scenario())
    lease = json.loads(kubectl("get", "lease", name, "-n", namespace, "-o", "json", server=api_server))
    assert lease["spec"]["holderIdentity"] == ""  # released at the end

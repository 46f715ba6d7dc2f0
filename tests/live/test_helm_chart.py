"""The chart gives what the overlays give, and refuses values that cannot be meant."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from nodewise.config.load import load_configuration
from tests.live.api_server import ApiServer
from tests.live.deployments import CHART, Objects, find_helm, helm, kubectl, objects_in, one, rendered

KUBERNETES = "1.37.2"
pytestmark = pytest.mark.skipif(find_helm() is None, reason="helm is missing: tools/build-helm")


def chart(*flags: str, namespace: str = "nodewise-system", release: str = "nodewise") -> Objects:
    return objects_in(
        helm("template", release, str(CHART), "--namespace", namespace, "--kube-version", KUBERNETES, *flags)
    )


def rules(objects: Objects) -> dict[str, Any]:
    """Return what each role allows, by the last part of its name."""
    roles = [obj for obj in objects if obj["kind"] in ("Role", "ClusterRole")]
    parts = ("reader", "writer", "leader-election", "metrics-reader")
    found: dict[str, Any] = {}
    for role in roles:
        (part,) = [p for p in parts if role["metadata"]["name"].replace(":", "-").endswith(f"-{p}")][-1:]
        found[part if "metrics" not in role["metadata"]["name"] else "metrics-reader"] = role["rules"]
    return found


def configuration_in(objects: Objects) -> Any:
    return load_configuration(one(objects, "ConfigMap")["data"]["scheduler.yaml"].encode())


def test_the_chart_has_no_faults_that_helm_knows_of() -> None:
    assert "0 chart(s) failed" in helm("lint", "--strict", str(CHART))


def test_the_rights_are_those_of_the_overlay_of_a_second_scheduler() -> None:
    assert rules(chart()) == rules(rendered("second-scheduler"))


def test_the_containers_run_as_those_of_the_overlay_do() -> None:
    for_comparison = (
        "args",
        "ports",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
        "securityContext",
        "resources",
    )
    theirs, ours = (
        one(objects, "Deployment")["spec"]["template"]["spec"] for objects in (rendered("second-scheduler"), chart())
    )
    for name in for_comparison:
        assert ours["containers"][0][name] == theirs["containers"][0][name]
    assert ours["securityContext"] == theirs["securityContext"]


def test_a_dry_run_has_no_right_to_write_and_one_replica() -> None:
    objects = chart("--set", "dryRun=true")
    assert set(rules(objects)) == {"reader", "metrics-reader"}
    deployment = one(objects, "Deployment")["spec"]
    assert deployment["replicas"] == 1
    assert "--dry-run" in deployment["template"]["spec"]["containers"][0]["args"]
    assert not configuration_in(objects).leader_election.leader_elect


def test_a_replacement_holds_the_lease_of_kube_scheduler() -> None:
    lease = ("leaderElection.resourceName=kube-scheduler", "leaderElection.resourceNamespace=kube-system")
    flags = [part for value in ("schedulerName=default-scheduler", *lease) for part in ("--set", value)]
    objects = chart(*flags)
    election = configuration_in(objects).leader_election
    assert (election.resource_namespace, election.resource_name) == ("kube-system", "kube-scheduler")
    assert one(objects, "Role")["metadata"]["namespace"] == "kube-system"
    assert one(objects, "Role")["rules"][1]["resourceNames"] == ["kube-scheduler"]


def test_profiles_and_more_configuration_are_taken_over(tmp_path: Path) -> None:
    values = {
        "profiles": [{"schedulerName": "a"}, {"schedulerName": "b", "percentageOfNodesToScore": 50}],
        "configuration": {"podMaxBackoffSeconds": 20, "parallelism": 4},
        "featureGates": {"GenericWorkload": True},
        "extraArgs": ["--tie-break=random"],
    }
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(values))
    objects = chart("--values", str(tmp_path / "values.yaml"))
    configuration = configuration_in(objects)
    assert [profile.scheduler_name for profile in configuration.profiles] == ["a", "b"]
    assert configuration.pod_max_backoff_seconds == 20
    args = one(objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]["args"]
    assert args[-2:] == ["--feature-gates=GenericWorkload=true", "--tie-break=random"]


def test_another_configuration_makes_new_pods() -> None:
    first, second = (
        one(objects, "Deployment")["spec"]["template"]["metadata"]["annotations"]["checksum/configuration"]
        for objects in (chart(), chart("--set", "configuration.parallelism=4"))
    )
    assert first != second


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("replicaCount=many", "/replicaCount"),
        ("schedulerNmae=x", "schedulerNmae"),
        ("logging.format=xml", "/logging/format"),
        ("configuration.profiles=x", "/configuration"),
    ],
)
def test_values_that_cannot_be_meant_are_refused(value: str, message: str) -> None:
    command = [str(find_helm()), "template", "x", str(CHART), "--kube-version", KUBERNETES, "--set", value]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert message in done.stderr


def test_a_release_is_installed_and_says_what_to_do_next(api_server: ApiServer) -> None:
    flags = ("--kubeconfig", api_server.kubeconfig, "--namespace", "by-helm", "--create-namespace")
    notes = helm("install", "sched", str(CHART), *flags)
    assert "nodewise schedules the pods with `schedulerName: nodewise`" in notes
    account = "system:serviceaccount:by-helm:sched-nodewise"
    can = kubectl(
        "auth", "can-i", "create", "pods", "--subresource=binding", "--as", account, "-n", "shop", server=api_server
    )
    assert can.strip() == "yes"
    found = json.loads(kubectl("get", "deployment", "sched-nodewise", "-n", "by-helm", "-o", "json", server=api_server))
    assert found["spec"]["replicas"] == 2

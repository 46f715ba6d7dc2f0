"""Flags and the configuration file: which one counts, and what is said about mistakes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pytest
import yaml

from nodewise.cli.main import build_parser, main
from nodewise.config.load import default_configuration, load_configuration
from nodewise.server.flags import FLAGS, all_flags
from nodewise.server.options import RunOptions, run_options

FILE = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: of-the-file, qps: 7, burst: 8}
enableProfiling: false
leaderElection: {leaseDuration: 30s, resourceName: of-the-file}
"""
# Those of kube-scheduler that choose what is not there: other versions of the API, and other metrics.
NOT_TAKEN = {
    "allow-metric-labels",
    "allow-metric-labels-manifest",
    "disabled-metrics",
    "emulated-version",
    "help",
    "min-compatibility-version",
    "tls-sni-cert-key",
    "version",
}
UPSTREAM_FLAGS = (Path(__file__).parent / "kube_scheduler_flags.txt").read_text().split()


def parsed(*words: str) -> argparse.Namespace:
    return build_parser().parse_args(["run", *words])


def options(*words: str) -> RunOptions:
    return run_options(parsed(*words))


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "scheduler.yaml"
    path.write_text(FILE)
    return str(path)


def test_without_flags_everything_is_as_in_kube_scheduler() -> None:
    found = options()
    assert found.configuration == default_configuration()
    assert (found.serving.address, found.serving.port) == ("0.0.0.0", 10259)
    assert found.access.authorization_always_allow_paths == ("/healthz", "/readyz", "/livez")
    assert found.max_unschedulable_s == 300
    assert (found.logging_format, found.verbosity, found.is_dry_run) == ("text", 0, False)
    assert found.notes == ()


def test_flags_about_the_client_count_without_a_file_and_those_about_leader_election_always(file: str) -> None:
    flags = ("--kubeconfig=k", "--kube-api-qps=1.5", "--kube-api-burst=2", "--profiling=false")
    election = ("--leader-elect=false", "--leader-elect-lease-duration=20s", "--leader-elect-resource-namespace=ns")
    alone = options(*flags, *election).configuration
    assert (alone.client_connection.kubeconfig, alone.client_connection.qps, alone.client_connection.burst) == (
        "k",
        1.5,
        2,
    )
    assert not alone.enable_profiling
    beside = options("--config", file, *flags, *election)
    client, leader = beside.configuration.client_connection, beside.configuration.leader_election
    assert (client.kubeconfig, client.qps, client.burst) == ("of-the-file", 7, 8)
    assert (leader.leader_elect, leader.lease_duration_ns, leader.resource_name) == (False, 20 * 10**9, "of-the-file")
    assert leader.resource_namespace == "ns"
    assert "--kubeconfig does nothing beside --config" in beside.notes


def test_the_age_at_which_pods_are_tried_again_counts_beside_a_file(file: str) -> None:
    assert options("--config", file, "--pod-max-in-unschedulable-pods-duration=1m30s").max_unschedulable_s == 90


def test_a_flag_without_a_value_turns_something_on() -> None:
    assert options("--dry-run").is_dry_run
    assert options("--leader-elect").configuration.leader_election.leader_elect
    assert not options("--dry-run=F").is_dry_run


def test_levels_and_formats_of_logs_are_written_as_for_kubernetes_components() -> None:
    for words in (("-v=4",), ("-v", "4"), ("--v=4",)):
        assert options(*words).verbosity == 4
    assert options("--logging-format=json").logging_format == "json"


def test_every_flag_of_kube_scheduler_is_taken_but_those_that_choose_what_is_not_there() -> None:
    ours = {flag.name for flag in all_flags()} | {"feature-gates", "plugin"}
    assert set(UPSTREAM_FLAGS) - ours == NOT_TAKEN
    assert ours - set(UPSTREAM_FLAGS) == {"context", "dry-run", "plugin", "seed", "tie-break"}
    flags = options("--secure-port=0").flags
    assert flags["leader-elect-lease-duration"] == "15s"
    assert flags["authorization-always-allow-paths"] == "/healthz,/readyz,/livez"
    assert flags["secure-port"] == "0"


def test_a_flag_that_does_nothing_here_is_named() -> None:
    assert options("--disable-http2-serving", "--contention-profiling=false").notes == (
        "--contention-profiling does nothing here",
        "--disable-http2-serving does nothing here",
    )


def test_a_policy_is_translated(tmp_path: Path) -> None:
    path = tmp_path / "policy.json"
    path.write_text(
        '{"kind": "Policy", "apiVersion": "v1", "predicates": [{"name": "PodFitsResources"}], "priorities": []}'
    )
    assert options("--config", str(path)).configuration.profiles[0].scheduler_name == "default-scheduler"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--secure-port=70000"], "argument --secure-port: found 70000, expected 0 to 65535"),
        (["--bind-address=here"], "argument --bind-address: found 'here', expected an IP address"),
        (["--leader-elect=maybe"], "argument --leader-elect: found 'maybe', expected true or false"),
        (["--leader-elect-retry-period=5"], 'missing unit in duration "5"; expected one such as 10s or 1m30s'),
        (["--leader-elect-lease-duration=9s"], 'leaderElection.leaseDuration: Invalid value: "10s"'),
        (["--leader-elect-retry-period=9s"], "renewDeadline must be greater than retryPeriod*JitterFactor"),
        (["--leader-elect-resource-lock=endpoints"], 'resourceLock value must be "leases"'),
        (["--kube-api-qps=fast"], "argument --kube-api-qps: found 'fast', expected a number"),
        (["--tls-cert-file=a"], "--tls-private-key-file: found nothing, expected a file"),
        (["--tls-min-version=VersionTLS10"], "expected one of: VersionTLS12, VersionTLS13"),
        (["--tls-cipher-suites=RC4"], "argument --tls-cipher-suites: found 'RC4', expected some of: TLS_ECDHE_"),
        (["--logging-format=xml"], "found 'xml', expected one of: text, json"),
        (["--feature-gates=Foo=true"], "--feature-gates Foo=true: unrecognized feature gate: Foo"),
        (["--config=/nowhere/x.yaml"], "--config /nowhere/x.yaml: No such file or directory"),
        (["--write-config-to=/nowhere/x.yaml"], "--write-config-to /nowhere/x.yaml: No such file or directory"),
        (["-v=high"], "argument -v/--v: found 'high', expected a whole number from 0 on"),
        (["pods.yaml"], "unrecognized arguments: pods.yaml"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(words: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        sys.exit(main(["run", *words]))
    printed = capsys.readouterr()
    assert end.value.code == 2
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert text in printed.err


def test_a_mistake_in_the_file_names_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(FILE + "parallelism: -1\n")
    assert main(["run", "--config", str(path)]) == 2
    text = "parallelism: Invalid value: -1: should be an integer value greater than zero"
    assert capsys.readouterr().err == f"nodewise: {path}: {text}\n"


def test_the_configuration_in_force_can_be_written_and_read_again(tmp_path: Path, file: str) -> None:
    path = tmp_path / "out.yaml"
    assert main(["run", "--config", file, "--leader-elect=false", "--write-config-to", str(path)]) == 0
    written = load_configuration(path)
    assert not written.leader_election.leader_elect
    assert written.client_connection.kubeconfig == "of-the-file"
    assert yaml.safe_load(path.read_text())["kind"] == "KubeSchedulerConfiguration"


def test_help_explains_every_flag_that_does_something(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsed("--help")
    text = capsys.readouterr().out
    for flag in all_flags():
        assert (f"--{flag.name}" in text) != flag.is_ignored, flag.name
    for title in FLAGS:
        assert f"\n{title}:\n" in text

"""All the ways in which it can be said where the cluster is and who asks."""

import asyncio
import base64
import json
import os
import ssl
import stat
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml
from aiohttp import web

from nodewise.cluster.live.api_client import ApiClient
from nodewise.cluster.live.connection import Connection
from nodewise.cluster.live.credentials import ExecPlugin, TokenFile
from nodewise.cluster.live.errors import ApiError, KubeconfigError
from nodewise.cluster.live.kubeconfig import in_cluster_connection, load_connection
from nodewise.testing.clock import FakeClock
from tests.live.api_server import ApiServer
from tests.live.scripted_server import ScriptedServer, refuse, reply

TOKEN = {"token": "t1"}


def write(
    path: Path,
    *,
    user: Mapping[str, Any] = TOKEN,
    cluster: Mapping[str, Any] | None = None,
    context: str = "here",
    current: str | None = None,
    **context_fields: str,
) -> Path:
    """Write a kubeconfig with one context; cluster and user have its name."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": context, "cluster": {"server": f"https://{context}.example:6443", **(cluster or {})}}],
        "users": [{"name": context, "user": dict(user)}],
        "contexts": [{"name": context, "context": {"cluster": context, "user": context, **context_fields}}],
        "current-context": context if current is None else current,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(document))
    return path


def load(kubeconfig: Path | str = "", context: str | None = None, **environ: str) -> Connection:
    return asyncio.run(load_connection(str(kubeconfig), context, environ=environ, clock=FakeClock()))


def headers(connection: Connection) -> dict[str, str]:
    return asyncio.run(connection.credentials.headers())


def script(path: Path, *lines: str) -> Path:
    """Write a program for a user's exec section."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join((f"#!{sys.executable}", *lines)))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def credential(**status: str) -> str:
    document = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    return f"print({json.dumps(document)!r})"


def exec_user(command: Path | str, **more: Any) -> dict[str, Any]:
    version = "client.authentication.k8s.io/v1"
    return {"exec": {"command": str(command), "apiVersion": version, "interactiveMode": "Never", **more}}


# --- files and contexts -----------------------------------------------------------------------------------------------


def test_the_current_context_names_cluster_user_and_namespace(tmp_path: Path) -> None:
    connection = load(write(tmp_path / "config", namespace="shop"))
    assert (connection.base_url, connection.namespace) == ("https://here.example:6443", "shop")
    assert headers(connection) == {"Authorization": "Bearer t1"}


def test_another_context_can_be_asked_for(tmp_path: Path) -> None:
    both = f"{write(tmp_path / 'a', context='a')}{os.pathsep}{write(tmp_path / 'b', context='b')}"
    assert load(context="b", KUBECONFIG=both).base_url == "https://b.example:6443"


def test_of_several_files_the_first_that_says_something_wins(tmp_path: Path) -> None:
    first = write(tmp_path / "1", context="a", current="")
    second = write(tmp_path / "2", context="b")
    third = write(tmp_path / "3", context="a", cluster={"server": "https://other"})
    connection = load(KUBECONFIG=os.pathsep.join([str(first), str(tmp_path / "missing"), str(second), str(third)]))
    assert connection.base_url == "https://b.example:6443"
    all_three = os.pathsep.join(map(str, (first, second, third)))
    assert load(context="a", KUBECONFIG=all_three).base_url == "https://a.example:6443"


def test_without_a_word_it_is_the_file_in_the_home_folder(tmp_path: Path) -> None:
    write(tmp_path / ".kube" / "config")
    assert load(HOME=str(tmp_path)).base_url == "https://here.example:6443"


def test_paths_are_those_of_the_file_that_they_stand_in(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    write(elsewhere / "config", user={"tokenFile": "secret/token"})
    (elsewhere / "secret").mkdir()
    (elsewhere / "secret" / "token").write_text("from-file\n")
    assert headers(load(elsewhere / "config")) == {"Authorization": "Bearer from-file"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "no current-context"),
        ("[1, 2]", "found list, expected a mapping"),
        ("a: b: c", "mapping values are not allowed here"),
        ("{current-context: x}", "contexts has no 'x'"),
        ("{current-context: x, contexts: [{name: x, context: {cluster: y}}]}", "clusters has no 'y'"),
        ("{contexts: {x: y}}", "contexts: found {'x': 'y'}, expected a list"),
        ("{contexts: [x]}", "contexts: found 'x', expected a mapping with a name"),
        ("{clusters: [{name: y, cluster: 5}]}", "clusters[y].cluster: found 5, expected a mapping"),
        (
            "{current-context: x, contexts: [{name: x, context: {cluster: y}}], clusters: [{name: y, cluster: {}}]}",
            "clusters[y].cluster.server: found None, expected a URL",
        ),
        (
            "{current-context: x, contexts: [{name: x, context: {cluster: y}}],"
            " clusters: [{name: y, cluster: {server: 'https://x', certificate-authority: gone.crt}}]}",
            "gone.crt",
        ),
    ],
)
def test_a_broken_kubeconfig_is_told_in_one_line_with_its_name(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(KubeconfigError) as caught:
        load(path)
    assert expected in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_kubeconfig_that_is_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError, match="no such file"):
        load(tmp_path / "missing")


def test_nothing_to_go_by_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError, match="no kubeconfig found"):
        load(HOME=str(tmp_path))


# --- who asks ---------------------------------------------------------------------------------------------------------


def test_a_token_file_is_read_again_after_a_minute(tmp_path: Path) -> None:
    clock, path = FakeClock(), tmp_path / "token"
    path.write_text("one\n")
    token = TokenFile(str(path), clock)
    assert asyncio.run(token.headers()) == {"Authorization": "Bearer one"}
    path.write_text("two\n")
    clock.advance(59)
    assert asyncio.run(token.headers()) == {"Authorization": "Bearer one"}
    clock.advance(1)
    assert asyncio.run(token.headers()) == {"Authorization": "Bearer two"}


def test_a_token_file_that_is_gone_for_a_moment_leaves_the_last_token(tmp_path: Path) -> None:
    clock, path = FakeClock(), tmp_path / "token"
    path.write_text("one")
    token = TokenFile(str(path), clock)
    asyncio.run(token.headers())
    path.unlink()
    clock.advance(61)
    assert asyncio.run(token.headers()) == {"Authorization": "Bearer one"}


def test_a_refused_token_is_read_again_for_the_next_request(tmp_path: Path) -> None:
    async def scenario() -> None:
        path = tmp_path / "token"
        path.write_text("old")
        async with ScriptedServer(refuse(401, "Unauthorized"), reply()) as server:
            connection = Connection(server.connection.base_url, credentials=TokenFile(str(path), FakeClock()))
            async with ApiClient(connection) as client:
                with pytest.raises(ApiError):
                    await client.get("/x")
                path.write_text("new")
                await client.get("/x")
            tokens = [request[":headers"]["Authorization"] for request in server.requests]
            assert tokens == ["Bearer old", "Bearer new"]

    asyncio.run(scenario())


def test_a_token_file_comes_before_a_token(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("file")
    path = write(tmp_path / "config", user={"token": "t1", "tokenFile": "token"})
    assert headers(load(path)) == {"Authorization": "Bearer file"}


def test_user_and_password_are_sent(tmp_path: Path) -> None:
    path = write(tmp_path / "config", user={"username": "ann", "password": "secret"})
    assert headers(load(path)) == {"Authorization": f"Basic {base64.b64encode(b'ann:secret').decode()}"}


def test_a_context_without_a_user_asks_as_nobody(tmp_path: Path) -> None:
    assert headers(load(write(tmp_path / "config", user={}))) == {}


def test_an_exec_plugin_gives_a_token_and_is_found_beside_the_kubeconfig(tmp_path: Path) -> None:
    script(
        tmp_path / "bin" / "get-token",
        "import os, sys",
        "assert 'ExecCredential' in os.environ['KUBERNETES_EXEC_INFO']",
        "assert os.environ['REGION'] == 'north' and sys.argv[1:] == ['--now']",
        credential(token="t2"),
    )
    user = exec_user("./bin/get-token", args=["--now"], env=[{"name": "REGION", "value": "north"}])
    assert headers(load(write(tmp_path / "config", user=user))) == {"Authorization": "Bearer t2"}


def test_an_exec_plugin_is_run_again_when_its_token_has_expired_or_is_refused(tmp_path: Path) -> None:
    now = [datetime(2026, 6, 1, tzinfo=UTC)]
    answer = tmp_path / "answer"
    program = script(tmp_path / "get-token", "from pathlib import Path", f"exec(Path({str(answer)!r}).read_text())")

    async def scenario() -> None:
        plugin = ExecPlugin(exec_user(program)["exec"], None, now=lambda: now[0])
        answer.write_text(credential(token="t1", expirationTimestamp="2026-06-01T01:00:00Z"))
        assert await plugin.headers() == {"Authorization": "Bearer t1"}
        answer.write_text(credential(token="t2"))
        now[0] += timedelta(minutes=59)
        assert await plugin.headers() == {"Authorization": "Bearer t1"}
        now[0] += timedelta(minutes=1)
        assert await plugin.headers() == {"Authorization": "Bearer t2"}
        answer.write_text(credential(token="t3"))
        assert await plugin.headers() == {"Authorization": "Bearer t2"}
        plugin.refused()
        assert await plugin.headers() == {"Authorization": "Bearer t3"}

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("import sys", "print('no network', file=sys.stderr)", "sys.exit(3)"), "process returned 3. no network"),
        (("print('hello')",), "failed to decode process output"),
        ((credential(),), "found neither a token nor a certificate"),
        ((credential(token="t", expirationTimestamp="tomorrow"),), "expirationTimestamp is 'tomorrow'"),
    ],
)
def test_an_exec_plugin_that_fails_is_told(tmp_path: Path, lines: tuple[str, ...], expected: str) -> None:
    program = script(tmp_path / "get-token", *lines)
    connection = load(write(tmp_path / "config", user=exec_user(program)))
    with pytest.raises(KubeconfigError) as caught:
        headers(connection)
    assert expected in str(caught.value)
    assert str(program) in str(caught.value)


def test_an_exec_plugin_that_is_not_installed_says_how_to_get_it(tmp_path: Path) -> None:
    user = exec_user("no-such-program", installHint="Install it with: pip install it")
    with pytest.raises(KubeconfigError, match="Install it with: pip install it"):
        headers(load(write(tmp_path / "config", user=user)))


# --- client certificates ----------------------------------------------------------------------------------------------


class Authority:
    """Makes certificates and a server that asks for one."""

    def __init__(self) -> None:
        self._ca = trustme.CA()

    def issue(self, folder: Path, name: str) -> tuple[Path, Path]:
        """Write a client certificate with this name, and its key."""
        made = self._ca.issue_cert(f"{name}@example.com", common_name=name)
        made.cert_chain_pems[0].write_to_path(str(folder / "client.crt"))
        made.private_key_pem.write_to_path(str(folder / "client.key"))
        return folder / "client.crt", folder / "client.key"

    def cluster(self, server: ScriptedServer) -> dict[str, str]:
        authority = base64.b64encode(self._ca.cert_pem.bytes()).decode()
        return {"server": server.connection.base_url, "certificate-authority-data": authority}

    def server_context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._ca.issue_cert("127.0.0.1").configure_cert(context)
        self._ca.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
        return context


async def who(request: web.Request) -> web.StreamResponse:
    """Answer with the name in the client's certificate, and close the connection."""
    assert request.transport is not None
    subject = dict(pair[0] for pair in request.transport.get_extra_info("peercert")["subject"])
    response = web.Response(text=subject["commonName"])
    response.force_close()
    return response


@pytest.mark.parametrize("is_data", [True, False], ids=["as data", "as files"])
def test_a_client_certificate_says_who_asks(tmp_path: Path, is_data: bool) -> None:
    async def scenario() -> None:
        authority = Authority()
        certificate, key = authority.issue(tmp_path, "ann")
        user = {"client-certificate": "client.crt", "client-key": "client.key"}
        if is_data:
            user = {
                "client-certificate-data": base64.b64encode(certificate.read_bytes()).decode(),
                "client-key-data": base64.b64encode(key.read_bytes()).decode(),
            }
        async with ScriptedServer(who, tls=authority.server_context()) as server:
            path = write(tmp_path / "config", user=user, cluster=authority.cluster(server))
            async with ApiClient(await load_connection(str(path))) as client:
                assert await client.get("/x") == b"ann"

    asyncio.run(scenario())


def test_a_client_certificate_that_is_renewed_is_taken_on_within_a_minute(tmp_path: Path) -> None:
    async def scenario() -> None:
        authority, clock = Authority(), FakeClock()
        certificate, _ = authority.issue(tmp_path, "old")
        user = {"client-certificate": "client.crt", "client-key": "client.key"}
        async with ScriptedServer(who, who, who, tls=authority.server_context()) as server:
            path = write(tmp_path / "config", user=user, cluster=authority.cluster(server))
            async with ApiClient(await load_connection(str(path), clock=clock)) as client:
                assert await client.get("/x") == b"old"
                authority.issue(tmp_path, "new")
                os.utime(certificate, (1, 1))
                assert await client.get("/x") == b"old"
                clock.advance(60)
                assert await client.get("/x") == b"new"

    asyncio.run(scenario())


def test_an_exec_plugin_may_give_a_client_certificate(tmp_path: Path) -> None:
    async def scenario() -> None:
        authority = Authority()
        certificate, key = authority.issue(tmp_path, "ann")
        status = credential(clientCertificateData=certificate.read_text(), clientKeyData=key.read_text())
        program = script(tmp_path / "get-certificate", status)
        async with ScriptedServer(who, tls=authority.server_context()) as server:
            path = write(tmp_path / "config", user=exec_user(program), cluster=authority.cluster(server))
            async with ApiClient(await load_connection(str(path))) as client:
                assert await client.get("/x") == b"ann"

    asyncio.run(scenario())


# --- TLS, proxies, pods -----------------------------------------------------------------------------------------------


def test_the_cluster_may_name_its_authority_another_server_name_and_a_proxy(tmp_path: Path) -> None:
    cluster = {"tls-server-name": "kubernetes", "proxy-url": "http://proxy:3128", "insecure-skip-tls-verify": True}
    connection = load(write(tmp_path / "config", cluster=cluster))
    assert (connection.server_name, connection.proxy) == ("kubernetes", "http://proxy:3128")
    assert connection.tls is not None
    assert connection.tls.verify_mode is ssl.CERT_NONE


def test_plain_http_has_no_tls(tmp_path: Path) -> None:
    assert load(write(tmp_path / "config", cluster={"server": "http://localhost:8001/"})).tls is None


def test_a_pod_uses_its_service_account(tmp_path: Path, api_server: ApiServer) -> None:
    (tmp_path / "token").write_text("pod-token\n")
    (tmp_path / "ca.crt").write_text((api_server.folder / "certs" / "apiserver.crt").read_text())
    (tmp_path / "namespace").write_text("shop")
    connection = in_cluster_connection(
        environ={"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"},
        clock=FakeClock(),
        token_file=str(tmp_path / "token"),
        certificate_file=str(tmp_path / "ca.crt"),
    )
    assert (connection.base_url, connection.namespace) == ("https://[fd00::1]:443", "shop")
    assert headers(connection) == {"Authorization": "Bearer pod-token"}


def test_a_pod_without_a_service_account_is_told(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError, match="service account of this pod"):
        load(HOME=str(tmp_path), KUBERNETES_SERVICE_HOST="10.0.0.1", KUBERNETES_SERVICE_PORT="443")


def _against(server: ApiServer, path: Path, authority: bytes | None, name: str | None) -> bytes:
    cluster: dict[str, Any] = {"server": server.url}
    if authority is not None:
        cluster["certificate-authority-data"] = base64.b64encode(authority).decode()
    if name is not None:
        cluster["tls-server-name"] = name

    async def scenario() -> bytes:
        connection = await load_connection(str(write(path, user={"token": "admin-token"}, cluster=cluster)))
        async with ApiClient(connection) as client:
            return await client.get("/version")

    return asyncio.run(scenario())


def test_a_real_server_is_trusted_by_its_authority_and_only_by_it(tmp_path: Path, api_server: ApiServer) -> None:
    authority = (api_server.folder / "certs" / "apiserver.crt").read_bytes()
    version = json.loads(_against(api_server, tmp_path / "good", authority, None))
    assert version["gitVersion"] == "v1.37.2"
    assert _against(api_server, tmp_path / "named", authority, "kubernetes.default.svc")
    with pytest.raises(Exception, match="certificate verify failed"):
        _against(api_server, tmp_path / "unknown", None, None)
    with pytest.raises(Exception, match="certificate verify failed"):
        _against(api_server, tmp_path / "other-name", authority, "example.com")


def test_a_token_that_the_server_does_not_know_is_refused(tmp_path: Path, api_server: ApiServer) -> None:
    async def scenario() -> None:
        cluster = {"server": api_server.url, "insecure-skip-tls-verify": True}
        path = write(tmp_path / "config", user={"token": "wrong"}, cluster=cluster)
        async with ApiClient(await load_connection(str(path))) as client:
            with pytest.raises(ApiError) as caught:
                await client.get("/api/v1/nodes")
        assert (caught.value.status, caught.value.reason) == (401, "Unauthorized")

    asyncio.run(scenario())

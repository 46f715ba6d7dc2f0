"""The HTTPS endpoint answers as kube-scheduler's does: who may see what, and in which words."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import trustme
from prometheus_client import CollectorRegistry

from nodewise.cluster.live.errors import ConnectionFailedError
from nodewise.config.load import default_configuration
from nodewise.server.authentication import Authenticator, TrustedCerts, read_certificates
from nodewise.server.authorization import Authorizer
from nodewise.server.endpoints import Endpoints
from nodewise.server.health import Check
from nodewise.server.http_server import HttpServer, ListenError
from nodewise.server.resource_metrics import ResourceMetrics
from nodewise.server.scheduler_metrics import PrometheusMetrics
from nodewise.server.serving_certs import ServingCert, ServingCertError, load_cert, self_signed, server_context
from nodewise.server.state_metrics import build_registry
from nodewise.testing.builders import make_pod
from nodewise.testing.clock import FakeClock

STARTED = datetime(2027, 1, 1, 12, 0, 0, tzinfo=UTC)
ADMIN = {"Authorization": "Bearer admin-token"}


class Reviews:
    """An API server that knows a few tokens, and lets those who watch see /metrics."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.is_down = False

    async def post(self, path: str, body: Any) -> bytes:
        self.asked.append(path.rpartition("/")[2])
        if self.is_down:
            raise ConnectionFailedError(path, f"POST {path}: connection refused")
        return json.dumps({"status": self._status(body["kind"], body["spec"])}).encode()

    @staticmethod
    def _status(kind: str, spec: Mapping[str, Any]) -> dict[str, Any]:
        if kind == "TokenReview":
            groups = {"admin-token": ["system:masters"], "watcher-token": ["watchers"]}.get(spec["token"])
            if groups is None:
                return {"authenticated": False, "error": "invalid bearer token"}
            return {"authenticated": True, "user": {"username": spec["token"].split("-")[0], "groups": groups}}
        attributes = spec["nonResourceAttributes"]
        is_watcher = "watchers" in spec["groups"] and "system:authenticated" in spec["groups"]
        return {"allowed": is_watcher and attributes == {"path": "/metrics", "verb": "get"}, "reason": ""}


class Site:
    """A server with everything, and a client."""

    def __init__(self, session: aiohttp.ClientSession, port: int) -> None:
        self._session = session
        self._base = f"https://localhost:{port}"

    async def ask(
        self, path: str, headers: Mapping[str, str] | None = None, *, method: str = "GET", data: str | None = None
    ) -> tuple[int, str, Mapping[str, str]]:
        async with self._session.request(method, self._base + path, headers=headers, data=data) as response:
            return response.status, await response.text(), response.headers


class Setting:
    """What a test may change before the server starts, and while it runs."""

    def __init__(self) -> None:
        self.reviews: Reviews | None = Reviews()
        self.clock = FakeClock()
        self.certs = TrustedCerts()
        self.tls = server_context()
        self.client_tls = ssl.create_default_context()
        self.client_tls.check_hostname = False
        self.client_tls.verify_mode = ssl.CERT_NONE
        self.problems = {"leaderElection": "", "shutdown": "", "sched-handler-sync": ""}
        self.is_leader = True
        load_cert(self.tls, ServingCert())
        metrics = PrometheusMetrics()
        resources = CollectorRegistry(auto_describe=False)
        resources.register(ResourceMetrics(lambda: [make_pod("a", cpu="1")]))
        checks = [Check(name, lambda name=name: self.problems[name]) for name in self.problems]  # type: ignore[misc]
        self.endpoints = Endpoints(
            configuration=default_configuration(),
            registry=build_registry(metrics),
            reset_metrics=metrics.reset,
            resources=resources,
            is_leader=lambda: self.is_leader,
            healthz=checks[:1],
            readyz=checks,
            flags={"v": "2", "secure-port": "10259"},
            started=STARTED,
            now=lambda: STARTED + timedelta(hours=1, minutes=2, seconds=3),
        )

    @asynccontextmanager
    async def site(self) -> AsyncIterator[Site]:
        server = HttpServer(
            self.endpoints.handlers(),
            Authenticator(self.reviews, self.certs, clock=self.clock),
            Authorizer(self.reviews, clock=self.clock),
        )
        await server.start("127.0.0.1", 0, self.tls)
        connector = aiohttp.TCPConnector(ssl=self.client_tls, force_close=True)
        async with aiohttp.ClientSession(connector=connector, headers={"User-Agent": "test"}) as session:
            try:
                yield Site(session, server.port)
            finally:
                await server.stop()


Story = Callable[[Site], Coroutine[Any, Any, None]]


def play(story: Story, setting: Setting | None = None) -> None:
    async def all_of_it() -> None:
        async with (setting or Setting()).site() as site:
            await story(site)

    asyncio.run(all_of_it())


# --- health -----------------------------------------------------------------------------------------------------------


def test_health_says_ok_to_everybody_whatever_the_method() -> None:
    async def story(site: Site) -> None:
        for path in ("/healthz", "/livez", "/readyz"):
            for method in ("GET", "POST"):
                status, text, headers = await site.ask(path, method=method)
                assert (status, text) == (200, "ok")
                assert headers["Content-Type"] == "text/plain; charset=utf-8"
                assert headers["X-Content-Type-Options"] == "nosniff"
                assert headers["Cache-Control"] == "no-cache, private"

    play(story)


def test_verbose_health_lists_all_checks_in_order() -> None:
    async def story(site: Site) -> None:
        passed = "[+]leaderElection ok\n[+]shutdown ok\n[+]sched-handler-sync ok\nreadyz check passed\n"
        assert (await site.ask("/readyz?verbose"))[1] == passed
        assert (await site.ask("/healthz?verbose"))[1] == "[+]leaderElection ok\nhealthz check passed\n"
        assert (await site.ask("/livez?verbose"))[1] == "[+]ping ok\nlivez check passed\n"
        excluded = (
            "[+]leaderElection ok\n[+]shutdown excluded: ok\n[+]sched-handler-sync ok\n"
            'warn: some health checks cannot be excluded: no matches for "foo"\nreadyz check passed\n'
        )
        assert (await site.ask("/readyz?verbose&exclude=shutdown&exclude=foo"))[1] == excluded

    play(story)


def test_a_failed_check_is_named_without_its_reason_to_those_who_may_not_see_it() -> None:
    setting = Setting()
    setting.problems["sched-handler-sync"] = "handlers are not fully synchronized"

    async def story(site: Site) -> None:
        status, text, _ = await site.ask("/readyz")
        assert status == 500
        assert text == (
            "[+]leaderElection ok\n[+]shutdown ok\n[-]sched-handler-sync failed: reason withheld\nreadyz check failed\n"
        )
        assert (await site.ask("/livez"))[0] == 200
        status, text, _ = await site.ask("/readyz/sched-handler-sync", ADMIN)
        assert (status, text) == (500, "internal server error: handlers are not fully synchronized\n")
        assert (await site.ask("/readyz/sched-handler-sync"))[0] == 403
        assert (await site.ask("/readyz/shutdown", ADMIN))[:2] == (200, "ok")
        assert (await site.ask("/readyz/nope", ADMIN))[:2] == (404, "404 page not found\n")
        text = (await site.ask("/metrics/slis", ADMIN))[1]
        assert 'kubernetes_healthcheck{name="sched-handler-sync",type="readyz"} 0.0' in text
        assert 'kubernetes_healthcheck{name="ping",type="livez"} 1.0' in text

    play(story, setting)


# --- who may see what -------------------------------------------------------------------------------------------------


def test_nobody_in_particular_may_see_metrics() -> None:
    async def story(site: Site) -> None:
        status, text, headers = await site.ask("/metrics")
        assert status == 403
        assert text == (
            '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
            '"message":"forbidden: User \\"system:anonymous\\" cannot get path \\"/metrics\\"",'
            '"reason":"Forbidden","details":{},"code":403}\n'
        )
        assert headers["Content-Type"] == "application/json"
        pretty = (await site.ask("/metrics", {"User-Agent": "curl/8.0"}))[1]
        assert pretty.startswith('{\n  "kind": "Status",\n')
        assert json.loads(pretty) == json.loads(text)

    play(story)


def test_a_token_that_the_cluster_does_not_know_is_unauthorized() -> None:
    async def story(site: Site) -> None:
        for path in ("/metrics", "/healthz"):
            status, text, _ = await site.ask(path, {"Authorization": "Bearer bad"})
            assert status == 401
            assert json.loads(text) == {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Failure",
                "message": "Unauthorized",
                "reason": "Unauthorized",
                "code": 401,
            }

    play(story)


def test_the_cluster_decides_who_may_see_what_and_is_asked_once_in_ten_seconds() -> None:
    setting = Setting()
    assert setting.reviews is not None
    reviews = setting.reviews
    watcher = {"Authorization": "Bearer watcher-token"}

    async def story(site: Site) -> None:
        for _ in range(3):
            assert (await site.ask("/metrics", watcher))[0] == 200
        assert reviews.asked == ["tokenreviews", "subjectaccessreviews"]
        assert (await site.ask("/configz", watcher))[0] == 403
        assert (await site.ask("/metrics", watcher, method="DELETE"))[0] == 403
        setting.clock.advance(11)
        assert (await site.ask("/metrics", watcher))[0] == 200
        assert reviews.asked.count("tokenreviews") == 2

    play(story, setting)


def test_masters_may_see_everything_and_what_is_not_there_is_not_found() -> None:
    async def story(site: Site) -> None:
        for path in ("/metrics", "/metrics/resources", "/configz", "/flagz", "/statusz"):
            assert (await site.ask(path, ADMIN))[0] == 200, path
        for path in ("/", "/version", "/metrics/", "/debug/dump"):
            assert (await site.ask(path, ADMIN))[:2] == (404, "404 page not found\n"), path

    play(story)


def test_without_anybody_to_ask_only_what_is_always_allowed_can_be_seen() -> None:
    setting = Setting()
    setting.reviews = None

    async def story(site: Site) -> None:
        assert (await site.ask("/healthz", ADMIN))[0] == 200
        assert (await site.ask("/metrics", ADMIN))[0] == 403

    play(story, setting)


def test_an_api_server_that_is_away_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodewise.server.authorization.REVIEW_RETRY_S", 0)
    setting = Setting()
    assert setting.reviews is not None
    setting.reviews.is_down = True

    async def story(site: Site) -> None:
        status, text, _ = await site.ask("/metrics?x=<1>")
        assert status == 500
        assert text.startswith('Internal Server Error: "/metrics?x=')
        assert "<1>" not in text
        assert (await site.ask("/healthz"))[0] == 200

    play(story, setting)


# --- certificates -----------------------------------------------------------------------------------------------------


def with_client_certificate(ca: trustme.CA, setting: Setting, *, name: str, group: str) -> None:
    ca.configure_trust(setting.tls)
    setting.tls.verify_mode = ssl.CERT_OPTIONAL
    ca.issue_cert(common_name=name, organization_name=group).configure_cert(setting.client_tls)


def test_a_client_certificate_of_the_cluster_says_who_asks() -> None:
    setting, ca = Setting(), trustme.CA()
    setting.certs = TrustedCerts(client_ca=read_certificates(ca.cert_pem.bytes()))
    with_client_certificate(ca, setting, name="admin", group="system:masters")
    play(_sees_metrics, setting)


def test_a_client_certificate_of_somebody_else_proves_nothing() -> None:
    setting, ca = Setting(), trustme.CA()
    setting.certs = TrustedCerts(client_ca=read_certificates(trustme.CA().cert_pem.bytes()))
    with_client_certificate(ca, setting, name="admin", group="system:masters")

    async def story(site: Site) -> None:
        assert (await site.ask("/metrics"))[0] == 401
        assert (await site.ask("/metrics", ADMIN))[0] == 200  # but the token does

    play(story, setting)


def test_a_proxy_with_a_certificate_names_the_user_and_nobody_else_can() -> None:
    headers = {"X-Remote-User": "ann", "X-Remote-Group": "system:masters"}
    ca = trustme.CA()
    proxies = TrustedCerts(proxy_ca=read_certificates(ca.cert_pem.bytes()), proxy_names=("front-proxy",))

    async def without(site: Site) -> None:
        assert (await site.ask("/metrics", headers))[0] == 403

    async def with_proxy(site: Site) -> None:
        assert (await site.ask("/metrics", headers))[0] == 200

    async def another(site: Site) -> None:
        assert (await site.ask("/metrics", headers))[0] == 401

    for name, story in (("", without), ("front-proxy", with_proxy), ("somebody", another)):
        setting = Setting()
        setting.certs = proxies
        if name:
            with_client_certificate(ca, setting, name=name, group="x")
        play(story, setting)


def test_the_config_map_of_the_cluster_says_whom_to_trust() -> None:
    ca, proxy_ca = trustme.CA(), trustme.CA()
    body = {
        "data": {
            "client-ca-file": ca.cert_pem.bytes().decode(),
            "requestheader-client-ca-file": proxy_ca.cert_pem.bytes().decode(),
            "requestheader-allowed-names": '["front-proxy-client"]',
            "requestheader-username-headers": '["X-Remote-User"]',
            "requestheader-group-headers": '["X-Remote-Group"]',
            "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
        }
    }
    certs = TrustedCerts.of_config_map(json.dumps(body).encode())
    assert len(certs.client_ca) == len(certs.proxy_ca) == 1
    assert certs.proxy_names == ("front-proxy-client",)
    assert certs.username_headers == ("X-Remote-User",)
    assert TrustedCerts.of_config_map(b"{}") == TrustedCerts()


def test_a_certificate_of_ones_own_is_made_for_localhost_and_kept_where_it_is_wanted(tmp_path: Path) -> None:
    (certificate,) = read_certificates(self_signed(("localhost", "127.0.0.1"))[0])
    assert "localhost" in certificate.subject.rfc4514_string()
    cert = ServingCert(cert_dir=str(tmp_path / "certs"))
    load_cert(server_context(), cert)
    made = (tmp_path / "certs" / "kube-scheduler.crt").read_bytes()
    key = tmp_path / "certs" / "kube-scheduler.key"
    assert key.stat().st_mode & 0o777 == 0o600
    load_cert(server_context(), cert)
    assert (tmp_path / "certs" / "kube-scheduler.crt").read_bytes() == made


def test_a_certificate_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.crt").write_text("no certificate")
    with pytest.raises(ServingCertError, match=r"a.crt.*expected a certificate and its key as PEM"):
        load_cert(server_context(), ServingCert(str(tmp_path / "a.crt"), str(tmp_path / "a.crt")))
    with pytest.raises(ServingCertError, match="No such file"):
        load_cert(server_context(), ServingCert(str(tmp_path / "b.crt"), str(tmp_path / "b.key")))


def test_a_port_that_is_taken_is_named() -> None:
    async def story(site: Site) -> None:
        server = HttpServer(
            {}, Authenticator(None, TrustedCerts(), clock=FakeClock()), Authorizer(None, clock=FakeClock())
        )
        taken = int(site._base.rpartition(":")[2])
        with pytest.raises(ListenError, match=f"failed to listen on 127.0.0.1:{taken}"):
            await server.start("127.0.0.1", taken, None)

    play(story)


# --- pages ------------------------------------------------------------------------------------------------------------


def test_the_configuration_in_force_is_shown() -> None:
    async def story(site: Site) -> None:
        status, text, headers = await site.ask("/configz", ADMIN)
        found = json.loads(text)["componentconfig"]
        assert status == 200
        assert headers["Content-Type"] == "application/json"
        assert found["kind"] == "KubeSchedulerConfiguration"
        assert found["leaderElection"]["leaseDuration"] == "15s"
        assert found["profiles"][0]["schedulerName"] == "default-scheduler"

    play(story)


def test_metrics_can_be_reset() -> None:
    async def story(site: Site) -> None:
        status, text, headers = await site.ask("/metrics", ADMIN)
        assert status == 200
        assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert "scheduler_preemption_attempts_total 0.0\n" in text
        assert (await site.ask("/metrics", ADMIN, method="DELETE"))[:2] == (200, "metrics reset\n")

    play(story)


def test_a_standby_says_nothing_about_resources() -> None:
    setting = Setting()

    async def story(site: Site) -> None:
        text = (await site.ask("/metrics/resources", ADMIN))[1]
        assert 'kube_pod_resource_request{namespace="default",node="",pod="a"' in text
        setting.is_leader = False
        assert (await site.ask("/metrics/resources", ADMIN))[:2] == (200, "")

    play(story, setting)


def test_flags_and_state_are_shown_to_people() -> None:
    async def story(site: Site) -> None:
        assert (await site.ask("/flagz", ADMIN))[1].endswith("\nsecure-port=10259\nv=2\n")
        text = (await site.ask("/statusz", ADMIN))[1]
        assert "\nStarted: Fri Jan  1 12:00:00 UTC 2027\nUp: 1 hr 02 min 03 sec\n" in text
        assert text.endswith("\nPaths: /configz /debug /flagz /healthz /livez /metrics /readyz /statusz\n")

    play(story)


def test_the_level_of_the_log_can_be_set_by_put_only() -> None:
    async def story(site: Site) -> None:
        answer = await site.ask("/debug/flags/v", ADMIN, method="PUT", data="5")
        assert answer[:2] == (200, "successfully set klog.logging.verbosity to 5")
        assert (await site.ask("/debug/flags/v", ADMIN))[:2] == (406, "unsupported http method\n")
        assert (await site.ask("/debug/flags/v", ADMIN, method="PUT", data="much"))[0] == 400
        await site.ask("/debug/flags/v", ADMIN, method="PUT", data="0")

    play(story)


def test_there_is_a_dump_where_somebody_gives_one_and_no_debugging_where_profiling_is_off() -> None:
    setting = Setting()
    configuration = default_configuration()
    setting.endpoints = replace(setting.endpoints, dump=lambda: {"nodes": []})

    async def story(site: Site) -> None:
        assert (await site.ask("/debug/dump", ADMIN))[:2] == (200, '{"nodes": []}')

    play(story, setting)

    import msgspec

    setting.endpoints = replace(
        setting.endpoints, configuration=msgspec.structs.replace(configuration, enable_profiling=False)
    )

    async def without(site: Site) -> None:
        assert (await site.ask("/debug/flags/v", ADMIN))[0] == 404
        assert (await site.ask("/debug/dump", ADMIN))[0] == 404

    play(without, setting)


def test_a_handler_that_fails_is_an_internal_error() -> None:
    setting = Setting()

    def fail() -> Any:
        raise ValueError("a bug")

    setting.endpoints = replace(setting.endpoints, dump=fail)

    async def story(site: Site) -> None:
        assert (await site.ask("/debug/dump", ADMIN))[:2] == (500, "Internal Server Error\n")

    play(story, setting)


async def _sees_metrics(site: Site) -> None:
    assert (await site.ask("/metrics"))[0] == 200

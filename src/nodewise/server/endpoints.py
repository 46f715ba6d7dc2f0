"""What each path of the HTTPS endpoint answers."""

from __future__ import annotations

import asyncio
import json
import logging
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from nodewise import __version__
from nodewise.config.encode import configuration_document
from nodewise.config.model import KubeSchedulerConfiguration
from nodewise.server.health import Check, Endpoint, HealthMetrics
from nodewise.server.http_server import Handler, text_answer
from nodewise.server.logging import set_verbosity
from nodewise.server.state_metrics import KUBERNETES_VERSION

LOGGER = logging.getLogger("nodewise.http")
COMPONENT = "nodewise"
_WARNING = "Warning: for people who look into a problem; what is here and how it is written may change at any time."


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Everything that the endpoints tell of.

    Attributes
    ----------
    configuration : KubeSchedulerConfiguration
        In force.
    registry : CollectorRegistry
        Of /metrics.
    reset_metrics : Callable[[], None]
    resources : CollectorRegistry
        Of /metrics/resources; read by another thread, since there are many pods.
    is_leader : Callable[[], bool]
        Whether this process schedules: a standby tells nothing about resources.
    healthz, readyz : Sequence[Check]
        In order; /livez has `ping` alone.
    flags : Mapping[str, str]
        Their values, for /flagz.
    started : datetime
        When the process did.
    now : Callable[[], datetime]
    dump : Callable[[], Any] | None
        What cache and queue hold, as JSON values, for /debug/dump; None: there is no such path.
    """

    configuration: KubeSchedulerConfiguration
    registry: CollectorRegistry
    reset_metrics: Callable[[], None]
    resources: CollectorRegistry
    is_leader: Callable[[], bool]
    healthz: Sequence[Check]
    readyz: Sequence[Check]
    flags: Mapping[str, str]
    started: datetime
    now: Callable[[], datetime]
    dump: Callable[[], Any] | None = None

    def handlers(self) -> dict[str, Handler]:
        """Return what answers each path."""
        health = HealthMetrics()
        slis = CollectorRegistry(auto_describe=False)
        slis.register(health.families)
        found: dict[str, Handler] = {
            "/metrics": _metrics(self.registry, self.reset_metrics),
            "/metrics/resources": self._only_as_leader(_metrics(self.resources, lambda: None, in_thread=True)),
            "/metrics/slis": _metrics(slis, health.families.clear),
            "/configz": self._configz,
            "/flagz": self._flagz,
        }
        for name, checks in (("healthz", self.healthz), ("livez", ()), ("readyz", self.readyz)):
            found |= _health(Endpoint(name, checks, health))
        if self.configuration.enable_profiling:
            found["/debug/flags/v"] = _verbosity
            if self.dump is not None:
                found["/debug/dump"] = self._dump
        paths = sorted({"/" + path.split("/")[1] for path in [*found, "/statusz"]})
        found["/statusz"] = self._statusz(paths)
        return found

    def _only_as_leader(self, handler: Handler) -> Handler:
        async def serve(request: web.Request) -> web.Response:
            return await handler(request) if self.is_leader() else web.Response()

        return serve

    async def _configz(self, request: web.Request) -> web.Response:
        body = json.dumps({"componentconfig": configuration_document(self.configuration)})
        return text_answer(body, content_type="application/json", is_sniffable=False)

    async def _flagz(self, request: web.Request) -> web.Response:
        lines = [f"{name}={value}" for name, value in sorted(self.flags.items())]
        return text_answer("\n".join(["", f"{COMPONENT} flagz", _WARNING, *lines, ""]))

    async def _dump(self, request: web.Request) -> web.Response:
        assert self.dump is not None
        return text_answer(json.dumps(self.dump()), content_type="application/json", is_sniffable=False)

    def _statusz(self, paths: Sequence[str]) -> Handler:
        async def serve(request: web.Request) -> web.Response:
            seconds = int((self.now() - self.started).total_seconds())
            hours, minutes, seconds = seconds // 3600, seconds // 60 % 60, seconds % 60
            lines = [
                "",
                f"{COMPONENT} statusz",
                _WARNING,
                "",
                f"Started: {self.started.astimezone(UTC):%a %b %e %H:%M:%S UTC %Y}",
                f"Up: {hours} hr {minutes:02d} min {seconds:02d} sec",
                f"Python version: {platform.python_version()}",
                f"Binary version: {__version__}",
                f"Kubernetes version: {KUBERNETES_VERSION}",
                f"Paths: {' '.join(paths)}",
                "",
            ]
            return text_answer("\n".join(lines))

        return serve


def _metrics(registry: CollectorRegistry, reset: Callable[[], None], *, in_thread: bool = False) -> Handler:
    async def serve(request: web.Request) -> web.Response:
        if request.method == "DELETE":
            reset()
            return text_answer("metrics reset\n")
        text = await asyncio.to_thread(generate_latest, registry) if in_thread else generate_latest(registry)
        return text_answer(text.decode(), content_type=CONTENT_TYPE_PLAIN_0_0_4)

    return serve


def _health(endpoint: Endpoint) -> dict[str, Handler]:
    async def serve_all(request: web.Request) -> web.Response:
        report = endpoint.report(request.query.getall("exclude", []))
        if not report.is_passed:
            return text_answer(report.text, status=500, is_sniffable=False)
        return text_answer(report.text if "verbose" in request.query else "ok", is_sniffable=False)

    def one(check: Check) -> Handler:
        async def serve(request: web.Request) -> web.Response:
            problem = check.problem()
            if problem:
                return text_answer(f"internal server error: {problem}\n", status=500, is_sniffable=False)
            return text_answer("ok")

        return serve

    path = f"/{endpoint.name}"
    return {path: serve_all} | {f"{path}/{check.name}": one(check) for check in endpoint.checks}


async def _verbosity(request: web.Request) -> web.Response:
    """Set how much is logged, by PUT only (StringFlagPutHandler)."""
    if request.method != "PUT":
        return text_answer("unsupported http method\n", status=406, content_type="text/plain", is_sniffable=False)
    text = (await request.text()).strip()
    if not (text.isdecimal() and len(text) <= 2):
        answer = f"invalid content received: failed to set klog.logging.verbosity {text}: not a level\n"
        return text_answer(answer, status=400, content_type="text/plain", is_sniffable=False)
    set_verbosity(int(text))
    answer = f"successfully set klog.logging.verbosity to {text}"
    return text_answer(answer, content_type="text/plain", is_sniffable=False)

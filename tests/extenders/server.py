"""An extender behind HTTP with rules that depend on names only, so that every scheduler gets the same answers."""

import json
import ssl
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
Answer = Callable[[Json], Any]
"""What a verb makes of a request's body.

Bytes are sent as they are, an int is a status code without a body, and with `HANG_UP` the connection is closed at once.
"""
HANG_UP = object()


@dataclass
class ExtenderServer:
    """A running server.

    Attributes
    ----------
    url : str
        Where it listens.
    verbs : dict[str, Answer]
        What it answers, by the path after the last slash.
    requests : list[tuple[str, Any]]
        Paths and bodies, in the order they came.
    headers : list[dict[str, str]]
        The headers of each request, names in lower case.
    connections : set[Any]
        Addresses that requests came from: one for each connection.
    """

    url: str
    verbs: dict[str, Answer]
    requests: list[tuple[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    connections: set[Any] = field(default_factory=set)

    def bodies(self, verb: str) -> list[Any]:
        """Return the bodies that a verb got."""
        return [body for path, body in self.requests if path.rpartition("/")[2] == verb]


@contextmanager
def extender_server(verbs: dict[str, Answer], tls: ssl.SSLContext | None = None) -> Iterator[ExtenderServer]:
    """Serve the verbs on a port of the loopback interface."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as httpd:
        httpd.daemon_threads = True
        scheme = "http"
        if tls is not None:
            httpd.socket = tls.wrap_socket(httpd.socket, server_side=True)
            scheme = "https"
        server = ExtenderServer(f"{scheme}://127.0.0.1:{httpd.server_address[1]}", verbs)
        httpd.extender = server  # type: ignore[attr-defined]
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01}, name="extender")
        thread.start()
        try:
            yield server
        finally:
            httpd.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and content are written one after the other

    def do_GET(self) -> None:
        """Answer what a redirection makes of a POST."""
        self.do_POST()

    def do_POST(self) -> None:
        server: ExtenderServer = self.server.extender  # type: ignore[attr-defined]
        text = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        body = json.loads(text) if text else {}
        server.requests.append((self.path, body))
        server.headers.append({name.lower(): value for name, value in self.headers.items()})
        server.connections.add(self.client_address)
        verb: Answer = server.verbs.get(self.path.rpartition("/")[2], lambda body: 404)
        answer = verb(body)
        if answer is HANG_UP:
            self.close_connection = True
        elif isinstance(answer, int):
            self._reply(answer, b"")
        else:
            self._reply(200, answer if isinstance(answer, bytes) else json.dumps(answer).encode())

    def _reply(self, code: int, content: bytes) -> None:
        self.send_response(code)
        if code in (301, 302, 303, 307, 308):
            self.send_header("Location", "elsewhere")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


# --- rules ------------------------------------------------------------------------------------------------------------


def number_of(*names: str) -> int:
    """Return a number that depends on the names only."""
    return zlib.crc32("/".join(names).encode())


def pod_name(body: Json) -> str:
    """Return which pod a request is about."""
    metadata = body["Pod"]["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}"


def node_names(body: Json) -> list[str]:
    """Return which nodes a request is about."""
    if body["NodeNames"] is not None:
        return list(body["NodeNames"])
    return [node["metadata"]["name"] for node in body["Nodes"]["items"]]


def rules(salt: str, *, n_refused: int = 4) -> dict[str, Answer]:
    """Return the verbs of an extender that decides by names.

    Parameters
    ----------
    salt
        Makes one extender differ from another.
    n_refused
        How many of ten nodes it refuses: one without a word, one for now, one for good, one for now and for good.
    """

    def filter_(body: Json) -> Any:
        pod, names = pod_name(body), node_names(body)
        if number_of(salt, "error", pod) % 29 == 0:
            return {"Error": f"{salt} has no opinion on {pod}"}
        kinds = {name: number_of(salt, "filter", pod, name) % 10 for name in names}
        left = [name for name in names if kinds[name] >= n_refused]
        refused = {name: kind for name, kind in kinds.items() if kind < n_refused}
        answer: Json = {
            "FailedNodes": {name: f"{salt} refuses" for name, kind in refused.items() if kind in (1, 3)},
            "FailedAndUnresolvableNodes": {name: f"{salt} never" for name, kind in refused.items() if kind in (2, 3)},
        }
        if body["NodeNames"] is not None:
            return answer | {"NodeNames": left}
        items = {node["metadata"]["name"]: node for node in body["Nodes"]["items"]}
        return answer | {"Nodes": {"items": [items[name] for name in left]}}

    def prioritize(body: Json) -> Any:
        pod = pod_name(body)
        return [{"Host": n, "Score": number_of(salt, "score", pod, n) % 11} for n in node_names(body)]

    def preempt(body: Json) -> Any:
        pod, left = pod_name(body), {}
        for name, victims in (body["NodeNameToVictims"] or body["NodeNameToMetaVictims"] or {}).items():
            uids = [p["UID"] if "UID" in p else p["metadata"]["uid"] for p in victims["Pods"]]
            choice = number_of(salt, "preempt", pod, name) % 4
            if choice == 0:
                continue
            kept = uids[:-1] if choice == 1 and len(uids) > 1 else uids
            left[name] = {"Pods": [{"UID": uid} for uid in kept], "NumPDBViolations": victims["NumPDBViolations"]}
        return {"NodeNameToMetaVictims": left}

    return {"filter": filter_, "prioritize": prioritize, "preempt": preempt, "bind": lambda body: {"Error": ""}}

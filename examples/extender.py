"""An extender: keeps the pods of namespace `shop` off spot nodes, and likes zone eu-1c.

python examples/extender.py PORT [COMMAND ...] serves while the command runs, or until Ctrl-C.
"""

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def filter_nodes(body: Any) -> Any:
    """Answer which of the nodes the pod may go to, and why not to the others."""
    nodes = body["Nodes"]["items"]
    is_shop = body["Pod"]["metadata"]["namespace"] == "shop"
    spot = [node["metadata"]["name"] for node in nodes if is_shop and node["metadata"]["name"].startswith("spot-")]
    return {
        "Nodes": {"items": [node for node in nodes if node["metadata"]["name"] not in spot]},
        "FailedAndUnresolvableNodes": dict.fromkeys(spot, "the shop does not run on spot nodes"),
    }


def prioritize_nodes(body: Any) -> Any:
    """Answer a score of 0 to 10 for each node."""
    return [
        {"Host": node["metadata"]["name"], "Score": 10 if zone_of(node) == "eu-1c" else 5}
        for node in body["Nodes"]["items"]
    ]


def zone_of(node: Any) -> Any:
    """Return the node's zone, None without the label."""
    return node["metadata"].get("labels", {}).get("topology.kubernetes.io/zone")


VERBS = {"/filter": filter_nodes, "/prioritize": prioritize_nodes}


class Handler(BaseHTTPRequestHandler):
    """Answers POST /filter and POST /prioritize."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = json.dumps(VERBS[self.path](body)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


def main() -> None:
    """Serve while the command runs, or for good."""
    with ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler) as server:
        if len(sys.argv) == 2:
            server.serve_forever()
        threading.Thread(target=server.serve_forever, name="extender", daemon=True).start()
        status = subprocess.run(sys.argv[2:], check=False).returncode
        server.shutdown()
    sys.exit(status)


if __name__ == "__main__":
    main()

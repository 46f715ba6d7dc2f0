"""Records what kube-scheduler sends to extenders: ``python -m tests.extenders.record`` writes recorded.json."""

import json
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.extenders.server import Answer, ExtenderServer, Json, extender_server, node_names
from tests.oracle import Oracle, OracleError, find_oracle

HERE = Path(__file__).parent
CLUSTER = HERE / "cluster.yaml"
RECORDED = HERE / "recorded.json"
VERBS = ("filter", "prioritize", "preempt", "bind")


def configuration(server: ExtenderServer, *, node_cache_capable: bool, verbs: tuple[str, ...]) -> Json:
    """Return a configuration with one extender that takes part in these verbs."""
    extender: Json = {"urlPrefix": server.url, "weight": 1, "nodeCacheCapable": node_cache_capable}
    extender |= {f"{verb}Verb": verb for verb in verbs}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [extender],
    }


def agreeable() -> dict[str, Answer]:
    """Return an extender that agrees to everything."""

    def preempt(body: Json) -> Any:
        victims = body["NodeNameToVictims"] or body["NodeNameToMetaVictims"]
        return {
            "NodeNameToMetaVictims": {
                name: {"Pods": [{"UID": p["UID"] if "UID" in p else p["metadata"]["uid"]} for p in found["Pods"]]}
                for name, found in victims.items()
            }
        }

    return {
        "filter": lambda body: {"Nodes": body["Nodes"], "NodeNames": body["NodeNames"]},
        "prioritize": lambda body: [{"Host": name, "Score": 1} for name in node_names(body)],
        "preempt": preempt,
        "bind": lambda body: {},
    }


def unique(requests: list[tuple[str, Any]]) -> list[Json]:
    """Return requests without those that were made twice, sorted."""
    texts = {json.dumps({"path": path, "body": body}, sort_keys=True) for path, body in requests}
    return [json.loads(text) for text in sorted(texts)]


def record(oracle: Oracle) -> Json:
    """Return the cluster as stored, and the requests by mode."""
    recorded: Json = {"cluster": json.loads(oracle.admit(CLUSTER))}
    with tempfile.TemporaryDirectory() as folder:
        cluster, config = Path(folder, "cluster.json"), Path(folder, "config.json")
        cluster.write_text(json.dumps(recorded["cluster"]), encoding="utf-8")
        for mode in ("names", "nodes"):
            with extender_server(agreeable()) as server:
                document = configuration(server, node_cache_capable=mode == "names", verbs=VERBS[:3])
                config.write_text(json.dumps(document), encoding="utf-8")
                oracle.evaluate(cluster, config)
                recorded[mode] = unique(server.requests)
        with extender_server(agreeable()) as server:
            config.write_text(json.dumps(configuration(server, node_cache_capable=True, verbs=("bind",))))
            with suppress(OracleError):  # nobody tells its API of the bindings
                oracle.loop_decisions(cluster, config, patience_s=0.5)
            recorded["bind"] = [body for body in server.bodies("bind") if body["PodName"] == "small"][:1]
    return recorded


if __name__ == "__main__":
    RECORDED.write_text(json.dumps(record(find_oracle()), indent=1, sort_keys=True) + "\n", encoding="utf-8")
    sys.exit(0)

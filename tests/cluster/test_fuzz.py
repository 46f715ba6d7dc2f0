"""Arbitrary and damaged input ends in errors, never in an exception."""

import json
import time

from hypothesis import given, settings, strategies as st

from nodewise.cluster.load import LoadedCluster
from tests.cluster.yaml_text import load_text, node, pod

WHOLE = (
    pod("a")
    + "---\n"
    + node("node")
    + """---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, labels: &l {app: d}}
spec:
  replicas: 3
  selector: {matchLabels: *l}
  template:
    metadata: {labels: {<<: *l, tier: x}}
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {labelSelector: {matchLabels: *l}, topologyKey: z, matchLabelKeys: [tier]}
      tolerations: [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 30}]
      topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule}]
      containers:
      - {name: c, image: i, ports: [{containerPort: 80}], resources: {limits: {cpu: 1.5, memory: 1Gi}}}
"""
).encode()
WHOLE_JSON = json.dumps(
    {
        "apiVersion": "v1",
        "kind": "List",
        "items": [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "p", "labels": {"a": "b"}, "creationTimestamp": None},
                "spec": {
                    "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1", "memory": 1.5}}}],
                    "tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": None}],
                    "priority": 5,
                },
                "status": {"phase": "Pending"},
            }
        ],
    }
).encode()
LIMIT_S = 10
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def check(data: bytes) -> LoadedCluster:
    start = time.perf_counter()
    loaded = load_text(data)
    assert time.perf_counter() - start < LIMIT_S
    for error in loaded.errors:
        assert str(error).startswith("stdin")
        assert error.message
    return loaded


@given(st.binary(max_size=200))
def test_arbitrary_bytes_never_raise(data: bytes) -> None:
    check(data)


@given(st.text(alphabet="{}[]:,&*!|>-?'\"%#@` \n\ta1<", max_size=80))
def test_arbitrary_yaml_like_text_never_raises(text: str) -> None:
    check(text.encode())


@settings(max_examples=200)
@given(st.sampled_from([WHOLE, WHOLE_JSON]), st.data())
def test_damaged_documents_never_raise(whole: bytes, data: st.DataObject) -> None:
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(damaged) - 1))
        length = data.draw(st.integers(0, 12))
        damaged[start : start + length] = data.draw(
            st.binary(max_size=6) | st.sampled_from([b"null", b"-1", b"[]", b"{}"])
        )
    check(bytes(damaged))


@settings(max_examples=200)
@given(st.data())
def test_a_field_with_any_value_never_raises(data: st.DataObject) -> None:
    tree = json.loads(WHOLE_JSON)
    place = tree["items"][0]
    while True:
        key = data.draw(st.sampled_from(sorted(place))) if isinstance(place, dict) else 0
        inner = place[key]
        if not isinstance(inner, (dict, list)) or not inner or data.draw(st.booleans()):
            break
        place = inner
    place[key] = data.draw(JSON_VALUES)
    check(json.dumps(tree).encode())


@given(st.integers(1, len(WHOLE_JSON) - 1))
def test_truncated_json_is_an_error(length: int) -> None:
    assert check(WHOLE_JSON[:length]).errors

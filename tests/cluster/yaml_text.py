"""Small texts that the tests of this folder read."""

import io

from nodewise.cluster.load import LoadedCluster, load_cluster

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec: {containers: [{name: c, image: i}]}
"""
NODE = """\
apiVersion: v1
kind: Node
metadata: {name: NAME}
status: {allocatable: {cpu: 4, pods: 110}}
"""


def pod(name: str) -> str:
    return POD.replace("NAME", name)


def node(name: str) -> str:
    return NODE.replace("NAME", name)


def load_text(text: str | bytes) -> LoadedCluster:
    """Load a text as stdin."""
    data = text.encode() if isinstance(text, str) else text
    return load_cluster(["-"], stdin=io.BytesIO(data))


def pod_names(loaded: LoadedCluster) -> list[str]:
    return [pod.metadata.name for pod in loaded.objects.pods]

"""Prefers nodes that already have the pod's images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import ClassVar

import numpy as np

from nodewise.api.objects import Pod
from nodewise.framework.plugin import MAX_NODE_SCORE, Handle
from nodewise.state.columns import Columns, IntArray, Rows
from nodewise.state.dirty_log import Reads
from nodewise.state.snapshot import Snapshot

MEBIBYTE = 1 << 20
MIN_BYTES = 23 * MEBIBYTE
MAX_BYTES_PER_IMAGE = 1000 * MEBIBYTE


class ImageLocality:
    """Plugin ImageLocality; the state is the normalised names of the pod's images, duplicates counted."""

    name: ClassVar[str] = "ImageLocality"
    reads: ClassVar[Reads] = Reads.NODE | Reads.NODE_SET

    def __init__(self, args: object, handle: Handle) -> None:
        pass

    def class_key(self, pod: Pod) -> Hashable:
        return _images(pod)

    def compile(self, pod: Pod, snapshot: Snapshot) -> Counter[str]:
        return Counter(normalized_name(image) for image in _images(pod))

    def score(self, state: Counter[str], columns: Columns, rows: Rows) -> IntArray:
        """Rate the bytes already there, each image weighted by its spread (ImageLocality.Score).

        Returns
        -------
        scores : (n_rows,) int64
            0..100.
        """
        present_bytes = np.zeros(len(columns.alive[rows]), np.int64)
        for name, count in state.items():
            image = columns.image(name)
            spread = image.n_nodes[rows] / max(columns.n_nodes, 1)
            present_bytes += count * (image.size_bytes[rows] * spread).astype(np.int64)
        max_bytes = MAX_BYTES_PER_IMAGE * state.total()
        if max_bytes == 0:
            return present_bytes
        # Not np.clip: with a maximum below the minimum kube-scheduler lets the minimum win.
        present_bytes = np.where(present_bytes < MIN_BYTES, MIN_BYTES, np.minimum(present_bytes, max_bytes))
        return MAX_NODE_SCORE * (present_bytes - MIN_BYTES) // (max_bytes - MIN_BYTES)


def normalized_name(image: str) -> str:
    """Add the tag `latest` to a name without tag or digest (normalizedImageName)."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


def _images(pod: Pod) -> tuple[str, ...]:
    spec = pod.spec
    images = [container.image for container in spec.containers]
    if spec.init_containers:
        images += [container.image for container in spec.init_containers]
    if spec.volumes:
        images += [volume.image.reference for volume in spec.volumes if volume.image is not None]
    return tuple(images)

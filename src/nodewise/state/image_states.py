"""Which images are on which nodes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from nodewise.api.objects import ContainerImage


class ImageState(msgspec.Struct, gc=False):
    """An image that some node has.

    Attributes
    ----------
    size_bytes : int
        As the first node reported it; kept until no node has the image.
    nodes : set[str]
        Names of the nodes that have it.
    """

    size_bytes: int
    nodes: set[str]


class ImageStates:
    """All images by name.

    Attributes
    ----------
    version : int
        Grows when the size or the number of nodes of some image may have changed.
    """

    __slots__ = ("_states", "version")

    def __init__(self) -> None:
        self._states: dict[str, ImageState] = {}
        self.version = 0

    def __len__(self) -> int:
        return len(self._states)

    def get(self, name: str) -> ImageState | None:
        """Return the state of an image; None when no node has it."""
        return self._states.get(name)

    def replace(self, node_name: str, old: Sequence[ContainerImage], new: Sequence[ContainerImage]) -> None:
        """Take a node out of its old images and put it into its new ones."""
        if old == new:
            self._refresh_sizes(node_name, new)
            return
        for image in old:
            for name in image.names:
                state = self._states.get(name)
                if state is not None:
                    state.nodes.discard(node_name)
                    if not state.nodes:
                        del self._states[name]
        for image in new:
            for name in image.names:
                state = self._states.get(name)
                if state is None:
                    self._states[name] = ImageState(image.size_bytes, {node_name})
                else:
                    state.nodes.add(node_name)
        self.version += 1

    def _refresh_sizes(self, node_name: str, images: Sequence[ContainerImage]) -> None:
        """Do what taking the only node of an image out and putting it in again does: its size counts from now on."""
        seen: set[str] = set()
        for image in images:
            for name in image.names:
                state = self._states[name]
                if len(state.nodes) == 1 and name not in seen and state.size_bytes != image.size_bytes:
                    state.size_bytes = image.size_bytes
                    self.version += 1
                seen.add(name)

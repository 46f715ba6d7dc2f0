"""What is wrong with a scheduler configuration."""

from __future__ import annotations

from collections.abc import Iterable

from nodewise.errors import NodewiseError


class ConfigError(NodewiseError):
    """A configuration that kube-scheduler would refuse; the text is kube-scheduler's.

    Attributes
    ----------
    messages
        The single findings; the exception's own text joins several as `[a, b]`.
    """

    def __init__(self, messages: Iterable[str] | str) -> None:
        self.messages = (messages,) if isinstance(messages, str) else tuple(messages)
        super().__init__(aggregate(self.messages))


def aggregate(messages: Iterable[str]) -> str:
    """Join messages as one: a single one bare, several in brackets, each once (utilerrors.Aggregate)."""
    unique = list(dict.fromkeys(messages))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"

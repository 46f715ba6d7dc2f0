"""Log messages that keep their text and their values apart."""

from __future__ import annotations

import json
import logging
from typing import Any

LOGGER = logging.getLogger("nodewise.state")


class LogMessage:
    """A message with named values; a handler for people prints `str(record.msg)`, one for machines reads the fields.

    >>> print(LogMessage("Pod expired", pod="shop/cart", n=2))
    "Pod expired" pod="shop/cart" n=2
    """

    __slots__ = ("fields", "text")

    def __init__(self, text: str, **fields: Any) -> None:
        self.text = text
        self.fields = fields

    def __str__(self) -> str:
        parts = [json.dumps(self.text, ensure_ascii=False)]
        parts += [f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in self.fields.items()]
        return " ".join(parts)

"""Writes logs as Kubernetes' components do: klog's text, or JSON, with named values either way."""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import datetime
from typing import Any, TextIO

from nodewise.state.log_message import LogMessage

FORMATS = ("text", "json")
ROOT = logging.getLogger("nodewise")
DEBUG_FROM_V = 3
TRACE_FROM_V = 5
_LETTERS = {logging.CRITICAL: "F", logging.ERROR: "E", logging.WARNING: "W"}
_V_OF_LEVEL = {logging.DEBUG: 4}


def set_up_logging(format_: str, verbosity: int, stream: TextIO | None = None) -> None:
    """Write what nodewise logs to standard error from now on.

    Parameters
    ----------
    format_ : str
        `text` or `json`.
    verbosity : int
        That of `-v`: 0 tells what matters, 3 and more what happens, 5 and more everything.
    stream : TextIO | None
        Instead of standard error.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if format_ == "json" else KlogFormatter())
    for old in list(ROOT.handlers):
        ROOT.removeHandler(old)
    ROOT.addHandler(handler)
    ROOT.propagate = False
    set_verbosity(verbosity)


def set_verbosity(verbosity: int) -> None:
    """Change how much is logged."""
    if verbosity >= TRACE_FROM_V:
        ROOT.setLevel(1)
    else:
        ROOT.setLevel(logging.DEBUG if verbosity >= DEBUG_FROM_V else logging.INFO)


class KlogFormatter(logging.Formatter):
    """`I0102 15:04:05.000000   12345 file.py:67] "Message" name="value"`."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created)
        letter = _LETTERS.get(record.levelno, "I")
        head = f"{letter}{when:%m%d %H:%M:%S.%f} {os.getpid():>7} {record.filename}:{record.lineno}]"
        text = _klog_text(record.msg) if isinstance(record.msg, LogMessage) else record.getMessage()
        if record.exc_info:
            text = f"{text}\n{self.formatException(record.exc_info)}"
        return f"{head} {text}"


class JsonFormatter(logging.Formatter):
    """One object a line: `ts` in milliseconds since the epoch, `caller`, `msg`, `v` unless it is an error, values."""

    def format(self, record: logging.LogRecord) -> str:
        body: dict[str, Any] = {
            "ts": round(record.created * 1000, 3),
            "caller": f"{record.filename}:{record.lineno}",
        }
        message = record.msg
        body["msg"] = message.text if isinstance(message, LogMessage) else record.getMessage()
        if record.levelno < logging.WARNING:
            body["v"] = _V_OF_LEVEL.get(record.levelno, 0 if record.levelno >= logging.INFO else TRACE_FROM_V)
        else:
            body["level"] = record.levelname.lower()
        if isinstance(message, LogMessage):
            body |= {name: value for name, value in message.fields.items() if name not in body}
        if record.exc_info:
            body["stacktrace"] = self.formatException(record.exc_info)
        return json.dumps(body, ensure_ascii=False, default=str)


def _klog_text(message: LogMessage) -> str:
    parts = [json.dumps(message.text, ensure_ascii=False)]
    parts += [f"{name}={_klog_value(value)}" for name, value in message.fields.items()]
    return " ".join(parts)


def _klog_value(value: Any) -> str:
    """Write a value in quotes; one of several lines as it is, set off."""
    if isinstance(value, str) and "\n" in value:
        lines = "".join(f"\t{line}\n" for line in value.removesuffix("\n").split("\n"))
        return f"<\n{lines} >"
    return json.dumps(value, ensure_ascii=False, default=str)

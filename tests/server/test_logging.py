"""Logs in klog's text and as JSON, and what signals do."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import re
import signal
from collections.abc import Iterator

import pytest

from nodewise.server.logging import ROOT, set_up_logging, set_verbosity
from nodewise.server.signals import StopSignals, debugger_of, handled_signals
from nodewise.state.log_message import LogMessage
from nodewise.testing.builders import make_node, make_pod
from tests.scheduler.worlds import make_world, play_for

LOGGER = logging.getLogger("nodewise.test")


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    before = (list(ROOT.handlers), ROOT.level, ROOT.propagate)
    yield
    ROOT.handlers[:], ROOT.propagate = before[0], before[2]
    ROOT.setLevel(before[1])


def lines(stream: io.StringIO) -> list[str]:
    return stream.getvalue().splitlines()


def test_text_is_that_of_klog() -> None:
    stream = io.StringIO()
    set_up_logging("text", 0, stream)
    LOGGER.info(LogMessage("Cache mismatch", missedNodes=["a", "b"], n=2))
    LOGGER.warning("plain %s", "words")
    LOGGER.error(LogMessage("Failed", err='say "no"'))
    head = r"\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ test_logging\.py:\d+\] "
    first, second, third = lines(stream)
    assert re.fullmatch("I" + head + re.escape('"Cache mismatch" missedNodes=["a", "b"] n=2'), first)
    assert re.fullmatch("W" + head + "plain words", second)
    assert re.fullmatch("E" + head + re.escape(r'"Failed" err="say \"no\""'), third)


def test_a_value_of_several_lines_is_set_off() -> None:
    stream = io.StringIO()
    set_up_logging("text", 0, stream)
    LOGGER.info(LogMessage("Dump of cached NodeInfo", nodes="Node name: a\nDeleted: false\n"))
    assert lines(stream)[0].endswith('"Dump of cached NodeInfo" nodes=<')
    assert lines(stream)[1:] == ["\tNode name: a", "\tDeleted: false", " >"]


def test_json_keeps_text_and_values_apart() -> None:
    stream = io.StringIO()
    set_up_logging("json", 4, stream)
    LOGGER.info(LogMessage("Serving securely", address="0.0.0.0:10259"))
    LOGGER.debug("more %d", 3)
    try:
        raise ValueError("a bug")
    except ValueError as error:
        LOGGER.error(LogMessage("A handler failed", err=str(error)), exc_info=error)
    first, second, third = (json.loads(line) for line in lines(stream))
    assert first["msg"] == "Serving securely"
    assert first["address"] == "0.0.0.0:10259"
    assert first["v"] == 0
    assert 1e12 < first["ts"] < 1e14  # milliseconds
    assert re.fullmatch(r"test_logging\.py:\d+", first["caller"])
    assert (second["msg"], second["v"]) == ("more 3", 4)
    assert (third["err"], third["level"]) == ("a bug", "error")
    assert "v" not in third
    assert "ValueError: a bug" in third["stacktrace"]


def test_the_level_decides_how_much_is_told() -> None:
    stream = io.StringIO()
    set_up_logging("text", 2, stream)
    for verbosity, expected in ((2, 1), (3, 2), (5, 3)):
        stream.truncate(stream.seek(0))
        set_verbosity(verbosity)
        LOGGER.info("what matters")
        LOGGER.debug("what happens")
        LOGGER.log(5, "everything")
        assert len(lines(stream)) == expected, verbosity


def test_the_first_signal_stops_and_the_second_ends_at_once() -> None:
    done: list[object] = []
    signals = StopSignals(lambda: done.append("stop"), done.append)
    signals.receive(signal.SIGTERM)
    assert done == ["stop"]
    signals.receive(signal.SIGINT)
    assert done == ["stop", 1]


def test_signals_of_the_process_reach_their_functions() -> None:
    async def story() -> list[str]:
        heard: list[str] = []
        stopped = asyncio.Event()

        def fail() -> None:
            heard.append("dump")
            raise ValueError("a bug in the dump")

        with handled_signals(stopped.set, fail):
            os.kill(os.getpid(), signal.SIGUSR2)
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.wait_for(stopped.wait(), 10)
        return heard

    assert asyncio.run(story()) == ["dump"]


def test_the_dump_shows_nodes_with_their_pods_and_what_waits() -> None:
    stream = io.StringIO()
    set_up_logging("text", 3, stream)
    world = make_world([make_node("n1", cpu="1")], [make_pod("a"), make_pod("big", cpu="9")])
    play_for(world, 1)
    debugger_of(world.loop, lambda: [make_node("n1"), make_node("n2")]).run()
    text = stream.getvalue()
    assert '"Cache mismatch" missedNodes=["n2"] redundantNodes=[]' in text
    assert "\tNode name: n1\n\tDeleted: false\n" in text
    assert "\tname: a, namespace: default, uid: default/a" in text
    assert 'summary="activeQ:0; backoffQ:0; unschedulableEntities:1"' in text

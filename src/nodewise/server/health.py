"""Named checks behind /healthz, /livez and /readyz (apiserver's healthz)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nodewise.server.metric_catalog import HEALTH_CHECK, HEALTH_CHECKS
from nodewise.server.metric_values import Families
from nodewise.state.log_message import LogMessage

LOGGER = logging.getLogger("nodewise.health")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that has to be right.

    Attributes
    ----------
    name : str
    problem : Callable[[], str]
        Returns what is wrong, "" when nothing is.
    """

    name: str
    problem: Callable[[], str]


PING = Check("ping", lambda: "")


@dataclass(frozen=True, slots=True)
class Report:
    """What the checks of an endpoint came to.

    Attributes
    ----------
    is_passed : bool
    text : str
        What is answered to those who want to know all, and to everybody when a check failed.
    """

    is_passed: bool
    text: str


class Endpoint:
    """All checks of one path.

    Parameters
    ----------
    name : str
        `healthz`, `livez` or `readyz`.
    checks : Sequence[Check]
        In the order in which they are listed; none stands for `ping`.
    metrics : HealthMetrics
        Counts the results, for /metrics/slis.
    """

    def __init__(self, name: str, checks: Sequence[Check], metrics: HealthMetrics) -> None:
        self.name = name
        self.checks = tuple(checks) or (PING,)
        self._metrics = metrics

    def report(self, excluded: Sequence[str] = ()) -> Report:
        """Ask all checks but the excluded ones; why one fails is only said in the log."""
        left_out = set(excluded)
        lines: list[str] = []
        problems: dict[str, str] = {}
        for check in self.checks:
            if check.name in left_out:
                left_out.discard(check.name)
                lines.append(f"[+]{check.name} excluded: ok\n")
                continue
            problem = check.problem()
            self._metrics.observe(check.name, self.name, is_passed=not problem)
            if problem:
                problems[check.name] = problem
                lines.append(f"[-]{check.name} failed: reason withheld\n")
            else:
                lines.append(f"[+]{check.name} ok\n")
        if left_out:
            names = ", ".join(f'"{name}"' for name in sorted(left_out))
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}\n")
        if problems:
            LOGGER.info(LogMessage("Health check failed", endpoint=self.name, problems=problems))
            return Report(is_passed=False, text=f"{''.join(lines)}{self.name} check failed\n")
        return Report(is_passed=True, text=f"{''.join(lines)}{self.name} check passed\n")


class HealthMetrics:
    """Counts the results of checks.

    Attributes
    ----------
    families : Families
        To be registered with prometheus_client.
    """

    def __init__(self) -> None:
        self.families = Families()
        self._last = self.families.numbers(HEALTH_CHECK)
        self._results = self.families.numbers(HEALTH_CHECKS)

    def observe(self, check: str, endpoint: str, *, is_passed: bool) -> None:
        """Take in one result."""
        self._last.set((check, endpoint), int(is_passed))
        self._results.add((check, "success" if is_passed else "error", endpoint))

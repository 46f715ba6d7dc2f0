"""What all tests share: the oracle and the seed of the run."""

import os
from collections.abc import Generator
from pathlib import Path

import hypothesis
import pytest

from tests import seeds
from tests.oracle import find_oracle

# No deadlines: a busy machine is not a failure. The blob repeats a failing example.
hypothesis.settings.register_profile("nodewise", deadline=None, print_blob=True)
hypothesis.settings.register_profile(
    "deep",
    max_examples=5_000,
    deadline=None,
    print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "nodewise"))


def pytest_configure() -> None:
    """Choose the seed before pytest-xdist starts its workers."""
    seeds.base_seed()


def pytest_report_header() -> str:
    return f"nodewise: {seeds.VARIABLE}={seeds.base_seed()}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Name the seed in the report of every failure."""
    report = yield
    if report.failed:
        report.sections.append(("seed", f"to repeat: {seeds.VARIABLE}={seeds.base_seed()}"))
    return report


@pytest.fixture(scope="session")
def oracle() -> Path:
    """Give the path of the built oracle, which is built when it is missing; ``Oracle(path)`` calls it."""
    return find_oracle().binary


@pytest.fixture
def fresh_seed(request: pytest.FixtureRequest) -> int:
    """Give a seed of the test's own that differs from run to run."""
    return seeds.derived_seed(request.node.nodeid)

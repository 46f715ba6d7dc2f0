"""The real API server that the tests here talk to."""

from collections.abc import Iterator

import pytest

from tests.live import api_server as servers
from tests.live.api_server import ApiServer


@pytest.fixture(scope="session")
def api_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """Give a running API server with etcd, the same for all workers of pytest-xdist."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if base.name.startswith("popen-") else base) / "api-server"
    with servers.shared(folder) as server:
        yield server

"""The real API server is the one of the live tests."""

from tests.live.conftest import api_server

__all__ = ["api_server"]

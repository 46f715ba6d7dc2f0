"""`nodewise run`."""

from __future__ import annotations

import argparse

from nodewise.cli.main import EXIT_OK
from nodewise.errors import NodewiseError
from nodewise.server.options import run_options, write_configuration

_OF_EXTRA = frozenset({"aiohttp", "cryptography", "kubernetes_asyncio", "prometheus_client"})


class MissingPackageError(NodewiseError):
    """A package of the extra `live` is not installed."""


def run_live(arguments: argparse.Namespace) -> int:
    """Schedule until told to stop; return the exit code."""
    options = run_options(arguments)
    if options.write_config_to:
        write_configuration(options.write_config_to, options.configuration)
        return EXIT_OK
    try:
        from nodewise.server.run import run_scheduler
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _OF_EXTRA:
            raise
        raise MissingPackageError(
            f"run needs {package}, which is not installed: pip install 'nodewise[live]'"
        ) from error
    return run_scheduler(options)

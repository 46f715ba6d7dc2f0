"""Seeds: fresh in every run, repeatable by NODEWISE_SEED."""

import hashlib
import os

VARIABLE = "NODEWISE_SEED"


def base_seed() -> int:
    """Give the seed of this run; the first call chooses one unless NODEWISE_SEED is set.

    The choice goes into the environment, so that the worker processes of pytest-xdist share it.
    """
    if VARIABLE not in os.environ:
        os.environ[VARIABLE] = str(int.from_bytes(os.urandom(4), "big"))
    return int(os.environ[VARIABLE])


def derived_seed(*parts: object) -> int:
    """Give a 31-bit seed that depends on the seed of this run and on ``parts``."""
    text = repr((base_seed(), *parts)).encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:4], "big") >> 1

"""Every example in the documentation of the caches runs, and the caches work on their own."""

import doctest
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import nodewise.caches
from nodewise.caches import (
    EventRateLimit,
    ExpiringLRUCache,
    GetOrCreateCache,
    Indexer,
    Lister,
    LRUCache,
    SingleCache,
    ThreadSafeStore,
    TokenBucket,
)

PAGE = Path(__file__).parents[2] / "docs" / "caches.md"
CLASSES = [
    EventRateLimit,
    ExpiringLRUCache,
    GetOrCreateCache,
    Indexer,
    Lister,
    LRUCache,
    SingleCache,
    ThreadSafeStore,
    TokenBucket,
]
MODULES = [
    *(
        importlib.import_module(f"nodewise.caches.{found.name}")
        for found in pkgutil.iter_modules(nodewise.caches.__path__)
    ),
    importlib.import_module("nodewise.clock"),
    importlib.import_module("nodewise.testing.clock"),
]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_the_examples_of_a_module_run(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_class_has_an_example(cls: type) -> None:
    assert doctest.DocTestFinder(recurse=False).find(cls)[0].examples


def test_the_examples_of_the_page_run() -> None:
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert result.attempted
    assert result.failed == 0


def test_the_caches_load_nothing_heavy() -> None:
    code = "import sys, nodewise.caches; print(*sorted({'numpy', 'msgspec', 'yaml', 'rich'} & sys.modules.keys()))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    assert shown.strip() == ""

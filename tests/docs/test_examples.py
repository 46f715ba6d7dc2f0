"""What the README and the documentation show is what happens."""

import importlib
import re
from pathlib import Path

import pytest
import yaml

from examples.plugins.avoid_draining import AvoidDraining
from examples.plugins.keep_headroom import KeepHeadroom
from nodewise.testing.check_plugin import check_plugin
from tests.docs.markdown import ExampleError, is_shown, prose_of, run_page
from tests.oracle import PROJECT_ROOT

DOCS = PROJECT_ROOT / "docs"
PAGES = [PROJECT_ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")
_PLACE = re.compile(r"`(nodewise(?:\.\w+)+):([\w.]+)`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_shows_what_happens(page: Path, tmp_path: Path) -> None:
    run_page(page, tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_links_to_what_is_there(page: Path) -> None:
    missing = [link for link in _LINK.findall(prose_of(page)) if not (page.parent / link).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_names_modules_and_functions_that_exist(page: Path) -> None:
    for module, name in _PLACE.findall(page.read_text()):
        found = importlib.import_module(module)
        for part in name.split("."):
            assert hasattr(found, part), f"{page.name} names {module}:{name}"
            found = getattr(found, part)


def test_every_page_is_in_the_navigation() -> None:
    configuration = yaml.safe_load((PROJECT_ROOT / "mkdocs.yml").read_text())
    listed = {page for entry in configuration["nav"] for page in entry.values()}
    assert listed == {page.name for page in DOCS.glob("*.md")}


def test_the_plugins_of_the_examples_keep_to_the_contract() -> None:
    check_plugin(AvoidDraining)
    check_plugin(KeepHeadroom)
    check_plugin(KeepHeadroom, args={"percent": 30})


def test_a_text_that_differs_is_found() -> None:
    assert is_shown("a  \nb in 0.1 s\n", "a\nb in 7.25 s\n")
    assert is_shown("a\nb\nc\nd\n", "a\n...\nd\n")
    assert is_shown("a\n", "...\na\n")
    assert not is_shown("a\nb\n", "a\n")
    assert not is_shown("a\nc\n", "a\n...\nd\n")


@pytest.mark.parametrize(
    "text",
    [
        "```console\n$ echo a\nb\n```\n",
        "```console\n$ false\n$ echo $?\n0\n```\n",
        "```python\nraise ValueError\n```\n",
        "```python\n# examples/plugins/keep_headroom.py\nimport nothing\n```\n",
    ],
)
def test_a_page_that_shows_something_else_fails(text: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    (tmp_path / "work").mkdir()
    with pytest.raises(ExampleError):
        run_page(page, tmp_path / "work")

"""Write what commands print now into the pages: ``python -m tests.docs.refresh``.

Lines left out at the end of an output stay left out: standard error, and what comes after the last line that is shown.
An output with lines left out in between is for people to edit, and is only named.
"""

import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.docs.markdown import Step, blocks_of, is_shown, put_file, run, steps_of
from tests.docs.test_examples import PAGES
from tests.oracle import PROJECT_ROOT

ELLIPSIS = "...\n"


def main(argv: Sequence[str]) -> int:
    """Refresh the named pages, or all; exit code 1 says that some output is left to edit."""
    left = [place for page in map(Path, argv or map(str, PAGES)) for place in refresh(page)]
    for place in left:
        print(f"edit by hand: {place}")
    return 1 if left else 0


def refresh(page: Path) -> list[str]:
    """Rewrite the outputs on a page; return those that only a person can."""
    text, left = page.read_text(encoding="utf-8"), []
    with tempfile.TemporaryDirectory(prefix="nodewise-docs-") as folder:
        directory = Path(folder)
        (directory / "examples").symlink_to(PROJECT_ROOT / "examples")
        exit_code = 0
        for block in blocks_of(page):
            if block.language in ("yaml", "python"):
                put_file(block, directory, f"{page.name}:{block.line}")
            if block.language != "console":
                continue
            new = block.text
            for step in steps_of(block):
                command = f"(exit {exit_code}); {step.command}"
                printed, exit_code = run(command, directory)
                if is_shown(printed, step.expected):
                    continue
                if ELLIPSIS in step.expected.removesuffix(ELLIPSIS):
                    left.append(f"{page.name}:{block.line}: $ {step.command}")
                    continue
                shown = _shown(step, printed, command, directory)
                new = new.replace(f"{step.source}\n{step.expected}", f"{step.source}\n{shown}", 1)
            text = text.replace(block.text, new, 1)
    page.write_text(text, encoding="utf-8")
    return left


def _shown(step: Step, printed: str, command: str, directory: Path) -> str:
    if step.expected.endswith(ELLIPSIS):
        printed = run(f"{{ {command}; }} 2>/dev/null", directory)[0]
    lines = re.sub(r"[ \t]+$", "", printed, flags=re.MULTILINE).rstrip("\n") + "\n"
    return lines + ELLIPSIS if step.expected.endswith(ELLIPSIS) else lines


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

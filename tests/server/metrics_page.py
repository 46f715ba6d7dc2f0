"""The tables of docs/metrics.md: ``python -m tests.server.metrics_page`` writes them anew."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from nodewise.server import metric_catalog as catalog
from nodewise.server.metric_values import Description
from tests.oracle import PROJECT_ROOT

PAGE = PROJECT_ROOT / "docs" / "metrics.md"
UPSTREAM = json.loads((Path(__file__).parent / "kube_scheduler_metrics.json").read_text())
_MARK = "<!-- {name}: written by python -m tests.server.metrics_page -->"


def tables() -> dict[str, str]:
    """Return what stands behind each mark on the page."""
    ours = [description for description in catalog.METRICS if description.name.startswith("nodewise_")]
    shared = [description for description in catalog.METRICS if description not in ours]
    names = {description.name for description in (*catalog.METRICS, *catalog.SLI_METRICS, *catalog.RESOURCE_METRICS)}
    missing = sorted(f"`{name}`" for name in UPSTREAM if name not in names)
    return {
        "shared": _table(shared),
        "ours": _table(ours),
        "others": _table((*catalog.SLI_METRICS, *catalog.RESOURCE_METRICS)),
        "missing": "\n".join(_wrapped(", ".join(missing) + ".")) + "\n",
    }


def with_tables(text: str) -> str:
    """Return the page's text with its tables as they are now."""
    for name, table in tables().items():
        mark = _MARK.format(name=name)
        before, _, after = text.partition(mark)
        _, _, rest = after.removeprefix("\n\n").partition("\n\n")
        text = f"{before}{mark}\n\n{table}\n{rest}"
    return text


def _table(descriptions: Iterable[Description]) -> str:
    lines = ["| Metric | Labels | Meaning |", "|---|---|---|"]
    for described in descriptions:
        labels = ", ".join(described.labels) or "none"
        buckets = ""
        if described.bounds:
            buckets = f" {len(described.bounds)} buckets up to {described.bounds[-1]:.4g}."
        lines.append(f"| `{described.name}` ({described.kind.value}) | {labels} | {described.help}{buckets} |")
    return "\n".join(lines) + "\n"


def _wrapped(text: str, width: int = 120) -> list[str]:
    lines = [""]
    for word in text.split(" "):
        if len(lines[-1]) + len(word) + 1 > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text()))

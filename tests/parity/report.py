"""Compare many fresh random clusters, count what was compared, and write docs/parity.md (``make parity-report``).

A run that was interrupted goes on where it stopped, with the same seed, as long as the code is the same.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

from tests import seeds
from tests.oracle import BUILD_DIR, PROJECT_ROOT, Oracle, find_oracle
from tests.parity.choices import run_choice_trial
from tests.parity.comparison import compare
from tests.parity.figures import Figures, figures_of
from tests.parity.golden_use import cases_by_plugin
from tests.parity.page import FIGURES, PAGE, page_of, read_known_differences
from tests.parity.trial import PROFILES, Trial, cluster_file, large_trial_for, trial_for

LEDGER = BUILD_DIR / "parity-report.jsonl"
CHOICE_SHARE = 4
"""Of so many clusters one is also compared choice by choice."""
CHOICE_MAX_NODES = 300
EXIT_INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Task:
    """One cluster to compare."""

    profile: str
    number: int
    is_choice: bool

    @property
    def key(self) -> str:
        return f"{'choices ' if self.is_choice else ''}{self.profile} {self.number}"

    @property
    def trial(self) -> Trial:
        seed = seeds.derived_seed("report", self.is_choice, self.profile, self.number)
        if self.is_choice:
            return large_trial_for(self.profile, seed, CHOICE_MAX_NODES)
        return trial_for(self.profile, seed)


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a task."""

    key: str
    figures: Figures
    text: str


class Ledger:
    """Keeps what is done in a file, so that nothing is done twice.

    The file begins with the seed of the run and a fingerprint of the code; what another code or another seed left there
    is dropped.
    """

    def __init__(self, file: Path, code: str) -> None:
        self._file = file
        self.done: dict[str, Figures] = {}
        lines = _read_lines(file)
        head = lines[0] if lines else {}
        wanted = os.environ.get(seeds.VARIABLE, str(head.get("seed", "")))
        kept: list[dict[str, Any]] = []
        if head.get("code") == code and str(head.get("seed")) == wanted:
            os.environ[seeds.VARIABLE] = wanted
            kept = lines[1:]
        # Written anew, since the last line may have been cut off.
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"seed": seeds.base_seed(), "code": code}) + "\n", encoding="utf-8")
        for line in kept:
            self.add(line["key"], Figures.from_json(line["figures"]))

    def add(self, key: str, figures: Figures) -> None:
        """Note that a task is done."""
        self.done[key] = figures
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": key, "figures": figures.as_json()}) + "\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Compare, count and write the page; exit code 0 says that nothing differs, 130 that not all is done."""
    options = _parse(argv)
    if options.cases_only:
        record = json.loads(FIGURES.read_text(encoding="utf-8"))
        _write({**record, "cases": cases_by_plugin()})
        return 0
    oracle = find_oracle()
    ledger = Ledger(LEDGER, fingerprint())
    tasks = list(tasks_of(options.profiles, options.seeds))
    missing = [task for task in tasks if task.key not in ledger.done]
    kept = len(tasks) - len(missing)
    print(f"{len(tasks)} clusters, {kept} of them done before; {seeds.VARIABLE}={seeds.base_seed()}", flush=True)
    if not _compare_all(oracle, missing, ledger, options.jobs):
        print(f"\ninterrupted: {len(ledger.done)} clusters are kept for the next run", flush=True)
        return EXIT_INTERRUPTED
    record = record_of({task.key: ledger.done[task.key] for task in tasks}, options.seeds)
    _write(record)
    n_differences = sum(Figures.from_json(record["figures"]).differences.values())
    print(f"{n_differences} differences")
    return 1 if n_differences else 0


def _write(record: Mapping[str, Any]) -> None:
    FIGURES.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page_of(record, read_known_differences()), encoding="utf-8")
    print(f"{PAGE.relative_to(PROJECT_ROOT)} is written")


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.parity.report", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, metavar="N", help="clusters per profile (default: 200)")
    parser.add_argument("--profiles", default=",".join(PROFILES), help="comma-separated (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument(
        "--cases-only",
        action="store_true",
        help="count cases and write the page again, with the figures that are there",
    )
    options = parser.parse_args(argv)
    options.profiles = options.profiles.split(",")
    return options


def tasks_of(profiles: Sequence[str], n_seeds: int) -> Iterator[Task]:
    """List what a run of so many clusters a profile compares, profiles in turn."""
    for number in range(n_seeds):
        for profile in profiles:
            yield Task(profile, number, is_choice=False)
            if number % CHOICE_SHARE == 0:
                yield Task(profile, number, is_choice=True)


def record_of(done: Mapping[str, Figures], n_seeds: int) -> dict[str, Any]:
    """Sum up, and find out which cases exercise which plugin."""
    total = Figures()
    for figures in done.values():
        total.add(figures)
    return {
        "seed": seeds.base_seed(),
        "seeds_per_profile": n_seeds,
        "figures": total.as_json(),
        "cases": cases_by_plugin(),
    }


def fingerprint() -> str:
    """Return what changes when the code does that is compared, or that compares."""
    digest = hashlib.sha256()
    for folder in ("src", "tests/parity"):
        for file in sorted((PROJECT_ROOT / folder).rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _compare_all(oracle: Oracle, tasks: Sequence[Task], ledger: Ledger, n_jobs: int) -> bool:
    """Compare and note every cluster; False when somebody pressed Ctrl-C."""
    started = time.monotonic()
    with ProcessPoolExecutor(n_jobs) as pool:
        try:
            for n_done, done in enumerate(pool.map(_compare, repeat(oracle), tasks), start=1):
                ledger.add(done.key, done.figures)
                if done.text:
                    print(f"\n{done.text}", flush=True)
                _show_progress(n_done, len(tasks), time.monotonic() - started)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            return False
    return True


def _compare(oracle: Oracle, task: Task) -> Done:
    try:
        return _compare_choices(oracle, task) if task.is_choice else _compare_answers(oracle, task)
    except Exception:  # a crash on one cluster is a difference, not the end of the run
        figures = Figures(clusters=1)
        figures.differences["crashes"] = 1
        return Done(task.key, figures, f"{task.trial}\n  {task.trial.command}\n{traceback.format_exc()}")


def _compare_answers(oracle: Oracle, task: Task) -> Done:
    trial = task.trial
    with cluster_file(oracle, trial) as cluster:
        answers, outcome = compare(oracle, cluster, f"{trial}\n  {trial.command}")
    return Done(task.key, figures_of(answers, outcome), "" if outcome.is_equal and not outcome.notes else str(outcome))


def _compare_choices(oracle: Oracle, task: Task) -> Done:
    outcome = run_choice_trial(oracle, task.trial)
    figures = Figures(choice_clusters=1, choices=outcome.n_decisions)
    if n_differences := sum(map(len, outcome.differences.values())):
        figures.differences["choices"] = n_differences
    return Done(task.key, figures, "" if outcome.is_equal and not outcome.notes else str(outcome))


def _read_lines(file: Path) -> list[dict[str, Any]]:
    """Read what there is; the last line may have been cut off by whatever ended the run."""
    lines: list[dict[str, Any]] = []
    for text in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
        try:
            lines.append(json.loads(text))
        except json.JSONDecodeError:
            break
    return lines


def _show_progress(n_done: int, n_all: int, elapsed_s: float) -> None:
    is_terminal = sys.stdout.isatty()
    if is_terminal or n_done % 50 == 0 or n_done == n_all:
        left_s = elapsed_s / n_done * (n_all - n_done)
        line = f"{n_done}/{n_all} compared, {elapsed_s:.0f} s, about {left_s:.0f} s left"
        print(f"\r{line}  " if is_terminal else line, end="" if is_terminal and n_done < n_all else "\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())

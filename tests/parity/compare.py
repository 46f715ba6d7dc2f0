"""Compare nodewise with the real kube-scheduler on many fresh random clusters (``make parity``), or on given files.

With ``--tie-break kube`` the very nodes are compared that kube-scheduler takes among equals, out of its own sample.
"""

import argparse
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

from tests import seeds
from tests.oracle import BUILD_DIR, Oracle, find_oracle
from tests.parity.choices import ChoiceOutcome, compare_choices, run_choice_trial
from tests.parity.comparison import Outcome, compare_answers
from tests.parity.trial import PROFILES, Trial, cluster_of, large_trial_for, run_trial, trial_for

KEPT = BUILD_DIR / "parity"
KUBE = "kube"
MAX_NODES = 1000


@dataclass(frozen=True, slots=True)
class Report:
    """The words for a trial, whether both agreed, and whether there is something to know about the comparison."""

    trial: Trial
    is_equal: bool
    text: str
    has_notes: bool = False


def main(argv: Sequence[str] | None = None) -> int:
    """Run the trials that the command line asks for; exit code 0 says that nothing differs."""
    options = _parse(argv)
    oracle = find_oracle()
    if options.files:
        return _compare_files(oracle, options)
    trials = list(_trials(options))
    print(f"{len(trials)} clusters; {seeds.VARIABLE}={seeds.base_seed()}", flush=True)
    started = time.monotonic()
    failures: list[Report] = []
    with ProcessPoolExecutor(options.jobs) as pool:
        reports = pool.map(_report, repeat(oracle), trials, repeat(options.tie_break))
        for n_done, report in enumerate(reports, start=1):
            if not report.is_equal:
                failures.append(report)
                _keep(oracle, report)
            if report.has_notes or not report.is_equal:
                print(f"\n{report.text}", flush=True)
            _show_progress(n_done, len(trials), n_failed=len(failures), elapsed_s=time.monotonic() - started)
    _summarise(trials, failures)
    return 1 if failures else 0


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.parity.compare", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, metavar="N", help="clusters per profile (default: 200)")
    parser.add_argument("--profiles", default=",".join(PROFILES), help="comma-separated (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="one generator seed, to repeat a failure")
    parser.add_argument(
        "--tie-break",
        choices=("first", KUBE),
        default="first",
        help="first: every answer (default); kube: every choice",
    )
    parser.add_argument(
        "--max-nodes", type=int, default=MAX_NODES, metavar="N", help="with --tie-break kube (default: %(default)s)"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="clusters to compare instead")
    parser.add_argument("--config", type=Path, metavar="FILE", help="a KubeSchedulerConfiguration for the files")
    options = parser.parse_args(argv)
    options.profiles = options.profiles.split(",")
    return options


def _compare_files(oracle: Oracle, options: argparse.Namespace) -> int:
    if options.tie_break == KUBE:
        outcomes: Sequence[Outcome | ChoiceOutcome] = [
            compare_choices(oracle, file, str(file)) for file in options.files
        ]
    else:
        outcomes = [compare_answers(oracle, file, str(file), options.config) for file in options.files]
    for outcome in outcomes:
        print(outcome if outcome.notes or not outcome.is_equal else f"{outcome}: equal")
    return 0 if all(outcome.is_equal for outcome in outcomes) else 1


def _trials(options: argparse.Namespace) -> Iterator[Trial]:
    for number in range(1 if options.seed is not None else options.seeds):
        for profile in options.profiles:
            seed = seeds.derived_seed("parity", profile, number) if options.seed is None else options.seed
            if options.tie_break == KUBE:
                yield large_trial_for(profile, seed, options.max_nodes)
            else:
                yield trial_for(profile, seed)


def _report(oracle: Oracle, trial: Trial, tie_break: str) -> Report:
    try:
        outcome: Outcome | ChoiceOutcome = (
            run_choice_trial(oracle, trial) if tie_break == KUBE else run_trial(oracle, trial)
        )
    except Exception:  # a crash on one cluster is a finding, not the end of the run
        return Report(trial, is_equal=False, text=f"{trial}\n  {trial.command}\n{traceback.format_exc()}")
    return Report(trial, outcome.is_equal, str(outcome), bool(outcome.notes))


def _keep(oracle: Oracle, report: Report) -> None:
    KEPT.mkdir(parents=True, exist_ok=True)
    name = f"{report.trial.profile}-{report.trial.seed}"
    (KEPT / f"{name}.json").write_bytes(cluster_of(oracle, report.trial))
    (KEPT / f"{name}.txt").write_text(report.text + "\n", encoding="utf-8")


def _show_progress(n_done: int, n_all: int, *, n_failed: int, elapsed_s: float) -> None:
    is_terminal = sys.stdout.isatty()
    if is_terminal or n_done % 50 == 0 or n_done == n_all:
        line = f"{n_done}/{n_all} compared, {n_failed} differ, {elapsed_s:.0f} s"
        print(f"\r{line}" if is_terminal else line, end="" if is_terminal and n_done < n_all else "\n", flush=True)


def _summarise(trials: Sequence[Trial], failures: Sequence[Report]) -> None:
    for profile in dict.fromkeys(trial.profile for trial in trials):
        n_all = sum(trial.profile == profile for trial in trials)
        failed = [report.trial.seed for report in failures if report.trial.profile == profile]
        print(
            f"{profile:10} {n_all - len(failed)} of {n_all} equal", *(["- seeds that differ:", *failed] * bool(failed))
        )
    if failures:
        print(f"The clusters are in {_shown(KEPT)}. To repeat one: --seed SEED --profiles PROFILE")


def _shown(path: Path) -> str:
    return str(path.relative_to(BUILD_DIR.parent))


if __name__ == "__main__":
    sys.exit(main())

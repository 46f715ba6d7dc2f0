"""Compare nodewise with the real kube-scheduler on many fresh random clusters (``make parity``), or on given files."""

import argparse
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests import seeds
from tests.oracle import BUILD_DIR, Oracle, find_oracle
from tests.parity.comparison import compare_answers
from tests.parity.trial import PROFILES, Trial, cluster_of, run_trial, trial_for

KEPT = BUILD_DIR / "parity"


@dataclass(frozen=True, slots=True)
class Report:
    """The words for a trial, and whether both agreed."""

    trial: Trial
    is_equal: bool
    text: str


def main(argv: Sequence[str] | None = None) -> int:
    """Run the trials that the command line asks for; exit code 0 says that nothing differs."""
    options = _parse(argv)
    oracle = find_oracle()
    if options.files:
        return _compare_files(oracle, options.files, options.config)
    trials = list(_trials(options.profiles, options.seeds, options.seed))
    print(f"{len(trials)} clusters; {seeds.VARIABLE}={seeds.base_seed()}", flush=True)
    started = time.monotonic()
    failures: list[Report] = []
    with ProcessPoolExecutor(options.jobs) as pool:
        reports = pool.map(_report, [oracle] * len(trials), trials)
        for n_done, report in enumerate(reports, start=1):
            if not report.is_equal:
                failures.append(report)
                _keep(oracle, report)
                print(f"\n{report.text}", flush=True)
            _show_progress(n_done, len(trials), n_failed=len(failures), elapsed_s=time.monotonic() - started)
    _summarise(trials, failures)
    return 1 if failures else 0


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.parity.compare", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, metavar="N", help="clusters per profile (default: 200)")
    parser.add_argument("--profiles", default=",".join(PROFILES), help="comma-separated (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="one generator seed, to repeat a failure")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="clusters to compare instead")
    parser.add_argument("--config", type=Path, metavar="FILE", help="a KubeSchedulerConfiguration for the files")
    options = parser.parse_args(argv)
    options.profiles = options.profiles.split(",")
    return options


def _compare_files(oracle: Oracle, files: Sequence[Path], config: Path | None) -> int:
    outcomes = [compare_answers(oracle, file, str(file), config) for file in files]
    for outcome in outcomes:
        print(outcome if outcome.stopped_at or not outcome.is_equal else f"{outcome}: equal")
    return 0 if all(outcome.is_equal for outcome in outcomes) else 1


def _trials(profiles: Sequence[str], n_seeds: int, only_seed: int | None) -> Iterator[Trial]:
    for number in range(1 if only_seed is not None else n_seeds):
        for profile in profiles:
            seed = seeds.derived_seed("parity", profile, number) if only_seed is None else only_seed
            yield trial_for(profile, seed)


def _report(oracle: Oracle, trial: Trial) -> Report:
    try:
        outcome = run_trial(oracle, trial)
    except Exception:  # a crash on one cluster is a finding, not the end of the run
        return Report(trial, is_equal=False, text=f"{trial}\n  {trial.command}\n{traceback.format_exc()}")
    return Report(trial, outcome.is_equal, str(outcome))


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

"""One cluster put to the oracle and to nodewise, and what they answer differently."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.command import nodewise
from tests.oracle import Oracle
from tests.parity.differences import Difference, evaluation_differences, given_up_at, placement_differences

N_SHOWN = 12
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a comparison found: nothing, when both agree.

    Attributes
    ----------
    title : str
        Which cluster this is about, and how to get it again.
    evaluation, placement : list[Difference]
    stopped_at : str
        The pod where the oracle gave up, so that placements from there on say nothing; empty when it did not.
    refused : tuple[str, ...]
        What nodewise refuses of the input; the oracle takes all of it.
    is_second : bool
        Whether this is about the oracle's second answer, after a first one that was another.
    """

    title: str
    evaluation: list[Difference]
    placement: list[Difference]
    stopped_at: str = ""
    refused: tuple[str, ...] = ()
    is_second: bool = False

    @property
    def notes(self) -> list[str]:
        """What to know about the comparison: where it ended early, and why."""
        notes = ["the oracle answered otherwise when it was asked again, and that is compared"] * self.is_second
        if self.stopped_at:
            notes.append(f"simulate: compared up to pod {self.stopped_at}, where the oracle gives up")
        return notes

    @property
    def is_equal(self) -> bool:
        return not self.evaluation and not self.placement and not self.refused

    def __str__(self) -> str:
        parts = [self.title, *self.notes]
        parts += [f"refused: {error}" for error in self.refused[:N_SHOWN]]
        for title, found in (("explain --all", self.evaluation), ("simulate", self.placement)):
            if found:
                parts.append(f"{title}: {len(found)} differences")
                parts += [f"  {difference}" for difference in found[:N_SHOWN]]
            if len(found) > N_SHOWN:
                parts.append(f"  ... and {len(found) - N_SHOWN} more")
        return "\n".join(parts)


@dataclass(frozen=True, slots=True)
class Answers:
    """What both say about one cluster.

    Attributes
    ----------
    judged_by_oracle, placed_by_oracle : list[Json]
        Lines of `oracle evaluate` and `oracle schedule`.
    judged, placed : list[Json]
        Lines of `nodewise explain --all`, and the pods of `nodewise simulate`.
    refused : tuple[str, ...]
        Objects that nodewise refuses.
    """

    judged_by_oracle: list[Json]
    placed_by_oracle: list[Json]
    judged: list[Json]
    placed: list[Json]
    refused: tuple[str, ...]


def ask_both(oracle: Oracle, cluster: Path, config: Path | None = None) -> Answers:
    """Put one cluster to both, under one KubeSchedulerConfiguration or the default one."""
    # fmt: off
    flags = [
        str(cluster), "--workloads", "ignore", "--percentage-of-nodes-to-score", "100",
        *(["--config", str(config)] if config is not None else []),
    ]
    # fmt: on
    judged = nodewise("explain", *flags, "--all", "-o", "jsonl").json_lines()
    placed = nodewise("simulate", *flags, "-o", "json", "--tie-break", "first").json()
    return Answers(
        oracle.evaluate(cluster, config),
        oracle.schedule(cluster, config),
        judged,
        placed["pods"],
        tuple(f"{error['object']}: {error['field']}: {error['message']}" for error in placed["inputErrors"]),
    )


def differences_between(answers: Answers, title: str) -> Outcome:
    """Compare every answer."""
    return Outcome(
        title,
        evaluation_differences(answers.judged_by_oracle, answers.judged),
        placement_differences(answers.placed_by_oracle, answers.placed),
        given_up_at(answers.placed_by_oracle),
        answers.refused,
    )


def compare(oracle: Oracle, cluster: Path, title: str, config: Path | None = None) -> tuple[Answers, Outcome]:
    """Put one cluster to both and compare every answer.

    A difference counts when the oracle repeats its answer. On a busy machine it may go on to the next pod before
    kube-scheduler has seen that the last one's devices were given back.
    """
    answers = ask_both(oracle, cluster, config)
    outcome = differences_between(answers, title)
    if outcome.is_equal:
        return answers, outcome
    judged, placed = oracle.evaluate(cluster, config), oracle.schedule(cluster, config)
    if (judged, placed) == (answers.judged_by_oracle, answers.placed_by_oracle):
        return answers, outcome
    answers = replace(answers, judged_by_oracle=judged, placed_by_oracle=placed)
    return answers, replace(differences_between(answers, title), is_second=True)


def compare_answers(oracle: Oracle, cluster: Path, title: str, config: Path | None = None) -> Outcome:
    """Put one cluster to both, under one KubeSchedulerConfiguration or the default one, and compare every answer."""
    return compare(oracle, cluster, title, config)[1]

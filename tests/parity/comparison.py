"""One cluster put to the oracle and to nodewise, and what they answer differently."""

from dataclasses import dataclass
from pathlib import Path

from tests.command import nodewise
from tests.oracle import Oracle
from tests.parity.differences import Difference, evaluation_differences, given_up_at, placement_differences

N_SHOWN = 12


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
    """

    title: str
    evaluation: list[Difference]
    placement: list[Difference]
    stopped_at: str = ""
    refused: tuple[str, ...] = ()

    @property
    def is_equal(self) -> bool:
        return not self.evaluation and not self.placement and not self.refused

    def __str__(self) -> str:
        parts = [self.title]
        if self.stopped_at:
            parts.append(f"simulate: compared up to pod {self.stopped_at}, where the oracle gives up")
        parts += [f"refused: {error}" for error in self.refused[:N_SHOWN]]
        for title, found in (("explain --all", self.evaluation), ("simulate", self.placement)):
            if found:
                parts.append(f"{title}: {len(found)} differences")
                parts += [f"  {difference}" for difference in found[:N_SHOWN]]
            if len(found) > N_SHOWN:
                parts.append(f"  ... and {len(found) - N_SHOWN} more")
        return "\n".join(parts)


def compare_answers(oracle: Oracle, cluster: Path, title: str, config: Path | None = None) -> Outcome:
    """Put one cluster to both, under one KubeSchedulerConfiguration or the default one, and compare every answer."""
    # fmt: off
    flags = [
        str(cluster), "--workloads", "ignore", "--percentage-of-nodes-to-score", "100",
        *(["--config", str(config)] if config is not None else []),
    ]
    # fmt: on
    judged = nodewise("explain", *flags, "--all", "-o", "jsonl")
    placed = nodewise("simulate", *flags, "-o", "json", "--tie-break", "first")
    result = placed.json()
    scheduled = oracle.schedule(cluster, config)
    return Outcome(
        title,
        evaluation_differences(oracle.evaluate(cluster, config), judged.json_lines()),
        placement_differences(scheduled, result["pods"]),
        given_up_at(scheduled),
        tuple(f"{error['object']}: {error['field']}: {error['message']}" for error in result["inputErrors"]),
    )

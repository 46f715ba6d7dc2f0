"""Counters, gauges and histograms that cost a fraction of a microsecond; prometheus_client only writes them out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

Labels = tuple[str, ...]
MAX_PENDING = 4096


class Kind(Enum):
    """What a metric is."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Description:
    """One metric.

    Attributes
    ----------
    name : str
        In full, `_total` included.
    kind : Kind
    help : str
    labels : tuple[str, ...]
    bounds : tuple[float, ...]
        Upper bounds of a histogram's buckets, ascending.
    """

    name: str
    kind: Kind
    help: str
    labels: Labels = ()
    bounds: tuple[float, ...] = ()


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Return bounds of which each is so many times the one before.

    >>> exponential(1, 2, 4)
    (1.0, 2.0, 4.0, 8.0)
    """
    bounds = [float(start)]
    for _ in range(count - 1):
        bounds.append(bounds[-1] * factor)
    return tuple(bounds)


def _bound_text(bound: float) -> str:
    """Write a bound as Go does."""
    return "+Inf" if bound == float("inf") else f"{bound:g}" if float(f"{bound:g}") == bound else repr(bound)


class Distribution:
    """The values of one set of labels, in buckets.

    Values are put into buckets many at a time.

    Attributes
    ----------
    note : Callable[[float], None]
        Takes in a value at the cost of appending it to a list; `settle` must follow now and then.
    """

    __slots__ = ("_bounds", "_counts", "_pending", "_total", "note")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = np.array(bounds, np.float64)
        self._pending: list[float] = []
        self.note = self._pending.append
        self.clear()

    def observe(self, value: float) -> None:
        """Take in a value."""
        self.note(value)
        if len(self._pending) >= MAX_PENDING:
            self.settle()

    def settle(self) -> None:
        """Put what was noted into the buckets."""
        if self._pending:
            values = np.array(self._pending, np.float64)
            self._pending.clear()
            places = np.searchsorted(self._bounds, values, side="left")
            self._counts += np.bincount(places, minlength=len(self._counts))
            self._total += float(values.sum())

    def clear(self) -> None:
        """Begin anew."""
        self._pending.clear()
        self._counts = np.zeros(len(self._bounds) + 1, np.int64)
        self._total = 0.0

    @property
    def total(self) -> float:
        """The sum of all values."""
        self.settle()
        return self._total

    @property
    def count(self) -> int:
        """The number of values."""
        self.settle()
        return int(self._counts.sum())

    def buckets(self) -> Iterator[tuple[str, float]]:
        """Return every bound as Prometheus writes it with the number of values up to it."""
        self.settle()
        for bound, n_values in zip(
            (*self._bounds.tolist(), float("inf")), np.cumsum(self._counts).tolist(), strict=True
        ):
            yield _bound_text(bound), n_values


class Numbers:
    """A counter or a gauge.

    Attributes
    ----------
    values : dict[tuple[str, ...], float]
        By the values of its labels.
    """

    __slots__ = ("description", "values")

    def __init__(self, description: Description) -> None:
        self.description = description
        self.values: dict[Labels, float] = {}
        self.clear()

    def add(self, labels: Labels, amount: float = 1) -> None:
        """Add to one value."""
        self.values[labels] = self.values.get(labels, 0) + amount

    def set(self, labels: Labels, value: float) -> None:
        """Replace one value."""
        self.values[labels] = value

    def clear(self) -> None:
        """Begin anew."""
        self.values.clear()
        if not self.description.labels:
            self.values[()] = 0

    def family(self) -> Metric:
        """Return everything in the form that prometheus_client writes out."""
        described = self.description
        return numbers_family(described, self.values.items())


class Histogram:
    """A histogram; each set of labels has a `Distribution`.

    Attributes
    ----------
    distributions : dict[tuple[str, ...], Distribution]
        By the values of its labels.
    """

    __slots__ = ("description", "distributions")

    def __init__(self, description: Description) -> None:
        self.description = description
        self.distributions: dict[Labels, Distribution] = {}
        self.clear()

    def at(self, labels: Labels) -> Distribution:
        """Return the distribution of some labels, which is made if it is new."""
        found = self.distributions.get(labels)
        if found is None:
            found = self.distributions[labels] = Distribution(self.description.bounds)
        return found

    def clear(self) -> None:
        """Begin anew; the one distribution of a histogram without labels stays the same object."""
        if self.description.labels:
            self.distributions.clear()
        else:
            self.at(()).clear()

    def family(self) -> Metric:
        """Return everything in the form that prometheus_client writes out."""
        described = self.description
        family = HistogramMetricFamily(described.name, described.help, labels=described.labels)
        for labels, distribution in sorted(self.distributions.items()):
            family.add_metric(labels, list(distribution.buckets()), distribution.total)
        return family


def numbers_family(description: Description, values: Iterable[tuple[Labels, float]]) -> Metric:
    """Return the values of a counter or gauge in the form that prometheus_client writes out."""
    is_counter = description.kind is Kind.COUNTER
    maker = CounterMetricFamily if is_counter else GaugeMetricFamily
    family: Metric = maker(description.name, description.help, labels=description.labels)
    for labels, value in sorted(values):
        family.add_sample(description.name, dict(zip(description.labels, labels, strict=True)), value)
    return family


class Families(Collector):
    """Metrics by name, for a registry of prometheus_client."""

    def __init__(self) -> None:
        self._families: list[Numbers | Histogram] = []
        self._counts: list[tuple[Description, Histogram]] = []

    def numbers(self, description: Description) -> Numbers:
        """Add a counter or a gauge."""
        made = Numbers(description)
        self._families.append(made)
        return made

    def histogram(self, description: Description) -> Histogram:
        """Add a histogram."""
        made = Histogram(description)
        self._families.append(made)
        return made

    def count_of(self, description: Description, histogram: Histogram) -> None:
        """Add a counter that says how many values a histogram of the same labels has taken in."""
        self._counts.append((description, histogram))

    def clear(self) -> None:
        """Begin all anew, gauges excepted: what they say goes on."""
        for family in self._families:
            if family.description.kind is not Kind.GAUGE:
                family.clear()

    def settle(self) -> None:
        """Put all values that were noted into their buckets."""
        for family in self._families:
            if isinstance(family, Histogram):
                for distribution in family.distributions.values():
                    distribution.settle()

    def collect(self) -> Iterable[Metric]:
        """Return everything as it is now."""
        counts = (
            numbers_family(description, ((labels, found.count) for labels, found in of.distributions.items()))
            for description, of in self._counts
        )
        return [*counts, *(family.family() for family in self._families)]

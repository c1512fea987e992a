"""A Result: every system's values, per query and in summary, with what must be known beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankproof._data.arrays import FloatArray
from rankproof._evaluation.notes import Note
from rankproof._extras import extra
from rankproof.errors import UsageError
from rankproof.measures._base import Measure, SummaryKind
from rankproof.measures._parse import parse_measure

if TYPE_CHECKING:
    import pandas
    import polars


@dataclass(frozen=True, eq=False, slots=True)
class MeasureResult:
    """One measure of one system: its summary, and its value for each query that the summary runs over."""

    measure: Measure
    value: float
    query_ids: tuple[str, ...]
    values: FloatArray

    @property
    def summary(self) -> SummaryKind:
        """Whether the value is a mean, a sum or a geometric mean."""
        return self.measure.summary

    @property
    def queries(self) -> int:
        """How many queries the summary runs over."""
        return len(self.query_ids)

    @property
    def per_query(self) -> dict[str, float]:
        """Query to value."""
        return dict(zip(self.query_ids, self.values.tolist(), strict=True))


@dataclass(frozen=True, eq=False, slots=True)
class SystemResult:
    """One system: its measures by name, in the order asked for, its notes, and the depth that its rankings were cut at."""

    name: str
    measures: Mapping[str, MeasureResult]
    notes: tuple[Note, ...]
    depth: int | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Result:
    """What an evaluation found; `queries` are all that were judged."""

    queries: tuple[str, ...]
    systems: tuple[SystemResult, ...]

    @property
    def means(self) -> dict[str, dict[str, float]]:
        """System to measure to summary (a mean, but for the measures that are summed or geometric)."""
        return {system.name: {name: one.value for name, one in system.measures.items()} for system in self.systems}

    @property
    def notes(self) -> dict[str, tuple[Note, ...]]:
        """System to its notes."""
        return {system.name: system.notes for system in self.systems}

    def per_query(self, system: str | None = None) -> dict[str, dict[str, float]]:
        """Measure to query to value; the system may be left out where there is one only."""
        return {name: one.per_query for name, one in self._system(system).measures.items()}

    def value(self, measure: Measure | str, system: str | None = None) -> float:
        """One summary, by the measure's name in any spelling."""
        name = str(parse_measure(measure) if isinstance(measure, str) else measure)
        measures = self._system(system).measures
        if name not in measures:
            raise UsageError(f"{name} was not evaluated", fix=f"choose from: {', '.join(measures)}")
        return measures[name].value

    def to_pandas(self) -> pandas.DataFrame:
        """Every value as a row (system, query, measure, value) of a pandas frame."""
        with extra("pandas"):
            import pandas
        return pandas.DataFrame(self._columns())

    def to_polars(self) -> polars.DataFrame:
        """Every value as a row (system, query, measure, value) of a polars frame."""
        with extra("polars"):
            import polars
        return polars.DataFrame(self._columns())

    def _system(self, name: str | None) -> SystemResult:
        chosen = [system for system in self.systems if name is None or system.name == name]
        if len(chosen) != 1:
            names = ", ".join(system.name for system in self.systems)
            what = "which system?" if name is None else f"no system is called {name}"
            raise UsageError(what, fix=f"choose from: {names}")
        return chosen[0]

    def _columns(self) -> dict[str, list[str] | list[float]]:
        flat = [(system.name, name, one) for system in self.systems for name, one in system.measures.items()]
        return {
            "system": [system for system, _, one in flat for _ in one.query_ids],
            "query": [query for _, _, one in flat for query in one.query_ids],
            "measure": [name for _, name, one in flat for _ in one.query_ids],
            "value": [value for _, _, one in flat for value in one.values.tolist()],
        }

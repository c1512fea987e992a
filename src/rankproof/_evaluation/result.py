"""Results of an evaluation: values for each query, summaries and notes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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

    from rankproof._evaluation.inputs import EvaluationInput


@dataclass(frozen=True, eq=False, slots=True)
class MeasureResult:
    """One measure of one system: its summary, and its value for each query of the summary, weighted if there are weights."""

    measure: Measure
    value: float
    query_ids: tuple[str, ...]
    values: FloatArray
    weights: FloatArray | None = None

    @property
    def summary(self) -> SummaryKind:
        """Whether the value is a mean, a sum or a geometric mean."""
        return self.measure.summary

    @property
    def queries(self) -> int:
        """The number of queries of the summary."""
        return len(self.query_ids)

    @property
    def per_query(self) -> dict[str, float]:
        """Query to value."""
        return dict(zip(self.query_ids, self.values.tolist(), strict=True))


@dataclass(frozen=True, eq=False, slots=True)
class SystemResult:
    """One system: its measures by name, its notes, and the depth at which its rankings were truncated."""

    name: str
    measures: Mapping[str, MeasureResult]
    notes: tuple[Note, ...]
    depth: int | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Result:
    """The result of an evaluation; `queries` are all judged queries."""

    queries: tuple[str, ...]
    systems: tuple[SystemResult, ...]
    _inputs: EvaluationInput | None = field(init=False, default=None)

    @property
    def weights(self) -> dict[str, float] | None:
        """Query to its weight; None if all count the same."""
        firsts = [next(iter(system.measures.values()), None) for system in self.systems]
        pairs = [(one.query_ids, one.weights.tolist()) for one in firsts if one is not None and one.weights is not None]
        return {query: weight for ids, weights in pairs for query, weight in zip(ids, weights, strict=True)} or None

    @property
    def means(self) -> dict[str, dict[str, float]]:
        """System to measure to summary: a mean, or for some measures a sum or geometric mean."""
        return {system.name: {name: one.value for name, one in system.measures.items()} for system in self.systems}

    @property
    def notes(self) -> dict[str, tuple[Note, ...]]:
        """System to its notes."""
        return {system.name: system.notes for system in self.systems}

    def per_query(self, system: str | None = None) -> dict[str, dict[str, float]]:
        """Measure to query to value; with one system, its name may be left out."""
        return {name: one.per_query for name, one in self._system(system).measures.items()}

    def value(self, measure: Measure | str, system: str | None = None) -> float:
        """One summary, by the measure or its name in any spelling."""
        name = str(parse_measure(measure) if isinstance(measure, str) else measure)
        measures = self._system(system).measures
        if name not in measures:
            raise UsageError(f"{name} was not evaluated", fix=f"choose from: {', '.join(measures)}")
        return measures[name].value

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas data frame with a row (system, query, measure, value) for each value."""
        with extra("pandas"):
            import pandas
        return pandas.DataFrame(self._columns())

    def to_polars(self) -> polars.DataFrame:
        """A polars data frame with a row (system, query, measure, value) for each value."""
        with extra("polars"):
            import polars
        return polars.DataFrame(self._columns())

    def _system(self, name: str | None) -> SystemResult:
        chosen = [system for system in self.systems if name is None or system.name == name]
        if len(chosen) != 1:
            names = ", ".join(system.name for system in self.systems)
            what = "there are several systems" if name is None else f"no system is called {name}"
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


def with_inputs(result: Result, inputs: EvaluationInput) -> Result:
    """The result with the judgements and runs that were evaluated, which comparisons and explanations need."""
    found = replace(result)
    object.__setattr__(found, "_inputs", inputs)
    return found


def inputs_of(result: Result) -> EvaluationInput | None:
    """The judgements and runs that were evaluated; None if only the values are known."""
    return result._inputs

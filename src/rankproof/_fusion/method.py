"""Fusion methods: their records, their table, and their parameters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from rankproof._data.arrays import BoolArray, FloatArray, IntArray, list_numbers, list_places
from rankproof._data.text import pluralise
from rankproof._data.view import View, Viewed, collection_view
from rankproof._fusion.candidates import CandidateTable, NormalisedScores
from rankproof._fusion.kernels import column_sums
from rankproof._fusion.normalisations import NORMALISATIONS, RESERVED_NAMES
from rankproof._registry import Option, RecordTable, Setting, chosen_values, own_parameters, settings_of
from rankproof.errors import UsageError

if TYPE_CHECKING:
    from rankproof._data.table import ColumnKind

Fitted = tuple[tuple[float, ...], ...]
"""What a trained method learned: numbers for each run."""


@dataclass(frozen=True, repr=False)
class FittedFusion(Viewed):
    """What a trained method learned: `values` has numbers for each run, for an experiment file or another fusion."""

    method: str
    values: Fitted

    def _view(self) -> View:
        title = f"{self.method}, fitted on {pluralise(len(self.values), 'run')}"
        cells = ((run, at, value) for run, numbers in enumerate(self.values, 1) for at, value in enumerate(numbers, 1))
        columns: dict[str, ColumnKind] = {"run": "count", "position": "count", "value": "value"}
        return collection_view(title, columns, cells, sum(map(len, self.values)))


def _steps(first: float, last: float, count: int) -> tuple[float, ...]:
    return tuple(round(first + (last - first) * at / count, 10) for at in range(count + 1))


K = Option("constant that is added to ranks", least=0, values=(1.0, 5.0, *_steps(10, 100, 9)))
NORM = Option(
    "normalisation of scores, per query",
    values=("min-max", "max", "sum", "z-score", "rank"),
    choices=NORMALISATIONS,
    metavar="NORM",
)
GAMMA = Option("exponent of the number of runs with the document", values=_steps(0, 2, 20))
SIGMA = Option("added to the number of runs with the document", least=0, most=1, values=(0.01, *_steps(0.1, 1, 9)))
PHI = Option("persistence: how likely a user reads the next document", least=0, most=1, values=_steps(0.5, 0.95, 9))
ALPHA = Option("weight of the second run; the first has 1 - alpha", least=0, most=1, values=_steps(0, 1, 20))
SEGMENTS = Option("number of segments of equal length", least=1, most=1000, values=(2, 5, 10, 20, 50, 100))
WINDOW = Option("ranks to each side that are averaged", least=0, values=(1, 2, 3, 5, 10, 20))
WEIGHTS = Option("one number for each run", least=0, metavar="W,W…", unset="1 for each")


@dataclass(frozen=True, slots=True)
class FusionSettings:
    """The settings of a fusion without its weights; a method reads only its `parameters`.

    `own` are the values of parameters that a method or normalisation declares itself.
    """

    norm: Annotated[str, NORM] = "min-max"
    k: Annotated[float, K] = 60.0
    gamma: Annotated[float, GAMMA] = 0.5
    sigma: Annotated[float, SIGMA] = 0.01
    phi: Annotated[float, PHI] = 0.95
    alpha: Annotated[float, ALPHA] = 0.5
    segments: Annotated[int, SEGMENTS] = 10
    window: Annotated[int, WINDOW] = 5
    fitted: Fitted | None = None
    own: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def normalised(self, table: CandidateTable) -> NormalisedScores:
        """The scores of the table on the scale of the chosen normalisation."""
        return table.normalised(self.norm, **chosen_values(NORMALISATIONS[self.norm].parameters, self.own))


PARAMETERS: Mapping[str, Setting] = {
    "weights": Setting("weights", "weights", tuple[float, ...], True, None, WEIGHTS),
    **{setting.key: setting for setting in settings_of(FusionSettings) if setting.option.description},
}
"""The parameters that several methods share; a method can declare others as keyword arguments."""


@dataclass(frozen=True, slots=True, eq=False)
class Contributions:
    """The points of each run and candidate, 0 where a run gives none, with the weight of each run."""

    table: CandidateTable
    points: FloatArray
    weights: FloatArray
    settings: FusionSettings

    def total(self) -> FloatArray:
        """The sum of weight x points of each candidate, in ascending order."""
        return column_sums(self.weighted())

    def weighted(self) -> FloatArray:
        """Weight x points."""
        return self.points if bool(np.all(self.weights == 1)) else self.weights[:, None] * self.points


Points = Callable[..., FloatArray]
"""From the candidates of all queries and the settings to the points of each run (row) and candidate (column), 0 for none."""
Combine = Callable[[Contributions], FloatArray]
"""From the points of all runs to the score of each candidate; higher is better."""


@dataclass(frozen=True, eq=False)
class Training:
    """The judged queries that a method learns from: `chosen` are their indexes in the table, those that no run has included.

    `relevant` says which candidates are relevant, `totals` how many relevant documents each query of the table has.
    """

    table: CandidateTable
    chosen: IntArray
    relevant: BoolArray
    totals: IntArray

    @classmethod
    def of(cls, table: CandidateTable, qrels: Mapping[str, Mapping[str, int]], rel: int = 1) -> Training:
        """All queries of the table with judgements; make the table with `queries=qrels` to count those that no run has."""
        relevant, totals = np.zeros(table.size, dtype=np.bool_), np.zeros(len(table.queries), dtype=np.int64)
        for at, (query, start, end) in enumerate(zip(table.queries, table.offsets[:-1], table.offsets[1:], strict=True)):
            if query in qrels:
                relevant_docs = {doc for doc, grade in qrels[query].items() if grade >= rel}
                totals[at] = len(relevant_docs)
                relevant[start:end] = [doc in relevant_docs for doc in table.docs[start:end]]
        return cls(table, np.array([at for at, query in enumerate(table.queries) if query in qrels], np.int64), relevant, totals)

    def restricted_to(self, chosen: IntArray) -> Training:
        """The same with these queries only, by their indexes in the table."""
        return replace(self, chosen=chosen)

    def hit_lists(self, run: int) -> HitLists:
        """The rankings of a run for the chosen queries."""
        lengths = self.table.lengths[run][self.chosen]
        owner = list_numbers(lengths)
        starts = self.table.bounds[run * len(self.table.queries) + self.chosen]
        ranks = 1 + list_places(lengths)
        return HitLists(lengths, owner, ranks, self.relevant[self.table.places[starts[owner] + ranks - 1]])


@dataclass(frozen=True, slots=True, eq=False)
class HitLists:
    """Rankings of judged queries: the length of each, and for each document its query, its rank and whether it is relevant."""

    lengths: IntArray
    query: IntArray
    ranks: IntArray
    hits: BoolArray


Fit = Callable[[Training, FusionSettings], Fitted]
"""From judged queries to what a method learns of each run."""


@dataclass(frozen=True, slots=True)
class FusionMethod:
    """One method: a candidate's score is the sum over the runs of weight x points, or what `combine` makes of the points.

    `uses` names the settings that change its result, `by_rank` says that it never looks at scores. `summary` continues the name:
    "rrf adds 1 / (k + rank)"; `formula` is its definition, `source` the paper behind it, `aliases` are its names in other tools.
    `combined` says in words what `combine` makes of the points. `runs` is the number of runs that it needs, if it needs a certain
    one. A trained method has `fit`, which learns from judged queries; `fit_uses` names the settings that only the fit reads,
    `learned` how many numbers it learns of a run, if that is always the same. `own` are the parameters that only this method has:
    the keyword arguments of `points`.
    """

    name: str
    summary: str
    points: Points
    uses: tuple[str, ...]
    by_rank: bool
    formula: str
    source: str
    aliases: tuple[str, ...]
    combine: Combine | None
    combined: str
    runs: int | None
    fit: Fit | None
    fit_uses: tuple[str, ...]
    learned: int | None
    own: tuple[Setting, ...] = ()

    @property
    def parameters(self) -> tuple[Setting, ...]:
        """The parameters of the method and of its fit, with defaults and usual values."""
        return (*(PARAMETERS[name] for name in (*self.uses, *self.fit_uses)), *self.own)

    def run_points(self, table: CandidateTable, settings: FusionSettings) -> FloatArray:
        """The points of each run and candidate."""
        return self.points(table, settings, **chosen_values(self.own, settings.own))


METHODS: RecordTable[FusionMethod] = RecordTable(
    "fusion method", "rankproof.fusion_methods", f"{__package__}.methods", first=("reciprocal_rank", "comb")
)


class MethodNames(Collection[str]):
    """The names of the methods, which contain those of other tools."""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and own_name(name) in METHODS

    def __iter__(self) -> Iterator[str]:
        return iter(METHODS)

    def __len__(self) -> int:
        return len(METHODS)


METHOD = Option("the fusion method; `rankproof fuse --help-all` describes them", metavar="METHOD", choices=MethodNames())
FusedDepth = Annotated[int | None, Option("keep the first N documents of each fused ranking", least=1, metavar="N", unset="all")]


def fusion_method(
    name: str,
    summary: str,
    *,
    uses: tuple[str, ...] = (),
    by_rank: bool = False,
    formula: str = "",
    source: str = "",
    aliases: tuple[str, ...] = (),
    combine: Combine | None = None,
    combined: str = "",
    runs: int | None = None,
    fit: Fit | None = None,
    fit_uses: tuple[str, ...] = (),
    learned: int | None = None,
) -> Callable[[Points], Points]:
    """Registers a function of points as a fusion method; points are added unless `combine` is given.

    A parameter of its own is a keyword argument of the function: `power: Annotated[float, Option("…", least=0)] = 0.5`.
    """
    if unknown := [use for use in uses if use not in PARAMETERS]:
        raise ValueError(f"{name}: no parameter is called {unknown[0]}; choose among {', '.join(PARAMETERS)}")

    def register(points: Points) -> Points:
        own = own_parameters(points, name, RESERVED_NAMES)
        record = FusionMethod(
            name, summary, points, uses, by_rank, formula, source, aliases, combine, combined, runs, fit, fit_uses, learned, own
        )
        METHODS.add(record, points.__module__)
        return points

    return register


def method_named(name: str) -> FusionMethod:
    """The method of that name, which may be its name in another tool."""
    return METHODS.named(own_name(name))


def own_name(name: str) -> str:
    """The name of a method, from one that it has in another tool; other names are unchanged."""
    return next((method.name for method in METHODS.registered().values() if name in method.aliases), name)


def users_of(setting: str) -> list[str]:
    """The methods that use a setting."""
    return [method.name for method in METHODS.registered().values() if setting in (*method.uses, *method.fit_uses)]


def methods_with(setting: str) -> str:
    """The methods that use a setting, for an error message."""
    users = users_of(setting)
    return users[0] if len(users) == 1 else f"one of {', '.join(users)}"


def fused_scores(
    table: CandidateTable, method: FusionMethod, settings: FusionSettings, weights: FloatArray | tuple[float, ...] | None = None
) -> FloatArray:
    """The fused score of each candidate of all queries; `weights` has one for each run, 1 by default."""
    run_weights = np.ones(table.runs) if weights is None else np.asarray(weights, dtype=np.float64)
    if len(run_weights) != table.runs:
        raise UsageError(f"{len(run_weights)} weights for {table.runs} runs", fix="pass one weight for each run")
    # An overflow is an error of the caller, who knows the runs.
    with np.errstate(over="ignore", invalid="ignore"):
        contributions = Contributions(table, method.run_points(table, settings), run_weights, settings)
        return contributions.total() if method.combine is None else method.combine(contributions)

"""`baselines`: each system beside a random ranking, BM25, its best reranking and the ideal ranking."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from rankproof._analysis.chance import below_chance_verdict, chance_notes, chance_values, describe_below_chance, p_below_chance
from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.pareto import Gain
from rankproof._analysis.values import (
    TIE_TOLERANCE,
    QueryCounts,
    best_system,
    check_fraction,
    fraction_measures,
    main_measure,
    measure_results,
    query_counts,
    ranked_lists,
)
from rankproof._data.arrays import FloatArray
from rankproof._data.run import Run
from rankproof._data.table import CellValue, Column, Table, TableSummary
from rankproof._data.text import format_value
from rankproof._results.experiment_result import SystemRun
from rankproof.errors import UsageError, for_message
from rankproof.measures._base import NAMED_GAINS, GainScheme, gains
from rankproof.measures._parse import parse_measure

RANDOM, IDEAL = "random ranking", "ideal ranking"
_SHOWN_POINTS = 0.05
"""Gains below this are shown as 0.0 pp."""
TITLE_ONLY, FULL_TEXT = "title-only BM25", "full-text BM25"


@dataclass(frozen=True, slots=True)
class UpperBound:
    """The highest value of a measure: by the best reranking of each system, and by the ideal ranking.

    `judged_only` is the value of each system without its unjudged documents: above it, only the order of judged ones matters.
    """

    by_system: Mapping[str, float]
    ideal: float
    judged_only: Mapping[str, float]

    def describe_order(self, system: str, value: float) -> str:
        """What a better order would add to the value, and how much of that only by moving unjudged documents."""
        bound = self.by_system[system]
        condensed = min(max(self.judged_only[system], value), bound)
        order, unjudged = Gain(bound, condensed).points, Gain(condensed, value).points
        if unjudged < _SHOWN_POINTS:
            return f"{order + unjudged:.1f} pp more by a better order"
        moved = f"{unjudged:.1f} pp more by ranking unjudged documents lower (some may be relevant)"
        return f"{order:.1f} pp more by a better order of judged documents, {moved}"


def upper_bounds(inputs: AnalysisInput, measures: Sequence[str]) -> dict[str, UpperBound]:
    """The upper bound of each measure; measures with the same gains share one reranking."""
    bounds: dict[str, UpperBound] = {}
    for gain in dict.fromkeys(map(_gain_scheme, measures)):
        names = [name for name in measures if _gain_scheme(name) == gain]
        reranked = measure_results(inputs, names, _MadeRuns(inputs, partial(best_reranking, gain=gain)))
        condensed = measure_results(inputs, names, _MadeRuns(inputs, judged_ranking))
        (best,) = measure_results(inputs, names, {IDEAL: ideal_ranking(inputs, gain)}).values()
        bounds |= {
            name: UpperBound(
                {system: results[name].value for system, results in reranked.items()},
                best[name].value,
                {system: results[name].value for system, results in condensed.items()},
            )
            for name in names
        }
    return {name: bounds[name] for name in measures}


class _MadeRuns(Mapping[str, Run]):
    """A run of each system, made on each access: only one of them is in memory while they are evaluated."""

    def __init__(self, inputs: AnalysisInput, make: Callable[[AnalysisInput, str], Run]) -> None:
        self._inputs, self._make = inputs, make

    def __getitem__(self, system: str) -> Run:
        return self._make(self._inputs, system)

    def __iter__(self) -> Iterator[str]:
        return iter(self._inputs.systems)

    def __len__(self) -> int:
        return len(self._inputs.systems)


def _gain_scheme(measure: str) -> GainScheme:
    """The gains that order the best list: grades, or the measure's own gains."""
    gain: GainScheme = parse_measure(measure).parameters().get("gain", "linear")
    return "linear" if gain in NAMED_GAINS else gain


def best_reranking(inputs: AnalysisInput, system: str, gain: GainScheme = "linear") -> Run:
    """The system's documents in the best order; documents without gain keep their order at the end.

    Of a reranker only the documents that it reorders; the others follow in their order.
    """
    top = _reordered_depth(inputs, system)
    reranked = []
    for query, ranked_list in ranked_lists(inputs, system).items():
        docs, _ = _ranking(ranked_list.docs[:top], inputs.qrels.get(query, {}), gain)
        reranked.append((query, [*docs, *ranked_list.docs[len(docs) :]]))
    rankings = ((docs, -np.arange(len(docs), dtype=np.float64)) for _, docs in reranked)
    return Run.from_rankings(system, [query for query, _ in reranked], rankings)


def _reordered_depth(inputs: AnalysisInput, system: str) -> int | None:
    """How many documents of its input a reranker reorders; None for any other system."""
    stage = next((run.stage for run in inputs.system_runs if run.name == system and run.kind == "rerank"), {})
    top = stage.get("top")
    return top if isinstance(top, int) else None


def judged_ranking(inputs: AnalysisInput, system: str) -> Run:
    """The system's judged documents in its order; a negative grade means unjudged."""
    judged = {
        query: [] if grades.keys().isdisjoint(ranked_list.docs) else [doc for doc in ranked_list.docs if grades.get(doc, -1) >= 0]
        for query, ranked_list in ranked_lists(inputs, system).items()
        for grades in (inputs.qrels.get(query, {}),)
    }
    rankings = ((docs, -np.arange(len(docs), dtype=np.float64)) for docs in judged.values())
    return Run.from_rankings(system, list(judged), rankings)


def ideal_ranking(inputs: AnalysisInput, gain: GainScheme = "linear") -> Run:
    """Every judged document in the best order."""
    everything = {query: tuple(inputs.qrels[query]) for query in inputs.result.queries}
    return _best_order(inputs, everything, IDEAL, gain)


def _best_order(inputs: AnalysisInput, pool: Mapping[str, Sequence[str]], name: str, gain: GainScheme) -> Run:
    rankings = (_ranking(docs, inputs.qrels.get(query, {}), gain) for query, docs in pool.items())
    return Run.from_rankings(name, list(pool), rankings)


def _ranking(docs: Sequence[str], grades: Mapping[str, int], gain: GainScheme) -> tuple[list[str], FloatArray]:
    """The documents in the best order, with scores that fall by one per rank."""
    if grades.keys().isdisjoint(docs):
        return list(docs), -np.arange(len(docs), dtype=np.float64)
    values = gains(np.array([grades.get(doc, 0) for doc in docs], dtype=np.int64), gain)
    # Stable, so that documents of equal gain keep their order.
    order = np.argsort(-values, kind="stable").tolist()
    return [docs[at] for at in order], -np.arange(len(order), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class BaselineRow:
    """One measure: the value of a random ranking, of the reference systems by role, of all systems, and the upper bounds.

    `chance` is over the common queries, `chance_by_system` over the queries of each system; `below_chance_p` is the probability
    that a random ranking has as few successes as the system.
    """

    measure: str
    counts: QueryCounts
    chance: float | None
    chance_by_system: Mapping[str, float]
    below_chance_p: Mapping[str, float]
    roles: Mapping[str, str]
    systems: Mapping[str, float]
    upper_bound: UpperBound
    best: str

    @property
    def best_names(self) -> list[str]:
        """The best system, or all systems that tie."""
        return [name for name, value in self.systems.items() if abs(value - self.systems[self.best]) <= TIE_TOLERANCE]

    @property
    def describe_best(self) -> str:
        """Which systems have the best value, as text."""
        names = [for_message(name) for name in self.best_names]
        if len(self.systems) == 1:
            return f"{names[0]} has {self.measure}"
        return f"{' and '.join(names)} {'tie for' if len(names) > 1 else 'has'} the best {self.measure}"

    @property
    def references(self) -> dict[str, float]:
        """Role of a reference system to its value."""
        return {role: self.systems[name] for role, name in self.roles.items()}

    @property
    def below_chance(self) -> list[str]:
        """The systems whose value is below that of a random ranking over the same queries."""
        return [name for name, chance in self.chance_by_system.items() if self.systems[name] < chance]


def baseline_rows(inputs: AnalysisInput, measures: Sequence[str], roles: Mapping[str, str]) -> dict[str, BaselineRow]:
    """The reference values of each measure."""
    values, bounds = measure_results(inputs, measures), upper_bounds(inputs, measures)
    counts, below_chance = query_counts(inputs), p_below_chance(inputs)
    rows = {}
    for name in measures:
        ones = {system: value[name] for system, value in values.items()}
        measure = next(iter(ones.values())).measure
        by_queries = {queries: chance_values(inputs, measure, queries) for queries in {counts.common, *counts.queries.values()}}
        chances = {queries: chance.value for queries, chance in by_queries.items() if chance is not None}
        rows[name] = BaselineRow(
            measure=name,
            counts=counts,
            chance=chances.get(counts.common),
            chance_by_system={system: chances[queries] for system, queries in counts.queries.items() if queries in chances},
            below_chance_p=below_chance,
            roles=roles,
            systems={system: result.value for system, result in ones.items()},
            upper_bound=bounds[name],
            best=best_system(ones),
        )
    return rows


def check_documents(inputs: AnalysisInput) -> None:
    """Checks that the corpus is at least as large as the relevant or retrieved documents of any query."""
    if inputs.documents is None:
        return
    judged = max(sum(grade > 0 for grade in inputs.qrels.get(query, {}).values()) for query in inputs.result.queries)
    longest = max(int(np.diff(run.offsets).max(initial=0)) for run in inputs.runs.values())
    if max(judged, longest) > inputs.documents:
        what = (
            f"{inputs.documents} documents are fewer than the relevant ({judged}) or retrieved ({longest}) documents of a query"
        )
        raise UsageError(what, fix="pass the number of documents in the whole corpus: --documents N")


def reference_systems(inputs: AnalysisInput) -> dict[str, str]:
    """Role to system: BM25 over titles only, and BM25 over the full text."""
    systems: dict[str, str] = {}
    for system_run in inputs.system_runs:
        if role := _baseline_role(system_run):
            systems.setdefault(role, system_run.name)
    return {role: systems[role] for role in (TITLE_ONLY, FULL_TEXT) if role in systems}


def _baseline_role(system_run: SystemRun) -> str | None:
    stage: Mapping[str, Any] = system_run.stage
    if stage.get("kind") != "BM25":
        return None
    fields = stage.get("fields")
    if not isinstance(fields, list):
        return None
    return TITLE_ONLY if fields == ["title"] else FULL_TEXT if "text" in fields else None


_BEST_RERANKING = "best reranking"
_RANDOM = Column("random", "value", "expected value of a random ranking")
_POINTS_ABOVE_RANDOM = Column("pp vs random", "points", "percentage points above the expected value of a random ranking")


def baselines(
    inputs: AnalysisInput, measures: Sequence[str] | None = None, references: Mapping[str, str] | None = None
) -> list[Table]:
    """A table for each of the measures (by default the first), then an overview with a row for every measure.

    `references` maps roles to systems; by default BM25 systems are found by their stage.
    """
    check_documents(inputs)
    roles = reference_systems(inputs) if references is None else dict(references)
    chosen = [check_fraction(inputs, name) for name in measures or [main_measure(inputs)]]
    rows = baseline_rows(inputs, list(dict.fromkeys([*chosen, *fraction_measures(inputs)])), roles)
    return [*(_table(rows[name], inputs) for name in chosen), _overview(list(rows.values()), len(chosen))]


def _table(baseline_row: BaselineRow, inputs: AnalysisInput) -> Table:
    rows = [_row(name, value, baseline_row) for name, value in baseline_row.systems.items()]
    chance = [] if baseline_row.chance is None else [_row(RANDOM, baseline_row.chance, baseline_row)]
    last = _row(IDEAL, baseline_row.upper_bound.ideal, baseline_row)
    columns, verdict = _columns(baseline_row), (*_below_random(baseline_row), *_sentences(baseline_row))
    shown = tuple(column.name for column in columns if column.kind != "share" and column.name != _BEST_RERANKING)
    size = "corpus size unknown" if inputs.documents is None else f"{inputs.documents} documents"
    return Table(
        name=f"baselines {baseline_row.measure}",
        title=f"Baselines of {baseline_row.measure}: {baseline_row.counts}, {size}",
        columns=columns,
        rows=(*chance, *rows, last),
        sentences=(*verdict, _legend(baseline_row)),
        notes=chance_notes(inputs),
        facts={
            **baseline_row.counts.facts,
            "documents": inputs.documents,
            "measure": baseline_row.measure,
            "baselines": dict(baseline_row.roles),
        },
        verdict_first=True,
        summary=TableSummary(shown, tuple(range(len(chance) + len(rows) + 1)), tuple(range(len(verdict)))),
    )


def _columns(baseline_row: BaselineRow) -> tuple[Column, ...]:
    gains_over = [
        column
        for role in baseline_row.roles
        for column in (
            Column(f"pp vs {_short(role)}", "points", f"percentage points above {role}"),
            Column(f"% vs {_short(role)}", "share", f"gain relative to the value of {role}"),
        )
    ]
    return (
        *(Column("system"), *baseline_row.counts.column, Column("value", "value", f"mean {baseline_row.measure}")),
        *([] if baseline_row.chance is None else [_POINTS_ABOVE_RANDOM]),
        *gains_over,
        Column(_BEST_RERANKING, "value", "the value of the retrieved documents in the best order"),
        Column("pp to gain", "points", "gain of the best reranking, in percentage points"),
    )


def _short(role: str) -> str:
    return role.partition("-")[0]


def _legend(baseline_row: BaselineRow) -> str:
    roles = [f"{_short(role)}: {role} ({for_message(name)})" for role, name in baseline_row.roles.items()]
    chance = [] if baseline_row.chance is None else ["random: the expected value of a random ranking"]
    gains_over = f"pp vs X: percentage points above X; % vs X: gain relative to X; {'; '.join([*chance, *roles])}. "
    return (
        f"{gains_over if chance or roles else ''}best reranking: the retrieved documents in the best order;"
        f" pp to gain: what it would add; {IDEAL}: all judged documents in the best order."
    )


def _row(name: str, value: float, baseline_row: BaselineRow) -> tuple[CellValue, ...]:
    bound = baseline_row.upper_bound.by_system.get(name)
    gained: list[CellValue] = []
    if baseline_row.chance is not None:
        gained.append(
            None if name == RANDOM else Gain(value, baseline_row.chance_by_system.get(name, baseline_row.chance)).points
        )
    for system in baseline_row.roles.values():
        gain = None if name in (RANDOM, system) else Gain(value, baseline_row.systems[system])
        gained += [None, None] if gain is None else [gain.points, gain.relative]
    n = baseline_row.counts.cell(name if name in baseline_row.systems else None)
    return (name, *n, value, *gained, bound, None if bound is None else Gain(bound, value).points)


def _below_random(baseline_row: BaselineRow) -> list[str]:
    sentences = []
    for name in baseline_row.below_chance:
        value, chance = baseline_row.systems[name], baseline_row.chance_by_system[name]
        p = baseline_row.below_chance_p.get(name)
        numbers = f"{for_message(name)} has {baseline_row.measure} {format_value(value)}, a random ranking {format_value(chance)}"
        sentences.append(f"{below_chance_verdict(p)}: {numbers} ({baseline_row.counts.of(name)}{describe_below_chance(p)}).")
    return sentences


def _sentences(baseline_row: BaselineRow) -> tuple[str, str]:
    best = baseline_row.best
    value, bound = baseline_row.systems[best], baseline_row.upper_bound.by_system[best]
    chance = baseline_row.chance_by_system.get(best)
    gains_over = [
        f"{Gain(value, base)} over {role} ({format_value(base)})"
        for role, base in baseline_row.references.items()
        if baseline_row.roles[role] != best
    ]
    ratio = [f"{value / chance:.3g} times a random ranking ({format_value(chance)})"] if chance else []
    beside = "".join(f"{'; ' if at else ', '}{text}" for at, text in enumerate([*ratio, *gains_over]))
    beside += " (`rankproof compare` tests significance)" if gains_over else ""
    order, more = baseline_row.upper_bound.describe_order(best, value), Gain(baseline_row.upper_bound.ideal, bound).points
    return (
        f"{baseline_row.describe_best}: {format_value(value)}{beside}.",
        f"The best reranking of {for_message(best)} has {format_value(bound)}: {order}."
        f" Documents that it did not retrieve could add {more:.1f} pp.",
    )


def _overview(baseline_rows: Sequence[BaselineRow], described: int) -> Table:
    """A row per measure; the first `described` measures have tables of their own and get no sentence here."""
    roles = list(baseline_rows[0].roles)
    columns = (
        *(Column("measure"), Column("n", "count", "queries of the best system and of the random ranking"), _RANDOM),
        *(Column(role, "value") for role in roles),
        *(
            Column("best system"),
            Column("best value", "value"),
            Column(_BEST_RERANKING, "value", "its documents in the best order"),
        ),
        Column(IDEAL, "value", "all judged documents in the best order"),
    )
    rows = [
        (
            *(row.measure, len(row.counts.queries[row.best]), row.chance_by_system.get(row.best)),
            *(row.references[role] for role in roles),
            *(
                " = ".join(row.best_names),
                row.systems[row.best],
                row.upper_bound.by_system[row.best],
                row.upper_bound.ideal,
            ),
        )
        for row in baseline_rows
    ]
    worse = [sentence for row in baseline_rows[described:] for sentence in _below_random(row)]
    title, summary = "Every measure with its baselines", TableSummary()
    return Table("baselines", title, columns, tuple(rows), tuple(worse), verdict_first=True, summary=summary)

"""Baselines()."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import format_value
from rankproof._results.experiment_result import SystemRun
from rankproof.errors import UsageError, for_message
from rankproof.measures._base import NAMED_GAINS, GainScheme, gains
from rankproof.measures._parse import parse_measure


@dataclass(frozen=True, slots=True)
class UpperBound:
    """The most that a measure can reach: by each system's own documents, and by all judged ones."""

    by_system: Mapping[str, float]
    ideal: float


def upper_bounds(inputs: AnalysisInput, measures: Sequence[str]) -> dict[str, UpperBound]:
    """The ceiling of each measure; the rankings are put in order once for all measures that agree what is best."""
    found: dict[str, UpperBound] = {}
    for gain in dict.fromkeys(map(_gain_scheme, measures)):
        names = [name for name in measures if _gain_scheme(name) == gain]
        pools = measure_results(inputs, names, {system: best_reranking(inputs, system, gain) for system in inputs.systems})
        (best,) = measure_results(inputs, names, {"oracle": ideal_ranking(inputs, gain)}).values()
        found |= {
            name: UpperBound({system: each[name].value for system, each in pools.items()}, best[name].value) for name in names
        }
    return {name: found[name] for name in measures}


def _gain_scheme(measure: str) -> GainScheme:
    """What orders the best list: grades, or gains by hand where the measure has some."""
    gain: GainScheme = parse_measure(measure).parameters().get("gain", "linear")
    return "linear" if gain in NAMED_GAINS else gain


def best_reranking(inputs: AnalysisInput, system: str, gain: GainScheme = "linear") -> Run:
    """The documents that the system retrieved, in the best order; those worth nothing keep theirs behind."""
    pool = {query: ranked_list.docs for query, ranked_list in ranked_lists(inputs, system).items()}
    return _best_order(inputs, pool, system, gain)


def ideal_ranking(inputs: AnalysisInput, gain: GainScheme = "linear") -> Run:
    """Every judged document in the best order."""
    everything = {query: tuple(inputs.qrels[query]) for query in inputs.result.queries}
    return _best_order(inputs, everything, "oracle", gain)


def _best_order(inputs: AnalysisInput, pool: Mapping[str, Sequence[str]], name: str, gain: GainScheme) -> Run:
    rankings = (_ranking(docs, inputs.qrels.get(query, {}), gain) for query, docs in pool.items())
    return Run.from_rankings(name, list(pool), rankings)


def _ranking(docs: Sequence[str], grades: Mapping[str, int], gain: GainScheme) -> tuple[list[str], FloatArray]:
    """The documents in the best order, and scores that fall by one from rank to rank."""
    worth = gains(np.array([grades.get(doc, 0) for doc in docs], dtype=np.int64), gain)
    order = np.argsort(-worth, kind="stable").tolist()
    return [docs[at] for at in order], -np.arange(len(order), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class BaselineRow:
    """One measure's numbers: chance, the systems that are baselines by their part, all systems, and the ceilings.

    `chance` is over the queries that all means run over, `chances` over each system's own; `luck` is how likely a random ranking
    is to find as little as the system.
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
        """The best system, or all that tie."""
        return [name for name, value in self.systems.items() if abs(value - self.systems[self.best]) <= TIE_TOLERANCE]

    @property
    def describe_best(self) -> str:
        """Who has the best value, in words."""
        names = [for_message(name) for name in self.best_names]
        if len(self.systems) == 1:
            return f"{names[0]} has {self.measure}"
        return f"{' and '.join(names)} {'tie for' if len(names) > 1 else 'has'} the best {self.measure}"

    @property
    def references(self) -> dict[str, float]:
        """Baseline to value."""
        return {role: self.systems[name] for role, name in self.roles.items()}

    @property
    def below_chance(self) -> list[str]:
        """The systems whose value is below that of a random ranking over the same queries."""
        return [name for name, chance in self.chance_by_system.items() if self.systems[name] < chance]


def baseline_rows(inputs: AnalysisInput, measures: Sequence[str], roles: Mapping[str, str]) -> dict[str, BaselineRow]:
    """What there is to compare each measure's values with."""
    values, most = measure_results(inputs, measures), upper_bounds(inputs, measures)
    counts, luck = query_counts(inputs), p_below_chance(inputs)
    found = {}
    for name in measures:
        ones = {system: each[name] for system, each in values.items()}
        measure = next(iter(ones.values())).measure
        by_queries = {queries: chance_values(inputs, measure, queries) for queries in {counts.common, *counts.queries.values()}}
        chances = {queries: chance.value for queries, chance in by_queries.items() if chance is not None}
        found[name] = BaselineRow(
            measure=name,
            counts=counts,
            chance=chances.get(counts.common),
            chance_by_system={system: chances[queries] for system, queries in counts.queries.items() if queries in chances},
            below_chance_p=luck,
            roles=roles,
            systems={system: one.value for system, one in ones.items()},
            upper_bound=most[name],
            best=best_system(ones),
        )
    return found


TITLE_ONLY, FULL_TEXT = "title-only BM25", "full-text BM25"


def check_documents(inputs: AnalysisInput) -> None:
    """The corpus must have room for what is relevant to one query, and for what was retrieved for it."""
    if inputs.documents is None:
        return
    judged = max(sum(grade > 0 for grade in inputs.qrels[query].values()) for query in inputs.result.queries)
    longest = max(int(np.diff(run.offsets).max(initial=0)) for run in inputs.runs.values())
    if max(judged, longest) > inputs.documents:
        what = f"{inputs.documents} documents are fewer than a query's relevant ({judged}) or retrieved ones ({longest})"
        raise UsageError(what, fix="pass the number of documents in the whole corpus: --documents N")


def reference_systems(inputs: AnalysisInput) -> dict[str, str]:
    """Baseline to the system that is one: BM25 over titles alone, and over the text."""
    found: dict[str, str] = {}
    for system_run in inputs.system_runs:
        if role := _baseline_role(system_run):
            found.setdefault(role, system_run.name)
    return {role: found[role] for role in (TITLE_ONLY, FULL_TEXT) if role in found}


def _baseline_role(system_run: SystemRun) -> str | None:
    stage: Mapping[str, Any] = system_run.stage
    if stage.get("kind") != "BM25":
        return None
    fields = stage.get("fields")
    if not isinstance(fields, list):
        return None
    return TITLE_ONLY if fields == ["title"] else FULL_TEXT if "text" in fields else None


RANDOM, ORACLE = "random ranking", "oracle"
_RANDOM = Column("random", "value", "expected value of a random ranking")
_POINTS_ABOVE_RANDOM = Column("pp/random", "points", "percentage points above the expected value of a random ranking")


def baselines(
    inputs: AnalysisInput, measures: Sequence[str] | None = None, references: Mapping[str, str] | None = None
) -> list[Table]:
    """A table for each of the measures (the first, where none is named), then one with a row for each measure of all.

    `references` names the systems that are baselines; without it they are found among the rungs.
    """
    check_documents(inputs)
    roles = reference_systems(inputs) if references is None else dict(references)
    asked = [check_fraction(inputs, name) for name in measures or [main_measure(inputs)]]
    standings = baseline_rows(inputs, list(dict.fromkeys([*asked, *fraction_measures(inputs)])), roles)
    return [*(_table(standings[name], inputs) for name in asked), _overview(list(standings.values()), len(asked))]


def _table(baseline_row: BaselineRow, inputs: AnalysisInput) -> Table:
    rows = [_row(name, value, baseline_row) for name, value in baseline_row.systems.items()]
    chance = [] if baseline_row.chance is None else [_row(RANDOM, baseline_row.chance, baseline_row)]
    last = _row(ORACLE, baseline_row.upper_bound.ideal, baseline_row)
    size = "unknown" if inputs.documents is None else str(inputs.documents)
    return Table(
        name=f"baselines {baseline_row.measure}",
        title=f"Baselines of {baseline_row.measure}: {baseline_row.counts}, {size} documents",
        columns=_columns(baseline_row),
        rows=(*chance, *rows, last),
        sentences=(*_below_random(baseline_row), *_sentences(baseline_row), _legend(baseline_row)),
        notes=chance_notes(inputs),
        facts={
            **baseline_row.counts.facts,
            "documents": inputs.documents,
            "measure": baseline_row.measure,
            "baselines": dict(baseline_row.roles),
        },
    )


def _columns(baseline_row: BaselineRow) -> tuple[Column, ...]:
    over = [
        column
        for role in baseline_row.roles
        for column in (
            Column(f"pp/{_short(role)}", "points", f"percentage points above {role}"),
            Column(f"%/{_short(role)}", "share", f"the gain relative to {role}'s value"),
        )
    ]
    return (
        *(Column("system"), *baseline_row.counts.column, Column("value", "value", f"the mean {baseline_row.measure}")),
        *([] if baseline_row.chance is None else [_POINTS_ABOVE_RANDOM]),
        *over,
        Column("pool", "value", "the value if what it retrieved stood in the best order"),
        Column("pp left", "points", "what the best order of its pool would add, in percentage points"),
    )


def _short(role: str) -> str:
    return role.partition("-")[0]


def _legend(baseline_row: BaselineRow) -> str:
    over = [f"{_short(role)}: {role} ({for_message(name)})" for role, name in baseline_row.roles.items()]
    chance = [] if baseline_row.chance is None else ["random: the expected value of a random ranking"]
    bases = f"pp/X: percentage points gained over X; %/X: the same relative to X's value; {'; '.join([*chance, *over])}. "
    return (
        f"{bases if chance or over else ''}pool: the best order of the"
        " documents that the system retrieved; pp left: what that order would add; oracle: the best order of all judged."
    )


def _row(name: str, value: float, baseline_row: BaselineRow) -> tuple[CellValue, ...]:
    pool = baseline_row.upper_bound.by_system.get(name)
    over: list[CellValue] = []
    if baseline_row.chance is not None:
        over.append(None if name == RANDOM else Gain(value, baseline_row.chance_by_system.get(name, baseline_row.chance)).points)
    for system in baseline_row.roles.values():
        gain = None if name in (RANDOM, system) else Gain(value, baseline_row.systems[system])
        over += [None, None] if gain is None else [gain.points, gain.relative]
    n = baseline_row.counts.cell(name if name in baseline_row.systems else None)
    return (name, *n, value, *over, pool, None if pool is None else Gain(pool, value).points)


def _below_random(baseline_row: BaselineRow) -> list[str]:
    said = []
    for name in baseline_row.below_chance:
        value, chance, luck = (
            baseline_row.systems[name],
            baseline_row.chance_by_system[name],
            baseline_row.below_chance_p.get(name),
        )
        numbers = f"{for_message(name)} has {baseline_row.measure} {format_value(value)}, a random ranking {format_value(chance)}"
        said.append(f"{below_chance_verdict(luck)}: {numbers} ({baseline_row.counts.of(name)}{describe_below_chance(luck)}).")
    return said


def _sentences(baseline_row: BaselineRow) -> tuple[str, str]:
    best, value, pool = (
        baseline_row.best,
        baseline_row.systems[baseline_row.best],
        baseline_row.upper_bound.by_system[baseline_row.best],
    )
    chance = baseline_row.chance_by_system.get(best)
    said = [f"{value / chance:.3g} times a random ranking ({format_value(chance)})"] if chance else []
    said += [
        f"{Gain(value, base)} over {role} ({format_value(base)})"
        for role, base in baseline_row.references.items()
        if baseline_row.roles[role] != best
    ]
    beside = f", {'; '.join(said)}" if said else ""
    beside += " (whether that is more than chance: rankproof compare)" if any(" over " in each for each in said) else ""
    order, more = Gain(pool, value).points, Gain(baseline_row.upper_bound.ideal, pool).points
    return (
        f"{baseline_row.describe_best}: {format_value(value)}{beside}.",
        f"The best order of what {for_message(best)} retrieved would give {format_value(pool)}: {order:+.1f} pp lie in the order of its"
        f" documents, {more:+.1f} pp in documents that it did not retrieve.",
    )


def _overview(baseline_rows: Sequence[BaselineRow], told: int) -> Table:
    """One row a measure; what is worse than random is said for those measures that have no table of their own."""
    roles = list(baseline_rows[0].roles)
    columns = (
        *(Column("measure"), Column("n", "count", "queries of the best system's mean, and of random"), _RANDOM),
        *(Column(role, "value") for role in roles),
        *(Column("best system"), Column("its value", "value"), Column("pool", "value", "the best order of its documents")),
        Column("oracle", "value", "the best order of all judged documents"),
    )
    rows = [
        (
            *(each.measure, len(each.counts.queries[each.best]), each.chance_by_system.get(each.best)),
            *(each.references[role] for role in roles),
            *(
                " = ".join(each.best_names),
                each.systems[each.best],
                each.upper_bound.by_system[each.best],
                each.upper_bound.ideal,
            ),
        )
        for each in baseline_rows
    ]
    worse = [said for each in baseline_rows[told:] for said in _below_random(each)]
    return Table("baselines", "Every measure beside its baselines", columns, tuple(rows), tuple(worse))

"""The values of systems on their common queries, missing answers among them, and the measure that decides."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from rankproof._analysis.decision.scenarios import MAX_MISSING, MissingValues, PartlyMissing, best_value
from rankproof._analysis.inputs import AnalysisInput
from rankproof._data.answers import Answers, references_from_queries
from rankproof._data.arrays import BoolArray, FloatArray, IntArray, weight_column
from rankproof._data.run import Run
from rankproof._data.text import in_a_sentence, pluralise
from rankproof._evaluation.evaluate import evaluate_runs
from rankproof._evaluation.options import USUAL_PRIMARY
from rankproof._evaluation.result import FAILED_ANSWER, MeasureResult, Result, SystemResult, runs_of_systems
from rankproof._statistics.means import weights_text
from rankproof.errors import UsageError, for_message
from rankproof.measures._base import Measure, worst_value
from rankproof.measures._parse import MeasureLike, parse_measure, parse_measures

MeasuresLike = MeasureLike | Sequence[MeasureLike] | None
_SUMMARY_TEXTS = {"sum": "is a sum over queries", "geometric": "is a geometric mean"}
_MOST_LACKING = {True: 0.5, False: 0.2}
"""A system that lacks more of the queries was perhaps asked a part of them, or its run file was cut; by whether it answers."""
NO_ANSWER = ("missing", FAILED_ANSWER)
"""The reasons of questions without an answer."""
_NOTHING_TO_CHECK = ("no_claim", "nothing_found", "no_such_context")
_ABSTAINED = ("abstained", "not_abstained", *_NOTHING_TO_CHECK)
_LEFT_OUT = ("no_reference", "unanswerable", "answerable", "no_question", "no_nugget", "no_relevant", *_NOTHING_TO_CHECK)
"""A question is left out if each system has no value for one of these reasons, which say more about it than about an answer."""


@dataclass(frozen=True, eq=False, slots=True)
class JoinedValues:
    """Values by measure, query and system; queries are sorted by id, so that the input order does not matter.

    `missing` says which values of the first measure are missing; None where all are known. `asked` says which queries each system
    was asked, None where each was asked all.
    """

    queries: tuple[str, ...]
    systems: tuple[str, ...]
    measures: tuple[Measure, ...]
    values: FloatArray
    notes: tuple[str, ...]
    weights: FloatArray | None = None
    missing: MissingValues | None = None
    asked: BoolArray | None = None


def only_queries(joined: JoinedValues, kept: Sequence[bool]) -> JoinedValues:
    """The values on some of the queries."""
    rows = np.array(kept, dtype=bool)
    queries = tuple(query for query, is_kept in zip(joined.queries, kept, strict=True) if is_kept)
    weights = None if joined.weights is None else joined.weights[rows]
    missing = None if joined.missing is None else joined.missing[rows]
    asked = None if joined.asked is None else joined.asked[rows]
    return replace(joined, queries=queries, values=joined.values[:, rows], weights=weights, missing=missing, asked=asked)


def with_first_answers(joined: JoinedValues, result: Result) -> JoinedValues:
    """The values by the first measure, of the first answer to a query that was asked more than once."""
    measure = str(joined.measures[0])
    every = {system.name: system.measures[measure].repeats for system in result.systems}
    if not any(every.values()):
        return joined
    values = joined.values.copy()
    for at, name in enumerate(joined.systems):
        for row, query in enumerate(joined.queries):
            if query in every[name]:
                values[0, row, at] = every[name][query][0]
    missing = None if joined.missing is None else replace(joined.missing, partly=None)
    return replace(joined, values=values, missing=missing)


def join_systems(result: Result, measures: MeasuresLike = None) -> JoinedValues:
    """The common values of systems that can be tested; fewer than two systems or two common queries are an error."""
    joined = common_values(result, measures)
    if len(joined.systems) < 2:
        raise UsageError("there is only one system", fix="compare two or more")
    if len(joined.queries) < 2:
        raise UsageError(
            f"the systems have {pluralise(len(joined.queries), 'query', 'queries')} in common",
            fix="compare them on at least two common queries",
        )
    return joined


def common_values(result: Result, measures: MeasuresLike = None) -> JoinedValues:
    """The systems on their common queries, under the given measures or all whose means can be compared."""
    names = tuple(system.name for system in result.systems)
    chosen, left_out = _selected_measures(result, measures)
    columns = [[system.measures[name] for system in result.systems] for name in chosen]
    queries, places = _common(column.query_ids for row in columns for column in row)
    values = np.array([[column.values[places[id(column.query_ids)]] for column in row] for row in columns])
    kinds = tuple(result.systems[0].measures[name].measure for name in chosen)
    by_query = result.weights
    own_weights = [] if by_query is None else [by_query[query] for query in queries]
    weights = weight_column(own_weights) if own_weights else None
    notes = (*_missing(result, len(queries)), *weight_notes(own_weights), *left_out)
    return JoinedValues(queries, names, kinds, values.transpose(0, 2, 1), notes, weights)


def ranking_values(result: Result, measures: MeasuresLike = None) -> JoinedValues:
    """The values of rankings over the queries that any system has; what a system lacks is the worst value, and `missing`.

    Only an evaluation with `skip_missing` lacks values: a system must not be chosen on the queries that it happens to have.
    """
    joined = common_values(result, measures)
    columns = [[system.measures[str(measure)] for system in result.systems] for measure in joined.measures]
    if all(len(column.query_ids) == len(joined.queries) for column in columns[0]):
        return joined
    queries = tuple(sorted(set().union(*(column.query_ids for column in columns[0]))))
    values = np.array([_values_of(row, queries) for row in columns])
    lacking, none = np.isnan(values[0]), np.zeros(values[0].shape, dtype=bool)
    filled = np.array([_filled(row[0].measure, own, none) for row, own in zip(columns, values, strict=True)])
    by_query = result.weights
    own_weights = [] if by_query is None else [by_query[query] for query in queries]
    weights = weight_column(own_weights) if own_weights else None
    notes = (*_unknown_to_all(result, queries), *weight_notes(own_weights))
    return replace(
        joined,
        queries=queries,
        values=filled,
        weights=weights,
        notes=(*notes, *_selected_measures(result, measures)[1]),
        missing=MissingValues(lacking, none, none, skips=True),
    )


def _values_of(columns: Sequence[MeasureResult], queries: Sequence[str]) -> FloatArray:
    """The values by query and system, NaN where a system has none."""
    lookups = [column.per_query for column in columns]
    return np.array([[by_query.get(query, np.nan) for by_query in lookups] for query in queries]).reshape(-1, len(columns))


def _unknown_to_all(result: Result, queries: Sequence[str]) -> Iterator[str]:
    if absent := len(result.queries) - len(queries):
        yield f"{absent:,} of {len(result.queries):,} judged queries are left out because no system has them"


def weight_notes(weights: Collection[float]) -> list[str]:
    """How many queries of equal weight the weighted queries are worth; empty without weights."""
    return [weights_text(weight_column(weights))] if weights else []


def _selected_measures(result: Result, measures: MeasuresLike) -> tuple[list[str], list[str]]:
    """The measures to compare by name, and a note for each that cannot be compared."""
    shared = [name for name in result.systems[0].measures if all(name in system.measures for system in result.systems)]
    kinds = {name: result.systems[0].measures[name].summary for name in shared}
    if measures is not None:
        return [_checked(str(measure), kinds) for measure in parse_measures(measures)], []
    able = [name for name in shared if kinds[name] == "mean"]
    if not able:
        raise UsageError("only means can be compared, and no evaluated measure is a mean", fix="evaluate one, such as nDCG@10")
    return able, [f"{name} {_SUMMARY_TEXTS[kinds[name]]} and is not compared" for name in shared if kinds[name] != "mean"]


def _checked(name: str, kinds: Mapping[str, str]) -> str:
    if name not in kinds:
        raise UsageError(f"{for_message(name)} was not evaluated for every system", fix=f"choose from: {', '.join(kinds)}")
    if kinds[name] != "mean":
        raise UsageError(f"{name} {_SUMMARY_TEXTS[kinds[name]]} and has no paired differences", fix="compare a mean, such as AP")
    return name


def _common(every: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], dict[int, IntArray]]:
    """The queries that all have, sorted, and where each of these tuples, by its id(), has them."""
    own = {id(ids): ids for ids in every}
    queries = tuple(sorted(set.intersection(*map(set, own.values()))))
    places = {}
    for key, ids in own.items():
        at = {query: place for place, query in enumerate(ids)}
        places[key] = np.fromiter((at[query] for query in queries), np.int64, len(queries))
    return queries, places


def _missing(result: Result, n: int) -> list[str]:
    absent = len(result.queries) - n
    if not absent:
        notes = [(system.name, note) for system in result.systems for note in system.notes]
        return [f"{for_message(name)}: {note.text}" for name, note in notes if note.code == "missing-queries"]
    of_answers = any(measured.measure.kind == "answer" for measured in result.systems[0].measures.values())
    what, lacks = ("questions", "has no value for them") if of_answers else ("judged queries", "lacks them")
    return [f"{absent:,} of {len(result.queries):,} {what} are left out because a system {lacks}: n = {n:,}"]


def with_measures(inputs: AnalysisInput, primary: str | Measure | None, measures: MeasuresLike) -> AnalysisInput:
    """The input with the values of the primary measure and of the given ones, which are evaluated where they are missing."""
    wanted = [*([] if primary is None else [primary]), *([] if measures is None else parse_measures(measures))]
    names = [str(parsed_measure(measure).with_rel(inputs.rel)) for measure in wanted]
    missing = [name for name in dict.fromkeys(names) if any(name not in system.measures for system in inputs.result.systems)]
    if not missing or any(parse_measure(name).kind == "answer" for name in missing):
        return inputs
    if any(name not in inputs.runs for name in inputs.systems):
        evaluated = ", ".join(inputs.result.systems[0].measures)
        raise UsageError(f"{missing[0]} was not evaluated for every system", fix=f"choose from: {evaluated}")
    runs = runs_of_systems(inputs.runs, inputs.systems)
    more = evaluate_runs(inputs.qrels, runs, missing, inputs.options)
    return replace(inputs, result=Result(inputs.result.queries, tuple(_joined(inputs.result, more))))


def _joined(result: Result, more: Result) -> Iterator[SystemResult]:
    for system, other in zip(result.systems, more.systems, strict=True):
        yield replace(system, measures={**system.measures, **other.measures})


def parsed_measure(measure: str | Measure) -> Measure:
    """The measure of a name."""
    return parse_measure(measure) if isinstance(measure, str) else measure


def primary_measure(inputs: AnalysisInput) -> str:
    """The measure that decides if none is named: that of the experiment, else nDCG@10, else the first mean."""
    named = settings_primary(inputs)
    if named is not None:
        return named
    measures = common_values(inputs.result).measures
    return str(measures[_primary_index(measures, None)])


def deciding_measure(measures: MeasuresLike) -> tuple[Measure | None, tuple[str, ...]]:
    """The first of the named measures that says which system is better, None if none does; and a note on those before it."""
    named = parse_measures(measures or ())
    able = next((measure for measure in named if measure.has_winner), None)
    if able is None or able is named[0]:
        return able, ()
    before = in_a_sentence(list(map(str, named[: named.index(able)])))
    return able, (f"{able} decides, because {before} cannot say which system is better",)


def settings_primary(inputs: AnalysisInput) -> str | None:
    """The primary measure of the experiment, if it was evaluated."""
    primary = inputs.decision_settings.primary
    return primary if all(primary in system.measures for system in inputs.result.systems) else None


def primary_first(joined: JoinedValues, primary: str | Measure | None) -> JoinedValues:
    """The joined values with the primary measure first."""
    at = _primary_index(joined.measures, primary)
    order = [at, *(place for place in range(len(joined.measures)) if place != at)]
    return replace(joined, measures=tuple(joined.measures[place] for place in order), values=joined.values[order])


def _primary_index(measures: Sequence[Measure], primary: str | Measure | None) -> int:
    """The index of the named measure, of nDCG@10, or of the first mean that ranks systems."""
    able = [at for at, measure in enumerate(measures) if measure.has_winner]
    names = [str(measure) for measure in measures]
    if primary is not None:
        named = [at for at in range(len(measures)) if _is_same(measures[at], parsed_measure(primary))]
        if not named or named[0] not in able:
            choices = ", ".join(names[at] for at in able)
            raise UsageError(f"{for_message(str(primary))} cannot be the primary measure", fix=f"choose from: {choices}")
        return named[0]
    usual = [at for at in able if names[at] == USUAL_PRIMARY]
    if not able:
        raise UsageError(
            f"none of the evaluated measures ({', '.join(names)}) says which system is better",
            fix=f"evaluate a measure such as {USUAL_PRIMARY}",
        )
    return (usual or able)[0]


def _is_same(evaluated: Measure, named: Measure) -> bool:
    """Whether the evaluated measure is the one asked for, with the evaluation's rel where it had none."""
    rel = evaluated.parameters().get("rel")
    return evaluated == (named if rel is None else named.with_rel(rel))


def unanswerable_questions(inputs: AnalysisInput) -> frozenset[str]:
    """The questions of which the reference says that they have no answer."""
    references = {} if inputs.texts is None else references_from_queries(inputs.texts)
    return frozenset(query for query, reference in references.items() if not reference.answers)


def answer_values(result: Result, measure: str, unanswerable: Collection[str]) -> JoinedValues:
    """The values of a measure of answers over the questions that each system was asked, with missing values at worst.

    An abstention is right where the reference says that there is no answer. Questions with nothing to measure are left out.
    """
    columns = [system.measures[measure] for system in result.systems]
    queries = tuple(_questions(columns))
    values = _values_of(columns, queries)
    reasons = [[column.reasons.get(query, "") for column in columns] for query in queries]
    absent = np.isnan(values)
    no_answer, abstained = (_is_among(reasons, names, values.shape) for names in (NO_ANSWER, _ABSTAINED))
    right = abstained & absent & np.array([[query in unanswerable] for query in queries], dtype=bool).reshape(-1, 1)
    filled, partly = _with_partly_missing(columns, queries, _filled(columns[0].measure, values, right), unanswerable)
    missing = MissingValues(no_answer, abstained & absent & ~right, absent & ~no_answer & ~abstained, partly=partly)
    names = tuple(system.name for system in result.systems)
    return JoinedValues(queries, names, (columns[0].measure,), filled[None], (), missing=missing)


def _with_partly_missing(
    columns: Sequence[MeasureResult], queries: Sequence[str], values: FloatArray, unanswerable: Collection[str]
) -> tuple[FloatArray, PartlyMissing | None]:
    """The values with each repeated answer without a value at worst, and how much better they are in the scenarios."""
    best, worst = best_value(columns[0].measure), worst_value(columns[0].measure)
    if best is None or worst is None or not any(column.repeat_reasons for column in columns):
        return values, None
    rows = {query: row for row, query in enumerate(queries)}
    at_worst, without, at_best = values.copy(), values.copy(), values.copy()
    abstained, unknown = np.zeros(values.shape), np.zeros(values.shape)
    for at, column in enumerate(columns):
        for query in filter(rows.__contains__, column.repeat_reasons):
            repeats = _repeats_of(column, query, worst, best, is_unanswerable=query in unanswerable)
            place = rows[query], at
            at_worst[place] = (repeats.known + (repeats.abstained + repeats.unknown) * worst) / repeats.asked
            without[place] = (repeats.known + repeats.unknown * worst) / max(repeats.asked - repeats.abstained, 1)
            at_best[place] = (repeats.known + repeats.abstained * worst + repeats.unknown * best) / repeats.asked
            abstained[place], unknown[place] = repeats.abstained / repeats.asked, repeats.unknown / repeats.asked
    return at_worst, PartlyMissing(abstained, unknown, np.abs(without - at_worst), np.abs(at_best - at_worst))


class _Repeats(NamedTuple):
    """The answers of a system to one question: the sum of the known values, and how many are missing of how many."""

    known: float
    abstained: int
    unknown: int
    asked: int


def _repeats_of(column: MeasureResult, query: str, worst: float, best: float, *, is_unanswerable: bool) -> _Repeats:
    reasons = column.repeat_reasons[query]
    silent = reasons.count("abstained")
    right = silent if is_unanswerable else 0
    # The stored values contain an abstention as the worst value, unless it is right.
    included = silent - right
    # None of the answers has a value.
    values = column.repeats.get(query, ())
    abstained = sum(reason in _ABSTAINED for reason in reasons) - right
    known = math.fsum(values) - included * worst + right * best
    return _Repeats(known, abstained, len(reasons) - right - abstained, len(values) - included + len(reasons))


def decision_values(inputs: AnalysisInput, measures: MeasuresLike, primary: str | Measure | None) -> list[JoinedValues]:
    """The values on common queries, the primary measure first.

    Measures of answers have all questions that were asked, with missing values at worst; questions with nothing to measure differ
    between measures.
    """
    every = primary_first(ranking_values(inputs.result, measures), primary)
    if every.measures[0].kind != "answer":
        return [_with_lacking(inputs, every)]
    unanswerable = unanswerable_questions(inputs)
    first, *others = (
        _with_lacking(inputs, answer_values(inputs.result, str(measure), unanswerable)) for measure in every.measures
    )
    if all(other.queries == first.queries for other in others):
        return [
            replace(first, measures=every.measures, values=np.concatenate([first.values, *(other.values for other in others)]))
        ]
    return [first, *(other for other in others if len(other.queries))]


def _with_lacking(inputs: AnalysisInput, joined: JoinedValues) -> JoinedValues:
    """The values with what each system was asked, and a scenario without what systems lack if they were asked different queries.

    What one system alone lacks is a failure, unless it lacks many queries or has unknown ones. What each of two systems has and
    the other lacks may be another set of queries.
    """
    by_answers = joined.measures[0].kind == "answer"
    sources: Mapping[str, Answers | Run] = inputs.answers if by_answers else inputs.runs
    if any(name not in sources for name in joined.systems) or not _may_lack(inputs.result, by_answers=by_answers):
        return joined
    known = [frozenset(source.queries if isinstance(source := sources[name], Run) else source) for name in joined.systems]
    lacking = np.array([[query not in own for own in known] for query in joined.queries], dtype=bool)
    if not lacking.any():
        return joined
    joined = replace(joined, asked=~lacking)
    # A row and a column for each system: how many queries the first has and the second lacks.
    differing = (~lacking).T.astype(np.int64) @ lacking.astype(np.int64)
    few = MAX_MISSING * len(joined.queries)
    is_other_set = (np.minimum(differing, differing.T) > few).any() or _has_other_ids(inputs.result, few)
    if not is_other_set and (lacking.mean(axis=0) <= _MOST_LACKING[by_answers]).all():
        return joined
    if joined.missing is not None:
        return replace(joined, missing=replace(joined.missing, skips=True))
    none = np.zeros(lacking.shape, dtype=bool)
    return replace(joined, missing=MissingValues(lacking, none, none, skips=True))


def _has_other_ids(result: Result, few: float) -> bool:
    """Whether a run lacks more than a few queries and has as many that are not judged, as if their ids were written otherwise."""
    counts = [{note.code: note.count for note in system.notes} for system in result.systems]
    return any(min(own.get("missing-queries", 0), own.get("unjudged-queries", 0)) > few for own in counts)


def _may_lack(result: Result, *, by_answers: bool) -> bool:
    """Whether a system may lack queries; runs that lack none need not be read."""
    return by_answers or any(note.code == "missing-queries" for system in result.systems for note in system.notes)


def _questions(columns: Sequence[MeasureResult]) -> Iterator[str]:
    """The questions that each system was asked, sorted, without those that have nothing to measure for any system."""
    questions = set.intersection(*({*column.query_ids, *column.reasons} for column in columns))
    valued = [frozenset(column.query_ids) for column in columns]
    for query in sorted(questions):
        if any(
            query in with_value or column.reasons[query] not in _LEFT_OUT
            for column, with_value in zip(columns, valued, strict=True)
        ):
            yield query


def _is_among(reasons: Sequence[Sequence[str]], names: Collection[str], shape: tuple[int, ...]) -> BoolArray:
    return np.array([[reason in names for reason in row] for row in reasons], dtype=bool).reshape(shape)


def _filled(measure: Measure, values: FloatArray, right: BoolArray) -> FloatArray:
    """The values with right abstentions at best and other missing values at worst, or at the worst value seen."""
    best, worst = best_value(measure), worst_value(measure)
    filled = values if best is None else np.where(right, best, values)
    if worst is None:
        seen = filled[~np.isnan(filled)]
        worst = float(seen.max() if measure.higher_is_better is False else seen.min()) if len(seen) else 0.0
    return np.where(np.isnan(filled), worst, filled)

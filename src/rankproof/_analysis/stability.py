"""Whether a decision would stand with half of the queries, with changed grades, with other judges, or with a shallower pool."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any

import numpy as np

from rankproof._analysis.compare.comparison import compare_inputs
from rankproof._analysis.compare.joined_values import ranking_values
from rankproof._analysis.decision.judge_sentences import by_unchecked_judge
from rankproof._analysis.decision.record import Decision
from rankproof._analysis.inputs import AnalysisInput, check_judged
from rankproof._analysis.options import CompareOptions, StabilityOptions
from rankproof._analysis.values import format_points
from rankproof._data.arrays import BoolArray, FloatArray, IntArray
from rankproof._data.grades import GradeReader
from rankproof._data.ordering import ranked_run
from rankproof._data.qrels import Judgement, Qrels, qrels_of_rows
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import in_a_sentence, pluralise
from rankproof._evaluation.evaluate import evaluate_runs
from rankproof._evaluation.result import Result, runs_of_systems
from rankproof._statistics.deterministic import products, random_words, stream_key, to_exact_sum
from rankproof._statistics.distributions import student_quantile
from rankproof.errors import UsageError, for_message
from rankproof.measures._base import Measure

STANDS = 0.95
"""A decision stands a check if it stands in this share of the rounds."""
_MIN_QUERIES = 10
_CELLS = 1 << 21
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen system by its place, the measure, and the margin within which it may be below the best."""

    systems: tuple[str, ...]
    system: int
    measure: Measure
    margin: float
    alpha: float

    @property
    def name(self) -> str:
        """The name of the chosen system, for a message."""
        return for_message(self.systems[self.system])


@dataclass(frozen=True, slots=True)
class StabilityCheck:
    """A check: in which rounds the choice stands and is reversed, the best system of each round, and the judgements kept."""

    name: str
    stands: BoolArray
    is_reversed: BoolArray
    best: Sequence[int]
    kept: float | None = None

    @property
    def passes(self) -> bool:
        """Whether the choice stands in enough rounds."""
        return float(self.stands.mean()) >= STANDS


def stability(
    inputs: AnalysisInput, others: Sequence[Qrels] = (), options: StabilityOptions | None = None, **decision: Any
) -> list[Table]:
    """Whether the decision of `compare` stands each check; `decision` are the arguments of `compare_inputs`."""
    options = options or StabilityOptions()
    check_rankings(inputs)
    if inputs.result.weights is not None:
        raise UsageError(
            "stability has no weights of queries", fix="leave them out; of a folder with weights, pass the file of judgements"
        )
    # The checks are on the values; labels of people that correct those of a judge are no part of them.
    inputs = replace(inputs, labels=())
    made = compare_inputs(inputs, options=CompareOptions(samples=1_000, alpha=options.alpha, seed=options.seed), **decision)
    choice = _choice(made.decision, options.alpha)
    values = _oriented(inputs.result, choice)
    if len(values) < _MIN_QUERIES:
        what = f"{pluralise(len(values), 'common query is', 'common queries are')} too few to split"
        raise UsageError(what, fix=f"compare the systems on at least {_MIN_QUERIES} queries")
    if (values == values[:, :1]).all():
        what = f"{choice.measure} is the same for all systems on every query, so that nothing is chosen"
        raise UsageError(what, fix="choose another primary measure, or compare other systems")
    checks = [
        _halves(values, choice, options),
        *([_changed_grades(inputs, choice, options)] if options.flip else []),
        *(_other_judge(inputs, other, choice) for other in others),
        *_pools(inputs, choice, options.pools),
    ]
    return [_table(checks, choice, made.decision, options), _winners(checks, choice)]


def _choice(decision: Decision, alpha: float) -> Choice:
    """The recommended system, or the leading one."""
    names = tuple(system.name for system in decision.distinct)
    if decision.first is None or len(decision.by_system) < 2:
        raise UsageError("there are fewer than two systems to choose from", fix="compare two or more that rank documents")
    return Choice(names, names.index(decision.first), decision.measure, decision.margin, alpha)


def _oriented(result: Result, choice: Choice) -> FloatArray:
    """The values by query and system, higher is better."""
    joined = ranking_values(result, [choice.measure])
    values: FloatArray = joined.values[0][:, [joined.systems.index(name) for name in choice.systems]]
    return -values if choice.measure.higher_is_better is False else values


def _halves(values: FloatArray, choice: Choice, options: StabilityOptions) -> StabilityCheck:
    """Random halves of the queries."""
    n, parts = len(values), []
    # Rounds are drawn in blocks of limited memory; the stream of random numbers does not depend on the blocks.
    block = max(1, _CELLS // n)
    for first in range(0, options.splits, block):
        count = min(block, options.splits - first)
        words = random_words(stream_key(options.seed, "halves"), first * n, count * n).reshape(count, n)
        chosen = np.zeros((count, n))
        np.put_along_axis(chosen, np.argsort(words, axis=1, kind="stable")[:, : n // 2], 1.0, axis=1)
        parts.append(_rounds(values, chosen, choice))
    stands, is_reversed, best = (np.concatenate(part) for part in zip(*parts, strict=True))
    return StabilityCheck("half of the queries", stands, is_reversed, best.tolist())


def _rounds(values: FloatArray, chosen: FloatArray, choice: Choice) -> tuple[BoolArray, BoolArray, IntArray]:
    """In which rounds the choice stands and is reversed, and the best system; a row of `chosen` has the queries of a round.

    The choice is reversed if another system is significantly better by the t-test, with Bonferroni's correction.
    """
    size = float(chosen[0].sum())
    # Sums are exact, so that systems with equal values tie in every round, whatever the order of the queries.
    numbers = to_exact_sum(values)
    sums = products(chosen, numbers.numbers)
    ahead = (sums.max(axis=1) - sums[:, choice.system]) * (numbers.unit / size)
    apart = values - values[:, choice.system : choice.system + 1]
    mean, square = chosen @ apart / size, chosen @ np.square(apart) / size
    error = np.sqrt(np.maximum(square - np.square(mean), 0) / (size - 1))
    least = student_quantile(1 - choice.alpha / 2 / (values.shape[1] - 1), size - 1)
    is_better: BoolArray = (mean > least * error) & (mean > _ROUNDING)
    is_reversed: BoolArray = np.asarray(is_better.any(axis=1))
    return ahead <= choice.margin + _ROUNDING, is_reversed, sums.argmax(axis=1)


def _checked(name: str, values_of_rounds: Sequence[FloatArray], choice: Choice, kept: float | None = None) -> StabilityCheck:
    """The check of rounds whose values were measured again."""
    parts = [_rounds(values, np.ones((1, len(values))), choice) for values in values_of_rounds]
    stands, is_reversed, best = (np.concatenate(part) for part in zip(*parts, strict=True))
    return StabilityCheck(name, stands, is_reversed, best.tolist(), kept)


def _measured(inputs: AnalysisInput, qrels: Qrels, choice: Choice) -> FloatArray:
    return _oriented(with_judgements(inputs, qrels, measures=[choice.measure]).result, choice)


def _judgements(inputs: AnalysisInput) -> list[Judgement]:
    """The judgements of the queries for each subtopic; none where there are no subtopics, as rows take much memory."""
    subtopics = inputs.qrels.subtopics
    return [
        Judgement(query, doc, grade, subtopic=subtopic)
        for query in (inputs.result.queries if subtopics else ())
        for subtopic, docs in subtopics[query].items()
        for doc, grade in docs.items()
    ]


def _qrels_of_subtopics(qrels: Qrels, rows: Sequence[Judgement]) -> Qrels:
    return qrels_of_rows(rows, GradeReader(qrels.source, None), qrels.on_conflict, by_subtopic=True)


def _regraded(inputs: AnalysisInput, rows: Sequence[Judgement], grades: Sequence[int]) -> Qrels:
    """The judgements with other grades, in the order of the rows, or without rows of queries and their documents."""
    qrels = inputs.qrels
    if rows:
        return _qrels_of_subtopics(qrels, [row._replace(grade=grade) for row, grade in zip(rows, grades, strict=True)])
    left = iter(grades)
    # The documents come first, so that the last step of a query takes no grade of the next.
    by_query = {query: dict(zip(qrels[query], left, strict=False)) for query in inputs.result.queries}
    return Qrels.of_checked(by_query, source=qrels.source)


def _changed_grades(inputs: AnalysisInput, choice: Choice, options: StabilityOptions) -> StabilityCheck:
    """A share of the grades changed at random to another grade of the scale."""
    rows, by_query = _judgements(inputs), map(inputs.qrels.__getitem__, inputs.result.queries)
    plain = [row.grade for row in rows] if rows else chain.from_iterable(docs.values() for docs in by_query)
    grades = np.fromiter(plain, np.int64)
    scale = np.unique(np.append(grades, 0 if grades.any() else 1)) if grades.min() == grades.max() else np.unique(grades)
    values_of_rounds = []
    for at in range(options.rounds):
        words = random_words(stream_key(options.seed, "grades"), 2 * at * len(grades), 2 * len(grades)).reshape(2, -1)
        # 53 bits are a uniform float; the other word picks one of the other grades, all about equally likely.
        share = (words[0] >> np.uint64(11)).astype(np.float64) * 2.0**-53
        step = 1 + (words[1] >> np.uint64(32)).astype(np.int64) % (len(scale) - 1)
        moved = scale[(np.searchsorted(scale, grades) + step) % len(scale)]
        changed = np.where(share < options.flip, moved, grades).tolist()
        values_of_rounds.append(_measured(inputs, _regraded(inputs, rows, changed), choice))
    return _checked(f"{100 * options.flip:g}% of the grades changed", values_of_rounds, choice)


def _other_judge(inputs: AnalysisInput, other: Qrels, choice: Choice) -> StabilityCheck:
    """Other judgements, on the queries that both have."""
    _, theirs = on_common_queries(inputs, other, measures=[choice.measure])
    n, queries = len(theirs.result.queries), len(inputs.result.queries)
    part = "" if n == queries else f" ({n:,} of {queries:,} queries)"
    return _checked(f"judgements of {for_message(other.source)}{part}", [_oriented(theirs.result, choice)], choice)


def _pools(inputs: AnalysisInput, choice: Choice, depths: Sequence[int]) -> Iterator[StabilityCheck]:
    """Judgements of documents in the top of any run alone; the others are unjudged."""
    ranked = [ranked_run(inputs.runs[name], inputs.read_options) for name in choice.systems]
    rankings = [
        {query: run.docs[start:end] for query, (start, end) in zip(run.queries, pairwise(run.offsets.tolist()), strict=True)}
        for run in ranked
    ]
    queries = inputs.result.queries
    rows = _judgements(inputs)
    for depth in dict.fromkeys(depths):
        cut, kept = _cut_to_pool(inputs, rows, rankings, depth)
        judged = [query for query in queries if query in cut]
        # A query without a judged document in the pool has the value 0 for every system.
        values = np.zeros((len(queries) - len(judged), len(choice.systems)))
        if judged:
            measured = with_judgements(inputs, cut, judged, measures=[choice.measure])
            values = np.concatenate([_oriented(measured.result, choice), values])
        yield _checked(f"a pool of the top {depth}", [values], choice, kept)


def _cut_to_pool(
    inputs: AnalysisInput, rows: Sequence[Judgement], rankings: Sequence[Mapping[str, Sequence[str]]], depth: int
) -> tuple[Qrels, float]:
    """The judgements of documents in the top of any ranking, and their share."""
    qrels, queries = inputs.qrels, inputs.result.queries

    def pool(query: str) -> set[str]:
        return {doc for ranking in rankings for doc in ranking.get(query, ())[:depth]}

    if rows:
        pools = {query: pool(query) for query in queries}
        cut = [row for row in rows if row.doc in pools[row.query]]
        return _qrels_of_subtopics(qrels, cut), len(cut) / len(rows)
    by_query = {query: _grades_of(qrels[query], pool(query)) for query in queries}
    counts = [sum(map(len, grades)) for grades in (by_query.values(), map(qrels.__getitem__, queries))]
    left = {query: docs for query, docs in by_query.items() if docs}
    return Qrels.of_checked(left, source=qrels.source), counts[0] / counts[1]


def _grades_of(grades: Mapping[str, int], docs: Container[str]) -> dict[str, int]:
    return {doc: grade for doc, grade in grades.items() if doc in docs}


def _table(checks: Sequence[StabilityCheck], choice: Choice, decision: Decision, options: StabilityOptions) -> Table:
    columns = (
        Column("check"),
        Column("rounds", "count"),
        Column("stands", "share", "rounds in which the chosen system is within the margin of the best"),
        Column("best", "share", "rounds in which the chosen system is the best"),
        Column("reversed", "share", "rounds in which another system is significantly better"),
        Column("judgements kept", "share", "of a shallower pool"),
    )
    rows = tuple(_row(check, choice) for check in checks)
    facts = {
        "system": choice.systems[choice.system],
        "measure": str(choice.measure),
        "margin": choice.margin,
        "decided": decision.decided,
        "alpha": options.alpha,
        "seed": options.seed,
        "n": decision.n,
        "judge": decision.judge,
    }
    what = "choice" if decision.judge is None else "lead"
    title = f"Stability of the {what} of {choice.name} by {choice.measure} (n = {pluralise(decision.n, 'query', 'queries')})"
    sentences = tuple(_sentences(checks, choice, decision))
    return Table("stability", title, columns, rows, sentences, (), facts, verdict_first=True)


def _row(check: StabilityCheck, choice: Choice) -> tuple[CellValue, ...]:
    best = sum(system == choice.system for system in check.best) / len(check.best)
    return check.name, len(check.best), float(check.stands.mean()), best, float(check.is_reversed.mean()), check.kept


def _sentences(checks: Sequence[StabilityCheck], choice: Choice, decision: Decision) -> Iterator[str]:
    margin = format_points(choice.margin, choice.measure)
    failed = [check for check in checks if not check.passes]
    subject = _subject(choice, decision)
    if not failed:
        yield f"{subject} stands: it is within {margin} of the best with {in_a_sentence([check.name for check in checks])}."
        return
    yield f"{subject} does not stand with {in_a_sentence([_with_share(check) for check in failed])}."
    passed = [check.name for check in checks if check.passes]
    if passed:
        yield f"It stands, within {margin} of the best, with {in_a_sentence(passed)}."


def _subject(choice: Choice, decision: Decision) -> str:
    """What stands or does not: a choice, or the lead by people's labels or by a judge that nobody checked."""
    if decision.judge is not None:
        return f"{by_unchecked_judge(decision.judge)}, the lead of {choice.name}"
    return f"The choice of {choice.name}" if decision.decided else f"Nothing is decided; the lead of {choice.name}"


def _with_share(check: StabilityCheck) -> str:
    rounds = len(check.best)
    return check.name if rounds == 1 else f"{check.name} (stands in {check.stands.mean():.0%} of {rounds:,} rounds)"


def _winners(checks: Sequence[StabilityCheck], choice: Choice) -> Table:
    """How often each system is the best of a round."""
    columns = (Column("system"), *(Column(check.name, "share", "rounds in which the system is the best") for check in checks))
    shares = [np.bincount(check.best, minlength=len(choice.systems)) / len(check.best) for check in checks]
    rows: tuple[tuple[CellValue, ...], ...] = tuple(
        (name, *(float(share[at]) for share in shares)) for at, name in enumerate(choice.systems)
    )
    return Table("winners", "How often each system is the best", columns, rows)


def check_rankings(inputs: AnalysisInput) -> None:
    """Rejects an input whose values cannot be measured again: answers, or a system without rankings."""
    check_judged(inputs)
    missing = [name for name in inputs.systems if name not in inputs.runs]
    for system in inputs.system_runs:
        if system.name in missing:
            _ = system.run  # Says that rankings are not stored, and how to store them.
    if missing:
        raise UsageError(f"the rankings of {for_message(missing[0])} are not known", fix="pass judgements and runs, or results")


def with_judgements(
    inputs: AnalysisInput,
    qrels: Qrels,
    queries: Sequence[str] | None = None,
    measures: Sequence[Measure] | None = None,
) -> AnalysisInput:
    """The input measured with these judgements, on these queries or on its own, by these measures or by its own."""
    measures = measures or [measure.measure for measure in inputs.result.systems[0].measures.values()]
    chosen = tuple(inputs.result.queries if queries is None else queries)
    weights = inputs.result.weights
    kept = None if weights is None else {query: weights[query] for query in chosen}
    options = replace(inputs.options, queries=chosen, weights=kept)
    result = evaluate_runs(qrels, runs_of_systems(inputs.runs, inputs.systems), measures, options)
    return replace(inputs, qrels=qrels, result=result)


def on_common_queries(
    inputs: AnalysisInput, other: Qrels, measures: Sequence[Measure] | None = None
) -> tuple[AnalysisInput, AnalysisInput]:
    """The input, and the input with other judgements, both on the queries that both have judged."""
    check_rankings(inputs)
    common = [query for query in inputs.result.queries if query in other]
    if not common:
        what = f"{for_message(other.source)} has no judgement of the queries of {for_message(inputs.name)}"
        raise UsageError(what, fix="pass judgements of the same queries")
    own = inputs if len(common) == len(inputs.result.queries) else with_judgements(inputs, inputs.qrels, common, measures)
    return own, with_judgements(inputs, other, common, measures)

"""What a decision needs besides values: empty systems and equal ones, costs, failed queries, and unjudged documents."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from rankproof._analysis.compare.joined_values import JoinedValues
from rankproof._analysis.decision.record import Costs, Decision, SystemRisk
from rankproof._analysis.decision.repeats import repeated_answers
from rankproof._analysis.grade_order import order_of
from rankproof._analysis.inputs import AnalysisInput, checked_system, checked_system_name
from rankproof._data.answers import Answers, mean_known
from rankproof._data.arrays import FloatArray, IntArray, list_numbers
from rankproof._data.ordering import have_same_rankings
from rankproof._data.qrels import Qrels
from rankproof._data.run import NO_RANK, Run
from rankproof._data.text import pluralise
from rankproof._data.validation import ReadOptions
from rankproof._evaluation.evaluate import evaluate_runs
from rankproof._evaluation.notes import RANK_CONTRADICTS, SCORES_LIKE_DISTANCES, TIED_ORDER, TIED_SCORES
from rankproof._evaluation.result import Result, repeated_system, runs_of_systems
from rankproof._evaluation.sources import RunSources, align, prepare_judgements
from rankproof._results.experiment_result import USUAL_BASELINE, SystemRun, ranking_systems
from rankproof._statistics.decision_rule import cheapest
from rankproof._statistics.means import weighted_mean
from rankproof._statistics.paired import is_number, setting_error
from rankproof.errors import UsageError, for_message, type_phrase
from rankproof.measures._base import Measure

Copies = Mapping[str, str]
"""The systems that have the same rankings or answers as another, each with the system that stands for it."""
_MIN_SHARE_WITH_NON_RELEVANT = 0.5
_QUERIES_OF_GRADES = 500
"""Of more queries, every n-th shows whether grades are reversed."""
_MAX_LISTS = 20_000
"""With more rankings than this, pairs to judge take longer to find than the decision itself."""
_JUDGE_NEXT = 10


def systems_without_documents(inputs: AnalysisInput) -> tuple[str, ...]:
    """The systems that retrieved nothing for any query; none where answers are compared, which may have no rankings."""
    if _by_answers(inputs):
        return ()
    return tuple(name for name in inputs.systems if _retrieved_nothing(inputs, name))


def _retrieved_nothing(inputs: AnalysisInput, name: str) -> bool:
    """Whether the run is empty; a run file is read only if every value is 0, as in an empty run."""
    if name not in inputs.runs:
        return False
    measures = next(system for system in inputs.result.systems if system.name == name).measures
    may_be_empty = bool(inputs.system_runs) or not any(measured.values.any() for measured in measures.values())
    return may_be_empty and not len(inputs.runs[name].docs)


def _by_answers(inputs: AnalysisInput) -> bool:
    return any(measured.measure.kind == "answer" for measured in inputs.result.systems[0].measures.values())


def systems_with_rankings(inputs: AnalysisInput) -> list[str]:
    """The systems with a ranking of their own; an answering system has that of another system, and only its answers differ."""
    by_answers = _by_answers(inputs)
    stored = {run.name for run in inputs.system_runs}
    ranking = ranking_systems(inputs.system_runs)
    return [name for name in inputs.systems if by_answers or not ranking or name in ranking or name not in stored]


def left_out_notes(empty: Sequence[str], named: str | None, baseline: str | None) -> Iterator[str]:
    """Notes on systems that retrieved nothing."""
    if empty:
        names = ", ".join(map(for_message, empty))
        yield f"{names} retrieved nothing and {'is' if len(empty) == 1 else 'are'} left out"
    if named in empty and baseline is not None:
        yield f"the baseline is {for_message(baseline)}, as {for_message(str(named))} retrieved nothing"


def unknown_cost_notes(costs: Costs, systems: Sequence[str]) -> Iterator[str]:
    """A note on systems without a cost beside others with one."""
    unknown = [name for name in systems if costs.of(name) is None]
    if unknown and len(unknown) < len(systems):
        what = {"ms": "latency", "money": "price", "tokens": "number of tokens", "given": "cost"}[costs.unit or "given"]
        names = ", ".join(map(for_message, unknown))
        yield f"the {what} of {names} is unknown; cost does not decide where one of them is good enough (--cost NAME=N gives it)"


def timing_notes(inputs: AnalysisInput, costs: Costs) -> Iterator[str]:
    """A note on times that are not comparable, where they would be the costs."""
    if inputs.timed_apart and costs.unit is None:
        yield f"latency is not comparable: {inputs.timed_apart}; run the systems in one experiment to compare it (or pass --cost)"


def answering_notes(answering: Sequence[str]) -> Iterator[str]:
    """A note on systems with the ranking of another system."""
    if answering:
        names, has = ", ".join(map(for_message, answering)), "has" if len(answering) == 1 else "have"
        yield f"{names} {has} the ranking of another system and {'is' if len(answering) == 1 else 'are'} not compared here"


def default_baseline(inputs: AnalysisInput) -> str | None:
    """`bm25` where it retrieves anything, else the first system that does; None if there is none."""
    empty = systems_without_documents(inputs)
    able = [name for name in inputs.systems if name not in empty]
    return USUAL_BASELINE if USUAL_BASELINE in able else next(iter(able), None)


def system_costs(inputs: AnalysisInput, costs: Mapping[str, float] | None = None) -> Costs:
    """The given costs if there are any, else money per query if a system spent any, else the latency p50 of one run.

    Of answers that were made elsewhere what their logs say: money, else the latency p50, else tokens.
    """
    if costs is not None and not isinstance(costs, Mapping):
        raise UsageError(f"costs cannot be {type_phrase(costs)}", fix="pass {system: cost}")
    if costs:
        return Costs("given", {checked_system(inputs, name): _checked_cost(name, cost) for name, cost in costs.items()})
    runs = {run.name: run for run in inputs.system_runs if run.name in inputs.systems}
    if any(run.money for run in runs.values()):
        return Costs("money", {name: _money(run) for name, run in runs.items()})
    totals = {} if inputs.timed_apart else {name: run.time_of("total") for name, run in runs.items()}
    times = {name: total.p50 for name, total in totals.items() if total}
    queries = {name: total.queries for name, total in totals.items() if total}
    return Costs("ms", times, queries) if any(times.values()) else _logged_costs(inputs)


def _logged_costs(inputs: AnalysisInput) -> Costs:
    """What the logs of answers say; a system of which an answer does not say it has an unknown cost."""
    usages = {name: answers.usages for name, answers in inputs.answers.items() if name in inputs.systems}
    money = {name: mean_known(usage.cost for usage in own) for name, own in usages.items()}
    if any(money.values()):
        return Costs("money", money)
    times = {name: [usage.latency_ms for usage in own if usage.latency_ms is not None] for name, own in usages.items()}
    medians = {name: float(np.median(own)) if own and len(own) == len(usages[name]) else None for name, own in times.items()}
    if any(medians.values()):
        return Costs("ms", medians, {name: len(own) for name, own in times.items() if own})
    tokens = {name: mean_known(usage.all_tokens for usage in own) for name, own in usages.items()}
    return Costs("tokens", tokens) if any(tokens.values()) else Costs()


def _checked_cost(system: str, cost: object) -> float:
    if not is_number(cost) or not 0 <= cost < math.inf:  # type: ignore[operator]
        raise setting_error(f"the cost of {system}", cost, "pass a number of at least 0, such as 1.4")
    return float(cost)  # type: ignore[arg-type]


def _money(run: SystemRun) -> float | None:
    """Money per query; None for calls of a language model without a price."""
    if run.total("tokens_in") and not run.money:
        return None
    return run.money / max(len(run.times["total"] if run.times else run.stored_run or ()), 1)


def failed_calls(inputs: AnalysisInput) -> dict[str, tuple[int, int]]:
    """How many of how many queries of each system have a failed call of a language model or search engine."""
    failures = {}
    for run in inputs.system_runs:
        counts = [run.counts[name] for name in ("failed", "given_up") if name in run.counts]
        if counts and len(counts[0]):
            failures[run.name] = int((np.sum(counts, axis=0) > 0).sum()), len(counts[0])
    return failures


def judged_only_values(inputs: AnalysisInput, result: Result, measure: str, queries: Sequence[str]) -> FloatArray | None:
    """The values by query and system after removing unjudged documents; None if they cannot be compared.

    Where most queries have fewer documents that were judged not relevant than relevant ones, mostly relevant documents remain.
    """
    names = [system.name for system in result.systems]
    kind = result.systems[0].measures[measure].measure.kind
    if kind == "answer" or inputs.read_options.judged_only or any(name not in inputs.runs for name in names):
        return None
    if not has_non_relevant(inputs, queries):
        return None
    return _values_with_options(inputs, result, measure, queries, replace(inputs.read_options, judged_only=True))


def _values_with_options(
    inputs: AnalysisInput, result: Result, measure: str, queries: Sequence[str], read_options: ReadOptions
) -> FloatArray:
    """The values by query and system if the runs are read with these options."""
    names = [system.name for system in result.systems]
    options = replace(inputs.options, skip_missing=False, read_options=read_options)
    runs: Mapping[str, Any] = inputs.runs
    if isinstance(inputs.runs, RunSources):
        # Files are evaluated as they are read, which is faster than reading whole runs first.
        runs, options = inputs.runs.sources, replace(options, files=inputs.runs.files)
    evaluated = evaluate_runs(inputs.qrels, runs_of_systems(runs, names), [measure], options)
    results = [next(iter(system.measures.values())) for system in evaluated.systems]
    place = {query: at for at, query in enumerate(results[0].query_ids)}
    rows = np.fromiter((place[query] for query in queries), np.int64, len(queries))
    return np.stack([result.values[rows] for result in results], axis=1)


def reversed_tie_values(inputs: AnalysisInput, joined: JoinedValues) -> FloatArray | None:
    """The values of the deciding measure with tied documents in the opposite order; None if that changes little."""
    measure = joined.measures[0]
    codes = {system.name: {note.code for note in system.notes} for system in inputs.result.systems}
    tied = {name for name, own in codes.items() if own & {TIED_SCORES, TIED_ORDER}}
    tied.intersection_update(inputs.runs)
    if not tied or measure.kind == "answer":
        return None
    from rankproof._evaluation.value_ranges import can_tie, values_of_reversed_ties

    if not can_tie(measure):
        return None
    judged = prepare_judgements(inputs.qrels, inputs.options)
    values: FloatArray = joined.values[0].copy()
    for at, name in enumerate(joined.systems):
        if name in tied:
            hits = align(judged, inputs.runs[name], name, inputs.options)
            by_query = dict(zip(hits.queries, values_of_reversed_ties(measure, hits).tolist(), strict=True))
            values[:, at] = [by_query[query] for query in joined.queries]
    return values


def with_relevant_documents(inputs: AnalysisInput, measure: Measure, queries: Sequence[str]) -> list[bool]:
    """Which queries have a relevant document; all count where the measure needs none, or where no query has one."""
    if measure.kind not in ("binary", "graded"):
        return [True] * len(queries)
    least = 1 if measure.kind == "graded" else least_relevant(inputs, measure)
    owners, grades = _grade_columns(inputs, queries)
    are_relevant: list[bool] = (np.bincount(owners[grades >= least], minlength=len(queries)) > 0).tolist()
    return are_relevant if any(are_relevant) else [True] * len(queries)


def _grade_columns(inputs: AnalysisInput, queries: Sequence[str]) -> tuple[IntArray, IntArray]:
    """Every grade of these queries, with the index of its query before it."""
    judged, nothing = inputs.qrels.as_dicts(), dict[str, int]()
    by_query = [judged.get(query, nothing) for query in queries]
    owners = list_numbers(np.fromiter(map(len, by_query), np.int64, len(by_query)))
    return owners, np.fromiter(chain.from_iterable(map(dict.values, by_query)), np.int64, len(owners))


def least_relevant(inputs: AnalysisInput, measure: Measure) -> int:
    """The least grade of a document that is relevant for the measure."""
    return int(measure.parameters().get("rel") or inputs.rel)


def are_grades_reversed(inputs: AnalysisInput, joined: JoinedValues) -> bool:
    """Whether every system ranks lower grades above higher ones, in a sample of the queries, if there are several grades."""
    if joined.measures[0].kind != "graded" or inputs.qrels.subtopics or any(name not in inputs.runs for name in joined.systems):
        return False
    _, grades = _grade_columns(inputs, joined.queries)
    if not (grades > 1).any() or grades[grades > 0].min() == grades.max():
        return False
    queries = joined.queries[:: len(joined.queries) // _QUERIES_OF_GRADES + 1]
    options, counted = replace(inputs.options, queries=queries), frozenset(queries)
    judged = prepare_judgements(
        Qrels.of_checked({query: dict(inputs.qrels[query]) for query in queries}, source=inputs.qrels.source), options
    )
    runs = (run_of_queries(inputs.runs, name, counted) for name in joined.systems)
    hits = (align(judged, run, run.name, options) for run in runs)
    # Documents of grade 0 may be ranked high because they were chosen to be hard.
    relevant = (replace(own, grades=np.where(own.grades > 0, own.grades, -1)) for own in hits)
    return all(order_of(own, inputs.rel).is_reversed for own in relevant)


def values_by_rank(inputs: AnalysisInput, joined: JoinedValues) -> FloatArray | None:
    """The values of the deciding measure with the documents of runs whose ranks contradict their scores in the order of ranks.

    None if no run file has such ranks: its scores may be distances.
    """
    codes = {system.name: {note.code for note in system.notes} for system in inputs.result.systems}
    named = [name for name, own in codes.items() if own & {SCORES_LIKE_DISTANCES, RANK_CONTRADICTS}]
    if joined.measures[0].kind == "answer" or inputs.system_runs or any(name not in inputs.runs for name in named):
        return None
    known = {name: inputs.runs[name].ranks for name in joined.systems if name in named}
    ranked = [name for name, ranks in known.items() if ranks is not None and (ranks != NO_RANK).all()]
    if not ranked:
        return None
    read_options = replace(inputs.read_options, order="rank", lower_is_better=False)
    result = only_systems(inputs, ranked).result
    values: FloatArray = joined.values[0].copy()
    columns = [joined.systems.index(system.name) for system in result.systems]
    values[:, columns] = _values_with_options(inputs, result, str(joined.measures[0]), joined.queries, read_options)
    return values


def equally_long_values(inputs: AnalysisInput, joined: JoinedValues) -> FloatArray | None:
    """The values of the deciding measure with all runs cut at the length of the shortest; None if that changes nothing.

    A run file may have been written with fewer documents. The systems of an experiment retrieve what they are meant to.
    """
    measure, lengths = joined.measures[0], {system.name: system.depth for system in inputs.result.systems}
    shortest = min(filter(None, lengths.values()), default=None)
    cutoff = getattr(measure, "cutoff", None)
    if shortest is None or (cutoff is not None and cutoff <= shortest) or set(lengths.values()) == {shortest}:
        return None
    if inputs.system_runs or measure.kind == "answer" or any(name not in inputs.runs for name in joined.systems):
        return None
    read_options = replace(inputs.read_options, depth=min(shortest, inputs.read_options.depth or shortest))
    values = _values_with_options(inputs, inputs.result, str(measure), joined.queries, read_options)
    return None if np.array_equal(values, joined.values[0]) else values


def left_out_queries_note(joined: JoinedValues, counted: Sequence[bool]) -> Iterator[str]:
    """The means over all queries, where queries without a relevant document are left out."""
    absent = len(counted) - sum(counted)
    if absent:
        measure = joined.measures[0]
        means = (measure.summarise(joined.values[0, :, at], joined.weights) for at in range(len(joined.systems)))
        shown = ", ".join(f"{for_message(name)} {mean:.4f}" for name, mean in zip(joined.systems, means, strict=True))
        what = pluralise(absent, "query has", "queries have")
        yield f"{what} no relevant document and no part in the decision; {measure} over all {len(counted):,}: {shown}"


def has_non_relevant(inputs: AnalysisInput, queries: Sequence[str]) -> bool:
    """Whether most queries have at least as many documents that were judged not relevant as relevant ones, as pools have."""
    owners, grades = _grade_columns(inputs, queries)
    judged = np.bincount(owners[grades >= 0], minlength=len(queries))
    zeros = np.bincount(owners[(grades >= 0) & (grades < inputs.rel)], minlength=len(queries))
    counted = int(((zeros > 0) & (2 * zeros >= judged)).sum())
    return counted >= _MIN_SHARE_WITH_NON_RELEVANT * len(queries)


def with_judge_noise(inputs: AnalysisInput, decision: Decision) -> Decision:
    """The decision with the noise of its judge, where asking again changes the difference by more than half of it."""
    deviation = _judge_deviation(inputs, decision)
    if deviation is None or not decision.against or not decision.n:
        return decision
    noise = deviation * math.sqrt(2 / decision.n)
    return replace(decision, judge_noise=noise) if noise > abs(decision.against[0].difference) / 2 else decision


def _judge_deviation(inputs: AnalysisInput, decision: Decision) -> float | None:
    """The standard deviation of a value when its judge is asked again; None if it is not known."""
    return next((noise.deviation for noise in inputs.result.noise if noise.measure == str(decision.measure)), None)


def with_repeats(inputs: AnalysisInput, decision: Decision, joined: JoinedValues) -> Decision:
    """The decision with the repeated answers of its systems."""
    every = {system.name: system.measures[str(decision.measure)] for system in inputs.result.systems}
    measured = {name: every[name] for name in joined.systems}
    noise = _judge_deviation(inputs, decision)
    rival = decision.rival or next((pair.other for pair in decision.against), None)
    pair = None if decision.first is None or rival is None else (decision.first, rival)
    return replace(decision, repeats=repeated_answers(measured, joined.queries, joined.values[0], pair, noise))


def with_pairs_to_judge(inputs: AnalysisInput, decision: Decision) -> Decision:
    """The open decision with the unjudged pairs that could change the difference of its two best systems most."""
    if decision.first is None or not decision.against or inputs.read_options.judged_only:
        return decision
    both = (decision.first, decision.against[0].other)
    if decision.measure.kind == "answer" or decision.measure.needs_subtopics or any(name not in inputs.runs for name in both):
        return decision
    if len(both) * len(inputs.result.queries) > _MAX_LISTS:
        return decision
    from rankproof._analysis.audit.judge_next import unjudged_pairs
    from rankproof._analysis.audit.unjudged import find_unjudged

    unjudged = unjudged_pairs(find_unjudged(_cut_for(only_systems(inputs, both), decision.measure)), decision.measure)
    spread = unjudged.spread
    order = [at for at in np.argsort(-spread, kind="stable").tolist() if spread[at] > 0]
    return replace(decision, judge_next=tuple(unjudged.pairs[at] for at in order[:_JUDGE_NEXT]), unjudged=len(order))


def _cut_for(inputs: AnalysisInput, measure: Measure) -> AnalysisInput:
    """The input with rankings cut at the cutoff of the measure, below which no document changes its value."""
    options = inputs.read_options
    depths = [depth for depth in (options.depth, getattr(measure, "cutoff", None)) if depth is not None]
    depth, queries = min(depths, default=None), frozenset(inputs.result.queries)
    runs = {name: top_rows(run_of_queries(inputs.runs, name, queries), options, depth) for name in inputs.systems}
    return replace(inputs, runs=runs, read_options=replace(options, depth=depth))


def run_of_queries(runs: Mapping[str, Run], name: str, queries: frozenset[str]) -> Run:
    """The run of the system with these queries only."""
    return runs.of_queries(name, queries) if isinstance(runs, RunSources) else runs[name].restricted_to(queries)


def top_rows(run: Run, options: ReadOptions, depth: int | None) -> Run:
    """The run, cut at the depth where its rows are in the order of their scores and no tie is cut."""
    is_plain = options.order == "score" and options.on_duplicate == "error" and not options.lower_is_better
    if depth is None or not is_plain or options.judged_only:
        return run
    starts, ends, scores = run.offsets[:-1], run.offsets[1:], run.scores
    falls = np.diff(scores) <= 0
    falls[starts[(starts > 0) & (starts < len(scores))] - 1] = True
    if not falls.all():
        return run
    # A tie at the cut could leave out the document that counts, so such a run stays whole.
    longer = starts[ends - starts > depth]
    return run if (scores[longer + depth - 1] == scores[longer + depth]).any() else run.first_rows(depth)


def only_systems(inputs: AnalysisInput, names: Sequence[str]) -> AnalysisInput:
    """The input with these systems alone."""
    for name in names:
        checked_system_name(inputs.systems, name)
    return replace(
        inputs,
        result=replace(inputs.result, systems=tuple(system for system in inputs.result.systems if system.name in names)),
        system_runs=tuple(run for run in inputs.system_runs if run.name in names),
    )


def same_systems(inputs: AnalysisInput, joined: JoinedValues, costs: Costs, baseline: str | None) -> Copies:
    """The copies among the systems; the cheapest of a group stands for it, or the baseline where costs are unknown or equal.

    Rankings that are not in memory, and answers that are not stored, are not compared.
    """
    by_answers = joined.measures[0].kind == "answer"
    is_same = partial(_have_same_answers, inputs.answers) if by_answers else _same_rankings(inputs, joined)
    copies: dict[str, str] = {}
    for group in _groups(joined.systems, is_same):
        first = _representative(group, costs, baseline)
        copies.update((name, first) for name in group if name != first)
    return copies


def _groups(systems: Sequence[str], is_same: Callable[[str, str], bool]) -> list[list[str]]:
    groups: list[list[str]] = []
    for name in systems:
        group = next((group for group in groups if is_same(group[0], name)), None)
        if group is None:
            groups.append([name])
        else:
            group.append(name)
    return groups


def _representative(group: Sequence[str], costs: Costs, baseline: str | None) -> str:
    known = {name: cost for name in group if (cost := costs.of(name)) is not None}
    if len(known) < len(group):
        return baseline if baseline is not None and baseline in group else group[0]
    equal = cheapest(known, costs.same_within)
    return baseline if baseline is not None and baseline in equal else min(group, key=known.__getitem__)


def _same_rankings(inputs: AnalysisInput, joined: JoinedValues) -> Callable[[str, str], bool]:
    """Whether two systems have the same rankings; those of different values are not looked at."""
    # -0.0 + 0.0 is 0.0: both zeros are one value.
    values = {name: (joined.values[0][:, at] + 0.0).tobytes() for at, name in enumerate(joined.systems)}
    return lambda system, other: values[system] == values[other] and _have_same_rankings(inputs, system, other)


def _have_same_rankings(inputs: AnalysisInput, system: str, other: str) -> bool:
    """Whether all repeats of two systems have the same rankings."""
    runs, other_runs = _runs_in_memory(inputs, system), _runs_in_memory(inputs, other)
    pairs = zip(runs, other_runs, strict=False)
    return 0 < len(runs) == len(other_runs) and all(have_same_rankings(*pair, inputs.read_options) for pair in pairs)


def _runs_in_memory(inputs: AnalysisInput, system: str) -> list[Run]:
    """The rankings of a system and its repeats; none if one of them is not in memory."""
    runs = inputs.runs
    names = [name for name in runs if repeated_system(name, runs) == system]
    if isinstance(runs, RunSources) and not all(map(runs.is_held, names)):
        return []
    return [runs[name] for name in names]


def _have_same_answers(answers: Mapping[str, Answers], system: str, other: str) -> bool:
    """Whether two systems gave the same answers from the same contexts to all questions, repeats included."""
    first, second = answers.get(system), answers.get(other)
    return first is not None and second is not None and first == second and first.repeats == second.repeats


def without_copies(joined: JoinedValues, copies: Copies) -> JoinedValues:
    """The values of the systems that stand for themselves."""
    kept = [at for at, name in enumerate(joined.systems) if name not in copies]
    missing = None if joined.missing is None else joined.missing.of_systems(kept)
    asked = None if joined.asked is None else joined.asked[:, kept]
    systems = tuple(joined.systems[at] for at in kept)
    return replace(joined, systems=systems, values=joined.values[:, :, kept], missing=missing, asked=asked)


def with_copies(
    decision: Decision, copies: Copies, joined: JoinedValues, costs: Costs, failed: Mapping[str, tuple[int, int]]
) -> Decision:
    """The decision with a row for each copy: its own mean, cost and failed calls, and the risk, limit and rival of its system."""
    rows = {system.name: system for system in decision.by_system}
    lacking = {count.system: count for count in decision.missing}

    def row(at: int, name: str) -> SystemRisk:
        if name not in copies:
            return rows[name]
        first, (lost, calls) = rows[copies[name]], failed.get(name, (0, 1))
        is_known = decision.is_corrected or not joined.queries
        value = first.value if is_known else weighted_mean(joined.values[0][:, at], joined.weights)
        cost, timed = costs.of(name), costs.timed.get(name)
        return SystemRisk(name, value, first.risk, first.limit, first.rival, cost, lost / calls, timed, same_as=first.name)

    by_system = tuple(row(at, name) for at, name in enumerate(joined.systems))
    counts = [(name, lacking.get(copies.get(name, name))) for name in joined.systems]
    missing = tuple(replace(count, system=name) for name, count in counts if count is not None)
    return replace(decision, by_system=by_system, missing=missing)

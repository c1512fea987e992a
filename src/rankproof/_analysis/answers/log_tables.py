"""Tables of logs of answers: calls of search tools, costs, whole sessions, and where supporting contexts stand."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rankproof._analysis.answers.answer_input import AnswerInput
from rankproof._analysis.compare.counted_queries import session_interval, sessions_of
from rankproof._analysis.inputs import AnalysisInput
from rankproof._data.answers import TURN_FIELD, Answers, AnswerUsage, SearchCall
from rankproof._data.arrays import FloatArray
from rankproof._data.claims import ClaimVerdict
from rankproof._data.table import CellValue, Column, Table
from rankproof._evaluation.result import MeasureResult
from rankproof._statistics.decision_rule import group_means
from rankproof._statistics.intervals import Interval, bounded_mean_interval, enough_differ, mean_interval
from rankproof.measures._base import Measure, worst_value
from rankproof.measures._claim_base import judge_of_measure

SEARCH_CALLS_TABLE = "search_calls"


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The counts of one answer; those of evidence are None if no relevant document of its question is known.

    `wasted` calls returned no relevant document that an earlier call had not returned. `until`, `tokens` and
    `elapsed_ms` are the calls, tokens and time until all relevant documents were found, None where they were not, or not known.
    """

    calls: int
    repeated: int
    nothing_new: int
    evidence: float | None = None
    wasted: int | None = None
    until: int | None = None
    tokens: float | None = None
    elapsed_ms: float | None = None


def trajectory(searches: Sequence[SearchCall], relevant: frozenset[str], documents: Mapping[str, str]) -> Trajectory:
    """The counts of the calls for one answer; `documents` has the judged document of a passage with another id."""
    returned = [{documents.get(doc, doc) for doc in search.returned} for search in searches]
    seen: list[set[str]] = [set()]
    for docs in returned:
        seen.append(seen[-1] | docs)
    queries = [" ".join(search.query.casefold().split()) for search in searches]
    repeated = sum(bool(query) and query in queries[:at] for at, query in enumerate(queries))
    nothing_new = sum(before == after for before, after in pairwise(seen))
    if not relevant:
        return Trajectory(len(searches), repeated, nothing_new)
    wasted = sum(before & relevant == after & relevant for before, after in pairwise(seen))
    until = next((at for at, docs in enumerate(seen) if at and relevant <= docs), None)
    tokens, elapsed_ms = (searches[until - 1].tokens, searches[until - 1].elapsed_ms) if until else (None, None)
    evidence = len(seen[-1] & relevant) / len(relevant)
    return Trajectory(len(searches), repeated, nothing_new, evidence, wasted, until, tokens, elapsed_ms)


def search_calls_table(answer_input: AnswerInput, baseline: str | None, level: float = 0.95) -> Table | None:
    """A row for each system whose calls are known; None if no answer has more or less than one call.

    The difference of the evidence from the baseline is that of the questions of both systems; sessions are the unit.
    """
    by_system = {system: _trajectories(answer_input, system) for system in answer_input.answers}
    if all(made.calls == 1 for own in by_system.values() for repeats in own.values() for made in repeats):
        return None
    against = _evidence(by_system.get(baseline or "", {}))
    rows = []
    for system, own in by_system.items():
        difference = None if system == baseline else _difference(answer_input, _evidence(own), against, level)
        if own:
            rows.append((system, *_row([made for repeats in own.values() for made in repeats], difference)))
    columns = (
        *(Column("system"), Column("answers", "count", "answers of which the calls are known", 3)),
        Column("calls", "number", "mean calls for an answer"),
        Column("repeated", "share", "share of the calls whose query an earlier call for the answer had", 1),
        Column("nothing new", "share", "share of the calls that returned only passages of earlier calls, or none", 2),
        Column("evidence", "value", "mean share of the relevant documents that the calls for an answer found together"),
        Column(f"vs {baseline} ({level:.0%} CI)", "interval", f"evidence minus that of {baseline}, of the questions of both"),
        Column("wasted", "share", "share of the calls that returned no further relevant document"),
        Column("all found", "share", "share of the answers for which all relevant documents were found"),
        Column("calls until", "number", "mean calls until then"),
        Column("tokens until", "number", "mean tokens of the language model until then"),
        Column("ms until", "number", "mean milliseconds from the question until then"),
    )
    known = [at for at in range(len(columns)) if any(row[at] is not None for row in rows)]
    return Table(SEARCH_CALLS_TABLE, "Calls of search tools for an answer", columns, tuple(rows)).with_columns(known)


def _trajectories(answer_input: AnswerInput, system: str) -> dict[str, list[Trajectory]]:
    """Those of each question of which the calls are known, repeats after the first."""
    inputs, documents = answer_input.inputs, answer_input.judged_documents
    made: dict[str, list[Trajectory]] = {}
    for query, _, answer in answer_input.answers[system].with_repeats():
        if answer.searches is not None:
            relevant = frozenset(doc for doc, grade in inputs.qrels.get(query, {}).items() if grade >= inputs.rel)
            made.setdefault(query, []).append(trajectory(answer.searches, relevant, documents))
    return made


def _row(made: Sequence[Trajectory], difference: Interval | None) -> tuple[CellValue, ...]:
    calls, judged = sum(item.calls for item in made), [item for item in made if item.evidence is not None]
    judged_calls, complete = sum(item.calls for item in judged), [item for item in judged if item.until is not None]
    until = ([getattr(item, name) for item in complete] for name in ("until", "tokens", "elapsed_ms"))
    return (
        *(len(made), calls / len(made)),
        *(_ratio(sum(item.repeated for item in made), calls), _ratio(sum(item.nothing_new for item in made), calls)),
        *(_ratio(math.fsum(item.evidence or 0.0 for item in judged), len(judged)), difference),
        _ratio(sum(item.wasted or 0 for item in judged), judged_calls),
        _ratio(len(complete), len(judged)),
        *(None if None in values else _ratio(math.fsum(values), len(values)) for values in until),
    )


def _ratio(part: float, whole: int) -> float | None:
    return part / whole if whole else None


def _evidence(own: Mapping[str, Sequence[Trajectory]]) -> dict[str, float]:
    """The mean evidence of each question with a relevant document."""
    known = {query: [made.evidence for made in repeats if made.evidence is not None] for query, repeats in own.items()}
    return {query: math.fsum(values) / len(values) for query, values in known.items() if values}


def _difference(
    answer_input: AnswerInput, own: Mapping[str, float], against: Mapping[str, float], level: float
) -> Interval | None:
    both = [query for query in own if query in against]
    apart, weights = np.array([own[query] - against[query] for query in both]), None
    sessions = sessions_of(both, answer_input.inputs.texts)
    if sessions is not None:
        apart, weights = group_means(apart, None, np.unique(np.array(sessions), return_inverse=True)[1])
    has_interval = bool(both) and enough_differ(apart, weights)
    return mean_interval(apart, level=level, weights=weights, within=(-1.0, 1.0)) if has_interval else None


PLACES = 5
SUPPORT_TABLE, FIRST_RELEVANT_TABLE = "context_support", "first_relevant"
_NONE = "none"


def support_table(answer_input: AnswerInput) -> Table | None:
    """For each system the share of its supported claims that rest on the context at each place; None without such claims."""
    answers, claims = answer_input.answers, answer_input.inputs.result.claims
    supported = [claim for claim in claims if claim.table == "answer-contexts" and claim.verdict == "supported"]
    judge = next((claim.judge for claim in supported), None)
    rows = []
    for system, own in answers.items():
        if not any(len(answer.given or ()) > 1 for answer in own.values()):
            continue
        chosen = [claim for claim in supported if claim.system == system and claim.judge == judge]
        if chosen:
            rows.append((system, len(chosen), *(_share(chosen, own, place) for place in range(1, PLACES + 1))))
    columns = (
        *(Column("system"), Column("claims", "count", f"of answers that their contexts support, by {judge}")),
        *(Column(f"context {place}", "share", "of those with a context at this place") for place in range(1, PLACES + 1)),
    )
    return Table(SUPPORT_TABLE, "Contexts that supported claims rest on", columns, tuple(rows)) if rows else None


def _share(claims: list[ClaimVerdict], answers: Answers, place: int) -> float | None:
    having = [claim for claim in claims if len(answers[claim.query].given or ()) >= place]
    return sum(any(number == place for number, _ in claim.evidence) for claim in having) / len(having) if having else None


def first_relevant_table(answer_input: AnswerInput, measure: str, level: float = 0.95) -> Table | None:
    """The mean of a measure by the place of the first relevant context; None if all are at one place, or none is judged."""
    results = {system.name: system.measures[measure] for system in answer_input.inputs.result.systems}
    places = {name: _first_places(answer_input, name) for name in results}
    if len({place for own in places.values() for place in own.values()}) < 2:
        return None
    rows = [row for name, result in results.items() for row in _rows(answer_input, name, result, places[name], level)]
    columns = (
        *(Column("system"), Column("place", "text", "of the first relevant context"), Column("n", "count")),
        *(Column("value", "value"), Column(f"{level:.0%} CI", "interval")),
    )
    return Table(FIRST_RELEVANT_TABLE, f"{measure} by the place of the first relevant context", columns, tuple(rows))


def _first_places(answer_input: AnswerInput, system: str) -> dict[str, str]:
    """The place as it is shown, of each question with a relevant document whose contexts are known."""
    inputs, documents = answer_input.inputs, answer_input.judged_documents
    places = {}
    for query, answer in answer_input.answers[system].items():
        relevant = {doc for doc, grade in inputs.qrels.get(query, {}).items() if grade >= inputs.rel}
        if relevant and answer.given is not None:
            found_at = (at for at, doc in enumerate(answer.given, start=1) if documents.get(doc, doc) in relevant)
            place = next(found_at, None)
            places[query] = _NONE if place is None else str(place) if place < PLACES else f"{PLACES} or more"
    return places


def _rows(
    answer_input: AnswerInput, system: str, result: MeasureResult, places: Mapping[str, str], level: float
) -> Iterator[tuple[CellValue, ...]]:
    values = result.per_query
    for place in sorted({*places.values()}):
        queries = tuple(query for query, own in places.items() if own == place and query in values)
        if queries:
            own = np.array([values[query] for query in queries])
            part = MeasureResult(result.measure, float(own.mean()), queries, own)
            yield system, place, len(queries), part.value, session_interval(part, answer_input.inputs.texts, level)


_COSTS: Mapping[str, str] = {
    "latency_ms": "latency, ms",
    "tokens_in": "tokens of prompts",
    "tokens_out": "tokens of replies",
    "all_tokens": "tokens",
    "cost": "money",
}
COSTS_TABLE = "costs"


def cost_table(answers: Mapping[str, Answers], baseline: str | None, level: float = 0.95) -> Table | None:
    """A row for each kind of cost and system; None if no log says what an answer cost.

    Differences from the baseline are those of the questions of which both systems have the cost.
    """
    rows = [row for name in _COSTS for row in _cost_rows(name, answers, baseline, level)]
    if not rows:
        return None
    columns = (
        *(Column("cost"), Column("system"), Column("model"), Column("n", "count", "questions of which it is known")),
        *(Column(name, "number") for name in ("mean", "p50", "p95")),
        Column("difference", "number", f"mean of the questions of both systems minus that of {baseline}"),
        Column("from", "number", f"lower end of the {100 * level:g}% interval of the difference"),
        Column("to", "number", "its upper end"),
    )
    return Table(COSTS_TABLE, "Costs of an answer, as logged", columns, tuple(rows))


def _cost_rows(name: str, answers: Mapping[str, Answers], baseline: str | None, level: float) -> Iterator[tuple[CellValue, ...]]:
    by_system = {system: _by_query(own, name) for system, own in answers.items()}
    if name == "all_tokens" and all(_by_query(own, "tokens_in") for own in answers.values()):
        # The sum says nothing that its two parts do not say.
        return
    against = by_system.get(baseline or "", {})
    for system, costs in by_system.items():
        if not costs:
            continue
        values = np.array(list(costs.values()))
        p50, p95 = np.percentile(values, (50, 95)).tolist()
        difference = (None, None, None) if system == baseline else _cost_difference(costs, against, level)
        mean = math.fsum(values.tolist()) / len(values)
        model = _model(answers[system].usages)
        yield _COSTS[name], system, model, len(values), mean, p50, p95, *difference


def _by_query(answers: Answers, name: str) -> dict[str, float]:
    """The mean cost of the answers to each question; a question of which an answer does not say it is left out."""
    every: dict[str, list[float | None]] = {}
    for query, _, answer in answers.with_repeats():
        every.setdefault(query, []).append(None if answer.usage is None else getattr(answer.usage, name))
    known = {query: [value for value in values if value is not None] for query, values in every.items()}
    return {query: math.fsum(values) / len(values) for query, values in known.items() if values and None not in every[query]}


def _cost_difference(
    costs: Mapping[str, float], against: Mapping[str, float], level: float
) -> tuple[float | None, float | None, float | None]:
    """The mean difference and its interval, None where it is not known."""
    both = [query for query in costs if query in against]
    if not both:
        return None, None, None
    apart: FloatArray = np.array([costs[query] - against[query] for query in both])
    low, high = mean_interval(apart, level=level) or (None, None)
    return float(apart.mean()), low, high


def _model(usages: Sequence[AnswerUsage]) -> str | None:
    """The language models of a system; None if its log does not say them."""
    return ", ".join(dict.fromkeys(usage.model for usage in usages if usage.model)) or None


SESSIONS_TABLE, TURNS_TABLE = "sessions", "turns"
RIGHT = 0.5
"""From this value on a turn is right; of a measure of which lower is better, up to it."""
_MOST_TURNS = 10


def session_tables(inputs: AnalysisInput, measure: str, sessions: Mapping[str, str], level: float = 0.95) -> list[Table]:
    """A row for each system and a row for each turn, by one measure; none if its values have no scale from 0 to 1.

    `sessions` has the session of each question. A turn without a value, because there is no answer or an abstention, is wrong.
    """
    results = {system.name: system.measures[measure] for system in inputs.result.systems}
    kind = next(iter(results.values())).measure
    if not kind.is_fraction or not kind.has_winner or inputs.texts is None:
        return []
    places = {query: _turn(inputs.texts[query].fields.get(TURN_FIELD)) for query in sessions if query in inputs.texts}
    if not any(places.values()):
        return []
    rows = [_session_row(name, result, sessions, places, level) for name, result in results.items()]
    turns = list(_turn_rows(results, inputs, places, level))
    columns = (
        *(Column("system"), Column("sessions", "count"), Column("turns", "count", "questions of these sessions")),
        Column("all right", "value", f"share of sessions of which each turn is right ({_rule(kind)})"),
        Column(f"{level:.0%} CI", "interval", "of this share"),
        Column("first failure", "number", "mean place of the first wrong turn, of sessions that have one"),
    )
    by_turn = (Column("turn", "count"), Column("system"), Column("n", "count"))
    more = (Column("value", "value"), Column(f"{level:.0%} CI", "interval"))
    title, judge = f"Sessions by {measure}: a turn is right if {_rule(kind)}", judge_of_measure(kind)
    warning = (
        () if judge is None or inputs.result.calibrations else (f"Nobody has checked {judge}: wrong turns may be right by it.",)
    )
    of_sessions = Table(SESSIONS_TABLE, title, columns, tuple(rows), warning, verdict_first=True)
    return [of_sessions, Table(TURNS_TABLE, f"{measure} by turn", (*by_turn, *more), tuple(turns))]


def _rule(measure: Measure) -> str:
    return f"its value is at {'most' if measure.higher_is_better is False else 'least'} {RIGHT:g}"


def _turn(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _session_row(
    system: str, result: MeasureResult, sessions: Mapping[str, str], places: Mapping[str, int | None], level: float
) -> tuple[CellValue, ...]:
    by_session: dict[str, list[tuple[int, bool]]] = {}
    values, sign = _values(result), -1 if result.measure.higher_is_better is False else 1
    for query, value in values.items():
        turn = places.get(query)
        if query in sessions and turn is not None:
            by_session.setdefault(sessions[query], []).append((turn, sign * value >= sign * RIGHT))
    failures = [min((turn for turn, is_right in turns if not is_right), default=None) for turns in by_session.values()]
    right = np.array([float(failure is None) for failure in failures])
    first = [failure for failure in failures if failure is not None]
    interval = bounded_mean_interval(right, level=level, within=(0.0, 1.0)) if len(right) else None
    share = float(right.mean()) if len(right) else None
    turns = sum(map(len, by_session.values()))
    return system, len(by_session), turns, share, interval, sum(first) / len(first) if first else None


def _values(result: MeasureResult) -> dict[str, float]:
    """The value of each question, the worst one of those without a value."""
    worst = worst_value(result.measure)
    return {**dict.fromkeys(result.reasons, 0.0 if worst is None else worst), **result.per_query}


def _turn_rows(
    results: Mapping[str, MeasureResult], inputs: AnalysisInput, places: Mapping[str, int | None], level: float
) -> Iterator[tuple[CellValue, ...]]:
    """The mean of each turn; a session has a turn once, so the questions of a turn are independent."""
    turns = sorted({turn for turn in places.values() if turn is not None})[:_MOST_TURNS]
    for turn in turns:
        for name, result in results.items():
            chosen = [query for query in result.query_ids if places.get(query) == turn]
            part = _part(result, chosen)
            if chosen:
                yield turn, name, len(chosen), float(part.values.mean()), session_interval(part, inputs.texts, level)


def _part(result: MeasureResult, queries: Sequence[str]) -> MeasureResult:
    values = np.array([result.per_query[query] for query in queries])
    return MeasureResult(result.measure, float(values.mean()) if len(values) else 0.0, tuple(queries), values)

"""Evaluation of answers by their references, contexts and nuggets."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from rankproof._data.answers import NO_ANSWER, Answer, Answers, Reference, References, as_answer, references_from_values
from rankproof._data.arrays import FloatArray
from rankproof._data.claims import ClaimUnit, ClaimVerdict, Nugget
from rankproof._data.qrels import Qrels
from rankproof._evaluation.answer_notes import answer_notes, claim_notes
from rankproof._evaluation.claim_judges import JudgeOf, OverlapJudge
from rankproof._evaluation.claim_verdicts import VerdictSource, known_verdicts, label_of, unit_of
from rankproof._evaluation.result import FAILED_ANSWER, MeasureResult, Result, SystemResult
from rankproof._io.open import Progress
from rankproof.errors import UsageError, for_message
from rankproof.measures._answers import AnswerCase, AnswerMeasure, CaseState, Encode
from rankproof.measures._base import Measure, worst_value
from rankproof.measures._claim_base import OVERLAP, ClaimMeasure
from rankproof.measures._parse import parse_measures
from rankproof.measures._registry import default_answer_measures

Passage = Callable[[str], str | None]
Judgements = Qrels | Mapping[str, Mapping[str, int]]
_BY_JUDGEMENTS = ("CiteP", "CiteR", "Evidence")


def evaluate_answers(
    answers: Mapping[str, Answers | Mapping[str, Answer | str]],
    references: References | Mapping[str, Reference | str | Sequence[str]],
    qrels: Judgements | None = None,
    measures: str | Measure | Sequence[str | Measure] | None = None,
    encode: Encode | None = None,
    *,
    rel: int = 1,
    document: Callable[[str], str] = str,
    questions: Mapping[str, str] | None = None,
    passage: Passage | None = None,
    nuggets: Mapping[str, Sequence[Nugget]] | None = None,
    judge_of: JudgeOf | None = None,
    known: Iterable[ClaimVerdict] = (),
    progress: Progress = lambda label, done, total: None,
) -> Result:
    """The measures of every system's answers over the queries with a reference; those that need no reference over all queries.

    A missing answer scores 0, a failed one is left out. Where there is nothing to count there is no value, and it is counted.
    The value of a query with several answers is their mean.

    `questions` are the texts of the queries, and `passage` gives the text of a given or cited passage by its id, None where it
    is not known. `judge_of` gives the judge of a measure by its name. `known` are verdicts that are used instead of asking.

    An answer may be a text; an empty one abstains. A reference may be a text or a list of texts; an empty one says that there is
    no answer. `document` maps a cited passage to its judged document.
    """
    if not answers:
        raise UsageError("there are no answers", fix="pass the answers of at least one system")
    by_system = {name: {query: as_answer(answer) for query, answer in own.items()} for name, own in answers.items()}
    repeats = {name: own.repeats if isinstance(own, Answers) else {} for name, own in answers.items()}
    expected = references if isinstance(references, References) else references_from_values(references)
    texts = AnswerTexts(expected, qrels, rel, document, questions or {}, passage, nuggets or {})
    chosen = _selected_measures(measures, by_system, texts)
    queries = _evaluated_queries(chosen, by_system, texts)
    cases = {name: texts.cases(name, own, queries) for name, own in by_system.items()}
    for measure in chosen:
        _check_inputs(measure, [case for system_cases in cases.values() for case in system_cases])
    further = {name: texts.repeat_cases(name, repeat, queries) for name, repeat in repeats.items()}
    every = {name: [*case, *further[name]] for name, case in cases.items()}
    sources = _verdict_sources(chosen, every, judge_of, tuple(known), progress)
    of_judges = tuple(chain.from_iterable(source.notes() for source in sources.values()))
    systems = []
    for name, system_cases in cases.items():
        own = by_system[name]
        failed = _failed_repeats(own, repeats[name])
        values = _with_errors(_measure_results(chosen, every[name], encode, sources, failed), own, expected)
        notes = (*answer_notes(own, expected, queries, values), *claim_notes(system_cases, values), *of_judges)
        systems.append(SystemResult(name, values, notes))
    claims, repeat_claims = (
        tuple(verdict for source in sources.values() for verdict in source.all([*chain.from_iterable(by_name.values())]))
        for by_name in (cases, further)
    )
    return Result(queries, tuple(systems), claims, repeat_claims=repeat_claims)


@dataclass(frozen=True, eq=False, slots=True)
class AnswerTexts:
    """What answers are compared with: references, judgements, questions, passages and nuggets."""

    references: References
    qrels: Judgements | None
    rel: int
    document: Callable[[str], str]
    questions: Mapping[str, str]
    passage: Passage | None
    nuggets: Mapping[str, Sequence[Nugget]]

    def relevant(self, query: str) -> frozenset[str]:
        """The relevant documents of a query."""
        judged = {} if self.qrels is None else self.qrels.get(query, {})
        return frozenset(doc for doc, grade in judged.items() if grade >= self.rel)

    def cases(self, system: str, answers: Mapping[str, Answer], queries: Sequence[str]) -> list[AnswerCase]:
        """The case of each query, without those whose answer failed."""
        included = [query for query in queries if query not in answers or answers[query].state != "failed"]
        return [self._case(system, query, answers.get(query, Answer("", state="missing"))) for query in included]

    def repeat_cases(self, system: str, repeats: Mapping[str, Sequence[Answer]], queries: Sequence[str]) -> list[AnswerCase]:
        """The cases of further answers to a query, without those that failed."""
        return [
            replace(self._case(system, query, answer), repeat=number)
            for query in queries
            for number, answer in enumerate(repeats.get(query, ()), start=2)
            if answer.state != "failed"
        ]

    def _case(self, system: str, query: str, answer: Answer) -> AnswerCase:
        state = _case_state(answer)
        passages = answer.given or ()
        numbers = {passage: n for n, passage in reversed(list(enumerate(passages, 1)))}
        return AnswerCase(
            answer.text if state == "answered" else "",
            self.references[query].expected_texts if query in self.references else (),
            tuple(map(self.document, answer.cited)),
            self.relevant(query),
            state,
            query,
            system,
            self.questions.get(query, ""),
            self._contexts(answer),
            passages,
            tuple(numbers.get(passage, 0) for passage in answer.cited),
            tuple(self.nuggets[query]) if query in self.nuggets else None,
            None if answer.searched is None else frozenset(map(self.document, answer.searched)),
        )

    def _contexts(self, answer: Answer) -> tuple[str, ...] | None:
        """The texts of the given passages, None where one is not known."""
        if self.passage is None or answer.given is None:
            return None
        texts = [text for text in map(self.passage, answer.given) if text is not None]
        return tuple(texts) if len(texts) == len(answer.given) else None


def _case_state(answer: Answer) -> CaseState:
    if answer.state == "missing":
        return "missing"
    return "abstained" if answer.state == "abstained" or not answer.text.strip() else "answered"


def answer_measures(measures: str | Measure | Sequence[str | Measure]) -> list[AnswerMeasure]:
    """The measures; a measure of rankings is an error."""
    chosen = []
    for measure in parse_measures(measures):
        if not isinstance(measure, AnswerMeasure):
            raise UsageError(f"{measure} measures rankings, not answers", fix="use measures of answers, such as EM and F1")
        chosen.append(measure)
    return chosen


def _selected_measures(
    named: str | Measure | Sequence[str | Measure] | None, answers: Mapping[str, Mapping[str, Answer]], texts: AnswerTexts
) -> list[AnswerMeasure]:
    judged = any(texts.relevant(query) for query in texts.references)
    if named is None:
        every = [answer for own in answers.values() for answer in own.values()]
        contexts = texts.passage is not None and any(answer.given is not None for answer in every)
        cited = judged and any(answer.cited for answer in every)
        return answer_measures(default_answer_measures(cited=cited, referenced=bool(texts.references) or not contexts))
    chosen = answer_measures(named)
    for measure in chosen:
        if str(measure) in _BY_JUDGEMENTS and not judged:
            raise UsageError(
                f"{measure} needs judgements, and no query has a relevant document", fix="pass qrels, or a lower rel"
            )
    return chosen


def _evaluated_queries(
    measures: Sequence[AnswerMeasure], answers: Mapping[str, Mapping[str, Answer]], texts: AnswerTexts
) -> tuple[str, ...]:
    """The queries with a reference, and all others where a measure needs none."""
    referenced = tuple(texts.references)
    if all(measure.needs_reference for measure in measures):
        if not referenced:
            raise UsageError(
                "no query has a reference", fix="add reference answers to the queries, as the field answers in queries.jsonl"
            )
        return referenced
    others = texts.questions or dict.fromkeys(chain.from_iterable(answers.values()))
    return tuple(dict.fromkeys((*referenced, *texts.references.queries_without, *others)))


_NEEDS = {
    "contexts": ("the texts of the passages that answers were generated from", "add contexts to the answers, or pass the corpus"),
    "question": ("the texts of the questions", "pass the questions"),
    "nuggets": ("nuggets", "pass nuggets, as rankproof answers --nuggets FILE does"),
}


def _check_inputs(measure: AnswerMeasure, cases: Sequence[AnswerCase]) -> None:
    """Raises a UsageError if no case has what the measure needs."""
    for name in measure.inputs:
        if cases and all(getattr(case, name) in (None, "") for case in cases):
            what, fix = _NEEDS[name]
            raise UsageError(f"{measure} needs {what}", fix=fix)


Sources = Mapping[tuple[str, ClaimUnit], VerdictSource]
Outcomes = Sequence[tuple[AnswerCase, float | str | None]]
"""Each answer with its value, or why it has none."""


def _verdict_sources(
    measures: Sequence[AnswerMeasure],
    cases: Mapping[str, Sequence[AnswerCase]],
    judge_of: JudgeOf | None,
    known: Sequence[ClaimVerdict],
    progress: Progress,
) -> Sources:
    """Gets the verdicts of each judge that a measure names; those by words are left out if only known verdicts are used."""
    groups: dict[tuple[str, ClaimUnit], list[ClaimMeasure]] = {}
    only_known = judge_of is None and bool(known)
    for measure in measures:
        if isinstance(measure, ClaimMeasure) and measure.asks and not (only_known and measure.judge == OVERLAP):
            groups.setdefault((measure.judge, unit_of(measure)), []).append(measure)
    sources = {}
    for (name, unit), asking in groups.items():
        judge = OverlapJudge() if name == OVERLAP else None if judge_of is None else judge_of(name)
        if judge is None and not known:
            raise UsageError(f"{asking[0]} needs the judge {for_message(name)}", fix="pass judge_of, or use judge='overlap'")
        label = label_of(name, known) if judge is None else judge.label
        source = VerdictSource(name, judge, unit, known_verdicts(known, unit, label), progress)
        source.ask([case for system_cases in cases.values() for case in system_cases], asking)
        sources[name, unit] = source
    return sources


def _failed_repeats(first: Mapping[str, Answer], repeats: Mapping[str, Sequence[Answer]]) -> dict[str, int]:
    """The number of failed answers of each query that was asked more than once."""
    return {
        query: sum(answer.state == "failed" for answer in (first[query], *further))
        for query, further in repeats.items()
        if query in first
    }


def _measure_results(
    measures: Sequence[AnswerMeasure],
    cases: Sequence[AnswerCase],
    encode: Encode | None,
    sources: Sources,
    failed: Mapping[str, int],
) -> dict[str, MeasureResult]:
    """The measures of one system by name; `failed` is the number of failed answers of repeated queries."""
    by_claims = [measure for measure in measures if isinstance(measure, ClaimMeasure)]
    # Case by case, so that the words of a text are found once for all measures.
    rows = [[_claim_outcome(measure, case, sources) for measure in by_claims] for case in cases]
    claim_outcomes: dict[AnswerMeasure, list[float | str | None]] = {
        claim: [row[at] for row in rows] for at, claim in enumerate(by_claims)
    }
    results = {}
    for measure in measures:
        outcomes = claim_outcomes[measure] if measure in claim_outcomes else measure.outcomes(cases, encode)
        pairs = [pair for pair in zip(cases, outcomes, strict=True) if pair[0].references or not measure.needs_reference]
        results[str(measure)] = _measure_result(measure, pairs, failed)
    return results


def _claim_outcome(measure: ClaimMeasure, case: AnswerCase, sources: Sources) -> float | str:
    source = sources.get((measure.judge, unit_of(measure)))
    return measure.outcome(case, {} if source is None else source.of(case))


def _measure_result(measure: AnswerMeasure, outcomes: Outcomes, failed: Mapping[str, int]) -> MeasureResult:
    """The mean over the queries with a value, and why the others have none.

    Of a query with several answers, the value is their mean; a failed or missing one among them counts as the worst value, and so
    does an abstention, unless the reference says that there is no answer.
    """
    by_query = _values_by_query(worst_value(measure), outcomes, failed)
    values = np.array([math.fsum(own) / len(own) for own in by_query.values()], dtype=np.float64)
    if not np.isfinite(values).all():
        raise UsageError(f"{for_message(str(measure))} gave a value that is not finite", fix="check the encoder")
    reasons = _reasons(outcomes, by_query)
    unjudged = [*reasons.values()].count("failed")
    return MeasureResult(
        measure,
        measure.summarise(values) if len(values) else math.nan,
        tuple(by_query),
        values,
        reasons=reasons,
        bounds=_bounds(measure, values, unjudged) if unjudged else None,
        repeats=by_query if any(len(own) > 1 for own in by_query.values()) else {},
        repeat_reasons=_repeat_reasons(outcomes, by_query),
    )


def _values_by_query(worst: float | None, outcomes: Outcomes, failed: Mapping[str, int]) -> dict[str, FloatArray]:
    """The values of the answers to each query that has one, with the worst value for those that failed or are missing."""
    collected: dict[str, list[float]] = {case.query: [] for case, _ in outcomes}
    valued = set()
    for case, outcome in outcomes:
        if outcome is not None and not isinstance(outcome, str):
            valued.add(case.query)
            collected[case.query].append(outcome)
        elif worst is not None and (outcome == "missing" or (outcome == "abstained" and case.references != NO_ANSWER)):
            collected[case.query].append(worst)
    return {
        query: np.array([*own, *([] if worst is None else [worst] * failed.get(query, 0))], dtype=np.float64)
        for query, own in collected.items()
        if query in valued
    }


def _reasons(outcomes: Outcomes, by_query: Mapping[str, FloatArray]) -> dict[str, str]:
    """Why queries have no value, or one of an answer that is missing."""
    # The first reason of a query counts, and queries stay in the order of their last case.
    reasons = {case.query: why for case, why in reversed(outcomes) if isinstance(why, str) and case.query not in by_query}
    reasons = dict(reversed(reasons.items()))
    answered = {case.query for case, _ in outcomes if case.state != "missing"}
    silent = [query for query in by_query if query not in answered]
    if not any(by_query[query].any() for query in silent):
        reasons |= dict.fromkeys(silent, "missing")
    return reasons


def _repeat_reasons(outcomes: Outcomes, by_query: Mapping[str, FloatArray]) -> dict[str, tuple[str, ...]]:
    """Why single answers to queries with a value have none."""
    repeat_reasons: dict[str, tuple[str, ...]] = {}
    for case, outcome in outcomes:
        if isinstance(outcome, str) and outcome != "missing" and case.query in by_query:
            repeat_reasons[case.query] = (*repeat_reasons.get(case.query, ()), outcome)
    return repeat_reasons


def _with_errors(
    measures: Mapping[str, MeasureResult], answers: Mapping[str, Answer], references: References
) -> dict[str, MeasureResult]:
    """The measures with the queries whose answer failed among those without a value."""
    failed = [query for query, answer in answers.items() if answer.state == "failed"]
    completed = {}
    for name, measure in measures.items():
        needs, valued = (
            isinstance(measure.measure, AnswerMeasure) and measure.measure.needs_reference,
            frozenset(measure.query_ids),
        )
        errors = {query: FAILED_ANSWER for query in failed if query not in valued and (query in references or not needs)}
        completed[name] = replace(measure, reasons={**measure.reasons, **errors}) if errors else measure
    return completed


def _bounds(measure: AnswerMeasure, values: FloatArray, failed: int) -> tuple[float, float]:
    """The mean with every failed value at its lowest and at its highest."""
    low, high = (measure.summarise(np.append(values, [end] * failed)) for end in measure.range)
    return low, high

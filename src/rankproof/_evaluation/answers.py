"""Answers and references in, a Result out: the measures of answers, for every system over the same queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from rankproof._data.answers import Answer, Answers, Reference, References, as_answer, references_from_values
from rankproof._data.qrels import Qrels
from rankproof._evaluation.notes import answer_notes
from rankproof._evaluation.result import MeasureResult, Result, SystemResult
from rankproof.errors import UsageError, for_message
from rankproof.measures._answers import AnswerCase, AnswerMeasure, Encode
from rankproof.measures._base import Measure
from rankproof.measures._parse import parse_measures
from rankproof.measures._registry import default_answer_measures

Judgements = Qrels | Mapping[str, Mapping[str, int]]
_CITATIONS = ("CiteP", "CiteR")


def evaluate_answers(
    answers: Mapping[str, Answers | Mapping[str, Answer | str]],
    references: References | Mapping[str, Reference | str | Sequence[str]],
    qrels: Judgements | None = None,
    measures: str | Measure | Sequence[str | Measure] | None = None,
    encode: Encode | None = None,
    *,
    rel: int = 1,
    document: Callable[[str], str] = str,
) -> Result:
    """Every system's answers over all queries that have a reference; what is missing counts 0, what failed is left out.

    Answers may be texts, an empty one abstains; references may be a text or a list of texts, none says that there is no answer.
    `document` gives the judged document that a cited passage is of, itself where nothing is said.
    """
    if not answers:
        raise UsageError("there are no answers", fix="pass those of at least one system")
    systems_given = {name: {query: as_answer(one) for query, one in given.items()} for name, given in answers.items()}
    wanted = references if isinstance(references, References) else references_from_values(references)
    queries = tuple(wanted)
    if not queries:
        raise UsageError("no query has a reference", fix="give each query its answers, as in queries.jsonl: answers = [...]")
    chosen = _selected_measures(measures, systems_given, queries, qrels, rel)
    systems = []
    for name, given in systems_given.items():
        asked = [query for query in queries if query not in given or given[query].state != "failed"]
        cases = [_answer_case(given.get(query), wanted[query], _relevant(qrels, query, rel), document) for query in asked]
        values = {str(measure): _measure_result(measure, asked, cases, encode) for measure in chosen}
        systems.append(SystemResult(name, values, answer_notes(given, wanted)))
    return Result(queries, tuple(systems))


def answer_measures(measures: str | Measure | Sequence[str | Measure]) -> list[AnswerMeasure]:
    """The measures, refused where one is of rankings."""
    found = []
    for measure in parse_measures(measures):
        if not isinstance(measure, AnswerMeasure):
            raise UsageError(f"{measure} measures rankings, not answers", fix="name measures of answers, such as EM and F1")
        found.append(measure)
    return found


def _selected_measures(
    asked: str | Measure | Sequence[str | Measure] | None,
    answers: Mapping[str, Mapping[str, Answer]],
    queries: Sequence[str],
    qrels: Judgements | None,
    rel: int,
) -> list[AnswerMeasure]:
    judged = any(_relevant(qrels, query, rel) for query in queries)
    if asked is None:
        cited = judged and any(one.cited for given in answers.values() for one in given.values())
        return answer_measures(default_answer_measures(cited=cited))
    chosen = answer_measures(asked)
    for measure in chosen:
        if measure.name in _CITATIONS and not judged:
            raise UsageError(
                f"{measure} needs judgements, and no query has a relevant document", fix="name the qrels, or a lower rel"
            )
    return chosen


def _relevant(qrels: Judgements | None, query: str, rel: int) -> frozenset[str]:
    judged = {} if qrels is None else qrels.get(query, {})
    return frozenset(doc for doc, grade in judged.items() if grade >= rel)


def _answer_case(
    answer: Answer | None, reference: Reference, relevant: frozenset[str], document: Callable[[str], str]
) -> AnswerCase:
    if answer is None:
        return AnswerCase("", reference.expected_texts, relevant=relevant, missing=True)
    text = "" if answer.state == "abstained" else answer.text
    return AnswerCase(text, reference.expected_texts, tuple(map(document, answer.cited)), relevant)


def _measure_result(
    measure: AnswerMeasure, queries: Sequence[str], cases: Sequence[AnswerCase], encode: Encode | None
) -> MeasureResult:
    """The mean over the queries that have anything to measure."""
    found = {
        query: value for query, value in zip(queries, measure.answer_values(cases, encode), strict=True) if value is not None
    }
    values = np.array(list(found.values()), dtype=np.float64)
    if not np.isfinite(values).all():
        raise UsageError(f"{for_message(str(measure))} gave a value that is not a finite number", fix="check the encoder")
    return MeasureResult(measure, measure.summarise(values), tuple(found), values)

"""Evaluation of answers by their references."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from rankproof._data.answers import Answer, Answers, Reference, References, as_answer, references_from_values
from rankproof._data.claims import ClaimVerdict, Nugget
from rankproof._data.qrels import Qrels
from rankproof._evaluation.claim_judges import JudgeOf
from rankproof._evaluation.notes import answer_notes
from rankproof._evaluation.result import MeasureResult, Result, SystemResult
from rankproof._io.open import Progress
from rankproof.errors import UsageError, for_message
from rankproof.measures._answers import AnswerCase, AnswerMeasure, Encode
from rankproof.measures._base import Measure
from rankproof.measures._parse import parse_measures
from rankproof.measures._registry import default_answer_measures

Passage = Callable[[str], str | None]
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
    questions: Mapping[str, str] | None = None,
    passage: Passage | None = None,
    nuggets: Mapping[str, Sequence[Nugget]] | None = None,
    judge_of: JudgeOf | None = None,
    known: Iterable[ClaimVerdict] = (),
    progress: Progress = lambda label, done, total: None,
) -> Result:
    """The measures of every system's answers over the queries with a reference.

    A missing answer scores 0, a failed one is left out.

    `questions` are the texts of the queries, and `passage` gives the text of a given or cited passage by its id, None where it
    is not known. `judge_of` gives the judge of a measure by its name. `known` are verdicts that are used instead of asking.

    An answer may be a text; an empty one abstains. A reference may be a text or a list of texts; an empty one says that there is
    no answer. `document` maps a cited passage to its judged document.
    """
    if not answers:
        raise UsageError("there are no answers", fix="pass the answers of at least one system")
    systems_given = {name: {query: as_answer(one) for query, one in given.items()} for name, given in answers.items()}
    expected = references if isinstance(references, References) else references_from_values(references)
    queries = tuple(expected)
    if not queries:
        raise UsageError(
            "no query has a reference", fix="add reference answers to the queries, as the field answers in queries.jsonl"
        )
    chosen = _selected_measures(measures, systems_given, queries, qrels, rel)
    systems = []
    for name, given in systems_given.items():
        included = [query for query in queries if query not in given or given[query].state != "failed"]
        cases = [_answer_case(given.get(query), expected[query], _relevant(qrels, query, rel), document) for query in included]
        values = {str(measure): _measure_result(measure, included, cases, encode) for measure in chosen}
        systems.append(SystemResult(name, values, answer_notes(given, expected)))
    return Result(queries, tuple(systems))


def answer_measures(measures: str | Measure | Sequence[str | Measure]) -> list[AnswerMeasure]:
    """The measures; a measure of rankings is an error."""
    found = []
    for measure in parse_measures(measures):
        if not isinstance(measure, AnswerMeasure):
            raise UsageError(f"{measure} measures rankings, not answers", fix="use measures of answers, such as EM and F1")
        found.append(measure)
    return found


def _selected_measures(
    named: str | Measure | Sequence[str | Measure] | None,
    answers: Mapping[str, Mapping[str, Answer]],
    queries: Sequence[str],
    qrels: Judgements | None,
    rel: int,
) -> list[AnswerMeasure]:
    judged = any(_relevant(qrels, query, rel) for query in queries)
    if named is None:
        cited = judged and any(one.cited for given in answers.values() for one in given.values())
        return answer_measures(default_answer_measures(cited=cited))
    chosen = answer_measures(named)
    for measure in chosen:
        if str(measure) in _CITATIONS and not judged:
            raise UsageError(
                f"{measure} needs judgements, and no query has a relevant document", fix="pass qrels, or a lower rel"
            )
    return chosen


def _relevant(qrels: Judgements | None, query: str, rel: int) -> frozenset[str]:
    judged = {} if qrels is None else qrels.get(query, {})
    return frozenset(doc for doc, grade in judged.items() if grade >= rel)


def _answer_case(
    answer: Answer | None, reference: Reference, relevant: frozenset[str], document: Callable[[str], str]
) -> AnswerCase:
    if answer is None or answer.state == "missing":
        return AnswerCase("", reference.expected_texts, relevant=relevant, state="missing")
    text = "" if answer.state == "abstained" else answer.text
    return AnswerCase(text, reference.expected_texts, tuple(map(document, answer.cited)), relevant)


def _measure_result(
    measure: AnswerMeasure, queries: Sequence[str], cases: Sequence[AnswerCase], encode: Encode | None
) -> MeasureResult:
    """The mean over the queries with a value."""
    found = {
        query: value for query, value in zip(queries, measure.answer_values(cases, encode), strict=True) if value is not None
    }
    if not found and "judge=" in str(measure):
        raise UsageError(f"{measure} has no value", fix="pass the texts of contexts, questions and references")
    values = np.array(list(found.values()), dtype=np.float64)
    if not np.isfinite(values).all():
        raise UsageError(f"{for_message(str(measure))} gave a value that is not finite", fix="check the encoder")
    return MeasureResult(measure, measure.summarise(values), tuple(found), values)

"""The answers of some systems beside their values, from a climb or from files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...data.answers import Answers
from ...data.qrels import Qrels
from ...data.queries import Queries
from ...data.references import References, references_of
from ...data.run import Run
from ...errors import UsageError
from ...evaluation.answers import answer_measures, evaluate_answers
from ...experiment.answering import Encoders
from ...experiment.rung import Climb
from ..diagnose.answers import AnswerRecord
from ..evidence import Evidence, evidence_of_climb
from ..measured import Values, measured
from .cited import judged_documents, unjudged_citations

RETRIEVAL = ("RR@10", "R@10")
"""What retrieval is judged by beside answers, as the rag profile has bands for both."""


@dataclass(frozen=True, eq=False, slots=True)
class AnswerSubject:
    """`evidence` has the values of answers, `retrieval` those of what they were made from, None where nobody judged it.

    `wholes` is the judged document of a passage where that is another.
    """

    evidence: Evidence
    retrieval: Values | None
    answers: Mapping[str, Answers]
    references: References
    wholes: Mapping[str, str]

    def records(self, system: str) -> Iterator[AnswerRecord]:
        """Every question that has an answer, and what the system said to it."""
        given = self.answers[system]
        for query, reference in self.references.items():
            if reference.answers:
                one = given.get(query)
                text = one.text if one is not None and one.state == "answered" else ""
                failed = one is not None and one.state == "failed"
                yield AnswerRecord(query, text, reference.answers, found=self.found(system, query), failed=failed)

    def found(self, system: str, query: str) -> bool | None:
        """Whether a relevant passage was among those that the answer was made from; None where that is not known."""
        one = self.answers[system].get(query)
        judged = self.evidence.qrels.get(query, {})
        relevant = {doc for doc, grade in judged.items() if grade >= self.evidence.rel}
        if not relevant or not _is_told(self.answers[system]):
            return None
        return one is not None and any(self.wholes.get(doc, doc) in relevant for doc in one.given)


def subject_of_climb(climb: Climb, measures: Sequence[str] | None = None, *, rel: int | None = None) -> AnswerSubject:
    """The answers of a climb, under the measures asked for or those it has, and the least grade that counts or its own."""
    answers = {rung.name: rung.answers for rung in climb.rungs if rung.answers is not None}
    if not answers:
        raise UsageError(f"no system of {climb.name} answers", fix="add a system with the stage answer or extract, and run again")
    references = references_of(climb.texts)
    result = climb.answers
    asked = None if measures is None else [str(measure) for measure in answer_measures(list(measures))]
    if rel is not None and rel != climb.rel:
        asked = asked or (None if result is None else list(result.systems[0].measures))
        climb, result = replace(climb, rel=rel), None
    if result is None or any(name not in result.systems[0].measures for name in asked or ()):
        whole = climb.wholes
        result = evaluate_answers(
            answers, references, climb.qrels, asked, Encoders(), rel=climb.rel, document=lambda doc: whole.get(doc, doc)
        )
    chosen = asked or list(result.systems[0].measures)
    systems = tuple(replace(one, measures={name: one.measures[name] for name in chosen}) for one in result.systems)
    everything = evidence_of_climb(climb)
    runs = {name: everything.runs[name] for name in answers}
    rungs = tuple(rung for rung in climb.rungs if rung.name in answers)
    evidence = replace(everything, result=replace(result, systems=systems), runs=runs, rungs=rungs)
    return AnswerSubject(evidence, _retrieval(evidence, references), answers, references, climb.wholes)


def subject_of_files(
    queries: Queries,
    answers: Mapping[str, Answers],
    qrels: Qrels | None,
    measures: Sequence[str] | None,
    *,
    name: str,
    rel: int = 1,
) -> AnswerSubject:
    """Answers from elsewhere; what each was `given` is its ranking, where all say so and there are judgements."""
    references = references_of(queries)
    judged = qrels or Qrels.from_dict({})
    wholes = judged_documents(answers.values(), judged)
    result = evaluate_answers(
        answers, references, qrels, measures, Encoders(), rel=rel, document=lambda doc: wholes.get(doc, doc)
    )
    if qrels is not None:
        noted = (
            replace(one, notes=(*one.notes, *unjudged_citations(answers[one.name], qrels, wholes))) for one in result.systems
        )
        result = replace(result, systems=tuple(noted))
    runs = {system: _given(system, each, wholes) for system, each in answers.items() if _is_told(each)}
    evidence = Evidence(name, "", judged, runs, result, rel=rel, texts=queries)
    retrieval = _retrieval(evidence, references) if len(runs) == len(answers) else None
    return AnswerSubject(evidence, retrieval, answers, references, wholes)


def _is_told(answers: Answers) -> bool:
    """Whether it is known what each answer was made from."""
    return answers.says_given and any(one.given for one in answers.values())


def _given(system: str, answers: Answers, wholes: Mapping[str, str]) -> Run:
    """What each answer was given as a ranking of documents, each at the place of its first passage."""
    docs = [list(dict.fromkeys(wholes.get(doc, doc) for doc in one.given)) for one in answers.values()]
    return Run.of_rankings(system, list(answers), [(each, -np.arange(len(each), dtype=np.float64)) for each in docs])


def _retrieval(evidence: Evidence, references: References) -> Values | None:
    """The rankings over the questions that have an answer and a relevant document."""
    able = tuple(query for query in evidence.result.queries if references[query].answers and _has_relevant(evidence, query))
    if not able or not evidence.runs:
        return None
    return measured(replace(evidence, result=replace(evidence.result, queries=able)), RETRIEVAL)


def _has_relevant(evidence: Evidence, query: str) -> bool:
    return any(grade >= evidence.rel for grade in evidence.qrels.get(query, {}).values())

"""The input of answer analyses: answers with references, from a results folder or from files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

import numpy as np

from rankproof._analysis.answers.causes import AnswerRecord
from rankproof._analysis.answers.logged_answers import AnswerJudges, LoggedAnswers
from rankproof._analysis.inputs import AnalysisInput, input_from_results, with_answer_primary
from rankproof._analysis.values import MeasureResults, measure_results
from rankproof._data.answers import Answer, Answers, References, passages_of, references_from_queries
from rankproof._data.claims import Calibration, ClaimVerdict, JudgeNoise
from rankproof._data.dataset import chunk_separator, document_of_chunk
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._data.text import first_ids, pluralise
from rankproof._evaluation.answer_notes import notes_of_measures
from rankproof._evaluation.answers import answer_measures
from rankproof._evaluation.evaluate import MeasuresLike
from rankproof._evaluation.notes import Note
from rankproof._evaluation.result import Result, SystemResult
from rankproof._results.experiment_result import ExperimentResult
from rankproof.errors import ExternalError, UsageError, for_message
from rankproof.measures._base import Measure
from rankproof.measures._claim_base import measures_in_results

UNJUDGED_CITATIONS = "unjudged-citations"


def chunk_to_judged_document(answers: Iterable[Answers], qrels: Qrels) -> dict[str, str]:
    """Chunk id (d1#c1) to its judged document."""
    return cited_documents((reply for answer in answers for reply in answer.values()), _judged_docs(qrels))


def cited_documents(answers: Iterable[Answer], known: Set[str]) -> dict[str, str]:
    """Chunk id of given or cited passages to its document, for chunks of the known documents."""
    separator = chunk_separator(known)
    passages = sorted({*passages_of(answers)} - known)
    chunks = [passage for passage in passages if passage.rpartition(separator)[2].isdigit()]
    documents = {chunk: document_of_chunk(chunk, separator) for chunk in chunks}
    return {chunk: document for chunk, document in documents.items() if document in known}


def unjudged_citations(answers: Answers, qrels: Qrels, judged_documents: Mapping[str, str]) -> tuple[Note, ...]:
    """A note on cited ids that no judgement of any query has: they may be ids of another corpus."""
    judged = _judged_docs(qrels)
    cited = dict.fromkeys(judged_documents.get(doc, doc) for answer in answers.values() for doc in answer.cited)
    unknown = [doc for doc in cited if doc not in judged]
    if not unknown:
        return ()
    verb = "has no judgement and counts" if len(unknown) == 1 else "have no judgement and count"
    return (
        Note(
            UNJUDGED_CITATIONS,
            len(unknown),
            f"{pluralise(len(unknown), 'cited id')} {verb} as not relevant: {first_ids(unknown)}",
        ),
    )


def _judged_docs(qrels: Qrels) -> set[str]:
    return {doc for docs in qrels.values() for doc in docs}


RETRIEVAL_MEASURES = ("RR@10", "R@10")
"""The measures of retrieval in answer analyses; the profile rag has bands for both."""


@dataclass(frozen=True, eq=False, slots=True)
class AnswerInput:
    """Answers with their values, references, and values of the retrieval that they were generated from (None if unjudged).

    `judged_documents` maps a passage to its judged document if the ids differ.
    """

    inputs: AnalysisInput
    retrieval: MeasureResults | None
    answers: Mapping[str, Answers]
    references: References
    judged_documents: Mapping[str, str]
    _records: dict[str, tuple[AnswerRecord, ...]] = field(init=False, default_factory=dict)

    def with_trust(self, calibrations: tuple[Calibration, ...], noise: tuple[JudgeNoise, ...]) -> AnswerInput:
        """The input with what is known about its judges."""
        result = replace(self.inputs.result, calibrations=calibrations, noise=noise)
        return replace(self, inputs=replace(self.inputs, result=result))

    def records(self, system: str) -> tuple[AnswerRecord, ...]:
        """The answer of the system to every query that has a reference answer."""
        if system not in self._records:
            self._records[system] = tuple(self._new_records(system))
        return self._records[system]

    def _new_records(self, system: str) -> Iterator[AnswerRecord]:
        answers = self.answers[system]
        for query, reference in self.references.items():
            if reference.answers:
                reply = answers.get(query)
                text = reply.text if reply is not None and reply.state == "answered" else ""
                failed = reply is not None and reply.state == "failed"
                yield AnswerRecord(query, text, reference.answers, found=self.found(system, query), failed=failed)

    def found(self, system: str, query: str) -> bool | None:
        """Whether a relevant passage was given to the answer; None if unknown."""
        reply = self.answers[system].get(query)
        judged = self.inputs.qrels.get(query, {})
        relevant = {doc for doc, grade in judged.items() if grade >= self.inputs.rel}
        if not relevant or not _has_passages(self.answers[system]):
            return None
        return reply is not None and any(self.judged_documents.get(doc, doc) in relevant for doc in reply.given or ())


def answer_input_from_results(
    results: ExperimentResult,
    measures: MeasuresLike = None,
    *,
    rel: int | None = None,
    how: AnswerJudges | None = None,
    again: bool = False,
) -> AnswerInput:
    """The answers of an experiment under its own measures and relevance threshold, or under given ones.

    A measure of claims that names no judge gets the judge of the results. Verdicts on claims that the results have are used; a
    judge is asked only for others. `again` computes values again that the results have, because their texts were replaced, or
    because the judge is asked again where it failed.
    """
    answers = {system_run.name: system_run.answers for system_run in results.system_runs if system_run.answers is not None}
    if not answers:
        raise UsageError(
            f"no system of {results.name} generates answers",
            fix="add a system with the stage answer or extract, and run the experiment again",
        )
    references = references_from_queries(results.texts)
    result = results.answers
    known = results_measures([results])
    names = None if measures is None else [str(measure) for measure in answer_measures(measures_in_results(measures, known))]
    stored = result
    if again or (rel is not None and rel != results.rel):
        names = names or (None if result is None else list(result.systems[0].measures))
        results, result = replace(results, rel=rel or results.rel), None
    if result is None or any(name not in result.systems[0].measures for name in names or ()):
        result = _evaluated_results(results, answers, names, how or AnswerJudges())
        if stored is not None:
            result = replace(result, calibrations=stored.calibrations, noise=stored.noise)
    chosen = names or list(result.systems[0].measures)
    systems = tuple(_with_measures(system, chosen) for system in result.systems)
    everything = input_from_results(results, needs_judgements=False)
    runs = {name: run for name, run in everything.runs.items() if name in answers}
    system_runs = tuple(system_run for system_run in results.system_runs if system_run.name in answers)
    inputs = replace(everything, result=replace(result, systems=systems), runs=runs, system_runs=system_runs)
    inputs = with_answer_primary(inputs)
    return AnswerInput(inputs, _retrieval_values(inputs, references), answers, references, results.judged_documents)


def results_measures(results: Iterable[ExperimentResult]) -> list[Measure]:
    """The measures of the answers of all results."""
    by_result = [result.answers.systems[0].measures for result in results if result.answers is not None]
    return list(dict.fromkeys(measure.measure for measures in by_result for measure in measures.values()))


def has_failed_verdicts(results: ExperimentResult) -> bool:
    """Whether a judge failed on a claim."""
    return any(claim.verdict == "failed" for claim in results.claims)


def check_some_verdict(result: Result, advice: str) -> None:
    """Raises an error if every verdict of a judge failed; `advice` says how it is asked again."""
    judges: dict[str, list[ClaimVerdict]] = {}
    for claim in result.claims:
        judges.setdefault(claim.judge, []).append(claim)
    for judge, verdicts in judges.items():
        if all(verdict.verdict == "failed" for verdict in verdicts):
            count = pluralise(len(verdicts), "verdict")
            raise ExternalError(f"no usable verdict of {for_message(judge)}: {count} failed ({verdicts[-1].reason}); {advice}")


def _with_measures(system: SystemResult, names: Sequence[str]) -> SystemResult:
    """The system with these measures, and without notes on others."""
    if list(names) == list(system.measures):
        return system
    measures = {name: system.measures[name] for name in names}
    return replace(system, measures=measures, notes=notes_of_measures(system.notes, measures))


def _evaluated_results(
    results: ExperimentResult, answers: Mapping[str, Answers], measures: Sequence[str] | None, how: AnswerJudges
) -> Result:
    document = results.judged_documents
    logged = LoggedAnswers(results.name, results.texts, answers, results.qrels, results.contexts)
    known = () if results.answers is None else (*results.claims, *results.answers.repeat_claims)
    return logged.evaluated(measures, how, rel=results.rel, document=lambda doc: document.get(doc, doc), known=known)


def answer_input_from_files(
    logged: LoggedAnswers, measures: Sequence[str] | None, *, rel: int = 1, how: AnswerJudges | None = None
) -> AnswerInput:
    """Answers from files; the passages that each was given are its ranking if all are known and judged."""
    answers, qrels = logged.answers, logged.qrels
    references = references_from_queries(logged.queries)
    judged = qrels or Qrels.from_dict({})
    judged_documents = chunk_to_judged_document(answers.values(), judged)
    result = logged.evaluated(measures, how or AnswerJudges(), rel=rel, document=lambda doc: judged_documents.get(doc, doc))
    if qrels is not None:
        noted = (
            replace(system, notes=(*system.notes, *unjudged_citations(answers[system.name], qrels, judged_documents)))
            for system in result.systems
        )
        result = replace(result, systems=tuple(noted))
    runs = {system: _passage_run(system, answer, judged_documents) for system, answer in answers.items() if _has_passages(answer)}
    inputs = AnalysisInput(logged.name, "", judged, runs, result, rel=rel, texts=logged.queries, contexts=logged.contexts)
    inputs = with_answer_primary(replace(inputs, given_answers=answers))
    return AnswerInput(inputs, _retrieval_values(inputs, references), answers, references, judged_documents)


def _has_passages(answers: Answers) -> bool:
    """Whether the given passages of every answer are known."""
    return answers.given_known and any(answer.given for answer in answers.values())


def _passage_run(system: str, answers: Answers, judged_documents: Mapping[str, str]) -> Run:
    """The given passages of each answer as a ranking of documents, each at the rank of its first passage."""
    docs = [list(dict.fromkeys(judged_documents.get(doc, doc) for doc in answer.given or ())) for answer in answers.values()]
    return Run.from_rankings(system, list(answers), [(doc, np.arange(len(doc), 0.0, -1.0)) for doc in docs])


def _retrieval_values(inputs: AnalysisInput, references: References) -> MeasureResults | None:
    """The values of the rankings over the queries with a reference answer and a relevant document; None if some are unknown."""
    judged = frozenset(inputs.result.queries)
    answerable = [query for query, reference in references.items() if reference.answers and query in judged]
    able = tuple(query for query in answerable if _has_relevant(inputs, query))
    if not able or any(name not in inputs.runs for name in inputs.systems):
        return None
    return measure_results(replace(inputs, result=replace(inputs.result, queries=able)), RETRIEVAL_MEASURES)


def _has_relevant(inputs: AnalysisInput, query: str) -> bool:
    return any(grade >= inputs.rel for grade in inputs.qrels.get(query, {}).values())

"""AnswerAnalysisInput."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from rankproof._analysis.answers.causes import AnswerRecord
from rankproof._analysis.inputs import AnalysisInput, input_from_results
from rankproof._analysis.values import MeasureResults, measure_results
from rankproof._data.answers import Answer, Answers, References, references_from_queries
from rankproof._data.dataset import Queries, chunk_separator, document_of_chunk
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._data.text import first_ids, pluralise
from rankproof._evaluation.answers import answer_measures, evaluate_answers
from rankproof._evaluation.notes import Note
from rankproof._results.experiment_result import ExperimentResult
from rankproof.errors import UsageError
from rankproof.measures._answers import Encode

UNJUDGED_CITATIONS = "unjudged-citations"


def chunk_to_judged_document(answers: Iterable[Answers], qrels: Qrels) -> dict[str, str]:
    """From an id that is written as our chunks are (d1#c1) to the judged document that it is of."""
    return cited_documents((one for each in answers for one in each.values()), _judged_docs(qrels))


def cited_documents(answers: Iterable[Answer], known: Set[str]) -> dict[str, str]:
    """The same for any known documents; what is none of their chunks is not in it."""
    mark = chunk_separator(known)
    passages = {doc for one in answers for doc in (*one.given, *one.cited)} - known
    wholes = {passage: document_of_chunk(passage, mark) for passage in sorted(passages) if passage.rpartition(mark)[2].isdigit()}
    return {passage: whole for passage, whole in wholes.items() if whole in known}


def unjudged_citations(answers: Answers, qrels: Qrels, judged_documents: Mapping[str, str]) -> tuple[Note, ...]:
    """The ids that a system cites and no judgement names, not even of another query: perhaps they are ids of something else."""
    judged = _judged_docs(qrels)
    cited = dict.fromkeys(judged_documents.get(doc, doc) for one in answers.values() for doc in one.cited)
    strange = [doc for doc in cited if doc not in judged]
    if not strange:
        return ()
    told = "is named by no judgement and counts" if len(strange) == 1 else "are named by no judgement and count"
    return (
        Note(
            UNJUDGED_CITATIONS,
            len(strange),
            f"{pluralise(len(strange), 'cited id')} {told} as not relevant: {first_ids(strange)}",
        ),
    )


def _judged_docs(qrels: Qrels) -> set[str]:
    return {doc for docs in qrels.values() for doc in docs}


RETRIEVAL_MEASURES = ("RR@10", "R@10")
"""What retrieval is judged by beside answers, as the rag profile has bands for both."""


@dataclass(frozen=True, eq=False, slots=True)
class AnswerInput:
    """`evidence` has the values of answers, `retrieval` those of what they were made from, None where nobody judged it.

    `wholes` is the judged document of a passage where that is another.
    """

    inputs: AnalysisInput
    retrieval: MeasureResults | None
    answers: Mapping[str, Answers]
    references: References
    judged_documents: Mapping[str, str]

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
        judged = self.inputs.qrels.get(query, {})
        relevant = {doc for doc, grade in judged.items() if grade >= self.inputs.rel}
        if not relevant or not _has_passages(self.answers[system]):
            return None
        return one is not None and any(self.judged_documents.get(doc, doc) in relevant for doc in one.given)


def answer_input_from_results(
    results: ExperimentResult, measures: Sequence[str] | None = None, *, rel: int | None = None, encode: Encode | None = None
) -> AnswerInput:
    """The answers of a climb, under the measures asked for or those it has, and the least grade that counts or its own."""
    answers = {system_run.name: system_run.answers for system_run in results.system_runs if system_run.answers is not None}
    if not answers:
        raise UsageError(
            f"no system of {results.name} answers", fix="add a system with the stage answer or extract, and run again"
        )
    references = references_from_queries(results.texts)
    result = results.answers
    asked = None if measures is None else [str(measure) for measure in answer_measures(list(measures))]
    if rel is not None and rel != results.rel:
        asked = asked or (None if result is None else list(result.systems[0].measures))
        results, result = replace(results, rel=rel), None
    if result is None or any(name not in result.systems[0].measures for name in asked or ()):
        whole = results.judged_documents
        result = evaluate_answers(
            answers, references, results.qrels, asked, encode, rel=results.rel, document=lambda doc: whole.get(doc, doc)
        )
    chosen = asked or list(result.systems[0].measures)
    systems = tuple(replace(one, measures={name: one.measures[name] for name in chosen}) for one in result.systems)
    everything = input_from_results(results)
    runs = {name: everything.runs[name] for name in answers}
    system_runs = tuple(system_run for system_run in results.system_runs if system_run.name in answers)
    inputs = replace(everything, result=replace(result, systems=systems), runs=runs, system_runs=system_runs)
    return AnswerInput(inputs, _retrieval_values(inputs, references), answers, references, results.judged_documents)


def answer_input_from_files(
    queries: Queries,
    answers: Mapping[str, Answers],
    qrels: Qrels | None,
    measures: Sequence[str] | None,
    *,
    name: str,
    rel: int = 1,
    encode: Encode | None = None,
) -> AnswerInput:
    """Answers from elsewhere; what each was `given` is its ranking, where all say so and there are judgements."""
    references = references_from_queries(queries)
    judged = qrels or Qrels.from_dict({})
    wholes = chunk_to_judged_document(answers.values(), judged)
    result = evaluate_answers(answers, references, qrels, measures, encode, rel=rel, document=lambda doc: wholes.get(doc, doc))
    if qrels is not None:
        noted = (
            replace(one, notes=(*one.notes, *unjudged_citations(answers[one.name], qrels, wholes))) for one in result.systems
        )
        result = replace(result, systems=tuple(noted))
    runs = {system: _passage_run(system, each, wholes) for system, each in answers.items() if _has_passages(each)}
    inputs = AnalysisInput(name, "", judged, runs, result, rel=rel, texts=queries)
    retrieval = _retrieval_values(inputs, references) if len(runs) == len(answers) else None
    return AnswerInput(inputs, retrieval, answers, references, wholes)


def _has_passages(answers: Answers) -> bool:
    """Whether it is known what each answer was made from."""
    return answers.given_known and any(one.given for one in answers.values())


def _passage_run(system: str, answers: Answers, judged_documents: Mapping[str, str]) -> Run:
    """What each answer was given as a ranking of documents, each at the place of its first passage."""
    docs = [list(dict.fromkeys(judged_documents.get(doc, doc) for doc in one.given)) for one in answers.values()]
    return Run.from_rankings(system, list(answers), [(each, -np.arange(len(each), dtype=np.float64)) for each in docs])


def _retrieval_values(inputs: AnalysisInput, references: References) -> MeasureResults | None:
    """The rankings over the questions that have an answer and a relevant document."""
    able = tuple(query for query in inputs.result.queries if references[query].answers and _has_relevant(inputs, query))
    if not able or not inputs.runs:
        return None
    return measure_results(replace(inputs, result=replace(inputs.result, queries=able)), RETRIEVAL_MEASURES)


def _has_relevant(inputs: AnalysisInput, query: str) -> bool:
    return any(grade >= inputs.rel for grade in inputs.qrels.get(query, {}).values())

"""Evaluates the answers of systems, and keeps the texts of the passages that they were generated from."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from rankproof._data.answers import Answers, nuggets_from_queries, passages_of, references_from_queries
from rankproof._data.arrays import Matrix
from rankproof._data.corpus import Corpus
from rankproof._data.dataset import Queries, chunk_separator, document_of_chunk
from rankproof._data.qrels import Qrels
from rankproof._data.text import pluralise
from rankproof._evaluation.answers import evaluate_answers
from rankproof._evaluation.result import Result
from rankproof._experiment.experiment import system_kind
from rankproof._results.experiment_result import SystemRun
from rankproof.errors import UsageError, for_message
from rankproof.measures._answers import AnswerMeasure
from rankproof.measures._base import Measure
from rankproof.measures._claim_base import OVERLAP, ClaimMeasure
from rankproof.measures._parse import parse_measures
from rankproof.models._base import Encoder
from rankproof.models._registry import encoder_by_name
from rankproof.stages._base import Stage
from rankproof.stages._chunked import Chunked, document_chunks
from rankproof.stages._fields import DEFAULT_FIELDS, passage_text
from rankproof.stages._text_vectors import text_vectors

MeasureChoice = Sequence[Measure | str] | None


@dataclass(frozen=True, eq=False, slots=True)
class MeasuredAnswers:
    """The values of the answering systems, None where nothing is measured, with notes.

    `judged_documents` has the judged document of each passage in the input of an answer, where the two differ.
    """

    result: Result | None
    notes: tuple[str, ...] = ()
    judged_documents: Mapping[str, str] = field(default_factory=dict)


def ranking_measures(measures: MeasureChoice) -> list[Measure] | None:
    """The measures of rankings, None for the default set."""
    chosen = (
        [] if measures is None else [measure for measure in parse_measures(measures) if not isinstance(measure, AnswerMeasure)]
    )
    return chosen or None


def answer_measures(measures: MeasureChoice) -> list[AnswerMeasure] | None:
    """The measures of answers, None for the default set."""
    chosen = [] if measures is None else [measure for measure in parse_measures(measures) if isinstance(measure, AnswerMeasure)]
    return chosen or None


def evaluate_answering_systems(
    system_runs: Iterable[SystemRun],
    queries: Queries,
    qrels: Qrels,
    measures: MeasureChoice,
    *,
    rel: int = 1,
    threads: int = 1,
    document: Callable[[str], str] = str,
    contexts: Mapping[str, str] | None = None,
) -> MeasuredAnswers:
    """The measures of every answering system; `contexts` has the texts of the passages that answers were given."""
    answers: dict[str, Answers] = {
        system_run.name: system_run.answers for system_run in system_runs if system_run.answers is not None
    }
    wanted = answer_measures(measures)
    if not answers:
        names = ", ".join(map(str, wanted or ()))
        return MeasuredAnswers(None, (f"no system answers: {names} cannot be measured",) if wanted else ())
    passages = sorted(passages_of(chain.from_iterable(answer.values() for answer in answers.values())))
    judged_documents = {doc: judged for doc in passages if (judged := document(doc)) != doc}
    references = references_from_queries(queries)
    nuggets = nuggets_from_queries(queries)
    if not references and not nuggets and not any(isinstance(measure, ClaimMeasure) for measure in wanted or ()):
        note = "no query has a reference answer (field answers): answers are saved, but not measured"
        return MeasuredAnswers(None, (note,), judged_documents)
    encode = Encoders(threads)
    result = evaluate_answers(
        answers,
        references,
        qrels,
        wanted,
        encode,
        rel=rel,
        document=document,
        questions={key: query.text for key, query in queries.items()},
        passage=(contexts or {}).get,
        nuggets=nuggets,
    )
    return MeasuredAnswers(result, encode.notes(), judged_documents)


def check_judges(measures: MeasureChoice) -> None:
    """Refuses a measure by a judge that a run does not ask."""
    for measure in answer_measures(measures) or ():
        if isinstance(measure, ClaimMeasure) and measure.judge != OVERLAP:
            command = f"rankproof answers RESULTS -m {shlex.quote(str(measure))}"
            raise UsageError(f"{measure}: a run measures claims by overlap alone", fix=f"ask the judge after the run: {command}")


def document_resolver(corpus: Corpus, values: Mapping[str, str] | None = None) -> Callable[[str], str]:
    """A function from a passage, a document or a chunk of one, to the id in the judgements."""
    separator = chunk_separator(corpus)

    def resolve(passage: str) -> str:
        doc = passage if passage in corpus else document_of_chunk(passage, separator) or passage
        return doc if values is None else values.get(doc, doc)

    return resolve


class Encoders:
    """Encoders by name, each loaded on first use; counts the distinct texts that were truncated."""

    def __init__(self, threads: int = 1) -> None:
        self._threads, self._loaded = threads, dict[str, Encoder]()
        self._seen, self._cut = dict[str, set[str]](), dict[str, int]()

    def __call__(self, name: str, texts: Sequence[str]) -> Matrix:
        if name not in self._loaded:
            self._loaded[name] = encoder_by_name(name).load(threads=self._threads)
        encoder, seen = self._loaded[name], self._seen.setdefault(name, set())
        new = [text for text in dict.fromkeys(texts) if text not in seen]
        seen.update(new)
        self._cut[name] = self._cut.get(name, 0) + encoder.cut(new)
        return text_vectors(encoder, texts)

    def notes(self) -> tuple[str, ...]:
        """A note for each encoder that truncated texts."""
        return tuple(
            pluralise(
                count,
                f"answer or reference is longer than {for_message(name)} reads and was truncated",
                f"answers or references are longer than {for_message(name)} reads and were truncated",
            )
            for name, count in self._cut.items()
            if count
        )


def passage_contexts(
    systems: Mapping[str, Stage], system_runs: Iterable[SystemRun], corpus: Corpus, replies: Mapping[str, str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The text of each passage that an answer was given or cites, as the answering stage reads it, and notes.

    `replies` has texts of search engines, for documents that the corpus does not have. An id that stands for other texts in two
    systems, as a chunk of two sizes, is left out and noted.
    """
    texts: dict[str, str] = {}
    different: dict[str, None] = {}
    for system_run in system_runs:
        if system_run.answers is not None:
            reader = _PassageReader(systems[system_run.name], corpus, replies)
            for passage in passages_of(system_run.answers.values()):
                text = reader.text(passage)
                if text is not None and texts.setdefault(passage, text) != text:
                    different[passage] = None
    for passage in different:
        del texts[passage]
    return texts, tuple(_context_notes(different))


def _context_notes(different: Mapping[str, None]) -> Iterator[str]:
    if different:
        count = pluralise(len(different), "passage id has", "passage ids have")
        example = for_message(next(iter(different)))
        yield f"{count} other texts in two systems, such as {example}: answers from them have no value in measures of contexts"


class _PassageReader:
    """Reads passages as the answering stage does: its fields, its longest text, and chunks if it is below `Chunked`."""

    def __init__(self, system: Stage, corpus: Corpus, replies: Mapping[str, str]) -> None:
        self._corpus, self._replies = corpus, replies
        chunked, stage = _answering_stage(system)
        self._chunking = None if chunked is None else chunked.chunking
        self._fields = getattr(stage, "fields", DEFAULT_FIELDS)
        self._longest = getattr(stage, "passage_characters", None)
        self._separator = chunk_separator(corpus)

    def text(self, passage: str) -> str | None:
        """The text of the passage, None where it is not known."""
        document = passage if self._chunking is None else document_of_chunk(passage, self._separator)
        if document not in self._corpus:
            return self._replies.get(passage)
        whole = self._corpus[document]
        if self._chunking is None:
            return passage_text(whole, self._fields)[: self._longest]
        chunks = document_chunks(whole, self._chunking, self._separator)
        return next((passage_text(chunk, self._fields)[: self._longest] for chunk in chunks if chunk.id == passage), None)


def _answering_stage(system: Stage) -> tuple[Chunked | None, Stage]:
    """The stage that answers, and the chunks that it reads, if any."""
    chunked, stage = None, system
    while isinstance(stage, Chunked):
        chunked, stage = stage, stage.stage
    while system_kind(stage) not in ("answer", "run") and len(stage.inputs()) == 1:
        stage = stage.inputs()[0]
    return chunked, stage

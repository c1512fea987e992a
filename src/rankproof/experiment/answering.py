"""The answers of a climb, measured against the references that the queries bring."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..data.answers import Answers
from ..data.arrays import Matrix
from ..data.corpus import Corpus
from ..data.counting import counted
from ..data.qrels import Qrels
from ..data.queries import Queries
from ..data.references import references_of
from ..errors import shown
from ..evaluation import Result
from ..evaluation.answers import evaluate_answers
from ..measures import AnswerMeasure, Measure, parse_many
from ..models.ports import Encoder
from ..models.registry import model_named
from ..stages.chunks.chunking import document_of, separator
from ..stages.encoding import text_vectors
from .rung import Rung

Measures = Sequence[Measure | str] | None


@dataclass(frozen=True, eq=False, slots=True)
class Measured:
    """The values of the systems that answer, None where there is nothing to measure, and what a reader must know of that.

    `wholes` has the judged document of each passage that an answer was given, where that is another.
    """

    result: Result | None
    notes: tuple[str, ...] = ()
    wholes: Mapping[str, str] = field(default_factory=dict)


def ranking_measures(measures: Measures) -> list[Measure] | None:
    """Those of rankings, None for the usual set."""
    found = [] if measures is None else [one for one in parse_many(measures) if not isinstance(one, AnswerMeasure)]
    return found or None


def answering_measures(measures: Measures) -> list[AnswerMeasure] | None:
    """Those of answers, None for the usual set."""
    found = [] if measures is None else [one for one in parse_many(measures) if isinstance(one, AnswerMeasure)]
    return found or None


def answers_result(
    rungs: Iterable[Rung],
    queries: Queries,
    qrels: Qrels,
    measures: Measures,
    *,
    rel: int = 1,
    threads: int = 1,
    document: Callable[[str], str] = str,
) -> Measured:
    """The measures of every system that answers, over the queries whose answer is known."""
    answers: dict[str, Answers] = {rung.name: rung.answers for rung in rungs if rung.answers is not None}
    asked = answering_measures(measures)
    if not answers:
        names = ", ".join(map(str, asked or ()))
        return Measured(None, (f"no system answers: {names} cannot be measured",) if asked else ())
    given = {doc for each in answers.values() for one in each.values() for doc in (*one.given, *one.cited)}
    wholes = {doc: whole for doc in sorted(given) if (whole := document(doc)) != doc}
    references = references_of(queries)
    if not references:
        return Measured(None, ("no query says what its answer should be (answers): answers are kept, and not measured",), wholes)
    encode = Encoders(threads)
    result = evaluate_answers(answers, references, qrels, asked, encode, rel=rel, document=document)
    return Measured(result, encode.notes(), wholes)


def whole_documents(corpus: Corpus, values: Mapping[str, str] | None = None) -> Callable[[str], str]:
    """From a passage that an answer cites, a document or a chunk of one, to what judgements name."""
    mark = separator(corpus)

    def whole(passage: str) -> str:
        doc = passage if passage in corpus else document_of(passage, mark) or passage
        return doc if values is None else values.get(doc, doc)

    return whole


class Encoders:
    """Encoders by name, each loaded once when it is first needed; counts the distinct texts that one cut."""

    def __init__(self, threads: int = 1) -> None:
        self._threads, self._loaded = threads, dict[str, Encoder]()
        self._seen, self._cut = dict[str, set[str]](), dict[str, int]()

    def __call__(self, name: str, texts: Sequence[str]) -> Matrix:
        if name not in self._loaded:
            self._loaded[name] = model_named(name).load(threads=self._threads)
        encoder, seen = self._loaded[name], self._seen.setdefault(name, set())
        new = [text for text in dict.fromkeys(texts) if text not in seen]
        seen.update(new)
        self._cut[name] = self._cut.get(name, 0) + encoder.cut(new)
        return text_vectors(encoder, texts)

    def notes(self) -> tuple[str, ...]:
        """Texts that were not read to their end."""
        return tuple(
            counted(
                count,
                f"answer or reference is longer than {shown(name)} reads and was cut",
                f"answers or references are longer than {shown(name)} reads and were cut",
            )
            for name, count in self._cut.items()
            if count
        )

"""Grades for chunks from those of documents: a chunk that holds the answer has its document's grade."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from ..data.corpus import Corpus
from ..data.qrels import Judgement, Qrels
from ..data.queries import Queries
from ..data.references import References, references_of
from ..data.scripts import unspaced
from ..stages.words import words

CHUNK_RULE = (
    "a chunk has its document's grade where it holds an answer of the query, else 0; where the query has no answer, or the"
    " document does not hold it word for word, every chunk has its document's grade"
)


@dataclass(frozen=True, eq=False, slots=True)
class Pieces:
    """The chunks, those of each document in their order, and each document's whole text."""

    chunks: Corpus
    of: Mapping[str, Sequence[str]]
    text: Callable[[str], str]


@dataclass(frozen=True, eq=False, slots=True)
class ChunkGrades:
    """Judgements of chunks; `cut` are the queries whose answer stands in a relevant document and in no chunk of any."""

    qrels: Qrels
    cut: tuple[str, ...]


def chunk_grades(qrels: Qrels, queries: Queries, pieces: Pieces, rel: int, only: Iterable[str]) -> ChunkGrades:
    """The grades of the chunks of every judged document, for the queries `only`."""
    references = references_of(queries)
    chunk_words = cache(lambda chunk: _marked(pieces.chunks[chunk].text))
    document_words = cache(lambda doc: _marked(pieces.text(doc)))
    grades: list[Judgement] = []
    cut = []
    for query in only:
        answers = _answers(references, query)
        held = {doc for doc in qrels[query] if doc in pieces.of and _holds(document_words(doc), answers)}
        found = []
        for doc, grade in qrels[query].items():
            mark = qrels.marks.get((query, doc), "")
            # A document without chunks stays under its own id, which no ranking of chunks has.
            for chunk in pieces.of.get(doc, (doc,)):
                own = grade if doc not in held or _holds(chunk_words(chunk), answers) else min(grade, 0)
                found.append(Judgement(query, chunk, own, mark=mark))
        lost = any(qrels[query][doc] >= rel for doc in held) and all(one.grade < rel for one in found)
        cut += [query] if lost else []
        grades += found
    return ChunkGrades(Qrels(iter(grades), source=qrels.source), tuple(cut))


def _answers(references: References, query: str) -> tuple[str, ...]:
    """The query's answers as words, those without any left out."""
    given = references[query].answers if query in references else ()
    return tuple(_marked(one) for one in given if words(one))


def _marked(text: str) -> str:
    """The words with a blank before, between and behind."""
    return f" {' '.join(words(text))} "


def _holds(text: str, answers: Sequence[str]) -> bool:
    """Whether an answer's words stand there in a row; in scripts without blanks, whether its characters do."""
    return any(
        answer in text or (unspaced().search(answer) and answer.replace(" ", "") in text.replace(" ", "")) for answer in answers
    )

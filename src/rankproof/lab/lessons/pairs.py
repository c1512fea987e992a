"""Pairs of a query and the documents that answer it, before negatives are found for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...data.dataset import Dataset
from ...stages.passages import DEFAULT_FIELDS, passages
from .crops import crops_of
from .other_splits import Elsewhere

Rows = Mapping[tuple[str, str], int]
"""From a language and a document's id to the document's place among the texts."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A query in a language, and the rows of the document to find and of all that answer it; `id` is empty for a crop."""

    language: str
    id: str
    query: str
    positive: int
    relevant: frozenset[int]


def document_rows(languages: Mapping[str, Dataset], characters: int) -> tuple[tuple[str, ...], Rows]:
    """The texts, cut at so many characters, and where each document stands; equal texts are one, empty ones none."""
    places: dict[str, int] = {}
    rows: dict[tuple[str, str], int] = {}
    for language, dataset in languages.items():
        for doc, text in sorted(passages(dataset.corpus, DEFAULT_FIELDS).items()):
            if cut := text[:characters].strip():
                rows[language, doc] = places.setdefault(cut, len(places))
    return tuple(places), rows


def real_pairs(
    languages: Mapping[str, Dataset], rows: Rows, relevant: Mapping[str, frozenset[str]], elsewhere: Elsewhere
) -> Iterator[Pair]:
    """Each judged query with each of its relevant documents of its own language; those of other languages answer it too."""
    for language, dataset in languages.items():
        for query, docs in relevant.items():
            text = dataset.queries[query].text.strip() if query in dataset.queries else ""
            if not text or elsewhere.has(query, dataset.queries[query].text):
                continue
            answers = frozenset(rows[other, doc] for other in languages for doc in docs if (other, doc) in rows)
            own = sorted({rows[language, doc] for doc in docs if (language, doc) in rows})
            yield from (Pair(language, query, text, row, answers) for row in own)


def crop_pairs(documents: tuple[str, ...], rows: Rows, elsewhere: Elsewhere, crops: int, seed: int) -> Iterator[Pair]:
    """Each document's crops with the document."""
    first: dict[int, tuple[str, str]] = {}
    for place, row in rows.items():
        first.setdefault(row, place)
    for row, (language, doc) in first.items():
        for piece in crops_of(documents[row], crops, f"{seed}\0{language}\0{doc}"):
            if not elsewhere.has_text(piece):
                yield Pair(language, "", piece, row, frozenset({row}))

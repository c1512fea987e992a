"""Lessons made of a dataset: judged pairs, crops, and hard negatives for both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ...data.arrays import IntArray
from ...data.dataset import Dataset
from ...errors import UsageError
from .holdout import kept_in, relevant_of
from .lessons import ABSENT, Lessons
from .negatives import hard_negatives
from .other_splits import Elsewhere
from .pairs import Pair, Rows, crop_pairs, document_rows, real_pairs
from .syllabus import Syllabus


def lessons_of(languages: Mapping[str, Dataset], syllabus: Syllabus, elsewhere: Elsewhere | None = None) -> Lessons:
    """The lessons of a dataset in one or more languages, the first of which has the judgements; the same whenever made."""
    elsewhere = elsewhere or Elsewhere()
    dataset = next(iter(languages.values()))
    documents, rows = document_rows(languages, syllabus.characters)
    judged = relevant_of(dataset.qrels)
    kept = kept_in(_by_text(judged, next(iter(languages)), rows), syllabus.holdout, syllabus.seed)
    relevant = {query: judged[query] for query in kept}
    _refuse_copies(dataset, elsewhere)
    real = list(real_pairs(languages, rows, relevant, elsewhere))
    pairs = [*real, *crop_pairs(documents, rows, elsewhere, syllabus.crops, syllabus.seed)]
    if not pairs or len(documents) < 2:
        raise UsageError(f"{dataset.name} has nothing to learn from", fix="take a split with judged queries, or allow crops")
    return Lessons(
        name=dataset.name,
        documents=documents,
        queries=tuple(pair.query for pair in pairs),
        positives=np.array([pair.positive for pair in pairs], dtype=np.int64),
        negatives=_padded(_negatives(documents, rows.items(), pairs, syllabus.negatives), syllabus.negatives),
        relevant=_padded([sorted(pair.relevant) for pair in pairs], max(len(pair.relevant) for pair in pairs)),
        real=len(real),
        ids=tuple(dict.fromkeys(pair.id for pair in real)),
    )


def _by_text(relevant: Mapping[str, frozenset[str]], language: str, rows: Rows) -> dict[str, frozenset[str]]:
    """Documents of one text under one name, so that none is both held out and taught."""
    names: dict[int, str] = {}
    for (spoken, doc), row in rows.items():
        if spoken == language:
            names.setdefault(row, doc)
    named = {doc: names[row] for (spoken, doc), row in rows.items() if spoken == language}
    return {query: frozenset(named.get(doc, doc) for doc in docs) for query, docs in relevant.items()}


def left_out(dataset: Dataset, elsewhere: Elsewhere) -> list[str]:
    """The judged queries that are not taught, for other splits judge them too."""
    asked = [query for query in relevant_of(dataset.qrels) if query in dataset.queries]
    return [query for query in asked if elsewhere.has(query, dataset.queries[query].text)]


def _refuse_copies(dataset: Dataset, elsewhere: Elsewhere) -> None:
    """Another split that judges every query is most likely a copy of this one."""
    if (left := left_out(dataset, elsewhere)) and len(left) == len(relevant_of(dataset.qrels)):
        copies = ", ".join(elsewhere.files) or "the other split"
        raise UsageError(f"other splits judge every query of {dataset.name}", fix=f"remove {copies} if it is a copy")


def _negatives(
    documents: tuple[str, ...], places: Iterable[tuple[tuple[str, str], int]], pairs: Sequence[Pair], count: int
) -> list[list[int]]:
    """Each language's queries are searched for among its own documents."""
    found: list[list[int]] = [[] for _ in pairs]
    for language in dict.fromkeys(pair.language for pair in pairs):
        texts = {row: documents[row] for (other, _), row in places if other == language}
        mine = [at for at, pair in enumerate(pairs) if pair.language == language]
        rows = hard_negatives(texts, [pairs[at].query for at in mine], [pairs[at].relevant for at in mine], count)
        for at, negatives in zip(mine, rows, strict=True):
            found[at] = negatives
    return found


def _padded(rows: Sequence[Sequence[int]], width: int) -> IntArray:
    table = np.full((len(rows), width), ABSENT, dtype=np.int64)
    for at, row in enumerate(rows):
        table[at, : len(row)] = row
    return table

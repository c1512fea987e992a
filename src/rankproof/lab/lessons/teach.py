"""Lessons made of a dataset: judged pairs, crops, and hard negatives for both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from json import dumps

import numpy as np

from ...data import checks
from ...data.arrays import IntArray
from ...data.dataset import Dataset
from ...errors import UsageError
from .elsewhere import Elsewhere
from .hard import hard_negatives
from .holdout import kept_in, relevant_of
from .lessons import ABSENT, Lessons
from .pairs import Pair, crop_pairs, document_rows, real_pairs

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Syllabus:
    """How lessons are made: the share of documents whose queries are held out, crops a document, characters a text, negatives."""

    holdout: float = 0.0
    crops: int = 16
    characters: int = 512
    negatives: int = 10
    seed: int = 1

    def __post_init__(self) -> None:
        checks.number("holdout", self.holdout, 0, 0.95)
        checks.whole("crops", self.crops, 0, 1000)
        checks.whole("characters", self.characters, 16, 100_000)
        checks.whole("negatives", self.negatives, 0, 100)
        checks.whole("seed", self.seed, 0)

    def made_of(self, languages: Mapping[str, Dataset], elsewhere: Elsewhere) -> str:
        """A sha256 of all that the lessons follow from."""
        prints = {name: dataset.fingerprint() for name, dataset in languages.items()}
        parts = [_VERSION, asdict(self), prints, sorted(elsewhere.ids), sorted(elsewhere.texts)]
        return sha256(dumps(parts, sort_keys=True).encode()).hexdigest()


def lessons_of(languages: Mapping[str, Dataset], syllabus: Syllabus, elsewhere: Elsewhere | None = None) -> Lessons:
    """The lessons of a dataset in one or more languages, the first of which has the judgements; the same whenever made."""
    elsewhere = elsewhere or Elsewhere()
    dataset = next(iter(languages.values()))
    documents, rows = document_rows(languages, syllabus.characters)
    relevant = kept_in(relevant_of(dataset.qrels), syllabus.holdout, syllabus.seed)
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

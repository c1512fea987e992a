"""Small real models and stores: words hashed to vectors, pairs scored by shared words, brute-force search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from zlib import crc32

import numpy as np

from rankproof._data.arrays import FloatArray, Matrix
from rankproof._data.ordering import Ranking, rank_documents
from rankproof.stages._analyzer import split_words

MARKS = "[CLS]", "[SEP]"


@dataclass(frozen=True)
class HashedWords:
    """A bag of words, each a random vector of its own, cut after so many; `always_marks` makes something of an empty text too."""

    dimensions: int = 32
    max_words: int = 50
    always_marks: bool = False

    def load(self, *, threads: int = 1) -> LoadedHashedWords:
        return LoadedHashedWords(self)

    def revision(self) -> str:
        return "1"


class LoadedHashedWords:
    batch_invariant = True

    def __init__(self, value: HashedWords) -> None:
        self._value, self.encoded = value, 0

    def encode(self, texts: Sequence[str]) -> Matrix:
        self.encoded += len(texts)
        return np.array([_unit(sum((self._vector(word) for word in self._spoken(text)), self._zero())) for text in texts])

    def tokens(self, texts: Sequence[str]) -> list[Matrix]:
        self.encoded += len(texts)
        return [self._token_vectors(self._words(text)) for text in texts]

    def _token_vectors(self, found: list[str]) -> Matrix:
        if not found and not self._value.always_marks:
            return np.zeros((0, self._value.dimensions), dtype=np.float32)
        return np.array([_unit(self._vector(word)) for word in (MARKS[0], *found, MARKS[1])])

    def facts(self) -> Mapping[str, Any]:
        return {"dimensions": self._value.dimensions}

    def cut(self, texts: Sequence[str]) -> int:
        return sum(len(split_words(text)) > self._value.max_words for text in texts)

    def _words(self, text: str) -> list[str]:
        return split_words(text)[: self._value.max_words]

    def _spoken(self, text: str) -> list[str]:
        return self._words(text) or (list(MARKS) if self._value.always_marks else [])

    def _vector(self, word: str) -> Matrix:
        drawn = np.random.default_rng(crc32(word.encode())).standard_normal(self._value.dimensions)
        return drawn.astype(np.float32)

    def _zero(self) -> Matrix:
        return np.zeros(self._value.dimensions, dtype=np.float32)


def _unit(vector: Matrix) -> Matrix:
    length = np.float32(np.sqrt((vector * vector).sum()))
    return vector / length if length else vector


@dataclass(frozen=True)
class SentencesOnly:
    """An encoder without token vectors, which says so or does not."""

    gives_tokens: bool = False

    def load(self, *, threads: int = 1) -> LoadedSentencesOnly:
        return LoadedSentencesOnly()

    def revision(self) -> str:
        return "1"


class LoadedSentencesOnly:
    def encode(self, texts: Sequence[str]) -> Matrix:
        return LoadedHashedWords(HashedWords()).encode(texts)

    def cut(self, texts: Sequence[str]) -> int:
        return 0

    def facts(self) -> Mapping[str, Any]:
        return {}


@dataclass(frozen=True)
class SharedWords:
    """A pair scorer: the share of the passage's distinct words that the query has, on its own scale; it reads `max_words`."""

    broken: bool = False
    max_words: int = 50

    def load(self, *, threads: int = 1) -> LoadedSharedWords:
        return LoadedSharedWords(self)

    def revision(self) -> str:
        return "1"


class LoadedSharedWords:
    def __init__(self, value: SharedWords) -> None:
        self._value = value

    def scores(self, query: str, passages: Sequence[str]) -> FloatArray:
        asked = set(split_words(query))
        read = [set(split_words(text)[: self._value.max_words]) for text in passages]
        shares = [len(asked & there) / (1 + len(there)) for there in read]
        return np.array([float("nan") if self._value.broken else 10 * share - 5 for share in shares])

    def facts(self) -> Mapping[str, Any]:
        return {"library": "tests"}

    def cut(self, query: str, passages: Sequence[str]) -> int:
        return sum(len(split_words(text)) > self._value.max_words for text in passages)


@dataclass(frozen=True)
class OneByOne:
    """A store that compares with every vector; where it is not exact it forgets one document in `forgets`."""

    forgets: int = 0

    @property
    def exact(self) -> bool:
        return not self.forgets

    @property
    def needs_folder(self) -> bool:
        return False

    def open(self, name: str, dimensions: int, folder: str) -> OpenOneByOne:
        return OpenOneByOne(self)


class OpenOneByOne:
    def __init__(self, value: OneByOne) -> None:
        self._value, self.closed = value, False
        self._vectors: dict[str, Matrix] = {}

    def add(self, ids: Sequence[str], vectors: Matrix) -> None:
        self._vectors.update(zip(ids, vectors, strict=True))

    def search(self, vectors: Matrix, k: int) -> list[Ranking]:
        return [self._one(vector, k) for vector in vectors]

    def _one(self, vector: Matrix, k: int) -> Ranking:
        docs = [doc for at, doc in enumerate(self._vectors) if not self._value.forgets or at % self._value.forgets]
        products = np.array([np.sum(self._vectors[doc] * vector, dtype=np.float64) for doc in docs])
        found, scores = rank_documents(docs, products)
        return found[:k], scores[:k]

    def facts(self) -> Mapping[str, Any]:
        return {"store": "one by one"}

    def size(self) -> int:
        return sum(vector.nbytes for vector in self._vectors.values())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.closed = True

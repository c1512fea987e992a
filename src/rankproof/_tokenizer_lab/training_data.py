"""Training pairs from judged queries and document crops, with hard negatives, and the file that keeps them."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import sha256
from itertools import islice
from random import Random
from typing import Any

import numpy as np

from rankproof._data import format_versions, validation
from rankproof._data.arrays import IntArray
from rankproof._data.corpus import Corpus, Document
from rankproof._data.dataset import Dataset, Query
from rankproof._data.text import unspaced_pattern
from rankproof._io.files import write_blocks
from rankproof._io.open import open_source, read_all_bytes
from rankproof._tokenizer_lab.splits import OtherSplitQueries, relevant_documents, training_split
from rankproof.errors import InputError, UsageError
from rankproof.models._trained.shape import SIZE_LIMITS
from rankproof.stages._bm25 import BM25
from rankproof.stages._fields import DEFAULT_FIELDS, passage_texts

PADDING = -1
"""Fills the shorter rows of `negatives` and `relevant`."""


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Pair i is queries[i] with the relevant documents[positives[i]]; the first `judged_count` pairs are judged, the rest crops.

    `negatives[i]` are documents that BM25 retrieves for the query and that are not judged relevant, best first; `relevant[i]`
    are all relevant documents, the positive included. `ids` are the ids of the judged queries, `name` is that of the dataset.
    """

    name: str
    documents: tuple[str, ...]
    queries: tuple[str, ...]
    positives: IntArray
    negatives: IntArray
    relevant: IntArray
    judged_count: int
    ids: tuple[str, ...]

    def __post_init__(self) -> None:
        for array in (self.positives, self.negatives, self.relevant):
            assert len(array) == len(self.queries), "every query has its row"
            array.flags.writeable = False

    @cached_property
    def digest(self) -> str:
        """The sha256 of all fields."""
        texts = json.dumps([self.name, self.documents, self.queries, self.judged_count, self.ids])
        made = sha256(texts.encode())
        for array in (self.positives, self.negatives, self.relevant):
            made.update(f"{array.shape}".encode() + array.astype("<i8").tobytes())
        return made.hexdigest()


CROP_WORDS = (4, 16)
"""The smallest and largest number of words of a crop."""
CROP_CHARACTERS = (12, 60)
"""The same in characters, for scripts without spaces between words."""
_WORD = re.compile(r"\S+")
_UNSPACED_SHARE = 0.2


def is_unspaced(text: str) -> bool:
    """Whether much of the text is in a script without spaces between words."""
    return len(unspaced_pattern().findall(text)) > _UNSPACED_SHARE * len(text)


def crop_text(text: str, count: int, name: str) -> list[str]:
    """At most `count` different random crops, seeded by `name`; empty if the text is too short."""
    random = Random(name)
    starts, ends, sizes = _crop_bounds(text)
    if len(starts) < sizes[0]:
        return []
    crops: dict[str, None] = {}
    for _ in range(count):
        size = random.randint(sizes[0], min(sizes[1], len(starts)))
        first = random.randint(0, len(starts) - size)
        crops[text[starts[first] : ends[first + size - 1]].strip()] = None
    return [piece for piece in crops if piece]


def _crop_bounds(text: str) -> tuple[list[int], list[int], tuple[int, int]]:
    if is_unspaced(text):
        return list(range(len(text))), list(range(1, len(text) + 1)), CROP_CHARACTERS
    words = list(_WORD.finditer(text))
    return [word.start() for word in words], [word.end() for word in words], CROP_WORDS


_SCRIPT_SAMPLE = 20
"""The number of texts that decide whether a language has spaces between words."""


def hard_negatives(
    texts: Mapping[int, str], queries: Sequence[str], relevant: Sequence[frozenset[int]], count: int
) -> list[list[int]]:
    """For each query the rows of at most `count` non-relevant documents that BM25 ranks highest, best first."""
    if not count or not queries:
        return [[] for _ in queries]
    most = max(map(len, relevant))
    # So deep that `count` documents remain after the relevant ones are removed.
    searcher = _bm25_stage(texts, count + most).index(Corpus(Document(str(row), text) for row, text in texts.items()))
    rankings = searcher.search_all([Query(str(at), text) for at, text in enumerate(queries)])
    ranked = [[int(doc) for doc in docs] for docs, _ in rankings]
    return [[row for row in rows if row not in known][:count] for rows, known in zip(ranked, relevant, strict=True)]


def _bm25_stage(texts: Mapping[int, str], depth: int) -> BM25:
    """BM25 over unstemmed words, or over character trigrams for scripts without spaces between words."""
    first = " ".join(islice(texts.values(), _SCRIPT_SAMPLE))
    tokens = "characters-3" if is_unspaced(first) else "words"
    return BM25(stemming=False, stop_words=False, tokens=tokens, depth=depth)


DocumentRows = Mapping[tuple[str, str], int]
"""The row of a document by language and id."""


@dataclass(frozen=True, slots=True)
class TrainingPair:
    """A query with the rows of its positive and of all relevant documents; `id` is empty for a crop."""

    language: str
    id: str
    query: str
    positive: int
    relevant: frozenset[int]


def document_rows(languages: Mapping[str, Dataset], characters: int) -> tuple[tuple[str, ...], DocumentRows]:
    """The distinct document texts, cut at `characters`, and the row of each document; empty texts are left out."""
    places: dict[str, int] = {}
    rows: dict[tuple[str, str], int] = {}
    for language, dataset in languages.items():
        texts = passage_texts(dataset.corpus, DEFAULT_FIELDS)
        for doc in sorted(texts):
            if cut := texts[doc][:characters].strip():
                rows[language, doc] = places.setdefault(cut, len(places))
    return tuple(places), rows


def judged_pairs(
    languages: Mapping[str, Dataset], rows: DocumentRows, relevant: Mapping[str, frozenset[str]], other_splits: OtherSplitQueries
) -> Iterator[TrainingPair]:
    """Each judged query with each relevant document of its language; translations of these are relevant too."""
    for language, dataset in languages.items():
        for query, docs in relevant.items():
            text = dataset.queries[query].text.strip() if query in dataset.queries else ""
            if not text or other_splits.has(query, dataset.queries[query].text):
                continue
            every = frozenset(rows[other, doc] for other in languages for doc in docs if (other, doc) in rows)
            own = sorted({rows[language, doc] for doc in docs if (language, doc) in rows})
            yield from (TrainingPair(language, query, text, row, every) for row in own)


def crop_pairs(
    documents: tuple[str, ...], rows: DocumentRows, other_splits: OtherSplitQueries, crops: int, seed: int
) -> Iterator[TrainingPair]:
    """The crops of each document, paired with the document."""
    first: dict[int, tuple[str, str]] = {}
    for place, row in rows.items():
        first.setdefault(row, place)
    for row, (language, doc) in first.items():
        for piece in crop_text(documents[row], crops, f"{seed}\0{language}\0{doc}"):
            if not other_splits.has_text(piece):
                yield TrainingPair(language, "", piece, row, frozenset({row}))


LEAST_CHARACTERS, MOST_CROPS, MOST_NEGATIVES = 16, 1000, 100


@dataclass(frozen=True, slots=True)
class TrainingDataConfig:
    """How training data are built: share of held-out documents, crops per document, characters per text, negatives per pair."""

    holdout: float = 0.0
    crops: int = 16
    characters: int = 512
    negatives: int = 10
    seed: int = 1

    def __post_init__(self) -> None:
        validation.checked_number("holdout", self.holdout, 0, 0.95)
        validation.checked_integer("crops", self.crops, 0, MOST_CROPS)
        validation.checked_integer("characters", self.characters, LEAST_CHARACTERS, SIZE_LIMITS["characters"])
        validation.checked_integer("negatives", self.negatives, 0, MOST_NEGATIVES)
        validation.checked_integer("seed", self.seed, 0)

    def source_digest(self, languages: Mapping[str, Dataset], other_splits: OtherSplitQueries) -> str:
        """The sha256 of everything that determines the training data."""
        prints = {name: dataset.fingerprint() for name, dataset in languages.items()}
        parts = [format_versions.TRAINING_DATA, asdict(self), prints, sorted(other_splits.ids), sorted(other_splits.texts)]
        return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def build_training_data(
    languages: Mapping[str, Dataset], data_config: TrainingDataConfig, other_splits: OtherSplitQueries | None = None
) -> TrainingData:
    """The training data of a dataset in one or more languages, the first of which has the judgements; deterministic."""
    other_splits = other_splits or OtherSplitQueries()
    dataset = next(iter(languages.values()))
    documents, rows = document_rows(languages, data_config.characters)
    judged = relevant_documents(dataset.qrels)
    kept = training_split(_merge_equal_texts(judged, next(iter(languages)), rows), data_config.holdout, data_config.seed)
    relevant = {query: judged[query] for query in kept}
    _check_not_copy(dataset, other_splits)
    judged_ones = list(judged_pairs(languages, rows, relevant, other_splits))
    pairs = [*judged_ones, *crop_pairs(documents, rows, other_splits, data_config.crops, data_config.seed)]
    if not pairs or len(documents) < 2:
        raise UsageError(
            f"{dataset.name} has no training pairs", fix="choose a split with judged queries, or set --crops above 0"
        )
    return TrainingData(
        name=dataset.name,
        documents=documents,
        queries=tuple(pair.query for pair in pairs),
        positives=np.array([pair.positive for pair in pairs], dtype=np.int64),
        negatives=_pad_rows(_negatives(documents, rows.items(), pairs, data_config.negatives), data_config.negatives),
        relevant=_pad_rows([sorted(pair.relevant) for pair in pairs], max(len(pair.relevant) for pair in pairs)),
        judged_count=len(judged_ones),
        ids=tuple(dict.fromkeys(pair.id for pair in judged_ones)),
    )


def _merge_equal_texts(relevant: Mapping[str, frozenset[str]], language: str, rows: DocumentRows) -> dict[str, frozenset[str]]:
    """Gives documents with equal texts one id, so that none is both held out and trained on."""
    names: dict[int, str] = {}
    for (other, doc), row in rows.items():
        if other == language:
            names.setdefault(row, doc)
    named = {doc: names[row] for (other, doc), row in rows.items() if other == language}
    return {query: frozenset(named.get(doc, doc) for doc in docs) for query, docs in relevant.items()}


def excluded_queries(dataset: Dataset, other_splits: OtherSplitQueries) -> list[str]:
    """The judged queries that are excluded because other splits judge them too."""
    judged = [query for query in relevant_documents(dataset.qrels) if query in dataset.queries]
    return [query for query in judged if other_splits.has(query, dataset.queries[query].text)]


def _check_not_copy(dataset: Dataset, other_splits: OtherSplitQueries) -> None:
    """Raises an error if another split judges every query: it is probably a copy of this one."""
    if (left := excluded_queries(dataset, other_splits)) and len(left) == len(relevant_documents(dataset.qrels)):
        copies = ", ".join(other_splits.files) or "the other split"
        raise UsageError(f"every judged query of {dataset.name} is also in another split", fix=f"remove {copies} if it is a copy")


def _negatives(
    documents: tuple[str, ...], places: Iterable[tuple[tuple[str, str], int]], pairs: Sequence[TrainingPair], count: int
) -> list[list[int]]:
    """The hard negatives of each pair, from the documents of its language."""
    negatives_of: list[list[int]] = [[] for _ in pairs]
    for language in dict.fromkeys(pair.language for pair in pairs):
        texts = {row: documents[row] for (other, _), row in places if other == language}
        mine = [at for at, pair in enumerate(pairs) if pair.language == language]
        rows = hard_negatives(texts, [pairs[at].query for at in mine], [pairs[at].relevant for at in mine], count)
        for at, negatives in zip(mine, rows, strict=True):
            negatives_of[at] = negatives
    return negatives_of


def _pad_rows(rows: Sequence[Sequence[int]], width: int) -> IntArray:
    table = np.full((len(rows), width), PADDING, dtype=np.int64)
    for at, row in enumerate(rows):
        table[at, : len(row)] = row
    return table


DATA_FILE = "training_data.json.gz"
_TEXT_KEYS = ("documents", "queries", "ids")
_ROW_KEYS = ("positives", "negatives", "relevant")
_FIX = "remove the file; it will be built again"


def cached_training_data(
    folder: str, languages: Mapping[str, Dataset], data_config: TrainingDataConfig, other_splits: OtherSplitQueries
) -> TrainingData:
    """The training data in the folder; built and written if missing."""
    digest, is_new = data_config.source_digest(languages, other_splits), not os.path.lexists(folder)
    try:
        os.makedirs(folder, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{folder} cannot be created ({reason})", fix="choose a folder that you can write") from None
    try:
        training_data = read_training_data(folder, digest)
        if training_data is None:
            training_data = build_training_data(languages, data_config, other_splits)
            write_training_data(training_data, digest, folder)
        return training_data
    except BaseException:
        if is_new:
            with contextlib.suppress(OSError):
                os.rmdir(folder)
        raise


def write_training_data(training_data: TrainingData, source_digest: str, folder: str) -> None:
    """Writes the file atomically; `source_digest` identifies what the training data were built from."""
    write_blocks(os.path.join(folder, DATA_FILE), _blocks(training_data, source_digest))


def read_training_data(folder: str, source_digest: str) -> TrainingData | None:
    """The training data in the folder, None if missing; raises an error if they were built from something else."""
    path = os.path.join(folder, DATA_FILE)
    if not os.path.exists(path):
        return None
    values = _read_json(path)
    if values.get("source_digest") != source_digest:
        raise UsageError(
            f"{path} has training data of another dataset, config or seed",
            fix="choose another folder; to train more seeds on the same data, use --repeats",
        )
    try:
        return _parse(values)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise InputError("invalid training data", fix=_FIX, source=path) from None


def _blocks(training_data: TrainingData, source_digest: str) -> Iterator[bytes]:
    yield json.dumps(
        {"source_digest": source_digest, "name": training_data.name, "judged_count": training_data.judged_count}
    ).encode()[:-1]
    for name in _TEXT_KEYS:
        yield f', "{name}": {json.dumps(getattr(training_data, name))}'.encode()
    for name in _ROW_KEYS:
        yield f', "{name}": {json.dumps(getattr(training_data, name).tolist())}'.encode()
    yield b"}\n"


def _read_json(path: str) -> Mapping[str, Any]:
    try:
        values = json.loads(read_all_bytes(open_source(path)))
    except (ValueError, RecursionError):
        raise InputError("not valid JSON", fix=_FIX, source=path) from None
    if not isinstance(values, dict):
        raise InputError("invalid training data", fix=_FIX, source=path)
    return values


def _parse(values: Mapping[str, Any]) -> TrainingData:
    documents, queries, ids = (_texts(values[name]) for name in _TEXT_KEYS)
    positives, negatives, relevant = (_rows(values[name], len(documents)) for name in _ROW_KEYS)
    judged_count = int(values["judged_count"])
    shapes = [rows.shape[:1] == (len(queries),) and rows.ndim == 2 for rows in (negatives, relevant)]
    if not (all(shapes) and positives.shape == (len(queries),) and 0 <= judged_count <= len(queries) and (positives >= 0).all()):
        raise ValueError
    return TrainingData(str(values["name"]), documents, queries, positives, negatives, relevant, judged_count, ids)


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise TypeError
    return tuple(value)


def _rows(value: Any, documents: int) -> IntArray:
    rows = np.array(value)
    if rows.dtype != np.int64 or not ((rows >= PADDING) & (rows < documents)).all():
        raise ValueError
    return rows

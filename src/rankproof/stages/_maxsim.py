"""Late interaction: every token of every passage has a vector, of one byte a dimension, in a journal of its partition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankproof._data.arrays import FloatArray, Matrix
from rankproof._data.corpus import Partition
from rankproof._data.dataset import Query
from rankproof._data.identity import identity_key
from rankproof._executors.base import Report
from rankproof._io.array_files import Block, Journal, cache_corruption_error, open_arrays, write_arrays
from rankproof.errors import UsageError
from rankproof.models._base import EncoderModel, TokenEncoder
from rankproof.stages._base import BuildContext, Cost, LoadedScorer
from rankproof.stages._fields import DEFAULT_FIELDS, EncoderOption, Fields, check_known_fields, check_settings
from rankproof.stages._partitions import PreparedPartitions
from rankproof.stages._text_vectors import is_blank
from rankproof.stages._vectors import PassageEncoder, encoding_resources, encoding_threads, truncation_note

INT8_LEVELS = 127
QUERY_STEPS = 2.0**24
PLACES, JOURNAL = "tokens.arrays", "tokens.journal"


@dataclass(frozen=True)
class MaxSim:
    """Late interaction: for each query token the best inner product with a passage token, averaged over the query tokens."""

    model: EncoderOption
    fields: Fields = DEFAULT_FIELDS

    def __post_init__(self) -> None:
        check_settings(self)
        if not getattr(self.model, "gives_tokens", True):
            raise _no_token_vectors_error(self.model)

    def build(self, context: BuildContext) -> MaxSimScorer:
        """Encodes every token of every passage, or finds the vectors in the cache."""
        check_known_fields(context.corpus, self.fields)
        tokens = TokenVectors(self.model, "", self.fields, encoding_threads(context))
        if not isinstance(tokens.encoder, TokenEncoder):
            raise _no_token_vectors_error(self.model)
        return MaxSimScorer(context, tokens, tokens.encoder)


def _no_token_vectors_error(model: EncoderModel) -> UsageError:
    what = f"model {type(model).__name__} gives no token vectors"
    return UsageError(what, fix="choose an encoder that does, such as minilm")


@dataclass(frozen=True, slots=True)
class TokenStatistics:
    """Numbers of passages, of token vectors, of their bytes, and of truncated passages; the seconds of encoding."""

    passages: int = 0
    vectors: int = 0
    bytes: int = 0
    truncated: int = 0
    seconds: float = 0.0

    def __add__(self, other: TokenStatistics) -> TokenStatistics:
        return TokenStatistics(
            self.passages + other.passages,
            self.vectors + other.vectors,
            self.bytes + other.bytes,
            self.truncated + other.truncated,
            self.seconds + other.seconds,
        )


@dataclass(frozen=True)
class TokenVectors(PassageEncoder):
    """Encodes the tokens of a partition into blocks of int8 rows with one scale a row; the blocks stay in their journal."""

    def prepare(self, partition: Partition, folder: Path, report: Report) -> TokenStatistics:
        """Encodes the tokens, and writes where those of each document are."""
        if (folder / PLACES).exists():
            report(len(partition))
        else:
            self._write(partition, folder, report)
        facts = open_arrays(folder / PLACES).facts
        return TokenStatistics(len(partition), facts["vectors"], facts["bytes"], facts["truncated"], facts["seconds"])

    def combine(self, statistics: Iterable[TokenStatistics], folder: Path) -> TokenStatistics:
        """The statistics of all passages."""
        return sum(statistics, TokenStatistics())

    def open(self, partition: Partition, folder: Path, totals: TokenStatistics) -> TokenBlocks:
        """The token vectors of the partition, mapped into memory."""
        places = open_arrays(folder / PLACES)
        with Journal(folder / JOURNAL) as journal:
            blocks = [record.block for record in journal.records()]
        if len(blocks) != places.facts["blocks"]:
            places.path.unlink()
            what = f"{len(blocks)} blocks instead of {places.facts['blocks']}"
            raise cache_corruption_error(folder / JOURNAL, what, "what is missing will be encoded again")
        return TokenBlocks(blocks, places.arrays["blocks"], places.arrays["starts"], places.arrays["ends"])

    def _write(self, partition: Partition, folder: Path, report: Report) -> None:
        timed_blocks = self.encode(partition, folder / JOURNAL, self._block, report, save_seconds=0.0)
        blocks = [block for block, _ in timed_blocks]
        of_row, starts, ends = (np.zeros(len(partition), np.int64) for _ in range(3))
        for number, block in enumerate(blocks):
            rows, until = block["rows"], np.cumsum(block["lengths"])
            of_row[rows], starts[rows], ends[rows] = number, until - block["lengths"], until
        facts = {
            "blocks": len(blocks),
            "vectors": sum(len(block["scales"]) for block in blocks),
            "bytes": sum(block["numbers"].nbytes + block["scales"].nbytes for block in blocks),
            "truncated": sum(int(block["truncated"][0]) for block in blocks),
            "seconds": sum(seconds for _, seconds in timed_blocks),
        }
        write_arrays(folder / PLACES, {"blocks": of_row, "starts": starts, "ends": ends}, facts)

    def _block(self, texts: list[str]) -> Block:
        assert isinstance(self.encoder, TokenEncoder)
        rows_of_texts = token_rows(self.encoder, texts)
        counts = {"lengths": [len(rows) for rows in rows_of_texts], "truncated": [self.encoder.cut(texts)]}
        return {
            **_quantise_rows(np.concatenate(rows_of_texts)),
            **{name: np.array(count, dtype=np.int64) for name, count in counts.items()},
        }


def token_rows(encoder: TokenEncoder, texts: Sequence[str]) -> list[Matrix]:
    """One row per token for each text, none for a blank text."""
    return [rows[:0] if is_blank(text) else rows for text, rows in zip(texts, encoder.tokens(texts), strict=True)]


def _quantise_rows(vectors: Matrix) -> Block:
    scales = np.abs(vectors).max(axis=1, initial=0.0) / np.float32(INT8_LEVELS)
    rounded = np.rint(vectors / np.where(scales == 0, np.float32(1), scales)[:, np.newaxis])
    return {"numbers": rounded.astype(np.int8), "scales": scales.astype(np.float32)}


@dataclass(frozen=True, eq=False, slots=True)
class TokenBlocks:
    """The blocks of a partition, and for each row its block and the part of it."""

    blocks: Sequence[Block]
    of_row: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def products(self, row: int, query: FloatArray) -> FloatArray:
        """The inner products of the document's tokens (rows) with the query's (columns), which `on_grid` has rounded.

        The sums are of integers below 2^53, times a power of 2, so that they have the same bits in any order.
        """
        block, part = self.blocks[self.of_row[row]], slice(self.starts[row], self.ends[row])
        products: FloatArray = block["numbers"][part].astype(np.float64) @ query.T * block["scales"][part, np.newaxis]
        return products


def on_grid(vectors: Matrix) -> FloatArray:
    """The vectors in float64, each number rounded to a multiple of 2^-24."""
    rounded: FloatArray = np.rint(vectors.astype(np.float64) * QUERY_STEPS) / QUERY_STEPS
    return rounded


class MaxSimScorer(LoadedScorer):
    """The encoder and the token vectors of all passages."""

    def __init__(self, context: BuildContext, tokens: TokenVectors, encoder: TokenEncoder) -> None:
        key = tokens.key("token vectors")
        self._corpus, self._encoder, self._key = context.corpus, encoder, identity_key(key, context.corpus_key)
        resources = encoding_resources(tokens.model)
        partitions = PreparedPartitions(context, tokens, key, label="encoding tokens", kind="vectors", resources=resources)
        self._statistics = partitions.prepare_all()
        self._indexes = partitions.open_all(tokens.open)

    def scores(self, query: Query, docs: Sequence[str]) -> FloatArray:
        """From -1 to 1; 0 if the query or the passage has no token."""
        tokens = on_grid(token_rows(self._encoder, [query.text])[0])
        places = (self._corpus.row_of(doc) for doc in docs)
        products_of_docs = (self._indexes[number].products(row, tokens) for number, row in places)
        return np.array([_mean_of_best(products) for products in products_of_docs], dtype=np.float64)

    def cut_queries(self, query: Query) -> int:
        """1 if the query is truncated, else 0."""
        return self._encoder.cut([query.text])

    def cost(self) -> Cost:
        """The time of encoding, cached or not, and the bytes of the vectors."""
        seconds, size = self._statistics.seconds, self._statistics.bytes
        return Cost(seconds, size, shared={self._key: (seconds, size)})

    def facts(self) -> Mapping[str, Any]:
        """The model, and the numbers of vectors and of truncated passages."""
        counts = {"token_vectors": self._statistics.vectors, "truncated_passages": self._statistics.truncated}
        return {"kind": "maxsim", "model": dict(self._encoder.facts()), **counts}

    def notes(self) -> Sequence[str]:
        """A note on truncated passages."""
        cut = self._statistics.truncated
        return [truncation_note(cut, self._statistics.passages)] if cut else []


def _mean_of_best(products: FloatArray) -> float:
    """The mean over the columns of their largest values."""
    return float(products.max(axis=0).mean()) if products.size else 0.0

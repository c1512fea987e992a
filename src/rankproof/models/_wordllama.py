"""WordLlama's static word vectors, and their download."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from rankproof._data.arrays import IntArray, Matrix, normalise_rows, read_only
from rankproof._data.identity import library_version, library_versions
from rankproof._registry import Option
from rankproof.errors import ExternalError, UsageError, escape_invisible
from rankproof.models._base import DownloadProgress, ReportStatus
from rankproof.models._download.cached_folder import WheelFile, cached_folder, checked_folder, download_first, models_cache_folder
from rankproof.models._onnx.config import open_weights
from rankproof.models._onnx.folder import TOKENIZER, WEIGHTS
from rankproof.models._onnx.runtime import map_threads
from rankproof.models._tokenizer import WordTokenizerFile

DIMENSIONS = (64, 128, 256)
PINNED = {
    WEIGHTS: "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
    TOKENIZER: "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
}
"""The sha256 of both files in the wheel wordllama 0.4.0.post1."""


_TEXTS_PER_TASK = 64


@dataclass(frozen=True, slots=True)
class WordLlama:
    """Static word vectors with 256 dimensions, or their first 64 or 128, which are trained to be used alone.

    `lowercase` reads every text in lower case: its vocabulary has few words in upper case, and splits the others into letters.
    """

    dimensions: Annotated[int, Option("how many dimensions the vectors have: 64, 128 or 256")] = 256
    lowercase: Annotated[bool, Option("read texts in lower case")] = True
    gives_tokens: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if type(self.dimensions) is not int or self.dimensions not in DIMENSIONS:
            raise UsageError(f"wordllama has no {self.dimensions!r} dimensions", fix=f"choose one of {DIMENSIONS}")

    def load(self, *, threads: int = 1) -> LoadedWordLlama:
        """The loaded vectors, which must be in the cache."""
        folder = _folder()
        tokenizer = _load_tokenizer(folder, lowercase=self.lowercase)
        return LoadedWordLlama(_load_vectors(folder), tokenizer, self.dimensions, self.revision(), threads=threads)

    def revision(self) -> str:
        """The pinned checksums of vectors and tokenizer, and the version of the tokenizer library."""
        return f"{PINNED[WEIGHTS][:16]}-{tokenizer_revision()}"

    def is_ready(self) -> bool:
        """Whether the vectors are in the cache."""
        return wordllama_folder().is_dir()

    def download(self, report: ReportStatus, progress: DownloadProgress) -> Path:
        """Downloads vectors and tokenizer; files in the cache are only checked."""
        return download_wordllama(report, progress)

    def weights_path(self) -> Path | None:
        """The file with the vectors, None if it is not in the cache."""
        return wordllama_folder() / WEIGHTS if self.is_ready() else None


class LoadedWordLlama:
    """Encodes a text as the mean of its token vectors; the result does not depend on other texts."""

    batch_invariant = True

    def __init__(self, table: Matrix, tokenizer: WordTokenizerFile, dimensions: int, revision: str, *, threads: int) -> None:
        self._table = np.ascontiguousarray(table[:, :dimensions])
        self._tokenizer, self._kernel = tokenizer, _native_vocabulary(tokenizer)
        self._revision, self._threads = revision, threads

    def encode(self, texts: Sequence[str]) -> Matrix:
        """One row per text; zeros for a text without tokens."""
        rows = np.zeros((len(texts), self._table.shape[1]), dtype=np.float32)
        starts = range(0, len(texts), _TEXTS_PER_TASK)

        def fill(start: int) -> None:
            end = start + _TEXTS_PER_TASK
            rows[start:end] = normalise_rows(self._means(texts[start:end]))

        map_threads(fill, starts, threads=self._threads)
        return read_only(rows)

    def _means(self, texts: Sequence[str]) -> Matrix:
        """The means of the token vectors, by the C kernel if it was built; it leaves out texts with very long words."""
        spaced = [self._tokenizer.spaced(text) if self._kernel is not None else None for text in texts]
        data = [(words or "").encode() for words in spaced]
        counts, means = np.zeros(len(texts), np.int64), np.zeros((len(texts), self._table.shape[1]), np.float32)
        if self._kernel is not None:
            counts, sums = self._kernel(data, self._table)
            means = sums / np.maximum(counts, 1).astype(np.float32)[:, None]
        for at, text in enumerate(texts):
            if spaced[at] is None or counts[at] < 0:
                means[at] = self._mean(text)
        return means

    def _mean(self, text: str) -> Matrix:
        ids = np.array(self._tokenizer.bare(text), dtype=np.intp)
        mean: Matrix = np.add.reduce(self._table.take(ids, axis=0), axis=0) / np.float32(max(len(ids), 1))
        return mean

    def cut(self, texts: Sequence[str]) -> int:
        """0: no text is truncated."""
        return 0

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text."""
        return [len(self._tokenizer.bare(text)) for text in texts]

    def unknown(self, texts: Sequence[str]) -> tuple[int, int]:
        """The numbers of unknown tokens and of all tokens."""
        return self._tokenizer.unknown(texts)

    def facts(self) -> Mapping[str, Any]:
        """Library, revision, dimensions and limits, as JSON."""
        return {
            "library": library_version("tokenizers"),
            "revision": self._revision,
            "dimensions": self._table.shape[1],
            "max_tokens": None,
            "precision": "fp32",
        }


SumVectors = Callable[[Sequence[bytes], Matrix], tuple[IntArray, Matrix]]
"""Receives texts and the table of vectors; gives the tokens of each text (-1: not read) and the sum of their vectors."""


@lru_cache(maxsize=2)
def _native_vocabulary(tokenizer: WordTokenizerFile) -> SumVectors | None:
    """The sums by the C kernel; None if it was not built."""
    if find_spec("rankproof._native.word_vectors") is None:
        return None
    from rankproof._native import word_vectors

    vocabulary = word_vectors.vocabulary(*tokenizer.merge_tables())

    def sums(texts: Sequence[bytes], table: Matrix) -> tuple[IntArray, Matrix]:
        bounds = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        vectors, counts = word_vectors.sums(vocabulary, b"".join(texts), bounds, table, table.shape[1])
        return np.frombuffer(counts, np.int64), np.frombuffer(vectors, np.float32).reshape(len(texts), -1)

    return sums


def token_starts(text: str) -> list[int]:
    """The positions of the characters at which the tokens of a text start."""
    return _load_tokenizer(_folder(), lowercase=False).starts(text)


def tokenizer_revision() -> str:
    """The pinned checksum of the tokenizer, and the version of its library."""
    return f"{PINNED[TOKENIZER][:16]}, {library_versions('tokenizers')}"


def wordllama_folder() -> Path:
    """The cache folder of the vectors."""
    return models_cache_folder() / "wordllama"


def _folder() -> Path:
    folder = wordllama_folder()
    if not folder.is_dir():
        raise ExternalError(escape_invisible(f"wordllama is not in {folder}; run: rankproof models get wordllama"))
    return folder


@lru_cache(maxsize=1)
def _load_vectors(folder: Path) -> Matrix:
    return read_only(open_weights(checked_folder(folder) / WEIGHTS).tensor("embedding.weight"))


@lru_cache(maxsize=2)
def _load_tokenizer(folder: Path, *, lowercase: bool) -> WordTokenizerFile:
    return WordTokenizerFile(checked_folder(folder) / TOKENIZER, lowers=lowercase)


# All wheels of this version contain the same files; one is named so that any Python on any machine can use it.
_PLATFORM = ("--python-version=3.12", "--implementation=cp", "--abi=cp312", "--platform=manylinux2014_x86_64")
WHEEL = WheelFile(
    "wordllama==0.4.0.post1",
    "wordllama",
    {WEIGHTS: "weights/l2_supercat_256.safetensors", TOKENIZER: "tokenizers/l2_supercat_tokenizer_config.json"},
    _PLATFORM,
)


def download_wordllama(report: ReportStatus, progress: DownloadProgress) -> Path:
    """Downloads vectors and tokenizer; files in the cache are only checked."""
    target = wordllama_folder()
    if target.is_dir():
        report("wordllama is in the cache already; checking it")
    sources = {
        f"the installed package {WHEEL.package}": WHEEL.from_installed,
        f"PyPI's wheel {WHEEL.requirement} (19 MB)": WHEEL.from_index,
    }
    return cached_folder(target, lambda unfinished: download_first("wordllama", PINNED, sources, unfinished, report, progress))

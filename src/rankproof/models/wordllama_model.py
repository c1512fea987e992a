"""WordLlama: static vectors, one a token, their mean for a text. The weights come inside the package of that name.

Only the package's files are used: importing it would set up logging for the whole program and load an HTTP client.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from .._registry import Option
from ..data.arrays import Matrix, frozen
from ..data.versions import behind, version_of
from ..errors import UsageError, WorldError
from .checksums import sha256_of
from .safetensors_file import open_weights
from .tokenizer_file import TokenizerFile
from .unit import unit

DIMENSIONS = (64, 128, 256)
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"


@dataclass(frozen=True, slots=True)
class WordLlama:
    """The first `dimensions` of the 256 that the vectors have; they were trained to be cut there."""

    dimensions: Annotated[int, Option("how many dimensions the vectors have: 64, 128 or 256")] = 256
    gives_tokens: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if type(self.dimensions) is not int or self.dimensions not in DIMENSIONS:
            raise UsageError(f"wordllama has no {self.dimensions!r} dimensions", fix=f"choose one of {DIMENSIONS}")

    def load(self, *, threads: int = 1) -> LoadedWordLlama:
        """The vectors in memory; one thread is enough."""
        return LoadedWordLlama(_table(), _tokenizer(), self.dimensions, self.revision())

    def revision(self) -> str:
        """The checksums of the package's weights and tokenizer, and the libraries that read them."""
        return f"{sha256_of(weights_file())[:16]}-{tokenizer_revision()}"

    def is_ready(self) -> bool:
        """Whether it can be loaded without a network."""
        return find_spec("wordllama") is not None


class LoadedWordLlama:
    """The mean of a text's token vectors, summed token by token, so that no other text changes its bits."""

    def __init__(self, table: Matrix, tokenizer: TokenizerFile, dimensions: int, revision: str) -> None:
        self._table = table[:, :dimensions]
        self._tokenizer = tokenizer
        self._revision = revision

    def encode(self, texts: Sequence[str]) -> Matrix:
        """One row a text; zeros where the text has no token."""
        rows = np.zeros((len(texts), self._table.shape[1]), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            ids = self._tokenizer.bare(text)
            row[:] = unit(self._table[ids].sum(axis=0, dtype=np.float32) / np.float32(max(len(ids), 1)))
        return frozen(rows)

    def cut(self, texts: Sequence[str]) -> int:
        """None: a text of any length is read."""
        return 0

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has."""
        return [len(self._tokenizer.bare(text)) for text in texts]

    def unknown(self, texts: Sequence[str]) -> tuple[int, int]:
        """How many tokens stand for something that is not in the vocabulary, and how many there are."""
        return self._tokenizer.unknown(texts)

    def facts(self) -> Mapping[str, Any]:
        """What a reader should know."""
        return {
            "library": version_of("wordllama"),
            "revision": self._revision,
            "dimensions": self._table.shape[1],
            "max_tokens": None,
            "precision": "fp32",
        }


def token_starts(text: str) -> list[int]:
    """The characters at which the tokens of a text begin."""
    return _tokenizer().starts(text)


def tokenizer_revision() -> str:
    """The checksum of the package's tokenizer, and the libraries that read it."""
    return f"{sha256_of(_file(_TOKENIZER))[:16]}, {behind('wordllama', 'tokenizers')}"


def weights_file() -> Path:
    """Where the package has its vectors."""
    return _file(_WEIGHTS)


def _file(name: str) -> Path:
    spec = find_spec("wordllama")
    path = Path(spec.origin).parent / name if spec and spec.origin else None
    if path is None or not path.is_file():
        raise WorldError(f"wordllama has no file {name}; run: pip install --force-reinstall wordllama==0.4.0.post1")
    return path


@lru_cache(maxsize=1)
def _table() -> Matrix:
    return frozen(open_weights(weights_file()).tensor("embedding.weight"))


@lru_cache(maxsize=1)
def _tokenizer() -> TokenizerFile:
    return TokenizerFile(_file(_TOKENIZER), max_tokens=None)

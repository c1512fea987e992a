"""What the trial needs of a tokenizer, and the ones that there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from .byte_tokenizer import ByteTokenizer
from .character_tokenizer import CharacterTokenizer
from .ids import Ids
from .kinds import kind_named
from .subword_tokenizer import FILE, opened_subwords


class Tokenizer(Protocol):
    """A frozen value that makes ids of texts; 0 is padding, and no token of any text."""

    @property
    def kind(self) -> str:
        """Its name, as the command line has it."""
        ...

    @property
    def vocabulary(self) -> int:
        """How many ids there are, padding included."""
        ...

    def ids(self, texts: Sequence[str]) -> list[Ids]:
        """The ids of each text, the same for a query and a document; none for an empty one."""
        ...

    def unknown(self, texts: Sequence[str]) -> tuple[int, int]:
        """How many tokens stand for something that is not in the vocabulary, and how many there are."""
        ...

    def files(self) -> Mapping[str, bytes]:
        """What has to be kept to open it again."""
        ...


def trained_tokenizer(kind: str, texts: Iterable[str]) -> Tokenizer:
    """The tokenizer of this name, trained on the texts where it is one to be trained."""
    if kind_named(kind).size:
        from .subword_training import trained_subwords

        return trained_subwords(kind, list(texts))
    return _untrained(kind)


def files_of(kind: str) -> tuple[str, ...]:
    """The names of the files that a tokenizer of this name keeps."""
    return (FILE,) if kind_named(kind).size else ()


def opened_tokenizer(kind: str, files: Mapping[str, bytes]) -> Tokenizer:
    """The tokenizer of this name, from what was kept of it."""
    return opened_subwords(kind, files) if kind_named(kind).size else _untrained(kind)


def _untrained(kind: str) -> Tokenizer:
    return CharacterTokenizer(kind) if kind_named(kind).family == "characters" else ByteTokenizer(kind)

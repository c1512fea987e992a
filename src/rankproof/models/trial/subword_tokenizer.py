"""Pieces of words as tokens, by the library `tokenizers`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._extras import extra
from ...errors import WorldError, shown, visible
from ..tokenizer_file import whole_characters
from .ids import Ids
from .kinds import Kind, kind_named

FILE = "tokenizer.json"
PADDING, UNKNOWN = "[PAD]", "[UNK]"
_MODELS = {"bpe": "BPE", "wordpiece": "WordPiece"}


@dataclass(frozen=True, slots=True)
class SubwordTokenizer:
    """What a tokenizer.json says, without special tokens; `content` is the file."""

    kind: str
    content: bytes = field(repr=False)
    _inner: Any = field(repr=False, compare=False)

    @property
    def vocabulary(self) -> int:
        """How many tokens there are, padding included: fewer than the name asks for where the texts were few."""
        return int(self._inner.get_vocab_size())

    def ids(self, texts: Sequence[str]) -> list[Ids]:
        """The ids of each text; one text at a time, for the library's own threads do not survive a fork."""
        return [
            np.asarray(self._inner.encode(whole_characters(text), add_special_tokens=False).ids, dtype=np.int32) for text in texts
        ]

    def unknown(self, texts: Sequence[str]) -> tuple[int, int]:
        """How many tokens are [UNK], which byte-level BPE has none of, and how many there are."""
        row, found = self._inner.token_to_id(UNKNOWN), self.ids(texts)
        missed = 0 if row is None else sum(int((ids == row).sum()) for ids in found)
        return missed, sum(map(len, found))

    def files(self) -> Mapping[str, bytes]:
        """The library's own file."""
        return {FILE: self.content}


def opened_subwords(kind: str, files: Mapping[str, bytes]) -> SubwordTokenizer:
    """The tokenizer of a file that was kept; one that is not of this kind is refused."""
    with extra("retrieval"):
        from tokenizers import Tokenizer

    if FILE not in files:
        raise WorldError(f"{FILE}: not there; get the checkpoint anew")
    try:
        told = json.loads(files[FILE])
        inner = Tokenizer.from_str(files[FILE].decode())
        model, added = str(told["model"]["type"]), told["added_tokens"]
    except Exception as error:  # the library raises nothing more special
        raise WorldError(visible(f"{FILE}: no tokenizer ({shown(str(error))}); get the checkpoint anew")) from None
    named = kind_named(kind)
    if model != _MODELS[named.family]:
        raise WorldError(visible(f"{FILE}: a {shown(model)} tokenizer, and {kind} was wanted; do they belong together?"))
    if added or not _has_ids(inner, named):
        raise WorldError(f"{FILE}: its ids are not those of {kind}, with {PADDING} at 0; get the checkpoint anew")
    inner.no_padding()
    inner.no_truncation()
    return SubwordTokenizer(kind, files[FILE], inner)


def _has_ids(inner: Any, named: Kind) -> bool:
    """Whether the ids are 0, 1, 2 and so on, no more than were asked for, with all that is needed to write any text."""
    with extra("retrieval"):
        from tokenizers.pre_tokenizers import ByteLevel

    rows = inner.get_vocab(with_added_tokens=True)
    needed = ByteLevel.alphabet() if named.family == "bpe" else [UNKNOWN]
    in_order = sorted(rows.values()) == list(range(len(rows))) and len(rows) <= named.size
    return in_order and rows.get(PADDING) == 0 and all(token in rows for token in needed)

"""ByT5 (Xue et al. 2022): the encoder of a sequence-to-sequence model that reads UTF-8 bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..data.identity import NOT_PART
from .by_transformers import Alphabet
from .settings import Source, TokenLimit
from .tokenizer_file import whole_characters
from .transformers_model import TransformersModel

_END, _FIRST_BYTE = 1, 3
_LEAST, _MOST = _FIRST_BYTE + 256, 384
"""Ids: padding, end and unknown, 256 bytes, and the 125 marks of its training."""


def byte_ids(text: str, most: int) -> list[int]:
    """The bytes, each 3 above its own number, and the mark of the end; a mark's name in a text is read as its letters."""
    return [byte + _FIRST_BYTE for byte in whole_characters(text[:most]).encode()[: most - 1]] + [_END]


def _count(text: str) -> int:
    return len(whole_characters(text).encode()) + 1


def _no_bytes(config: Mapping[str, Any]) -> str | None:
    size = config.get("vocab_size")
    if isinstance(size, int) and _LEAST <= size <= _MOST:
        return None
    return f"vocab_size {size}, and a ByT5 has {_MOST}: this T5 reads no bytes; name the model as torch:NAME"


@dataclass(frozen=True, slots=True)
class ByT5(TransformersModel):
    """1,472 dimensions in the small one, the mean of the bytes' vectors; its makers trained it on 1,024 bytes at a time."""

    alphabet: ClassVar[Alphabet] = Alphabet(
        name="ByT5",
        unit="bytes",
        model_type="t5",
        net="T5EncoderModel",
        options=(),
        ids=byte_ids,
        count=_count,
        room=lambda count, config: count,
        check=_no_bytes,
    )
    source: Source = field(default="google/byt5-small", metadata=NOT_PART)
    max_tokens: TokenLimit = 1024

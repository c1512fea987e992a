"""CANINE (Clark et al. 2022): an encoder that reads code points, hashed, four to a step of its deep layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..data.identity import NOT_PART
from .by_transformers import Alphabet
from .settings import Source, TokenLimit
from .tokenizer_file import whole_characters
from .transformers_model import TransformersModel

_BEGIN, _END = 0xE000, 0xE001


def character_ids(text: str, most: int) -> list[int]:
    """The code points between the marks of beginning and end."""
    return [_BEGIN, *map(ord, whole_characters(text[: 2 * most])[: most - 2]), _END]


def _count(text: str) -> int:
    return len(whole_characters(text)) + 2


def _with_padding_behind(count: int, config: Any) -> int:
    """Whole windows, and two more of padding, as behind a text of its training: the net drops one and looks into the other."""
    rate = int(config.downsampling_rate)
    return rate * (-(-count // rate) + 2)


def _no_objection(config: Mapping[str, Any]) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class Canine(TransformersModel):
    """768 dimensions, the mean of the characters' vectors; its makers trained it on 2,048 characters at a time."""

    alphabet: ClassVar[Alphabet] = Alphabet(
        name="CANINE",
        unit="characters",
        model_type="canine",
        net="CanineModel",
        options=(("add_pooling_layer", False),),
        ids=character_ids,
        count=_count,
        room=_with_padding_behind,
        check=_no_objection,
    )
    source: Source = field(default="google/canine-s", metadata=NOT_PART)
    max_tokens: TokenLimit = 2048

"""CANINE (Clark et al. 2022): an encoder that reads code points, hashed, four to a step of its deep layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..data.identity import NOT_PART
from .by_transformers import Alphabet
from .tokenizer_file import whole_characters
from .transformers_model import TransformersModel

_BEGIN, _END = 0xE000, 0xE001


def character_ids(text: str, most: int) -> list[int]:
    """The code points between the marks of beginning and end."""
    return [_BEGIN, *map(ord, whole_characters(text[: 2 * most])[: most - 2]), _END]


def _count(text: str) -> int:
    return len(whole_characters(text)) + 2


def _with_windows_to_spare(count: int, config: Any) -> int:
    """The net drops the last window that it is shown and looks past a text's end; in training there was padding, and so here."""
    rate = int(config.downsampling_rate)
    return rate * (-(-count // rate) + 2)


def _any(config: Mapping[str, Any]) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class Canine(TransformersModel):
    """768 dimensions, the mean of the characters' vectors; its makers trained it on 2,048 characters at a time."""

    alphabet: ClassVar[Alphabet] = Alphabet(
        *("CANINE", "characters", "canine", "CanineModel", (("add_pooling_layer", False),)),
        *(character_ids, _count, _with_windows_to_spare, _any),
    )
    source: str = field(default="google/canine-s", metadata=NOT_PART)
    max_tokens: int = 2048

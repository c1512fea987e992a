"""What a model can be asked for."""

from __future__ import annotations

from typing import Literal, get_args

from ..data.checks import choice, whole
from ..errors import UsageError

Precision = Literal["int8", "fp32"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
_LEAST_TOKENS = 4


def check_source(source: str) -> None:
    """Refuses what is no text."""
    if not isinstance(source, str) or not source or "\0" in source:
        raise UsageError(f"{source!r} is no model", fix="name a model's folder, or ORGANISATION/MODEL on the hub")


def check_precision(precision: str) -> None:
    """Refuses a precision that no graph is written in."""
    choice("precision", precision, PRECISIONS)


def check_tokens(max_tokens: int | None) -> None:
    """Refuses a length that no text fits; None is the model's own."""
    if max_tokens is not None:
        whole("max_tokens", max_tokens, _LEAST_TOKENS)

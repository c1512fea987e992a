"""Settings that models share: where the weights come from, their precision and the longest text."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from .._registry import Option
from ..data.checks import check_options
from ..errors import UsageError

Precision = Literal["int8", "fp32"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
_LEAST_TOKENS = 4

Source = Annotated[str, Option("a folder with weights, or ORGANISATION/MODEL on the model hub", role="source")]
PrecisionOption = Annotated[Precision, Option("precision of the weights: int8 or fp32")]
TokenLimit = Annotated[int, Option("texts are truncated after so many tokens", least=_LEAST_TOKENS)]
OwnTokenLimit = Annotated[
    int | None, Option("texts are truncated after so many tokens (the model's own limit)", least=_LEAST_TOKENS)
]


def check(value: Any) -> None:
    """Checks every setting of a model by its type and Option."""
    check_options(value)


def check_source(source: str) -> None:
    """Refuses what is not a model's source."""
    if not isinstance(source, str) or not source or "\0" in source:
        raise UsageError(f"{source!r} is no model", fix="name a model's folder, or ORGANISATION/MODEL on the hub")

"""Numbers, texts and lists as sentences say them: each in one way everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..data.counting import counted as counted
from ..errors import shown

if TYPE_CHECKING:
    from ..measures import Measure

_LEAST_APART = 0.0001
LEAST_P = 1e-4
"""A p below this is said to be below it: its further digits are chance."""


def p_words(p: float) -> str:
    """A p-value, as in `p = 0.0312`."""
    return f"p = {p:.4f}" if p >= LEAST_P else f"p < {LEAST_P:.4f}"


def brief(value: float) -> str:
    """A value in a sentence: three decimals, and no 0 before the point."""
    text = f"{value:.3f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def apart(difference: float) -> str:
    """How far two values are apart: four decimals, and never 0 where they differ."""
    return f"{difference:.4f}" if difference >= _LEAST_APART else f"less than {_LEAST_APART}"


def amount(difference: float, measure: Measure) -> str:
    """A difference of means in percentage points, or as it is where the measure is no share of 1; never -0.00."""
    return f"{100 * difference:z.2f} pp" if measure.range == (0.0, 1.0) else f"{difference:z.4f}"


def clipped(text: str, length: int = 60) -> str:
    """The beginning of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


def few(ids: Sequence[str], most: int = 5) -> str:
    """The first of some ids, fit to be shown."""
    return ", ".join(map(shown, ids[:most])) + (", …" if len(ids) > most else "")

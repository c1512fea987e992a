"""Numbers, counts, lists as text; unspaced scripts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from rankproof.errors import for_message


def pluralise(count: int, one: str, more: str = "") -> str:
    """The number before its noun, as in `1 query` and `2 queries`; the words may go on with a verb (`1 query has`)."""
    return f"{count:,} {one if count == 1 else more or f'{one}s'}"


def shown_time(value: float) -> str:
    """Three digits or so: 0.012, 1.23, 45.6, 789."""
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


_LEAST_APART = 0.0001
LEAST_P = 1e-4
"""A p below this is said to be below it: its further digits are chance."""


def format_p(p: float) -> str:
    """A p-value, as in `p = 0.0312`."""
    return f"p = {p:.4f}" if p >= LEAST_P else f"p < {LEAST_P:.4f}"


def format_value(value: float) -> str:
    """A value in a sentence: three decimals, and no 0 before the point."""
    text = f"{value:.3f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def format_difference(difference: float) -> str:
    """How far two values are apart: four decimals, and never 0 where they differ."""
    return f"{difference:.4f}" if difference >= _LEAST_APART else f"less than {_LEAST_APART}"


def clip_text(text: str, length: int = 60) -> str:
    """The beginning of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


def first_ids(ids: Sequence[str], most: int = 5) -> str:
    """The first of some ids, fit to be shown."""
    return ", ".join(map(for_message, ids[:most])) + (", …" if len(ids) > most else "")


_UNSPACED = (
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u19e0-\u19ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua9e0-\ua9ff\uaa60-\uaa7f\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af]"
)


@cache
def unspaced_pattern() -> re.Pattern[str]:
    """A character of such a script; compiled when first asked for, as that takes milliseconds."""
    return re.compile(_UNSPACED)


def separate_unspaced(text: str) -> str:
    """The text with blanks around every such character, so that each is a word (mixed segmentation, as in MLQA)."""
    return text if text.isascii() else unspaced_pattern().sub(r" \g<0> ", text)

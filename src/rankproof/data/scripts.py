"""Scripts that put no blank between words: Han, kana, Thai, Lao, Khmer and Myanmar, compared character by character."""

from __future__ import annotations

import re
from functools import cache

_UNSPACED = (
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u19e0-\u19ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua9e0-\ua9ff\uaa60-\uaa7f\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af]"
)


@cache
def unspaced() -> re.Pattern[str]:
    """A character of such a script; compiled when first asked for, as that takes milliseconds."""
    return re.compile(_UNSPACED)


def spaced(text: str) -> str:
    """The text with blanks around every such character, so that each is a word (mixed segmentation, as in MLQA)."""
    return text if text.isascii() else unspaced().sub(r" \g<0> ", text)

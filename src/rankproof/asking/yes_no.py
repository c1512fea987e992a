"""Yes or No: by the log-probabilities of the reply's first token, or by its text."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from ..models.chat.port import Reply
from .asker import UnreadableError
from .spoken import spoken

_SAID = re.compile(r"[\"'*`]*(yes|no)(?=$|[\"'*`.,:;!\n]|\s+[-–—(])", re.IGNORECASE)
_TOKEN_MARKS = " \t\r\n▁ĠĊ"
_LEAST_LEFT = 1e-9
"""Of probability, for the word that is not listed: what is listed may add up to 1."""


def yes_no(reply: Reply) -> tuple[float, bool]:
    """How much rather Yes than No, and whether that had to be read from the text.

    It is log P(Yes) - log P(No) of the first token, summed over spellings. Where only one of the two is among the likeliest
    tokens, the other is taken to be as likely as the least of them. By the text it is 1 for Yes and 0 for No.
    """
    if reply.finish == "refusal":
        raise UnreadableError("the model refuses")
    listed = [(token.strip(_TOKEN_MARKS).casefold(), value) for token, value in reply.first or () if math.isfinite(value)]
    yes, no = (_log_sum([value for token, value in listed if token == word]) for word in ("yes", "no"))
    if yes is None and no is None:
        return float(said_yes(reply)), True
    if yes is None or no is None:
        other = _unlisted(listed)
        return (other if yes is None else yes) - (other if no is None else no), False
    return yes - no, False


def said_yes(reply: Reply) -> bool:
    """Whether the text begins with Yes; anything but Yes or No at its start is of no use."""
    said = _SAID.match(spoken(reply.text))
    if reply.finish == "refusal" or not said:
        raise UnreadableError("neither Yes nor No")
    return said.group(1).casefold() == "yes"


def _unlisted(listed: Sequence[tuple[str, float]]) -> float:
    """The most that a word can have which is not listed: as much as the least that is, or what one word alone leaves."""
    values = [value for _, value in listed]
    if any(token not in ("yes", "no") for token, _ in listed):
        return min(values)
    return math.log(max(1 - sum(math.exp(min(value, 0)) for value in values), _LEAST_LEFT))


def _log_sum(values: Sequence[float]) -> float | None:
    if not values:
        return None
    most = max(values)
    return most + math.log(sum(math.exp(value - most) for value in values))

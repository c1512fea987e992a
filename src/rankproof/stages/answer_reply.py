"""What a language model's reply says: an answer and its sources, in JSON or in plain text with numbers in brackets."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ..asking.asker import UnreadableError
from ..asking.reading import json_in
from ..asking.spoken import text_of
from ..data.answers import abstains
from ..models.chat.port import Reply

_MARKS = re.compile(r"\s*\[((?:passage )?[0-9]{1,9}(?:\s*[,;]\s*[0-9]{1,9})*)\]", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]{1,9}")
_STRUCTURED = ("{", "[{", '["', "```", "<")


@dataclass(frozen=True, slots=True)
class Said:
    """An answer with the numbers of its sources; `dropped` counts sources that were never given, `by_text` plain text."""

    text: str
    sources: tuple[int, ...] = ()
    dropped: int = 0
    by_text: int = 0
    abstained: bool = False


def said_in(reply: Reply, *, count: int, abstention: str) -> Said:
    """What the reply says of `count` passages; UnreadableError where it holds no answer."""
    text = text_of(reply)
    found = _object_in(text)
    answer = text if found is None else found.get("answer")
    if isinstance(answer, int | float) and not isinstance(answer, bool):
        answer = str(answer)
    if not isinstance(answer, str):
        raise UnreadableError("no answer that is text")
    bare = _checked(_MARKS.sub("", answer).strip())
    if abstains(bare, abstention):
        return Said(bare, by_text=int(found is None), abstained=True)
    named = [*_listed({} if found is None else found), *_marked(answer)]
    real = [number for number in named if isinstance(number, int) and 1 <= number <= count]
    strange = {repr(number) for number in named if number not in real}
    return Said(bare, tuple(dict.fromkeys(real)), len(strange), int(found is None))


def _object_in(text: str) -> dict[str, Any] | None:
    """The JSON object of the reply, None where it is plain text; anything in between is of no use."""
    try:
        return json_in(text)
    except UnreadableError:
        if text.lstrip().startswith(_STRUCTURED) or '"answer"' in text:
            raise
        return None


def _checked(text: str) -> str:
    if not re.search(r"\w", text):
        raise UnreadableError("an answer without a word")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UnreadableError("an answer with a lone surrogate") from None
    return text


def _listed(found: dict[str, Any]) -> list[object]:
    """What stands under `sources`; a number may be written as text."""
    sources = found.get("sources", [])
    each = sources if isinstance(sources, list) else [sources]
    return [_number(one) for one in each if one is not None]


def _number(value: object) -> object:
    if isinstance(value, str) and (number := _NUMBER.search(value)):
        return int(number[0])
    return str(value) if isinstance(value, bool) else value


def _marked(text: str) -> list[int]:
    return [int(number) for marks in _MARKS.findall(text) for number in _NUMBER.findall(marks)]

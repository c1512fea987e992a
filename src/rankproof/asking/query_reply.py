"""A reply that is a query in a JSON object: on one line, of words, and neither a refusal nor an answer."""

from __future__ import annotations

import re
from typing import Any

from ..errors import is_hidden
from .asker import UnreadableError

_TALK = re.compile(
    r"(?:i'?m sorry|sorry,|i am sorry|i apologi[sz]e|i can'?t|i can ?not|i am unable|i'm unable|as an ai|as a language model"
    r"|sure[,!:]|certainly[,!:]|of course[,!:]|here(?:'s| is| are)\b|the answer is|answer:|yes,|no,)",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?]\s+\S")


def line_in(found: dict[str, Any], key: str) -> str:
    """The text under the key, on one line; of no use where it is missing, no text, or holds what nobody can see."""
    text = found.get(key)
    if not isinstance(text, str):
        raise UnreadableError(f"no text called {key}")
    line = " ".join(text.split())
    if any(map(is_hidden, line)):
        raise UnreadableError(f"{key} holds characters that nobody can see")
    return line


def query_in(found: dict[str, Any], key: str, most_words: int) -> str:
    """The query under the key; an empty one, one of too many words, a refusal and an answer are of no use."""
    line = line_in(found, key)
    if not any(char.isalnum() for char in line):
        raise UnreadableError(f"{key} is empty")
    if len(line.split()) > most_words:
        raise UnreadableError(f"{key} has more than {most_words} words")
    if _TALK.match(line.replace("\u2019", "'")):
        raise UnreadableError(f"{key} is talk or a refusal, not a query")
    if len(_SENTENCE_END.findall(line)) > 1:
        raise UnreadableError(f"{key} is several sentences, not a query")
    return line

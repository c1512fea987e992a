"""What a reply says, apart from what the model wrote to itself."""

from __future__ import annotations

from ..models.chat.port import Reply
from .asker import UnreadableError

_THOUGHT, _END = "<think>", "</think>"


def text_of(reply: Reply) -> str:
    """The whole text of a reply; a cut reply, a refusal and an empty one are of no use."""
    if reply.finish in ("length", "refusal"):
        raise UnreadableError("the reply is cut" if reply.finish == "length" else "the model refuses")
    return spoken(reply.text)


def first_line_of(reply: Reply) -> str:
    """The first line of a reply, which may go on and be cut after it; a cut line and a refusal are of no use."""
    lines = spoken(reply.text).splitlines()
    return lines[0].strip() if len(lines) > 1 and reply.finish == "length" else text_of(reply).splitlines()[0].strip()


def spoken(text: str) -> str:
    """The text after the last thought; thoughts that do not end, and nothing at all, are of no use."""
    said = text.rpartition(_END)[2].strip()
    if _THOUGHT in said:
        raise UnreadableError("thoughts that do not end")
    if not said:
        raise UnreadableError("an empty reply")
    return said

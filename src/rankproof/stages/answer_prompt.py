"""What a language model is asked for an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..asking.fence import DATA_RULE, fenced
from ..asking.prompt import filled
from ..data.queries import Query
from ..models.chat.port import Ask, Message

if TYPE_CHECKING:
    from .answer import Answer

SYSTEM = "You answer questions from passages. " + DATA_RULE
PROMPT = """Answer the question from the passages below and from nothing else, in as few words as will do.
Name the numbers of the passages that the answer rests on as its sources.
If the passages do not hold the answer, the answer is {abstention} and has no sources.
Reply with JSON only: {"answer": "the answer", "sources": [1]}

{question}

{passages}"""
SCHEMA = (
    '{"type":"object","properties":{"answer":{"type":"string"},"sources":{"type":"array","items":{"type":"integer"}}},'
    '"required":["answer","sources"],"additionalProperties":false}'
)


def ask_of(stage: Answer, query: Query, passages: Sequence[str]) -> Ask:
    """The question and the passages, each in a fence; passages are numbered from 1."""
    text = filled(
        stage.prompt,
        abstention=stage.abstention,
        question=fenced([query.text], labels=["question"]),
        passages=fenced(passages, characters=stage.passage_characters),
    )
    return Ask((Message("system", SYSTEM), Message("user", text)), stage.max_tokens, SCHEMA)

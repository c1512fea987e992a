"""`answers.jsonl`: what every system answered, written and read back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import get_args

from ...data.answers import Answer, Answers, State
from ...formats.answers_jsonl import answer_blocks
from ...formats.jsonl_format import objects
from ...formats.opening import open_source
from ...formats.texts_format import MAX_TEXT_BYTES
from ..rung import Climb
from .values import Values

ANSWERS = "answers.jsonl"
TABLE = "answers.csv"
SUMMARY = "answers.json"


def blocks_of(climb: Climb) -> Iterator[bytes]:
    """A line for each system that answers, and each query."""
    return answer_blocks((rung.name, rung.answers) for rung in climb.rungs if rung.answers is not None)


def answers_in(folder: str) -> dict[str, Answers]:
    """The answers of each system."""
    path = os.path.join(folder, ANSWERS)
    found: dict[str, dict[str, Answer]] = {}
    for line, item in objects(open_source(path), limit=MAX_TEXT_BYTES):
        values = Values(item, path, line=line)
        own = found.setdefault(values.text("system"), {})
        state: State = values.choice("state", get_args(State))  # type: ignore[assignment]
        query = values.text("query")
        if query in own:
            raise values.error(f"query {query} stands twice", "the file is damaged: run the experiment again")
        own[query] = Answer(values.text("answer"), tuple(values.texts("cited")), tuple(values.texts("given")), state)
    return {name: Answers(own, source=path) for name, own in found.items()}

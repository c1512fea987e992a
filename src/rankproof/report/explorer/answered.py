"""What systems answered, and what they should have."""

from __future__ import annotations

from typing import Any

from ...data.answers import Answer
from ...data.references import References, references_of
from ...errors import InputError
from ...experiment.rung import Climb, Rung
from .documents import Documents, cut

LONGEST = 4_000


def answers_of(rung: Rung, queries: tuple[str, ...], documents: Documents) -> list[dict[str, Any] | None] | None:
    """By query what the system said; None for a system that only ranks."""
    answers = rung.answers
    if answers is None:
        return None
    return [_answer(answers[query], documents) if query in answers else None for query in queries]


def references_by_query(climb: Climb) -> list[list[str] | None]:
    """By query the texts of which any is right: none where the right thing is to abstain, None where nothing is known."""
    known = _references(climb)
    return [[cut(text, LONGEST) for text in known[query].answers] if query in known else None for query in climb.queries]


def _answer(answer: Answer, documents: Documents) -> dict[str, Any]:
    return {"text": cut(answer.text, LONGEST), "state": answer.state, "cited": documents.places(answer.cited)}


def _references(climb: Climb) -> References:
    """Fields of queries that are no references, whatever their name, hinder nobody from reading the page."""
    try:
        return references_of(climb.texts)
    except InputError:
        return References({})

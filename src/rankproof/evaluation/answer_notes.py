"""What a reader must know beside the measures of answers: each finding counted, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..data.answers import Answer, State
from ..data.references import References
from ..errors import shown
from .notes import FEW, Note


def answer_notes(answers: Mapping[str, Answer], references: References) -> tuple[Note, ...]:
    """The findings of one system; those about the references are the same for all."""
    state = {query: answers[query].state for query in references if query in answers}
    without, lists = references.without, references.lists_as_text
    strangers = [query for query in answers if query not in references and query not in without]
    told: Sequence[tuple[str, str, str, Sequence[str]]] = (
        (
            "missing-answers",
            "has no answer and counts 0",
            "have no answer and count 0",
            [each for each in references if each not in answers],
        ),
        (
            "failed-answers",
            "has an answer that failed and is left out of the means",
            "have answers that failed and are left out of the means",
            _of(state, "failed"),
        ),
        ("abstentions", "was answered by abstaining", "were answered by abstaining", _of(state, "abstained")),
        ("no-reference", "has no reference and is left out", "have no reference and are left out", without),
        (
            "unknown-queries",
            "of the answers is not known and is left out",
            "of the answers are not known and are left out",
            strangers,
        ),
        (
            "list-as-text",
            "has a list of references written as text, read as a list",
            "have lists of references written as text, read as lists",
            lists,
        ),
    )
    return tuple(
        Note(code, len(ids), f"{len(ids)} {f'query {one}' if len(ids) == 1 else f'queries {many}'}: {_few(ids)}")
        for code, one, many, ids in told
        if ids
    )


def _of(states: Mapping[str, State], wanted: State) -> list[str]:
    return [query for query, state in states.items() if state == wanted]


def _few(ids: Sequence[str]) -> str:
    return ", ".join(map(shown, ids[:FEW])) + (", …" if len(ids) > FEW else "")

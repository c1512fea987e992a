"""Names the questions of RAG logs: by their ids, by session and turn, or by their text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rankproof._data.validation import made_id


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question of a row, and where the row says it was asked."""

    text: str
    id: str | None = None
    session: str | None = None
    turn: str | None = None


AskedBySystem = Mapping[str, Sequence[AskedQuestion]]


def names_of_questions(asked: AskedBySystem) -> dict[str, list[str]]:
    """The name of each question of each system; rows with the same name ask the same question.

    Ids and `SESSION/TURN` count only if no two questions have the same name and the systems agree on the names. Else a question
    is known by its text and the questions before it in its session, as `How much does it cost?` asks for another thing in each.
    """
    own = {system: [question.id for question in questions] for system, questions in asked.items()}
    for names in (own, {system: list(_by_turn(questions)) for system, questions in asked.items()}):
        if _tell_apart(asked, names):
            return {system: [name for name in own_names if name is not None] for system, own_names in names.items()}
    return {system: list(_by_text(questions)) for system, questions in asked.items()}


def ids_name_questions(asked: AskedBySystem) -> bool:
    """Whether every row has an id, each id has one question, and logs with the same question share an id of it."""
    return _tell_apart(asked, {system: [question.id for question in questions] for system, questions in asked.items()})


def _tell_apart(asked: AskedBySystem, names: Mapping[str, Sequence[str | None]]) -> bool:
    """Whether every row has a name, each name has one question, and logs with the same question share a name of it."""
    texts: dict[str, str] = {}
    by_text: dict[str, dict[str, set[str]]] = {}
    for system, questions in asked.items():
        for question, name in zip(questions, names[system], strict=True):
            if name is None or texts.setdefault(name, question.text) != question.text:
                return False
            by_text.setdefault(question.text, {}).setdefault(system, set()).add(name)
    return all(set.intersection(*by_system.values()) for by_system in by_text.values())


def _by_turn(questions: Sequence[AskedQuestion]) -> Iterator[str | None]:
    """`SESSION/TURN` of each question; without a turn, the place of the text among those of the session."""
    places: dict[str, dict[str, int]] = {}
    for question in questions:
        if question.session is None:
            yield None
            continue
        texts = places.setdefault(question.session, {})
        place = texts.setdefault(question.text, len(texts) + 1)
        name = f"{question.session}/{place if question.turn is None else question.turn}"
        yield name if len(name.split()) == 1 else made_id("query", [name])


def _by_text(questions: Sequence[AskedQuestion]) -> Iterator[str]:
    """The name of each question by its text and the earlier questions of its session, in the order of rows."""
    sessions: dict[str, dict[str, tuple[str, ...]]] = {}
    for question in questions:
        earlier: tuple[str, ...] = ()
        if question.session is not None:
            texts = sessions.setdefault(question.session, {})
            earlier = texts.setdefault(question.text, tuple(texts))
        yield made_id("query", [*earlier, question.text])

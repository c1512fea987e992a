"""Robustness sets of a RAG log: its rows with contexts that are shuffled, lack the best one, have noise, or contradict."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

from rankproof._analysis.answers.logged_answers import LoggedAnswers
from rankproof._data.answers import ANSWER_FIELDS, Answer, Answers, references_from_queries
from rankproof._data.dataset import Query
from rankproof._data.sentences import sentences
from rankproof._data.validation import made_id
from rankproof.errors import UsageError
from rankproof.measures._overlap import all_words, content_words, word_share

_LAST_NUMBER = re.compile(r"(?<!\d)[0-9]{1,15}(?=\D*\Z)")
_VERB = re.compile(r"\b(is|are|was|were|can|has|have|will|does|did)\b", re.IGNORECASE)


def varied_logs(logged: LoggedAnswers, seed: int = 0) -> dict[str, list[dict[str, Any]]]:
    """The rows of each set by its name: `shuffled`, `removed`, `noise` and `contradicted`.

    The rows have the questions, references and answers of the log, which has one system and the texts of its contexts. A question
    without contexts stays as it is.
    """
    if len(logged.answers) != 1:
        raise UsageError(f"contexts of {len(logged.answers)} systems", fix="specify the log of one system")
    (answers,) = logged.answers.values()
    contexts = _contexts(answers, logged.contexts)
    if len(contexts) < 2:
        raise UsageError("fewer than two answers have contexts with texts", fix="log the texts of contexts")
    return {name: list(_rows(logged, answers, contexts, change, seed)) for name, change in _CHANGES.items()}


def log_blocks(rows: Sequence[Mapping[str, Any]]) -> Iterator[bytes]:
    """The lines of a RAG log."""
    for row in rows:
        yield (json.dumps(row, ensure_ascii=False) + "\n").encode()


def _contexts(answers: Answers, texts: Mapping[str, str]) -> dict[str, list[str]]:
    """The contexts of each question that has at least one, and all their texts."""
    given = {query: answer.given for query, answer in answers.items() if answer.given}
    return {query: [texts[doc] for doc in docs] for query, docs in given.items() if all(doc in texts for doc in docs)}


Change = Callable[[list[str], str, Sequence[str], Random], list[str]]
"""From contexts, the text that they should support, and contexts of another question, to the changed contexts."""


def _rows(
    logged: LoggedAnswers, answers: Answers, contexts: Mapping[str, list[str]], change: Change, seed: int
) -> Iterator[dict[str, Any]]:
    references = references_from_queries(logged.queries)
    names = list(contexts)
    for query, answer in answers.items():
        own = contexts.get(query)
        if own is None:
            yield _row(logged.queries[query], answer, [])
            continue
        random = Random(f"{seed} {query}")
        stated = " ".join(references[query].answers) if query in references else answer.text
        # Of another question: the one before, or the last one for the first.
        others = contexts[names[names.index(query) - 1]]
        yield _row(logged.queries[query], answer, change(own, stated or answer.text, others, random))


def _row(query: Query, answer: Answer, contexts: list[str]) -> dict[str, Any]:
    named = {} if query.id == made_id("query", [query.text]) else {"id": query.id}
    row: dict[str, Any] = {**named, "question": query.text, "contexts": contexts}
    row["answer"] = answer.text if answer.state in ("answered", "abstained") else None
    return {**row, **{name: query.fields[name] for name in (ANSWER_FIELDS[0], "session", "answerable") if name in query.fields}}


def _best(contexts: Sequence[str], stated: str) -> int:
    """The place of the context with the most words of the text."""
    words = content_words(stated)
    return max(range(len(contexts)), key=lambda at: (word_share(words, content_words(contexts[at])) or 0.0, -at))


def _shuffled(contexts: list[str], stated: str, others: Sequence[str], random: Random) -> list[str]:
    return random.sample(contexts, len(contexts))


def _removed(contexts: list[str], stated: str, others: Sequence[str], random: Random) -> list[str]:
    best = _best(contexts, stated)
    return contexts[:best] + contexts[best + 1 :]


def _with_noise(contexts: list[str], stated: str, others: Sequence[str], random: Random) -> list[str]:
    return _inserted(contexts, random.choice([text for text in others if text not in contexts] or [""]), random)


def _contradicted(contexts: list[str], stated: str, others: Sequence[str], random: Random) -> list[str]:
    """With the opposite of the sentence that says most of the text: another number, a negated verb, or a denial."""
    parts = sentences(contexts[_best(contexts, stated)])
    known = content_words(stated) & all_words(parts)
    best = max(parts, key=lambda part: len(content_words(part) & known), default="")
    if number := _LAST_NUMBER.search(best):
        wrong = f"{best[: number.start()]}{int(number[0]) + random.randint(1, 9)}{best[number.end() :]}"
    else:
        wrong = _VERB.sub(lambda match: f"{match[0]} not", best, count=1)
    return _inserted(contexts, wrong if wrong != best else f"It is not true that: {best}", random)


def _inserted(contexts: list[str], text: str, random: Random) -> list[str]:
    at = random.randint(0, len(contexts))
    return [*contexts[:at], text, *contexts[at:]]


_CHANGES: Mapping[str, Change] = {
    "shuffled": _shuffled,
    "removed": _removed,
    "noise": _with_noise,
    "contradicted": _contradicted,
}

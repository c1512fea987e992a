"""How many queries count: copies of queries, turns of conversations, whose unit is the session, and what was not asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from rankproof._analysis.compare.joined_values import JoinedValues
from rankproof._analysis.decision.decide import MIN_QUERIES
from rankproof._analysis.inputs import AnalysisInput
from rankproof._data.answers import ANSWER_FIELDS, SESSION_FIELD
from rankproof._data.arrays import IntArray
from rankproof._data.dataset import Queries, Query
from rankproof._data.text import plain_words, pluralise, words_without_digits
from rankproof._evaluation.result import MeasureResult
from rankproof._statistics.decision_rule import group_means
from rankproof._statistics.intervals import Interval, mean_interval
from rankproof.errors import for_message

_MAX_DIFFERENT, _FEW_COPIES = 0.8, 0.99
"""Up to these shares of different queries there are a note, and a scenario."""

_FEWEST_DOCUMENTS = 3
"""Fewer equal documents are no sign that two queries without texts are copies."""


_FEWEST_WORDS = 4
"""Of questions with fewer words beside numbers, such as `page 12`, the number is what they ask for."""


def too_few_queries(inputs: AnalysisInput, joined: JoinedValues, copies: IntArray | None, what: str) -> str:
    """Why a decision or a gate has too few queries whatever their number: those that tell something; empty if it has enough."""
    n = len(joined.queries)
    if n < MIN_QUERIES:
        return ""
    if copies is not None and (different := len(np.unique(copies))) < MIN_QUERIES:
        return f"{what} needs at least {MIN_QUERIES} different queries (n = {n:,}, {different:,} different)"
    by_answers = joined.measures[0].kind == "answer"
    query = "questions" if by_answers else "queries"
    if joined.asked is not None:
        asked = joined.asked.astype(np.int64)
        shared = asked.T @ asked
        first, second = np.unravel_index(int(shared.argmin()), shared.shape)
        if shared[first, second] < MIN_QUERIES:
            both = " and ".join(for_message(joined.systems[at]) for at in sorted((int(first), int(second))))
            size = f"n = {n:,}, {shared[first, second]:,} of both"
            return f"{what} needs at least {MIN_QUERIES} {query} that {both} were both asked ({size}): ask both the same {query}"
    answered = _answered(inputs, joined, by_answers=by_answers)
    if answered < MIN_QUERIES:
        return f"{what} needs at least {MIN_QUERIES} {query} with a result of any system (n = {n:,}, {answered:,} with one)"
    return ""


def _answered(inputs: AnalysisInput, joined: JoinedValues, *, by_answers: bool) -> int:
    """How many queries have an answer, or a document, of any system; a value above 0 shows it without reading rankings."""
    if by_answers:
        return len(joined.queries) if joined.missing is None else int((~joined.missing.no_answer).any(axis=1).sum())
    valued = joined.values[0].any(axis=1)
    if valued.sum() >= MIN_QUERIES or any(name not in inputs.runs for name in joined.systems):
        return len(joined.queries)
    queries = frozenset(joined.queries)
    known = {query for name in joined.systems for query, docs in _documents(inputs, name, queries).items() if docs}
    return sum(query in known for query in joined.queries)


def _documents(inputs: AnalysisInput, system: str, queries: Container[str]) -> dict[str, frozenset[str]]:
    """The documents that a system retrieved for these queries."""
    run = inputs.runs[system]
    spans = zip(run.queries, pairwise(run.offsets.tolist()), strict=True)
    return {query: frozenset(run.docs[start:end]) for query, (start, end) in spans if query in queries}


def copied_queries(inputs: AnalysisInput, joined: JoinedValues) -> IntArray | None:
    """A number for each query, the same for copies of one query; None without copies.

    Copies have the same text, reference, judgements and contexts of answers, or the same reference answers and nearly the same
    text; without texts the same judgements, values and documents of each system.
    """
    texts: Mapping[str, Query] = inputs.texts or {}
    own = [plain_words(texts[query].text) if query in texts else "" for query in joined.queries]
    if not any(own):
        return _copied_results(inputs, joined)
    near = _near_copies(texts, joined.queries)
    if not near and len({text or query for text, query in zip(own, joined.queries, strict=True)}) == len(own):
        return None
    keys = (
        near.get(query) or _content(inputs, query) if text else query for text, query in zip(own, joined.queries, strict=True)
    )
    return _numbered(list(keys))


def _near_copies(texts: Mapping[str, Query], queries: Sequence[str]) -> dict[str, Hashable]:
    """The words that near copies share, by query; such have the same reference answers and the same words to the end.

    Digits, punctuation, a bracket at the end and words before the question make no other question.
    """
    by_reference: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for query in queries:
        fields = texts[query].fields if query in texts else {}
        references = [value for name in ANSWER_FIELDS if (value := fields.get(name))]
        if references and len(words := words_without_digits(texts[query].text)) >= _FEWEST_WORDS:
            by_reference.setdefault(repr(references), []).append((words[::-1], query))
    near: dict[str, Hashable] = {}
    for reference, questions in by_reference.items():
        end: tuple[str, ...] = ()
        # In the order of their reversed words, questions with the same end follow the shortest of them.
        for words, query in sorted(questions) if len(questions) > 1 else ():
            if not end or words[: len(end)] != end:
                end = words
            near[query] = reference, end
    return near


def _numbered(keys: Sequence[Hashable]) -> IntArray | None:
    numbers: dict[Hashable, int] = {}
    copies = [numbers.setdefault(key, len(numbers)) for key in keys]
    return None if len(numbers) == len(copies) else np.array(copies, dtype=np.int64)


def _copied_results(inputs: AnalysisInput, joined: JoinedValues) -> IntArray | None:
    """The copies among queries without texts, by their judgements, values and documents."""
    grades = inputs.qrels.as_dicts()
    # Usually no two queries have the same judged documents, which is a quick look.
    if len({hash(frozenset(grades.get(query) or (query,))) for query in joined.queries}) == len(joined.queries):
        return None
    by_query = np.ascontiguousarray(joined.values.transpose(1, 0, 2))

    def key_of(at: int) -> Hashable:
        """What copies share; a query without judgements is no copy."""
        query = joined.queries[at]
        return frozenset(inputs.qrels.get(query, {}).items()) or query, by_query[at].tobytes()

    # Hashes first: the keys of all queries take more memory than the judgements.
    hashes = [hash(key_of(at)) for at in range(len(joined.queries))]
    times = Counter(hashes)
    keys = {query: key_of(at) for at, query in enumerate(joined.queries) if times[hashes[at]] > 1}
    repeated = {key for key, count in Counter(keys.values()).items() if count > 1}
    known = [name for name in joined.systems if name in inputs.runs]
    if not repeated or not known:
        return None
    possible = {query for query, key in keys.items() if key in repeated}
    runs = [_documents(inputs, name, possible) for name in known]
    shown = {query: tuple(own.get(query, frozenset()) for own in runs) for query in possible}
    copied = {query for query, docs in shown.items() if len(frozenset().union(*docs)) >= _FEWEST_DOCUMENTS}
    copies = _numbered([(keys[query], shown[query]) if query in copied else query for query in joined.queries])
    if copies is None:
        return None
    firsts = [joined.queries[at] for at in sorted(np.unique(copies, return_index=True)[1].tolist())]
    return None if _number_documents([shown[query] for query in firsts if query in copied]) else copies


def _number_documents(shown: Sequence[Sequence[frozenset[str]]]) -> bool:
    """Whether queries number their own documents, so that different ones have the same; also if there is only one query."""
    documents = [frozenset().union(*docs) for docs in shown]
    alike = sum(2 * len(docs & other) > len(docs) for docs, other in pairwise(documents))
    return 2 * alike >= len(documents) - 1


def _content(inputs: AnalysisInput, query: str) -> Hashable:
    """What makes a query with a text another one."""
    assert inputs.texts is not None
    answers = (own.get(query) for own in inputs.answers.values())
    given = [answer.given for answer in answers if answer is not None and answer.given is not None]
    contexts = tuple(tuple(inputs.contexts.get(doc, doc) for doc in docs) for docs in given)
    own = inputs.texts[query]
    return plain_words(own.text), repr(own.fields.get("reference")), frozenset(inputs.qrels.get(query, {}).items()), contexts


def many_copies(copies: IntArray | None, most: float = _FEW_COPIES) -> IntArray | None:
    """The copies if at most this share of the queries differ, so that a decision must be the same if each query counts once."""
    return copies if copies is not None and len(np.unique(copies)) <= most * len(copies) else None


def conversations(inputs: AnalysisInput, queries: Sequence[str]) -> IntArray | None:
    """The conversation of each query by a number; None if no two queries are turns of one."""
    texts: Mapping[str, Query] = inputs.texts or {}
    sessions = [str(texts[query].fields.get(SESSION_FIELD) or "") if query in texts else "" for query in queries]
    known = set(filter(None, sessions))
    if len(known) == len(sessions) - sessions.count(""):
        return None
    numbers = {session: number for number, session in enumerate(sorted(known))}
    own = [numbers.get(session, len(numbers) + at) for at, session in enumerate(sessions)]
    return np.array(own, dtype=np.int64)


def different_conversations(groups: IntArray | None, copies: IntArray | None) -> IntArray | None:
    """The conversations with one number for those whose turns are copies of each other's."""
    if groups is None or copies is None:
        return groups
    turns: dict[int, set[int]] = {}
    for group, turn in zip(groups.tolist(), copies.tolist(), strict=True):
        turns.setdefault(group, set()).add(turn)
    numbers: dict[frozenset[int], int] = {}
    number_of = {group: numbers.setdefault(frozenset(own), len(numbers)) for group, own in turns.items()}
    return np.array([number_of[group] for group in groups.tolist()], dtype=np.int64)


def conversations_note(groups: IntArray | None, counted: str) -> Iterator[str]:
    """That turns of a conversation depend on each other, and what counts them together."""
    if groups is not None:
        yield f"the {len(groups):,} questions are of {pluralise(len(np.unique(groups)), 'conversation')}: {counted}"


def by_conversation(joined: JoinedValues, groups: IntArray | None) -> JoinedValues:
    """The mean of each conversation, with its turns as its weight; the values as they are without conversations."""
    if groups is None or len(np.unique(groups)) == len(groups):
        return joined
    by_measure = [group_means(values, joined.weights, groups) for values in joined.values]
    weights = by_measure[0][1]
    return replace(
        joined,
        queries=tuple(f"conversation {at}" for at in range(len(weights))),
        values=np.array([values for values, _ in by_measure]),
        weights=None if (weights == weights[0]).all() else weights,
        missing=None,
        asked=None,
    )


def repeated_queries_note(copies: IntArray | None) -> Iterator[str]:
    """A note if many queries are copies of others."""
    if (many := many_copies(copies, _MAX_DIFFERENT)) is not None:
        different = pluralise(len(np.unique(many)), "different query", "different queries")
        yield f"the {len(many):,} queries are {different}: give copies one id if they are repeats, so that they count once"


def sessions_of(queries: Sequence[str], texts: Queries | None) -> tuple[str, ...] | None:
    """The conversation of each query; a query without one is a conversation of its own. None if no two are of one."""
    named = {} if texts is None else {query: texts[query].fields.get(SESSION_FIELD) for query in queries if query in texts}
    own = tuple(query if (name := named.get(query)) is None else f"{SESSION_FIELD} {name}" for query in queries)
    return None if len(set(own)) == len(own) else own


def session_interval(measured: MeasureResult, texts: Queries | None, level: float) -> Interval | None:
    """The interval of a mean whose unit is the session, of one without sessions that of questions."""
    values, weights = measured.values, measured.weights
    sessions = sessions_of(measured.query_ids, texts)
    if sessions is not None:
        values, weights = group_means(values, weights, np.unique(np.array(sessions), return_inverse=True)[1])
    return mean_interval(values, level=level, within=measured.measure.range, weights=weights)

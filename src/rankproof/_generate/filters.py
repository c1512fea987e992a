"""The filters of generated queries, and the term statistics that they and the rules use."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import ceil
from typing import Any

from rankproof._data.corpus import Corpus, Document
from rankproof._data.dataset import Query
from rankproof._generate.generated_queries import UNANSWERABLE, KeptQuery, QueryDraft, RejectReason, SourceDocument
from rankproof.stages._analyzer import WordAnalyzer, split_words
from rankproof.stages._base import QueryTimer
from rankproof.stages._bm25 import BM25, idf
from rankproof.stages._fields import passage_texts

LANGUAGE = "english"
FUNCTION_WORDS = (
    "a about above after again against all almost also although always am among an and another any are as at away "
    "back be because been before being below between both but by can cannot could did do does doing done down "
    "during each eight either else enough even ever every few first five for four from further get gets give given "
    "gives go goes good had has have having he her here hers him his how however i if in into is it its itself just "
    "keep last least less let like made make makes many may me might more most much must my near need needs neither "
    "never next nine no nor not now of off often on once one only or other others our out over own per quite rather "
    "same second see seven several shall she should since six so some still such take takes ten than that the their "
    "them then there these they thing things third this those three through thus to too two under until up upon us "
    "use used uses using very was way we well were what when where whether which while who whom whose why will with "
    "within without would yet you your"
)
"""Words that carry no topic."""
_MIN_WORD_LENGTH = 3
MIN_QUERY_WORDS, MAX_QUERY_WORDS, MAX_QUERY_CHARACTERS = 2, 32, 300
MAX_COPIED_WORDS, MAX_COPIED_SHARE, MIN_COPIED_WORDS = 8, 0.8, 5
_MIN_TITLE_WORDS = 3
_NAMED_SOURCE = re.compile(
    r"\b(?:this|the|that|these|above|given|provided|following)\s+(?:(?:above|given|provided|following|short|first|second|two)\s+)?"
    r"(?:passages?|documents?|texts?|articles?|excerpts?|paragraphs?|snippets?|authors?)\b"
    r"|\bpassage \d|\b(?:mentioned|described|stated) (?:above|here)\b",
    re.IGNORECASE,
)
_NEGATION = re.compile(r"\b(?:no|not|never|none|nothing|without|except|neither|nor|cannot|\w+n['\u2019]t)\b", re.IGNORECASE)
DUPLICATE_SIMILARITY = 0.8
"""Jaccard similarity of their words from which two queries are near-duplicates."""
ROUND_TRIP_DEPTH = 10


class TermStatistics:
    """Stems and their document frequencies; the weight of a word in a text is tf x idf, with the idf of BM25."""

    def __init__(self, corpus: Corpus, fields: Collection[str]) -> None:
        self.texts = passage_texts(corpus, tuple(fields))
        self.terms = WordAnalyzer(LANGUAGE, stemming=True, stop_words=tuple(FUNCTION_WORDS.split()))
        self._document_counts = Counter(term for text in self.texts.values() for term in set(self.terms.tokenize(text)))

    def has_known_word(self, text: str) -> bool:
        """Whether a word of the text is in some document."""
        return any(term in self._document_counts for term in self.terms.tokenize(text))

    def idf(self, term: str) -> float:
        """The inverse document frequency of a term."""
        return idf(self._document_counts.get(term, 0), len(self.texts))

    def top_terms(self, text: str, count: int, without: Iterable[str] = ()) -> list[str]:
        """The words of the highest tf x idf, one for each stem; ties are in the order of the text."""
        excluded = set(without)
        first: dict[str, str] = {}
        times: Counter[str] = Counter()
        for word in split_words(text):
            term = self.terms[word]
            if term and term not in excluded and len(word) >= _MIN_WORD_LENGTH and not word[0].isdigit():
                first.setdefault(term, word)
                times[term] += 1
        ranked = sorted(first, key=lambda term: -times[term] * self.idf(term))
        return [first[term] for term in ranked[:count]]

    def in_text_order(self, text: str, chosen: Collection[str]) -> list[str]:
        """The chosen words in the order of the text."""
        return [word for word in dict.fromkeys(split_words(text)) if word in chosen]


def reject_reason(
    draft: QueryDraft, source: SourceDocument, documents: Sequence[Document], term_statistics: TermStatistics
) -> RejectReason | None:
    """Why the query is rejected on its own, None if it passes."""
    words = split_words(draft.text)
    texts = [split_words(term_statistics.texts[doc]) for doc in source.docs]
    # Lambdas, so that costly checks run only if the cheap ones before them pass.
    checks: Mapping[RejectReason, Callable[[], bool]] = {
        "empty": lambda: not any(char.isalpha() for char in draft.text),
        "short": lambda: len(words) < MIN_QUERY_WORDS,
        "long": lambda: len(words) > MAX_QUERY_WORDS or len(draft.text) > MAX_QUERY_CHARACTERS,
        "unknown-words": lambda: not term_statistics.has_known_word(draft.text),
        "names-source": lambda: bool(_NAMED_SOURCE.search(draft.text)),
        "title": lambda: any(is_title(words, split_words(document.title)) for document in documents),
        "copied": lambda: any(is_copy(words, text) for text in texts),
        "gives-answer": lambda: any(_contains(words, split_words(answer)) for answer in draft.answers),
        "answerable": lambda: source.category == UNANSWERABLE and bool(draft.answers),
        "no-negation": lambda: source.category == "negated" and not _NEGATION.search(draft.text),
    }
    return next((reason for reason, is_so in checks.items() if is_so()), None)


def is_title(words: Sequence[str], title: Sequence[str]) -> bool:
    """Whether a query has the words of the title, contains the title, or is a part of it of at least three words."""
    if not title or not words:
        return False
    if sorted(words) == sorted(title):
        return True
    return (len(title) >= _MIN_TITLE_WORDS and _contains(words, title)) or (
        len(words) >= _MIN_TITLE_WORDS and _contains(title, words)
    )


def is_copy(words: Sequence[str], text: Sequence[str]) -> bool:
    """Whether eight words in a row, or at least five that are 80% of the query, are in the text."""
    span = min(MAX_COPIED_WORDS, max(MIN_COPIED_WORDS, ceil(MAX_COPIED_SHARE * len(words))))
    return any(_contains(text, words[at : at + span]) for at in range(len(words) - span + 1))


def _contains(whole: Sequence[str], part: Sequence[str]) -> bool:
    """Whether the words of the part follow each other in the whole."""
    return bool(part) and f" {' '.join(part)} " in f" {' '.join(whole)} "


class DuplicateFilter:
    """The word sets of all kept queries."""

    def __init__(self) -> None:
        self._sets: list[frozenset[str]] = []
        self._known: set[frozenset[str]] = set()
        self._with: defaultdict[str, list[int]] = defaultdict(list)

    def reject_reason(self, terms: Iterable[str]) -> RejectReason | None:
        """Whether an earlier query has the same or nearly the same words."""
        words = frozenset(terms)
        if words in self._known:
            return "duplicate"
        # Only queries that share a word can be similar; the index avoids comparing each query with all others.
        shared = Counter(at for term in words for at in self._with[term])
        similarities = (count / len(words | self._sets[at]) for at, count in shared.items())
        return "near-duplicate" if any(share >= DUPLICATE_SIMILARITY for share in similarities) else None

    def add(self, terms: Iterable[str]) -> None:
        """Adds a kept query."""
        words = frozenset(terms)
        for term in words:
            self._with[term].append(len(self._sets))
        self._sets.append(words)
        self._known.add(words)


def round_trip(corpus: Corpus, kept: Sequence[KeptQuery], fields: tuple[str, ...]) -> dict[str, Any]:
    """How many queries have their target in the top 10 of BM25, overall and by category; no query is rejected by it."""
    index = BM25(fields=fields, depth=ROUND_TRIP_DEPTH).index(corpus)
    rankings = [index.search(Query(query.id, query.text), (), QueryTimer()) for query in kept]
    of = Counter(query.source.category for query in kept)
    hits = Counter(query.source.category for query, (docs, _) in zip(kept, rankings, strict=True) if query.source.docs[0] in docs)
    return {
        "by": "bm25",
        "top": ROUND_TRIP_DEPTH,
        "found": hits.total(),
        "of": len(kept),
        "categories": {category: {"found": hits[category], "of": count} for category, count in of.items()},
    }

"""Filters, term statistics."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import ceil
from typing import Any

from rankproof._data.dataset import Corpus, Document, Query
from rankproof._generate.draft import UNANSWERABLE, KeptQuery, QueryDraft, RejectReason, SourceDocument
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
"""Words that tell nothing of what a text is about."""
_MIN_WORD_LENGTH = 3


class TermStatistics:
    """Word forms and document frequencies; a word's worth in a text is tf x idf, as BM25 has the idf."""

    def __init__(self, corpus: Corpus, fields: Collection[str]) -> None:
        self.texts = passage_texts(corpus, tuple(fields))
        self.terms = WordAnalyzer(LANGUAGE, stemming=True, stop_words=tuple(FUNCTION_WORDS.split()))
        self._found = Counter(term for text in self.texts.values() for term in set(self.terms.tokenize(text)))

    def has_known_word(self, text: str) -> bool:
        """Whether some document has a word of the text."""
        return any(term in self._found for term in self.terms.tokenize(text))

    def idf(self, term: str) -> float:
        """How telling a term is."""
        return idf(self._found.get(term, 0), len(self.texts))

    def top_terms(self, text: str, most: int, without: Iterable[str] = ()) -> list[str]:
        """The most telling words, one a word form, most telling first; of equal ones the first in the text."""
        left_out = set(without)
        first: dict[str, str] = {}
        times: Counter[str] = Counter()
        for word in split_words(text):
            term = self.terms[word]
            if term and term not in left_out and len(word) >= _MIN_WORD_LENGTH and not word[0].isdigit():
                first.setdefault(term, word)
                times[term] += 1
        ranked = sorted(first, key=lambda term: -times[term] * self.idf(term))
        return [first[term] for term in ranked[:most]]

    def in_text_order(self, text: str, chosen: Collection[str]) -> list[str]:
        """The chosen words in the order of the text."""
        return [word for word in dict.fromkeys(split_words(text)) if word in chosen]


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


def reject_reason(
    draft: QueryDraft, source: SourceDocument, documents: Sequence[Document], term_statistics: TermStatistics
) -> RejectReason | None:
    """Why the query cannot stay, None where nothing is wrong with it by itself."""
    asked = split_words(draft.text)
    texts = [split_words(term_statistics.texts[doc]) for doc in source.docs]
    found: Mapping[RejectReason, Callable[[], bool]] = {
        "empty": lambda: not any(char.isalpha() for char in draft.text),
        "short": lambda: len(asked) < MIN_QUERY_WORDS,
        "long": lambda: len(asked) > MAX_QUERY_WORDS or len(draft.text) > MAX_QUERY_CHARACTERS,
        "strange": lambda: not term_statistics.has_known_word(draft.text),
        "source": lambda: bool(_NAMED_SOURCE.search(draft.text)),
        "title": lambda: any(is_title(asked, split_words(document.title)) for document in documents),
        "copy": lambda: any(is_copy(asked, text) for text in texts),
        "answer": lambda: any(_contains(asked, split_words(answer)) for answer in draft.answers),
        "answerable": lambda: source.category == UNANSWERABLE and bool(draft.answers),
        "positive": lambda: source.category == "negated" and not _NEGATION.search(draft.text),
    }
    return next((reason for reason, is_so in found.items() if is_so()), None)


def is_title(asked: Sequence[str], title: Sequence[str]) -> bool:
    """Whether a query is the title, holds all of it in one piece, or is a piece of it; three words at least, or all."""
    if not title or not asked:
        return False
    if sorted(asked) == sorted(title):
        return True
    return (len(title) >= _MIN_TITLE_WORDS and _contains(asked, title)) or (
        len(asked) >= _MIN_TITLE_WORDS and _contains(title, asked)
    )


def is_copy(asked: Sequence[str], text: Sequence[str]) -> bool:
    """Whether eight words in a row, or at least five that are most of the query, stand in the text in one piece."""
    span = min(MAX_COPIED_WORDS, max(MIN_COPIED_WORDS, ceil(MAX_COPIED_SHARE * len(asked))))
    return any(_contains(text, asked[at : at + span]) for at in range(len(asked) - span + 1))


def _contains(whole: Sequence[str], part: Sequence[str]) -> bool:
    """Whether the part stands in the whole in one piece."""
    return bool(part) and f" {' '.join(part)} " in f" {' '.join(whole)} "


DUPLICATE_SIMILARITY = 0.8
"""Shared words over all words of both, from which two queries are alike."""


class DuplicateFilter:
    """The word sets of all queries that stayed."""

    def __init__(self) -> None:
        self._sets: list[frozenset[str]] = []
        self._known: set[frozenset[str]] = set()
        self._with: defaultdict[str, list[int]] = defaultdict(list)

    def reject_reason(self, terms: Iterable[str]) -> RejectReason | None:
        """Whether an earlier one has the same words, or is alike."""
        asked = frozenset(terms)
        if asked in self._known:
            return "same"
        shared = Counter(at for term in asked for at in self._with[term])
        alike = (count / len(asked | self._sets[at]) for at, count in shared.items())
        return "alike" if any(share >= DUPLICATE_SIMILARITY for share in alike) else None

    def add(self, terms: Iterable[str]) -> None:
        """Remembers one that stays."""
        asked = frozenset(terms)
        for term in asked:
            self._with[term].append(len(self._sets))
        self._sets.append(asked)
        self._known.add(asked)


ROUND_TRIP_DEPTH = 10


def round_trip(corpus: Corpus, kept: Sequence[KeptQuery], fields: tuple[str, ...]) -> dict[str, Any]:
    """How many queries have their target in BM25's first ten, in all and by category; nothing is left out by it."""
    index = BM25(fields=fields, depth=ROUND_TRIP_DEPTH).index(corpus)
    rankings = [index.search(Query(one.id, one.text), (), QueryTimer()) for one in kept]
    of = Counter(one.source.category for one in kept)
    found = Counter(one.source.category for one, (docs, _) in zip(kept, rankings, strict=True) if one.source.docs[0] in docs)
    return {
        "by": "bm25",
        "top": ROUND_TRIP_DEPTH,
        "found": found.total(),
        "of": len(kept),
        "categories": {category: {"found": found[category], "of": count} for category, count in of.items()},
    }

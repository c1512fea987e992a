"""What is wrong with a query by itself and beside its document: the filters, in the order of their reasons."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from math import ceil

from ..data.corpus import Document
from ..stages.words import words
from .draft import Draft, Reason, Source
from .lexicon import Lexicon
from .prompts import UNANSWERED

SHORTEST, LONGEST, MOST_CHARACTERS = 2, 32, 300
LONGEST_SPAN, SPAN_SHARE, LEAST_SPAN = 8, 0.8, 5
_LEAST_TITLE = 3
_NAMED_SOURCE = re.compile(
    r"\b(?:this|the|that|these|above|given|provided|following)\s+(?:(?:above|given|provided|following|short|first|second|two)\s+)?"
    r"(?:passages?|documents?|texts?|articles?|excerpts?|paragraphs?|snippets?|authors?)\b"
    r"|\bpassage \d|\b(?:mentioned|described|stated) (?:above|here)\b",
    re.IGNORECASE,
)
_NEGATION = re.compile(r"\b(?:no|not|never|none|nothing|without|except|neither|nor|cannot|\w+n['\u2019]t)\b", re.IGNORECASE)


def reason_against(draft: Draft, source: Source, documents: Sequence[Document], lexicon: Lexicon) -> Reason | None:
    """Why the query cannot stay, None where nothing is wrong with it by itself."""
    asked = words(draft.text)
    texts = [words(lexicon.texts[doc]) for doc in source.docs]
    found: Mapping[Reason, Callable[[], bool]] = {
        "empty": lambda: not any(char.isalpha() for char in draft.text),
        "short": lambda: len(asked) < SHORTEST,
        "long": lambda: len(asked) > LONGEST or len(draft.text) > MOST_CHARACTERS,
        "strange": lambda: not lexicon.knows(draft.text),
        "source": lambda: bool(_NAMED_SOURCE.search(draft.text)),
        "title": lambda: any(is_title(asked, words(document.title)) for document in documents),
        "copy": lambda: any(is_copy(asked, text) for text in texts),
        "answer": lambda: any(_holds(asked, words(answer)) for answer in draft.answers),
        "answerable": lambda: source.category == UNANSWERED and bool(draft.answers),
        "positive": lambda: source.category == "negated" and not _NEGATION.search(draft.text),
    }
    return next((reason for reason, is_so in found.items() if is_so()), None)


def is_title(asked: Sequence[str], title: Sequence[str]) -> bool:
    """Whether a query is the title, holds all of it in one piece, or is a piece of it; three words at least, or all."""
    if not title or not asked:
        return False
    if sorted(asked) == sorted(title):
        return True
    return (len(title) >= _LEAST_TITLE and _holds(asked, title)) or (len(asked) >= _LEAST_TITLE and _holds(title, asked))


def is_copy(asked: Sequence[str], text: Sequence[str]) -> bool:
    """Whether eight words in a row, or at least five that are most of the query, stand in the text in one piece."""
    span = min(LONGEST_SPAN, max(LEAST_SPAN, ceil(SPAN_SHARE * len(asked))))
    return any(_holds(text, asked[at : at + span]) for at in range(len(asked) - span + 1))


def _holds(whole: Sequence[str], part: Sequence[str]) -> bool:
    """Whether the part stands in the whole in one piece."""
    return bool(part) and f" {' '.join(part)} " in f" {' '.join(whole)} "

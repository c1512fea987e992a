"""Queries by rules, without a language model: a baseline, whose queries are made of the document's own words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from ..data.corpus import Document
from ..stages.chunks.sentences import sentences
from ..stages.words import words
from .draft import Draft
from .lexicon import Lexicon

_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,]\d+)*%?(?![\w])")
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{3,}(?: [A-Z][a-z]+)*")
_PURPOSE = re.compile(
    r"\b(?:order|used?|ways?|how|needed|want|easy|easier|time|able|possible|enough|try|helps?|allows?|required|necessary|designed"
    r"|aim(?:s|ed)?|sought|intended|wish|remember|safe|best) to ((?:[a-z]+ ){1,2}[a-z]+)"
)
_COMMAND = re.compile(r"[A-Z][a-z]+ (?:the|a|an|your) [a-z]{3,}")
_YEAR = re.compile(r"(?:1[0-9]|20)\d\d")
_QUESTIONS = (
    "what is known about {0} and {1}",
    "how does {0} relate to {1}",
    "what does {0} have to do with {1} and {2}",
    "why does {0} matter for {1}",
)
_LONGEST_FACT = 6
_LEAST_LETTERS = 5


@dataclass(frozen=True, slots=True)
class Page:
    """What a rule looks at: a document, the text of it that counts, the words of the collection, and a die."""

    document: Document
    text: str
    lexicon: Lexicon
    random: Random


def keyword(page: Page) -> Draft | None:
    """Two to four of the most telling words, in the order of the text."""
    chosen = page.lexicon.telling(page.text, page.random.randint(2, 4))
    return Draft(" ".join(page.lexicon.in_order(page.text, chosen))) if len(chosen) > 1 else None


def factual(page: Page) -> Draft | None:
    """The other telling words of a sentence that has a number or a name; words in a row are no question, so it has no answer."""
    body = page.document.text.strip() or page.text
    facts = [
        (sentence, found) for sentence in sentences(body) for found in (*_NUMBER.finditer(sentence), *_NAME.finditer(sentence))
    ]
    page.random.shuffle(facts)
    for sentence, found in facts:
        rest = sentence[: found.start()] + " " + sentence[found.end() :]
        chosen = page.lexicon.telling(rest, _LONGEST_FACT, without=page.lexicon.terms.of(found.group()))
        if len(chosen) > 1:
            return Draft(f"{_asking(found.group())} {' '.join(page.lexicon.in_order(rest, chosen))}")
    return None


def how_to(page: Page) -> Draft | None:
    """What the text says something is done for, or tells the reader to do, and the most telling word besides."""
    each = sentences(page.document.text.strip() or page.text)
    found = [purpose for sentence in each for purpose in _PURPOSE.findall(sentence)]
    found += [command.group().lower() for sentence in each if (command := _COMMAND.match(sentence))]
    fit = [purpose for words_of in found if len(purpose := _trimmed(words_of.split(), page.lexicon)) > 1]
    if not fit:
        return None
    purpose = page.random.choice(fit)
    besides = page.lexicon.telling(page.text, 1, without=map(page.lexicon.terms.__getitem__, purpose))
    return Draft(" ".join(("how to", *purpose, *besides)))


def paraphrase(page: Page) -> Draft | None:
    """Four to six telling words that the title lacks, in the order of the text."""
    title = page.lexicon.terms.of(page.document.title)
    chosen = page.lexicon.telling(page.text, page.random.randint(4, 6), without=title)
    return Draft(" ".join(page.lexicon.in_order(page.text, chosen))) if len(chosen) > 3 else None


def question(page: Page) -> Draft | None:
    """A question of a fixed form about the most telling words."""
    chosen = page.lexicon.telling(page.text, 3)
    return Draft(page.random.choice(_QUESTIONS).format(*chosen)) if len(chosen) > 2 else None


def misspelt(page: Page) -> Draft | None:
    """A query of keywords with a slip in its longest word."""
    draft = keyword(page)
    if draft is None:
        return None
    right = max(draft.text.split(), key=len)
    wrong = _slipped(right, page.random)
    return None if wrong == right else Draft(draft.text.replace(right, wrong, 1))


Rule = Callable[[Page], Draft | None]
RULES: Mapping[str, Rule] = {
    "factual": factual,
    "how-to": how_to,
    "keyword": keyword,
    "misspelt": misspelt,
    "paraphrase": paraphrase,
    "question": question,
}


def _asking(answer: str) -> str:
    """The word that asks for such an answer."""
    if not answer[0].isdigit():
        return "who or what"
    return "when" if _YEAR.fullmatch(answer) else "how many"


def _trimmed(purpose: list[str], lexicon: Lexicon) -> list[str]:
    """The words without stop words at the end; none where the first is a stop word, and so no verb."""
    if not lexicon.terms[purpose[0]]:
        return []
    while purpose and not lexicon.terms[purpose[-1]]:
        purpose = purpose[:-1]
    return purpose


def _slipped(word: str, random: Random) -> str:
    """The word with two letters swapped, one left out or one doubled, never the first."""
    if len(word) < _LEAST_LETTERS:
        return word
    at = random.randrange(1, len(word) - 1)
    slips = (word[:at] + word[at + 1] + word[at] + word[at + 2 :], word[:at] + word[at + 1 :], word[:at] + word[at] + word[at:])
    return random.choice([slip for slip in slips if slip != word and words(slip) == [slip]] or [word])

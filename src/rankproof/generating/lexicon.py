"""The words of a collection: how telling each is, and which tell most of one text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from ..data.corpus import Corpus
from ..stages.idf import idf
from ..stages.passages import passages
from ..stages.words import Terms, words

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
_SHORTEST = 3


class Lexicon:
    """Word forms and document frequencies; a word's worth in a text is tf x idf, as BM25 has the idf."""

    def __init__(self, corpus: Corpus, fields: Collection[str]) -> None:
        self.texts = passages(corpus, tuple(fields))
        self.terms = Terms(LANGUAGE, stemming=True, stop_words=tuple(FUNCTION_WORDS.split()))
        self._found = Counter(term for text in self.texts.values() for term in set(self.terms.of(text)))

    def knows(self, text: str) -> bool:
        """Whether some document has a word of the text."""
        return any(term in self._found for term in self.terms.of(text))

    def idf(self, term: str) -> float:
        """How telling a term is."""
        return idf(self._found.get(term, 0), len(self.texts))

    def telling(self, text: str, most: int, without: Iterable[str] = ()) -> list[str]:
        """The most telling words, one a word form, most telling first; of equal ones the first in the text."""
        left_out = set(without)
        first: dict[str, str] = {}
        times: Counter[str] = Counter()
        for word in words(text):
            term = self.terms[word]
            if term and term not in left_out and len(word) >= _SHORTEST and not word[0].isdigit():
                first.setdefault(term, word)
                times[term] += 1
        ranked = sorted(first, key=lambda term: -times[term] * self.idf(term))
        return [first[term] for term in ranked[:most]]

    def in_order(self, text: str, chosen: Collection[str]) -> list[str]:
        """The chosen words in the order of the text."""
        return [word for word in dict.fromkeys(words(text)) if word in chosen]

"""EM Contains AnswerF1 ROUGE_L CiteP CiteR Similarity."""

from __future__ import annotations

import re
import string
import unicodedata
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, NoReturn

from rankproof._align.hits import Hits
from rankproof._data.arrays import Matrix
from rankproof._data.text import separate_unspaced
from rankproof.errors import UsageError
from rankproof.measures._base import Measure

Encode = Callable[[str, Sequence[str]], Matrix]
"""The vectors of texts, one row each, of length 1 or 0, by the encoder of that name."""


@dataclass(frozen=True, slots=True)
class AnswerCase:
    """One answer and what it is held against.

    `text` is empty for an answer that abstains, and `references` is ("",) for a question that has no answer. `relevant` are the
    documents that `cited` should name, None where they are not known; `missing` says that nothing was answered at all.
    """

    text: str
    references: tuple[str, ...]
    cited: tuple[str, ...] = ()
    relevant: frozenset[str] | None = None
    missing: bool = False


class AnswerMeasure(Measure):
    """A measure of an answer; asked of a ranking it is refused."""

    kind: ClassVar[Literal["binary", "graded", "count", "answer"]] = "answer"
    parity = None

    def values(self, hits: Hits) -> NoReturn:
        fix = "write F1@10 for rankings" if self.name == "F1" else "ask for it where there are answers: rankproof answers"
        raise UsageError(f"{self} measures answers, not rankings", fix=fix)

    @abstractmethod
    def value(self, case: AnswerCase) -> float | None:
        """The value of one answer; None where the question has nothing to measure it by."""

    def answer_values(self, cases: Sequence[AnswerCase], encode: Encode | None = None) -> list[float | None]:
        """A value for each case; 0 for an answer that is missing."""
        found = [self.value(case) for case in cases]
        return [value if value is None or not case.missing else 0.0 for case, value in zip(cases, found, strict=True)]


class TextMeasure(AnswerMeasure):
    """A measure of the answer's text against one reference; the best of several references counts."""

    @abstractmethod
    def score(self, answer: str, reference: str) -> float:
        """The value against one reference."""

    def value(self, case: AnswerCase) -> float:
        return max(self._against(case.text, reference) for reference in case.references)

    def _against(self, answer: str, reference: str) -> float:
        """0 where only one of the two says nothing, also where normalising leaves nothing of the other ("The")."""
        return self.score(answer, reference) if is_empty_answer(answer) == is_empty_answer(reference) else 0.0


def is_empty_answer(text: str) -> bool:
    """Whether the text says nothing."""
    return not text.strip()


_UNSPACED_BLOCKS = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3000, 0x30FF), (0xFE30, 0xFE4F), (0xFF00, 0xFFEF))
"""Where the punctuation of scripts without blanks stands."""
_UNSPACED_LETTERS = "".join(
    chr(code)
    for first, last in _UNSPACED_BLOCKS
    for code in range(first, last + 1)
    if unicodedata.category(chr(code)).startswith("P")
)
_PUNCTUATION_TABLE = str.maketrans(dict.fromkeys(string.punctuation, "") | dict.fromkeys(_UNSPACED_LETTERS, " "))
_ARTICLES = re.compile(r"\b(a|an|the)\b", re.UNICODE)


def composed_lowercase(text: str) -> str:
    """The text composed and in lower case, so that it does not matter how an accent is stored."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).lower())


def normalise_answer(text: str) -> str:
    """The text as SQuAD's official script compares it (Rajpurkar et al. 2016), apart from what the module says."""
    return " ".join(separate_unspaced(_ARTICLES.sub(" ", composed_lowercase(text).translate(_PUNCTUATION_TABLE))).split())


class ExactMatch(TextMeasure):
    """1 where answer and reference are the same once they are normalised."""

    name = "EM"
    title = "Exact match"
    definition = (
        "1 if the answer equals a reference in lower case, without punctuation, articles and extra blanks, else 0;"
        " 1 for abstaining where there is no answer."
    )
    source = "Rajpurkar et al. 2016 and 2018 (SQuAD)"

    def score(self, answer: str, reference: str) -> float:
        return float(normalise_answer(answer) == normalise_answer(reference))


EM = ExactMatch()


class ReferenceContained(TextMeasure):
    """1 where the words of a reference stand in the answer, next to each other and in their order."""

    name = "Contains"
    title = "Reference contained"
    definition = (
        "1 if a reference, normalised as for EM, stands in the answer as whole words, else 0"
        " (characters in scripts without blanks);"
        " 1 for abstaining where there is no answer."
    )
    source = "common in open-domain question answering, as in Asai et al. 2023 (match)"

    def score(self, answer: str, reference: str) -> float:
        said, wanted = normalise_answer(answer), normalise_answer(reference)
        return float(f" {wanted} " in f" {said} ") if wanted else float(not said)


Contains = ReferenceContained()


_WORD = re.compile(r"[^\W_]+")


def lcs_length(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest common subsequence, by bits (Hyyrö 2004): a 0 stands for each word that was matched."""
    places: dict[str, int] = {}
    for at, word in enumerate(one):
        places[word] = places.get(word, 0) | 1 << at
    every = (1 << len(one)) - 1
    row = every
    for word in other:
        met = row & places.get(word, 0)
        row = (row + met | row - met) & every
    return len(one) - row.bit_count()


def rouge_words(text: str) -> list[str]:
    """What ROUGE-L looks at: words in lower case, articles too."""
    return _WORD.findall(separate_unspaced(composed_lowercase(text)))


class RougeL(TextMeasure):
    """The F-measure of the longest common subsequence."""

    name = "ROUGE-L"
    title = "ROUGE-L"
    definition = (
        "2 lcs / (words of the answer + words of the reference), with lcs the longest common subsequence of their words in lower"
        " case, without stemming; empty scores 0. In scripts without blanks every character is a word."
    )
    source = "Lin 2004; on ASCII text as rouge-score's rougeL fmeasure with use_stemmer=False"

    def score(self, answer: str, reference: str) -> float:
        said, wanted = (rouge_words(text) for text in (answer, reference))
        return 2 * lcs_length(said, wanted) / (len(said) + len(wanted)) if said and wanted else 0.0


ROUGE_L = RougeL()


Tokens = Literal["bag", "set"]
StopWords = Literal["none", "english"]
_PUNCTUATION_PATTERN = re.compile(r"[^\w\s]")
STOP_WORDS: dict[StopWords, frozenset[str]] = {
    "none": frozenset(),
    # Lucene's default English list.
    "english": frozenset(
        {
            *("a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not"),
            *("of", "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was"),
            *("will", "with"),
        }
    ),
}


@dataclass(frozen=True, slots=True)
class SharedWords:
    """The words of an answer and of a reference."""

    answer: frozenset[str]
    reference: frozenset[str]

    @property
    def shared(self) -> frozenset[str]:
        """The words that both have."""
        return self.answer & self.reference

    @property
    def f1(self) -> float:
        """Twice the shared words over the words of both, 0 where either has none."""
        both = len(self.answer) + len(self.reference)
        return 2 * len(self.shared) / both if self.answer and self.reference else 0.0


def shared_words(answer: str, reference: str, *, stop_words: Collection[str] = ()) -> SharedWords:
    """What F1(tokens='set') looks at."""
    return SharedWords(_words(answer, stop_words), _words(reference, stop_words))


def token_set_f1(answer: str, reference: str, *, stop_words: Collection[str] = ()) -> float:
    """F1(tokens='set'): 2 |common| / (|answer| + |reference|) over sets of words, 0 where either set is empty."""
    return shared_words(answer, reference, stop_words=stop_words).f1


def token_bag_f1(answer: str, reference: str, *, stop_words: Collection[str] = ()) -> float:
    """F1(tokens='bag'): the same over words as often as they stand there; 1 where both are empty, 0 where one is."""
    said, wanted = (word_bag(text, stop_words) for text in (answer, reference))
    both = said.total() + wanted.total()
    return 2 * (said & wanted).total() / both if both else float(is_empty_answer(answer) == is_empty_answer(reference))


def _words(text: str, stop_words: Collection[str]) -> frozenset[str]:
    """Words in lower case without punctuation; articles stay unless they are among the stop words."""
    return frozenset(_PUNCTUATION_PATTERN.sub("", separate_unspaced(composed_lowercase(text))).split()).difference(stop_words)


def word_bag(text: str, stop_words: Collection[str] = ()) -> Counter[str]:
    """What F1(tokens='bag') looks at: the normalised words, as often as they stand there."""
    return Counter(word for word in normalise_answer(text).split() if word not in stop_words)


@dataclass(frozen=True, kw_only=True, repr=False)
class WordF1(TextMeasure):
    """Shared words, over the words of both; which words is always written."""

    tokens: Tokens = "bag"
    stop_words: StopWords = "none"
    name = "F1"
    title = "F1 of an answer's words"
    definition = (
        "2 shared / (words of the answer + words of the reference), the best over references. 'bag': words normalised as for EM,"
        " counted as often as they stand there; empty against empty is 1. 'set': distinct words in lower case without"
        " punctuation, articles kept; empty scores 0. stop_words='english' leaves out Lucene's list."
        " In scripts without blanks every character is a word."
    )
    source = "'bag': Rajpurkar et al. 2016 (SQuAD)"

    def score(self, answer: str, reference: str) -> float:
        f1 = token_set_f1 if self.tokens == "set" else token_bag_f1
        return f1(answer, reference, stop_words=STOP_WORDS[self.stop_words])

    def _changed(self) -> dict[str, Any]:
        first, *_ = fields(self)
        return {first.name: self.tokens, **super()._changed()}


AnswerF1 = WordF1()


_LEFT_OUT = " questions without a relevant document are left out."


class CitationPrecision(AnswerMeasure):
    """Cited and relevant, over cited."""

    name = "CiteP"
    title = "Citation precision"
    definition = f"Relevant documents among those that the answer cites, over all it cites, 0 where it cites none;{_LEFT_OUT}"
    source = "after Gao et al. 2023 (ALCE), with judgements in the place of entailment"

    def value(self, case: AnswerCase) -> float | None:
        if not case.relevant:
            return None
        cited = set(case.cited)
        return len(cited & case.relevant) / len(cited) if cited else 0.0


class CitationRecall(AnswerMeasure):
    """Cited and relevant, over relevant."""

    name = "CiteR"
    title = "Citation recall"
    definition = f"Relevant documents that the answer cites, over all relevant ones;{_LEFT_OUT}"
    source = "after Gao et al. 2023 (ALCE), with judgements in the place of entailment"

    def value(self, case: AnswerCase) -> float | None:
        return len(set(case.cited) & case.relevant) / len(case.relevant) if case.relevant else None


CiteP = CitationPrecision()
CiteR = CitationRecall()


@dataclass(frozen=True, kw_only=True, repr=False)
class AnswerSimilarity(AnswerMeasure):
    """The cosine by a named encoder, which is always written."""

    model: str = "minilm"
    name = "Similarity"
    title = "Similarity by an encoder"
    definition = (
        "The cosine of the answer's and the reference's vectors by the encoder of that name, the best over references;"
        " empty scores 0."
    )
    source = "cosine of sentence vectors, as in Reimers and Gurevych 2019"
    range = (-1.0, 1.0)

    def value(self, case: AnswerCase) -> NoReturn:
        raise UsageError(f"{self} needs an encoder", fix="pass encode, a function of a model's name and texts")

    def answer_values(self, cases: Sequence[AnswerCase], encode: Encode | None = None) -> list[float | None]:
        if encode is None:
            raise UsageError(f"{self} needs an encoder", fix="pass encode, a function of a model's name and texts")
        texts = [text for case in cases for text in (case.text, *case.references)]
        rows = iter(encode(self.model, texts)) if texts else iter(())
        found: list[float | None] = []
        for case in cases:
            answer = next(rows)
            nearest = max(float(answer @ next(rows)) for _ in case.references)
            empty = case.missing or not case.text.strip()
            found.append(0.0 if empty else min(max(nearest, -1.0), 1.0))
        return found

    def _changed(self) -> dict[str, Any]:
        return {"model": self.model}


Similarity = AnswerSimilarity()

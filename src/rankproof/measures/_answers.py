"""Measures of answers: exact match, containment, word overlap, ROUGE-L and similarity.

In scripts without spaces every character is a word.
"""

from __future__ import annotations

import math
import re
import string
import unicodedata
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, NoReturn

import numpy as np

from rankproof._align.hits import Hits
from rankproof._data.arrays import Matrix
from rankproof._data.claims import Nugget
from rankproof._data.text import combining_marks, separate_unspaced, without_punctuation
from rankproof._data.wording.stop_words import stop_words_of
from rankproof.errors import UsageError
from rankproof.measures._base import LEFT_OUT_WORDS, MODEL, TOKENS, Advice, FamilyName, Measure, StopWords

CaseState = Literal["answered", "abstained", "missing"]
Encode = Callable[[str, Sequence[str]], Matrix]
"""From the name of an encoder and texts to their vectors, one row each, of length 1 or 0."""


@dataclass(frozen=True, slots=True)
class AnswerCase:
    """One answer and what it is compared with.

    `text` is empty for an answer that abstains. `references` is ("",) for a question that has no answer, and empty where no
    reference is known. `relevant` are the documents that should be cited, None where they are not known. `contexts` are the
    passages that the answer was generated from, best first: None where they are not known, empty where nothing was retrieved.
    `context_ids` are their ids. `cited_contexts` are the context numbers of the cited passages, 0 for one that is no context.
    `searched` are the judged documents that all searches for the answer returned, or its contexts; None where they are not known.
    `repeat` numbers the answers of a system to the same question from 1.
    """

    text: str
    references: tuple[str, ...]
    cited: tuple[str, ...] = ()
    relevant: frozenset[str] | None = None
    state: CaseState = "answered"
    query: str = ""
    system: str = ""
    question: str = ""
    contexts: tuple[str, ...] | None = None
    context_ids: tuple[str, ...] = ()
    cited_contexts: tuple[int, ...] = ()
    nuggets: tuple[Nugget, ...] | None = None
    searched: frozenset[str] | None = None
    repeat: int = 1

    @property
    def declines(self) -> bool:
        """Whether the answer abstains by its wording alone."""
        from rankproof._data.wording.remarks import declines_to_answer

        return self.state == "answered" and declines_to_answer(self.text)

    @property
    def abstains(self) -> bool:
        """Whether the answer abstains, by its state or its wording."""
        return self.state == "abstained" or self.declines

    @property
    def answerable(self) -> bool | None:
        """Whether the question has an answer, None where neither references nor nuggets say it."""
        if self.references:
            return any(not is_empty_answer(text) for text in self.references)
        return True if self.nuggets else None


class AnswerMeasure(Measure):
    """A measure of answers; for a ranking it raises a UsageError."""

    family: ClassVar[FamilyName | None] = "answers"
    kind: ClassVar[Literal["binary", "graded", "count", "answer"]] = "answer"
    inputs: ClassVar[tuple[Literal["contexts", "question", "nuggets"], ...]] = ()
    """What a case must have, besides an answer and references."""
    with_reference: ClassVar[bool] = True
    """Whether a value needs a reference."""

    @property
    def needs_reference(self) -> bool:
        """Whether only queries with a reference are evaluated."""
        return self.with_reference

    def values(self, hits: Hits) -> NoReturn:
        fix = "write F1@10 for rankings" if self.name == "F1" else "use it with rankproof answers"
        raise UsageError(f"{self} measures answers, not rankings", fix=fix)

    @abstractmethod
    def value(self, case: AnswerCase) -> float | None:
        """The value of one answer; None where the question has nothing to compare with."""

    def answer_values(self, cases: Sequence[AnswerCase], encode: Encode | None = None) -> list[float | None]:
        """A value for each case; 0 for an answer that is missing."""
        values = [self.value(case) for case in cases]
        return [value if value is None or case.state != "missing" else 0.0 for case, value in zip(cases, values, strict=True)]

    def outcomes(self, cases: Sequence[AnswerCase], encode: Encode | None = None) -> Sequence[float | str | None]:
        """A value for each case, or why there is none where that is known."""
        return self.answer_values(cases, encode)


class TextMeasure(AnswerMeasure):
    """A measure that compares the answer's text with one reference; the best of several references counts."""

    @abstractmethod
    def score(self, answer: str, reference: str) -> float:
        """The value for one reference."""

    def value(self, case: AnswerCase) -> float | None:
        return max((self._score_or_0(case.text, reference) for reference in case.references), default=None)

    def _score_or_0(self, answer: str, reference: str) -> float:
        """0 where only one of the two is empty, also where normalising would leave nothing of the other ("The")."""
        return self.score(answer, reference) if is_empty_answer(answer) == is_empty_answer(reference) else 0.0


def is_empty_answer(text: str) -> bool:
    """Whether the text is blank."""
    return not text.strip()


_UNSPACED_BLOCKS = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3000, 0x30FF), (0xFE30, 0xFE4F), (0xFF00, 0xFFEF))
"""The Unicode blocks with punctuation of scripts without spaces."""
_UNSPACED_LETTERS = "".join(
    chr(code)
    for first, last in _UNSPACED_BLOCKS
    for code in range(first, last + 1)
    if unicodedata.category(chr(code)).startswith("P")
)
_PUNCTUATION_TABLE = str.maketrans(dict.fromkeys(string.punctuation, "") | dict.fromkeys(_UNSPACED_LETTERS, " "))
_ARTICLES = re.compile(r"\b(a|an|the)\b", re.UNICODE)


def composed_lowercase(text: str) -> str:
    """The text in NFC and lower case, so that composed and decomposed accents are equal."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).lower())


def normalise_answer(text: str) -> str:
    """The text normalised as by SQuAD's official script (Rajpurkar et al. 2016), and with NFC and scripts without spaces."""
    return " ".join(separate_unspaced(_ARTICLES.sub(" ", composed_lowercase(text).translate(_PUNCTUATION_TABLE))).split())


class ExactMatch(TextMeasure):
    """1 where answer and reference are equal after normalisation."""

    name = "EM"
    title = "Exact match"
    definition = (
        "1 if the answer equals a reference, else 0; case, punctuation, articles and extra spaces are ignored."
        " 1 for abstaining if the question has no answer."
    )
    source = "Rajpurkar et al. 2016 and 2018 (SQuAD)"
    aliases = ("exact_match",)
    advice = Advice(
        "answering",
        "answers are short and have one form: names, numbers, dates.",
        "answers are sentences: one extra word gives 0.",
    )

    def score(self, answer: str, reference: str) -> float:
        return float(normalise_answer(answer) == normalise_answer(reference))


EM = ExactMatch()


class ReferenceContained(TextMeasure):
    """1 where the answer contains the words of a reference, adjacent and in order."""

    name = "Contains"
    title = "Reference contained"
    definition = (
        "1 if the answer contains a reference as whole words (as characters in scripts without spaces), else 0;"
        " both are normalised as for EM. If the question has no answer, abstaining gives 1."
    )
    source = "common in open-domain question answering, as in Asai et al. 2023 (match)"
    advice = Advice(
        "answering",
        "a model adds text around a short reference: it only checks that the reference is there.",
        "a system may answer with long lists: it does not penalise length.",
    )

    def score(self, answer: str, reference: str) -> float:
        actual, expected = normalise_answer(answer), normalise_answer(reference)
        return float(f" {expected} " in f" {actual} ") if expected else float(not actual)


Contains = ReferenceContained()


_ASCII_WORD = re.compile(r"[^\W_]+", re.ASCII)


@cache
def _unicode_word() -> re.Pattern[str]:
    """A word with its combining marks."""
    return re.compile(rf"[^\W_](?:[^\W_]|[{combining_marks()}])*")


def lcs_length(first: Sequence[str], second: Sequence[str]) -> int:
    """The length of the longest common subsequence, by bit vectors (Hyyrö 2004): each 0 is a matched word."""
    positions: dict[str, int] = {}
    for at, word in enumerate(first):
        positions[word] = positions.get(word, 0) | 1 << at
    every = (1 << len(first)) - 1
    row = every
    for word in second:
        matches = row & positions.get(word, 0)
        row = (row + matches | row - matches) & every
    return len(first) - row.bit_count()


def rouge_words(text: str) -> list[str]:
    """The words that ROUGE-L compares: in lower case, with articles."""
    plain = separate_unspaced(composed_lowercase(text))
    return (_ASCII_WORD if plain.isascii() else _unicode_word()).findall(plain)


class RougeL(TextMeasure):
    """The F-measure of the longest common subsequence."""

    name = "ROUGE-L"
    title = "ROUGE-L"
    formula = "2 lcs / (words of the answer + words of the reference)"
    definition = (
        "2 lcs / (words of the answer + words of the reference); lcs is the length of the longest common subsequence of words."
        " Lower case, no stemming; an empty text scores 0. In scripts without spaces, every character is a word."
    )
    source = "Lin 2004; on ASCII text equal to rouge-score's rougeL fmeasure with use_stemmer=False"
    aliases = ("rougeL",)
    advice = Advice(
        "answering",
        "answers and references are sentences of similar length, and word order matters.",
        "meaning matters more than wording: a paraphrase scores low, a negation high.",
    )

    def score(self, answer: str, reference: str) -> float:
        actual, expected = (rouge_words(text) for text in (answer, reference))
        both = len(actual) + len(expected)
        return 2 * lcs_length(actual, expected) / both if both else 0.0


ROUGE_L = RougeL()


Tokens = Literal["bag", "set"]


@dataclass(frozen=True, slots=True)
class SharedWords:
    """The words of an answer and of a reference."""

    answer: frozenset[str]
    reference: frozenset[str]

    @property
    def shared(self) -> frozenset[str]:
        """The words of both."""
        return self.answer & self.reference

    @property
    def f1(self) -> float:
        """Twice the shared words divided by the words of both, 0 where either has none."""
        both = len(self.answer) + len(self.reference)
        return 2 * len(self.shared) / both if both else 0.0


def shared_words(answer: str, reference: str, *, stop_words: Collection[str] = ()) -> SharedWords:
    """The distinct words that F1(tokens='set') compares."""
    return SharedWords(_words(answer, stop_words), _words(reference, stop_words))


def token_set_f1(answer: str, reference: str, *, stop_words: Collection[str] = ()) -> float:
    """F1(tokens='set'): 2 |common| / (|answer| + |reference|) over sets of words, 0 where either set is empty."""
    return shared_words(answer, reference, stop_words=stop_words).f1


def token_bag_f1(answer: str, reference: str, *, stop_words: Collection[str] = ()) -> float:
    """F1(tokens='bag'): the same over bags of words, with repetitions; 1 where both are empty, 0 where one is."""
    actual, expected = (word_bag(text, stop_words) for text in (answer, reference))
    both = actual.total() + expected.total()
    return 2 * (actual & expected).total() / both if both else float(is_empty_answer(answer) == is_empty_answer(reference))


def _words(text: str, stop_words: Collection[str]) -> frozenset[str]:
    """Words in lower case without punctuation; articles stay unless they are among the stop words."""
    return frozenset(without_punctuation(separate_unspaced(composed_lowercase(text))).split()).difference(stop_words)


def word_bag(text: str, stop_words: Collection[str] = ()) -> Counter[str]:
    """The words that F1(tokens='bag') compares: normalised, with their counts."""
    return Counter(word for word in normalise_answer(text).split() if word not in stop_words)


@dataclass(frozen=True, kw_only=True, repr=False)
class WordF1(TextMeasure):
    """Shared words divided by the words of both; its name always includes `tokens`."""

    tokens: Annotated[Tokens, TOKENS] = "bag"
    stop_words: Annotated[StopWords, LEFT_OUT_WORDS] = "none"
    name = "F1"
    title = "F1 of an answer's words"
    formula = "2 shared words / (words of the answer + words of the reference)"
    definition = (
        "2 x shared words / (words of the answer + words of the reference), for the best reference. tokens='bag': words"
        " normalised as for EM, repeated words count; two empty texts score 1. tokens='set': distinct words in lower case,"
        " without punctuation but with articles; an empty text scores 0. stop_words='english' ignores Lucene's stop"
        " words, 'german' and other languages those of bm25s."
        " In scripts without spaces every character is a word."
    )
    source = "'bag': Rajpurkar et al. 2016 (SQuAD)"
    advice = Advice(
        "answering",
        "answers are short phrases with several possible wordings; with tokens='bag' values are comparable with SQuAD's.",
        "answers are long: words around a correct answer lower it, and a wrong answer in the same words scores high.",
    )

    def score(self, answer: str, reference: str) -> float:
        f1 = token_set_f1 if self.tokens == "set" else token_bag_f1
        return f1(answer, reference, stop_words=stop_words_of(self.stop_words))

    def _changed(self) -> dict[str, Any]:
        first, *_ = fields(self)
        return {first.name: self.tokens, **super()._changed()}


AnswerF1 = WordF1()


def _inner_product(left: Matrix, right: Matrix) -> float:
    """The exact sum of the products: that of a matrix product depends on the processor."""
    return math.fsum(np.multiply(left, right, dtype=np.float64).tolist())


@dataclass(frozen=True, kw_only=True, repr=False)
class AnswerSimilarity(AnswerMeasure):
    """The cosine similarity by a named encoder; its name always includes the encoder."""

    model: Annotated[str, MODEL] = "minilm"
    name = "Similarity"
    title = "Embedding similarity"
    formula = "cos(embedding of the answer, embedding of the reference)"
    definition = "Cosine similarity of the embeddings of answer and reference (the best reference). An empty answer scores 0."
    source = "cosine of sentence embeddings, as in Reimers and Gurevych 2019"
    advice = Advice(
        "answering",
        "paraphrases should count; report the model with the value.",
        "facts matter: the vectors of 1990 and 1991, or of yes and no, are close. Its scale depends on the model.",
    )
    range = (-1.0, 1.0)

    def value(self, case: AnswerCase) -> NoReturn:
        raise UsageError(f"{self} needs an encoder", fix="pass encode, a function of a model's name and texts")

    def answer_values(self, cases: Sequence[AnswerCase], encode: Encode | None = None) -> list[float | None]:
        if encode is None:
            raise UsageError(f"{self} needs an encoder", fix="pass encode, a function of a model's name and texts")
        texts = [text for case in cases for text in (case.text, *case.references)]
        rows = iter(encode(self.model, texts)) if texts else iter(())
        values: list[float | None] = []
        for case in cases:
            answer = next(rows)
            nearest = max((_inner_product(answer, next(rows)) for _ in case.references), default=None)
            empty = case.state == "missing" or not case.text.strip()
            values.append(None if nearest is None else 0.0 if empty else min(max(nearest, -1.0), 1.0))
        return values

    def _changed(self) -> dict[str, Any]:
        return {"model": self.model}


Similarity = AnswerSimilarity()

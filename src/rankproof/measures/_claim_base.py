"""The base of measures that a judge of claims gives, the judges in their names, and the words that `overlap` compares."""

from __future__ import annotations

import re
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Annotated, Any, ClassVar, Literal

from rankproof._data.claims import Claim, ClaimTable, ClaimUnit, ClaimVerdict, checkable_claims
from rankproof._data.text import combining_marks, has_markup, unspaced_pattern, without_markup
from rankproof._data.wording.remarks import is_heading, without_opening
from rankproof._data.wording.stop_words import stop_words_of
from rankproof.errors import UsageError
from rankproof.measures._answers import AnswerCase, AnswerMeasure, Encode, composed_lowercase
from rankproof.measures._base import CLAIM_JUDGE, UNIT, Measure
from rankproof.measures._parse import MeasureLike, parse_measure, parse_measures, parse_parameters, split_measures

OVERLAP = "overlap"
"""The judge that compares words."""
USEFUL_SHARE = 0.5
"""A context is useful if it has this share of the words of a reference sentence."""
NUGGET_SHARE = 0.75
"""An answer states a nugget if it has this share of its words."""
GRADE_SHARES = (0.25, 0.5, 0.75)
"""The least shares of the question's words for the grades 1, 2 and 3, as in `rankproof judge --by keywords`."""
_CACHED_TEXTS = 4096
_SEPARATOR = "\x1e"
"""A control character that is white space, so that it is no part of a word."""

Words = frozenset[str]


@lru_cache(maxsize=_CACHED_TEXTS)
def content_words(text: str) -> Words:
    """The distinct words of a text without English stop words; in scripts without spaces, every two adjacent characters.

    Words end at every character that is no letter and no digit, and markup is no part of them. 3.5, 1,000 and U.S. are one word,
    don't is dont, and Norway's is Norway.
    """
    return _lowercase_words(composed_lowercase(without_markup(text)))


def words_of_parts(parts: Sequence[str]) -> list[Words]:
    """The content words of each part of a text; faster than part by part."""
    text = _SEPARATOR.join(parts)
    plain = composed_lowercase(text)
    cleaned = plain.split(_SEPARATOR)
    if has_markup(text) or len(cleaned) != len(parts):
        return list(map(content_words, parts))
    return list(map(_lowercase_words, cleaned))


def _lowercase_words(text: str) -> Words:
    if text.isascii():
        words = set(_ASCII_TOKEN.findall(text))
    else:
        runs = _unspaced_runs().findall(text)
        pairs = {run[at : at + 2] for run in runs for at in range(max(1, len(run) - 1))}
        plain = _INVISIBLE.sub("", _unspaced_runs().sub(" ", text) if runs else text)
        words = pairs.union(_unicode_token().findall(plain.replace("’", "'")))
    if not "".join(words).isalnum():
        joined = [token for token in words if not token.isalnum()]
        words.difference_update(joined)
        words.update(word for token in joined for word in _token_words(token))
    return frozenset(words.difference(stop_words_of("english")))


_ASCII_TOKEN = re.compile(r"[a-z0-9]+(?:[.,'][a-z0-9]+)*")
_JOINT = re.compile("[.,']")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_DECIMAL = re.compile(r"\d+(?:\.\d+|,\d{1,2})")
_NOT_ENDING = "n't"
_ENDINGS = {"s", "re", "ve", "ll", "d", "m"}


@cache
def _unicode_token() -> re.Pattern[str]:
    word = rf"[^\W_](?:[^\W_]|[{combining_marks()}])*"
    return re.compile(f"{word}(?:[.,']{word})*")


@lru_cache(maxsize=_CACHED_TEXTS)
def _token_words(token: str) -> tuple[str, ...]:
    """The words of letters and digits with points, commas or apostrophes between them."""
    if _THOUSANDS.fullmatch(token):
        return (token.replace(",", ""),)
    if _DECIMAL.fullmatch(token):
        return (token.replace(",", "."),)
    if token.endswith(_NOT_ENDING):
        return (*_token_words(token[: -len(_NOT_ENDING)])[:-1], re.split(_JOINT, token[: -len(_NOT_ENDING)])[-1] + "nt")
    letters = token.split(".")
    if len(letters) > 1 and all(len(letter) == 1 and letter.isalpha() for letter in letters):
        return ("".join(letters),)
    for mark in ("'", ",", "."):
        first, joint, rest = token.partition(mark)
        if joint:
            return _token_words(first) if mark == "'" and rest in _ENDINGS else (*_token_words(first), *_token_words(rest))
    return (token,)


@cache
def _unspaced_runs() -> re.Pattern[str]:
    return re.compile(f"(?:{unspaced_pattern().pattern})+")


def claim_words(claim: Claim) -> Words:
    """The content words of a claim without its opening; none of a bare "Yes."."""
    return content_words(without_opening(claim.text))


def claim_share(claim: Claim, known: Words) -> float | None:
    """The share of a claim's words that are found; None where it has none.

    A list item is compared alone and together with its lead-in, unless that is a heading; the lower share counts.
    """
    words = claim_words(claim)
    share = word_share(words, known)
    if share is None or not claim.lead_in or is_heading(claim.lead_in, True, False):
        return share
    both = word_share(words | content_words(without_opening(claim.lead_in)), known)
    return share if both is None else min(share, both)


def stated_words(text: str) -> Words:
    """The content words of the sentences of a text that state something."""
    return frozenset().union(*(content_words(claim.text) for claim in checkable_claims(text)))


def all_words(texts: Iterable[str]) -> Words:
    """The content words of all texts."""
    return frozenset().union(*map(content_words, texts))


def word_share(words: Words, known: Words) -> float | None:
    """The share of the words that are found; None where there are no words."""
    return len(words & known) / len(words) if words else None


def word_cosine(first: Words, second: Words) -> float | None:
    """The cosine of two sets of words; None where one is empty."""
    return len(first & second) / (len(first) * len(second)) ** 0.5 if first and second else None


def grade_share(question: Words, context: Words) -> float | None:
    """The grade of a context by the share of the question's words that it has, divided by 3; None without words."""
    share = word_share(question, context)
    return None if share is None else bisect_right(GRADE_SHARES, share) / len(GRADE_SHARES)


NoValue = Literal[
    "failed",
    "abstained",
    "missing",
    "no_claim",
    "no_reference",
    "unanswerable",
    "no_contexts",
    "no_such_context",
    "no_evidence",
    "nothing_found",
    "no_question",
    "no_nugget",
    "no_relevant",
    "not_abstained",
    "answerable",
]
"""Why an answer has no value."""
Outcome = float | NoValue
Verdicts = Mapping[ClaimTable, Sequence[ClaimVerdict]]
"""The verdicts of one judge on the claims of one case, by table."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ClaimMeasure(AnswerMeasure):
    """A measure that a judge of claims gives; its name always includes the judge.

    `tables` are the verdicts that it may need. `judge='overlap'` compares words and needs no verdicts.
    """

    judge: Annotated[str, CLAIM_JUDGE] = OVERLAP
    family = "claims"
    tables: ClassVar[tuple[ClaimTable, ...]] = ()

    @property
    def every_table(self) -> tuple[ClaimTable, ...]:
        """The tables of its verdicts."""
        return self.tables

    @property
    def asks(self) -> bool:
        """Whether a judge is asked for verdicts; those of overlap only show what its value rests on."""
        return True

    def settled(self, case: AnswerCase) -> Outcome | None:
        """The value, or why there is none, where no judge is needed to know it; else None."""
        return None

    def needed(self, case: AnswerCase) -> tuple[ClaimTable, ...]:
        """The tables that the value of a case needs where it is not settled."""
        return self.tables

    @abstractmethod
    def counted(self, case: AnswerCase, verdicts: Verdicts) -> Outcome:
        """The value by verdicts, none of which failed."""

    @abstractmethod
    def by_words(self, case: AnswerCase) -> Outcome:
        """The value by shared words."""

    def outcome(self, case: AnswerCase, verdicts: Verdicts) -> Outcome:
        """The value, or why there is none."""
        known = self.settled(case)
        if known is not None:
            return known
        if self.judge == OVERLAP:
            return self.by_words(case)
        if any(
            verdict.verdict == "failed" for table in self.needed(case) for verdict in self.used_verdicts(verdicts.get(table, ()))
        ):
            return "failed"
        return self.counted(case, verdicts)

    def used_verdicts(self, verdicts: Sequence[ClaimVerdict]) -> Sequence[ClaimVerdict]:
        """Those verdicts of a table that the value depends on."""
        return verdicts

    def claim_value(self, case: AnswerCase, verdicts: Verdicts) -> float | None:
        """The value by the verdicts of the judge; None where there is none."""
        outcome = self.outcome(case, verdicts)
        return None if isinstance(outcome, str) else outcome

    def value(self, case: AnswerCase) -> float | None:
        if self.judge != OVERLAP:
            raise UsageError(f"{self} needs verdicts", fix="use it with rankproof answers, or pass judge_of")
        return self.claim_value(case, {})

    def answer_values(self, cases: Sequence[AnswerCase], encode: Encode | None = None) -> list[float | None]:
        return [self.value(case) for case in cases]

    def _changed(self) -> dict[str, Any]:
        return {**super()._changed(), "judge": self.judge}


@dataclass(frozen=True, kw_only=True, repr=False)
class UnitMeasure(ClaimMeasure):
    """A measure of sentences, or with unit='claim' of atomic claims that the judge writes."""

    unit: Annotated[ClaimUnit, UNIT] = "sentence"

    def outcome(self, case: AnswerCase, verdicts: Verdicts) -> Outcome:
        # Not when the measure is made: a command may replace the judge of a measure that names none.
        if self.unit == "claim" and self.judge == OVERLAP:
            raise UsageError(f"{self}: overlap cannot write claims", fix="use unit='sentence', or a language model as the judge")
        return super().outcome(case, verdicts)


def checkable_verdicts(verdicts: Iterable[ClaimVerdict]) -> list[ClaimVerdict]:
    """The verdicts on claims that have something to check."""
    return [verdict for verdict in verdicts if verdict.verdict != "nothing_to_check"]


def mean_credit(verdicts: Iterable[ClaimVerdict]) -> Outcome:
    """The mean credit of the claims that have something to check."""
    credits = [verdict.credit for verdict in checkable_verdicts(verdicts)]
    return sum(credits) / len(credits) if credits else "no_claim"


def by_reference(verdicts: Iterable[ClaimVerdict]) -> dict[int, list[ClaimVerdict]]:
    """The verdicts of each reference."""
    groups: dict[int, list[ClaimVerdict]] = {}
    for verdict in verdicts:
        groups.setdefault(verdict.claim.reference, []).append(verdict)
    return groups


def best_outcome(outcomes: Iterable[Outcome], otherwise: NoValue = "no_claim") -> Outcome:
    """The highest value; `otherwise` where there is none."""
    values = [outcome for outcome in outcomes if not isinstance(outcome, str)]
    return max(values) if values else otherwise


def without_answer(case: AnswerCase) -> NoValue | None:
    """Why there is no text to check, if there is none."""
    return "missing" if case.state == "missing" else "abstained" if case.abstains else None


def without_reference(case: AnswerCase) -> NoValue | None:
    """Why there is no reference text, if there is none."""
    return "no_reference" if not case.references else None if case.answerable else "unanswerable"


def sentence_words(text: str) -> list[Words]:
    """The content words of each sentence that states something and has some."""
    return [words for claim in checkable_claims(text) if (words := claim_words(claim))]


JUDGE = "judge"
_JUDGE_PARAMETER = re.compile(r",?judge='[^']*'")


def judge_of_measure(measure: Measure) -> str | None:
    """The name of the judge that is a part of the measure's name; None where it has none."""
    judge = measure.parameters().get(JUDGE)
    return judge if judge is not None and f"{JUDGE}=" in str(measure) else None


def measure_without_judge(measure: Measure) -> str:
    """The name of a measure without its judge."""
    return _JUDGE_PARAMETER.sub("", str(measure)).replace("(,", "(").replace("()", "")


def with_judge(measure: Measure, judge: str) -> Measure:
    """A measure of claims with another judge; any other measure as it is."""
    return measure if judge_of_measure(measure) is None else measure(judge=judge)


def judged_measures(measures: MeasureLike | Iterable[MeasureLike], judge: str) -> list[Measure]:
    """The measures; a measure of claims that names no judge gets this one."""
    return list(
        dict.fromkeys(measure if names_judge else with_judge(measure, judge) for measure, names_judge in _read_measures(measures))
    )


def measures_in_results(measures: MeasureLike | Iterable[MeasureLike], known: Collection[Measure]) -> list[Measure]:
    """The measures; a measure of claims that names no judge gets the judge that results have, given their measures `known`.

    Judges of the same measure count before those of other measures; without any, words are compared. Several are an error.
    """
    return list(
        dict.fromkeys(measure if names_judge else _judged_in(measure, known) for measure, names_judge in _read_measures(measures))
    )


def written_measure(measure: MeasureLike) -> str:
    """The name of one measure, with its judge only if it is written there; an object that compares words names none."""
    parse_measure(measure)
    ((parsed, names_judge),) = _read_measures(measure)
    return str(parsed) if names_judge else measure_without_judge(parsed)


def as_written(measure: Measure, texts: Iterable[MeasureLike]) -> MeasureLike:
    """The text of a measure among those that name it."""
    parts = (part for text in texts for part, _ in _parts(text))
    return next((part for part in parts if measure in parse_measures(part)), measure)


def _read_measures(measures: MeasureLike | Iterable[MeasureLike]) -> Iterator[tuple[Measure, bool]]:
    """Each measure, and whether its judge is named, or it has none."""
    every = list(measures) if isinstance(measures, Iterable) and not isinstance(measures, str) else [measures]
    parsed = parse_measures(every)
    if all(judge_of_measure(measure) is None for measure in parsed):
        yield from ((measure, True) for measure in parsed)
        return
    for item in every:
        for part, names_judge in _parts(item):
            yield from ((measure, names_judge or judge_of_measure(measure) != OVERLAP) for measure in parse_measures(part))


def _parts(measure: MeasureLike) -> Iterator[tuple[MeasureLike, bool]]:
    """Each measure as it is written, and whether it names its judge."""
    if not isinstance(measure, str):
        yield measure, False
        return
    for part in split_measures(measure):
        yield (
            ",".join((part.text, *part.more)),
            part.inside is not None and JUDGE in parse_parameters(part.inside, positional="first"),
        )


def _judged_in(measure: Measure, known: Collection[Measure]) -> Measure:
    name = measure_without_judge(measure)
    same = [other for other in known if measure_without_judge(other) == name]
    judges = dict.fromkeys(judge for other in same or known if (judge := judge_of_measure(other)) is not None)
    if len(judges) > 1:
        names = ", ".join(str(with_judge(measure, judge)) for judge in judges)
        raise UsageError(f"the results have several judges, and {name} names none", fix=f"write one of: {names}")
    return with_judge(measure, next(iter(judges), OVERLAP))

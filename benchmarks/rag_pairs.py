"""Which of two answers people prefer, and which one measures and judges prefer: RAGChecker's 280 pairs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._data.claims import checkable_claims
from rankproof._data.wording.stop_words import stop_words_of
from rankproof._evaluation.claim_judges import ClaimJudge, ClaimTask
from rankproof.measures._answers import AnswerCase, rouge_words
from rankproof.measures._base import Measure
from rankproof.measures._claim_base import ClaimMeasure
from rankproof.measures._parse import parse_measure

from .language_model_tables import shown

ASPECTS = ("correctness", "completeness", "overall")
RESAMPLES, SEED = 4_000, 0
JudgeNamed = Callable[[str], ClaimJudge]
SET_F1 = "`F1(tokens='set',stop_words='english')`"
RAGCHECKER = "RAGChecker's F1 (Llama-3-70B, from its file)"


@dataclass(frozen=True, slots=True)
class AnswerPair:
    """Answers of two systems to a question, and by how much each of two people prefers the second, from -2 to 2."""

    question: str
    reference: str
    answers: tuple[str, str]
    preference: Mapping[str, tuple[int, int]]
    ragchecker: tuple[float, float]
    systems: tuple[str, str]


def read_pairs(path: Path) -> list[AnswerPair]:
    """The pairs of the file."""
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [
        AnswerPair(
            row["question"],
            row["reference"],
            tuple(row["answers"]),
            row["preference"],
            row["ragchecker"]["overall"],
            tuple(row["systems"]),
        )
        for row in rows
    ]


def score_gaps(pairs: Sequence[AnswerPair], score: Callable[[str, str, str], float]) -> FloatArray:
    """By how much the second answer scores more; `score` takes question, answer and reference."""
    return np.array(
        [
            score(pair.question, pair.answers[1], pair.reference) - score(pair.question, pair.answers[0], pair.reference)
            for pair in pairs
        ]
    )


def measured(name: str) -> Callable[[str, str, str], float]:
    """The value of a measure that needs no judge."""
    measure = parse_measure(name)

    def score(question: str, answer: str, reference: str) -> float:
        return cast(float, measure.value(AnswerCase(answer, (reference,), question=question)))  # type: ignore[attr-defined]

    return score


def judged_f1(judge: ClaimJudge) -> Callable[[str, str, str], float]:
    """ClaimF1 by the scores of a judge."""
    measure: Measure = parse_measure(f"ClaimF1(judge='{judge.name}')")
    assert isinstance(measure, ClaimMeasure)

    def score(question: str, answer: str, reference: str) -> float:
        case = AnswerCase(answer, (reference,), question=question)
        own = ClaimTask(case, "answer-reference", tuple(checkable_claims(answer)), (reference,))
        wanted = ClaimTask(case, "reference-answer", tuple(checkable_claims(reference, "reference")), (answer,))
        one, other = judge.judge([own, wanted], lambda label, done, total: None)
        return measure.claim_value(case, {"answer-reference": one, "reference-answer": other}) or 0.0

    return score


def split_f1(question: str, answer: str, reference: str) -> float:
    """F1 of the distinct words without English stop words, where words are split at punctuation."""
    given, expected = (set(rouge_words(text)) - stop_words_of("english") for text in (answer, reference))
    return 2 * len(given & expected) / (len(given) + len(expected)) if given and expected else 0.0


class Resamples:
    """Bootstrap resamples of questions: how often each pair is drawn."""

    def __init__(self, pairs: Sequence[AnswerPair]) -> None:
        numbers = {question: at for at, question in enumerate(dict.fromkeys(pair.question for pair in pairs))}
        self.questions = len(numbers)
        draws = np.random.default_rng(SEED).multinomial(self.questions, np.full(self.questions, 1 / self.questions), RESAMPLES)
        every = np.vstack([np.ones((1, self.questions)), draws])
        self.weights: FloatArray = every[:, [numbers[pair.question] for pair in pairs]].astype(np.float64)

    def means(self, values: FloatArray) -> FloatArray:
        """The mean over all pairs, then over those of each resample; pairs without a value count nowhere."""
        known = ~np.isnan(values)
        return np.asarray(self.weights[:, known] @ values[known] / self.weights[:, known].sum(axis=1))

    def correlations(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """Pearson's correlation over all pairs, then over those of each resample; a column for each label."""
        labels = other.shape[1]
        weights = self.weights / (labels * self.weights.sum(axis=1, keepdims=True))
        left, right = np.repeat(one[:, None], labels, axis=1), other

        def mean(values: FloatArray) -> FloatArray:
            return np.asarray(weights @ values.sum(axis=1))

        middle, other_middle = mean(left), mean(right)
        spread = np.sqrt((mean(left**2) - middle**2) * (mean(right**2) - other_middle**2))
        return np.asarray((mean(left * right) - middle * other_middle) / spread)


def right_choices(gaps: FloatArray, labels: FloatArray) -> FloatArray:
    """1 where a score prefers the answer that people prefer on average, 0.5 for equal scores, NaN without a preference."""
    preferred = np.sign(labels.mean(axis=1))
    right = np.where(gaps == 0, 0.5, (np.sign(gaps) == preferred).astype(np.float64))
    return np.where(preferred == 0, np.nan, right)


def people(labels: FloatArray, resamples: Resamples) -> tuple[FloatArray, FloatArray]:
    """How often two people with a preference prefer the same answer, and the correlation of their labels."""
    one, other = labels.T
    same = np.where((one != 0) & (other != 0), (np.sign(one) == np.sign(other)).astype(np.float64), np.nan)
    return resamples.means(same), resamples.correlations(one, other[:, None])


def _cell(values: FloatArray, *, sign: bool = False) -> str:
    low, high = np.quantile(values[1:], (0.025, 0.975))
    return f"{values[0]:+.3f} ({low:+.3f} to {high:+.3f})" if sign else f"{values[0]:.3f} ({low:.3f} to {high:.3f})"


def print_pairs(path: Path, judge: JudgeNamed) -> None:
    """Pairwise agreement with people by aspect, and the correlation with their labels."""
    pairs = read_pairs(path)
    resamples = Resamples(pairs)
    labels = {name: np.array([pair.preference[name] for pair in pairs], dtype=np.float64) for name in ASPECTS}
    gaps = {
        RAGCHECKER: np.array([pair.ragchecker[1] - pair.ragchecker[0] for pair in pairs]),
        SET_F1: score_gaps(pairs, measured("F1(tokens='set',stop_words='english')")),
        "the same, words split at punctuation": score_gaps(pairs, split_f1),
        "`ClaimF1(judge='overlap')`: F1 of stated words, 0 for an abstention": score_gaps(pairs, measured("ClaimF1")),
        "`ROUGE-L`": score_gaps(pairs, measured("ROUGE-L")),
        "`ClaimF1(judge='wordllama')`": score_gaps(pairs, judged_f1(judge("wordllama"))),
        "`ClaimF1(judge='minilm')`": score_gaps(pairs, judged_f1(judge("minilm"))),
        "the longer answer": score_gaps(pairs, lambda question, answer, reference: len(rouge_words(answer))),
    }
    both = [people(labels[name], resamples) for name in ASPECTS]
    rows = [("two people with each other", *(_cell(share) for share, _ in both), _cell(both[-1][1]))]
    for name, gap in gaps.items():
        shares = [_cell(resamples.means(right_choices(gap, labels[aspect]))) for aspect in ASPECTS]
        rows.append((name, *shares, _cell(resamples.correlations(gap, labels["overall"]))))
    print(f"RAGChecker's meta-evaluation: {len(pairs)} pairs of answers to {resamples.questions} questions, two people each.\n")
    shown(("scores by", *ASPECTS, "Pearson, overall"), rows)
    apart = [resamples.means(right_choices(gaps[name], labels["overall"])) for name in (RAGCHECKER, SET_F1)]
    strength = [resamples.correlations(gaps[name], labels["overall"]) for name in (RAGCHECKER, SET_F1)]
    print(
        f"\nRAGChecker's F1 less the F1 of sets of words, overall: share of pairs {_cell(apart[0] - apart[1], sign=True)},"
        f" Pearson {_cell(strength[0] - strength[1], sign=True)}."
    )

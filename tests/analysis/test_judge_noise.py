"""A judge that is asked again: deviation of values, flipped verdicts, reversed order, and what it means for a difference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from rankproof._analysis.answers.judge_reliability import judge_noise, noise_tables, same_model_notes
from rankproof._analysis.compare.comparison import compare_inputs
from rankproof._analysis.inputs import AnalysisInput
from rankproof._data.arrays import FloatArray
from rankproof._data.claims import Claim, ClaimVerdict, JudgeNoise
from rankproof._data.qrels import Qrels
from rankproof._evaluation.claim_judges import ClaimJudge, ClaimTask, JudgeOf, NoCalls
from rankproof._evaluation.result import MeasureResult, Result, SystemResult
from rankproof._io.open import Progress
from rankproof.measures import Faithfulness

MEASURE = type(Faithfulness)(judge="mine")
QUERIES, CLAIMS = 30, 4


@dataclass(frozen=True)
class ShakyJudge:
    """A judge that changes a share of its verdicts in each repeat, and another share in reversed order."""

    shaky: float
    biased: float = 0.0
    repeat: int = 0
    reverse: bool = False
    name: str = "mine"
    has_scores: bool = False

    @property
    def label(self) -> str:
        return f"llm:mine:{self.repeat}{self.reverse}"

    def supports(self, query: int, n: int) -> bool:
        plain = (query + n) % 3 > 0
        flips = self.repeat > 0 and np.random.default_rng([query, n, self.repeat]).random() < self.shaky
        turns = self.reverse and np.random.default_rng([query, n]).random() < self.biased
        return bool(plain ^ flips ^ turns)

    def varied(self, *, repeat: int = 0, reverse: bool = False) -> ClaimJudge:
        return ShakyJudge(self.shaky, self.biased, repeat, reverse)

    def judge(self, tasks: Sequence[ClaimTask], progress: Progress) -> list[tuple[ClaimVerdict, ...]]:
        raise NotImplementedError

    def extract(self, texts: Sequence[tuple[str, str]], progress: Progress) -> list[tuple[str, ...] | None]:
        raise NotImplementedError

    def estimate(self, tasks: Sequence[ClaimTask]) -> NoCalls:
        raise NotImplementedError


def evaluate(judge_of: JudgeOf) -> Result:
    judge = judge_of("mine")
    assert isinstance(judge, ShakyJudge)
    said = {(query, n): judge.supports(query, n) for query in range(QUERIES) for n in range(CLAIMS)}
    claims = tuple(
        ClaimVerdict(
            f"q{query}", "a", Claim("answer", n + 1, "x", 0, 1), "contexts", "supported" if yes else "not_stated", judge.label
        )
        for (query, n), yes in said.items()
    )
    values = np.array([np.mean([said[query, n] for n in range(CLAIMS)]) for query in range(QUERIES)])
    queries = tuple(f"q{query}" for query in range(QUERIES))
    found = {str(one): MeasureResult(one, float(values.mean()), queries, values) for one in (MEASURE, Faithfulness)}
    return Result(queries, (SystemResult("a", found, ()),), claims)


def test_a_judge_that_repeats_itself_has_no_noise() -> None:
    (found,) = judge_noise(evaluate, lambda name: ShakyJudge(0.0))
    assert found == JudgeNoise("llm:mine:0False", str(MEASURE), QUERIES, 3, 0.0, 0.0, 0.0)


def test_flips_and_deviation_are_those_of_the_judge() -> None:
    (found,) = judge_noise(evaluate, lambda name: ShakyJudge(0.2, 0.3), repeats=40)
    # Between two of the later repeats a verdict differs where one of them flips.
    assert found.flips == pytest.approx(2 * 0.2 * 0.8, abs=0.03)
    assert found.deviation == pytest.approx(math.sqrt(0.2 * 0.8 / CLAIMS), abs=0.02)
    assert found.reversed_flips == pytest.approx(0.3, abs=0.1)


def test_the_table_shows_the_noise_of_one_question_and_of_the_mean() -> None:
    noise = JudgeNoise("llm:mine:1", "M", 25, 3, 0.2, 0.15, None)
    (table,) = noise_tables([noise])
    assert table.rows == (("M", 0.2, 0.04, 0.15, None),)
    assert table.sentences == ("More than 10% of the verdicts change, so single answers cannot be compared: M.",)
    assert noise_tables([]) == ()


@pytest.mark.parametrize(("difference", "noisy"), [(0.05, True), (-0.05, True), (0.057, False), (-0.2, False)])
def test_a_decision_on_a_difference_below_twice_the_noise_says_so(difference: float, noisy: bool) -> None:
    """The deviation of a difference of two means of 100 questions is sqrt(2) x 0.2 / 10 = 0.0283."""
    random = np.random.default_rng(1)
    values = np.array([0.45, 0.55])[random.permutation(100) % 2]
    inputs = inputs_of({"a": values, "b": values + difference + 0.02 * (np.arange(100) % 2 - 0.5)}, deviation=0.2)
    decision = compare_inputs(inputs).decision
    assert abs(decision.against[0].difference) == pytest.approx(abs(difference))
    assert (decision.judge_noise is not None) == noisy
    said = "The judge is too noisy: asked again, the difference from "
    assert any(one.startswith(said) and "changes by 2.8 pp, more than half of it." in one for one in decision.sentences) == noisy


def test_without_repeats_or_for_another_measure_nothing_is_said() -> None:
    values = {"a": np.linspace(0.2, 0.8, 40), "b": np.linspace(0.21, 0.8, 40)}
    assert compare_inputs(inputs_of(values, deviation=None)).decision.judge_noise is None
    assert compare_inputs(inputs_of(values, deviation=0.5, measure="other")).decision.judge_noise is None
    assert compare_inputs(inputs_of(values, deviation=0.5)).decision.judge_noise is not None


def inputs_of(
    values: Mapping[str, FloatArray], *, deviation: float | None, measure: str = "Faithfulness(judge='mine')"
) -> AnalysisInput:
    """Two systems with these values of the measure, and the noise of a judge."""
    queries = tuple(f"q{at}" for at in range(len(next(iter(values.values())))))
    systems = tuple(
        SystemResult(name, {str(MEASURE): MeasureResult(MEASURE, float(each.mean()), queries, each)}, ())
        for name, each in values.items()
    )
    result = Result(queries, systems, noise=(JudgeNoise("llm:mine:1", measure, 30, 3, deviation, 0.1),))
    return AnalysisInput("log", "", Qrels([]), {}, result)


def test_a_judge_of_its_own_answers_is_noted_by_the_name_of_the_model() -> None:
    answered_by = {"a": "gpt-4o-mini", "b": "llama", "c": "GPT-4o-mini"}
    (note,) = same_model_notes(answered_by, ["gpt-4o-mini", "overlap", "gpt-4o-mini"])
    assert note == "gpt-4o-mini judges its own answers (a, c): such judges favour them; use another model"
    assert same_model_notes(answered_by, ["logprob:llama"]) == [
        "llama judges its own answers (b): such judges favour them; use another model"
    ]
    for judge in ("qwen:7b", "logprob:qwen:7b"):
        assert same_model_notes({"a": "qwen:7b", "b": "other:7b"}, [judge]) == [
            "qwen:7b judges its own answers (a): such judges favour them; use another model"
        ]
    assert same_model_notes({}, ["gpt-4o-mini"]) == []

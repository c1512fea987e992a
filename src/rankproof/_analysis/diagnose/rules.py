"""Rules that turn Success@1, Success@5, Success@10 and RR@10 into a diagnosis."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from rankproof._data.text import format_value

FIRST, FEW, TEN, FIRST_HIT = "Success@1", "Success@5", "Success@10", "RR@10"
RULE_MEASURES = (FIRST, FEW, TEN, FIRST_HIT)
_TUTORIAL = "Retrieval Metrics Tutorial"
_BANDS = "thresholds: its bands"
_BOTH_BANDS = f"{_BANDS}, and those of the Hybrid RAG System with Automated Evaluation for MRR"
GUIDELINES = f"{_TUTORIAL}, diagnostic guidelines; {_BANDS}"
WITH_RAG_BANDS = f"{_TUTORIAL}, diagnostic guidelines; {_BOTH_BANDS}"


@dataclass(frozen=True, slots=True)
class ThresholdRule:
    """A condition on one measure: at least `least` and below `below`."""

    measure: str
    least: float | None = None
    below: float | None = None

    def holds(self, values: Mapping[str, float]) -> bool:
        """Whether the value is known and within the thresholds."""
        value = values.get(self.measure)
        return value is not None and (self.least is None or value >= self.least) and (self.below is None or value < self.below)

    @property
    def bounds(self) -> tuple[float, ...]:
        """The thresholds."""
        return tuple(bound for bound in (self.least, self.below) if bound is not None)

    def __str__(self) -> str:
        bounds = [f"at least {format_value(self.least)}" if self.least is not None else ""]
        bounds += [f"below {format_value(self.below)}" if self.below is not None else ""]
        return f"{self.measure} {' and '.join(filter(None, bounds))}"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that applies if all its conditions hold."""

    name: str
    conditions: tuple[ThresholdRule, ...]
    means: str
    action: str
    source: str

    def fires(self, values: Mapping[str, float]) -> bool:
        """Whether all conditions hold."""
        return all(condition.holds(values) for condition in self.conditions)

    def why(self, values: Mapping[str, float]) -> str:
        """The values of its measures."""
        return ", ".join(f"{condition.measure} {format_value(values[condition.measure])}" for condition in self.conditions)


RULES = (
    Rule(
        "perfect",
        (ThresholdRule(FIRST, 1.0), ThresholdRule(FEW, 1.0)),
        "a relevant document is first for every query",
        "evaluate on harder queries: these leave nothing to gain",
        f"{_TUTORIAL}, scenario of a perfect system",
    ),
    Rule(
        "good ranking",
        (ThresholdRule(FIRST, 0.50, 1.0), ThresholdRule(FEW, 0.80), ThresholdRule(FIRST_HIT, 0.70)),
        "most queries have a relevant document in the top 5, most of them at rank 1",
        "inspect the failed queries one by one",
        f"{_TUTORIAL}, scenario of a good ranking; {_BOTH_BANDS}",
    ),
    Rule(
        "ranking, not coverage",
        (ThresholdRule(FIRST, below=0.50), ThresholdRule(FEW, 0.70)),
        "relevant documents are retrieved, but ranked low",
        "improve the ranking, not the coverage: a reranker, BM25 parameters, other embeddings",
        GUIDELINES,
    ),
    Rule(
        "retrieval",
        (ThresholdRule(FIRST, below=0.50), ThresholdRule(FEW, below=0.70)),
        "relevant documents are not retrieved, or ranked very low",
        "improve the coverage: indexed fields, query processing, vocabulary",
        GUIDELINES,
    ),
    Rule(
        "quality over quantity",
        (ThresholdRule(FEW, below=0.80), ThresholdRule(FIRST_HIT, 0.70)),
        "relevant documents rank high, but many queries have none in the top 5",
        "retrieve more, unless users can rephrase their query",
        WITH_RAG_BANDS,
    ),
    Rule(
        "quantity over quality",
        (ThresholdRule(FEW, 0.80), ThresholdRule(FIRST_HIT, 0.50, 0.70)),
        "most queries have a relevant document in the top 5, but often below irrelevant ones",
        "improve the ranking of the top results",
        WITH_RAG_BANDS,
    ),
)
NO_RULE = "no rule applies"


def fired_rules(values: Mapping[str, float]) -> tuple[Rule, ...]:
    """The rules that apply; a rule with a missing value does not."""
    return tuple(rule for rule in RULES if rule.fires(values))


def diagnosis(values: Mapping[str, float]) -> str:
    """The names of the rules that apply."""
    return "; ".join(rule.name for rule in fired_rules(values)) or NO_RULE


def rule_sentences(systems: Mapping[str, Mapping[str, float]]) -> list[str]:
    """A sentence for each rule that applies to a system: its meaning, what to do, and the values."""
    sentences = []
    for rule in RULES:
        numbers = [f"{name} ({rule.why(values)}{_depth(rule, values)})" for name, values in systems.items() if rule.fires(values)]
        if numbers:
            where = ", ".join(map(str, rule.conditions))
            sentences.append(f"{rule.name}: {rule.means} ({where}). What to do: {rule.action}. Systems: {'; '.join(numbers)}.")
    return sentences


def _depth(rule: Rule, values: Mapping[str, float]) -> str:
    """Success@10, if the problem is the ranking."""
    return f", {TEN} {format_value(values[TEN])}" if rule.name == "ranking, not coverage" and TEN in values else ""


_Z_95 = 1.96
_STEP = 1e-9


@dataclass(frozen=True, slots=True)
class NearThreshold:
    """A threshold within sampling error of a value, where the other side has another diagnosis."""

    measure: str
    value: float
    bound: float
    within: float

    def __str__(self) -> str:
        return f"{self.measure} {format_value(self.value)}: {format_value(self.bound)} ± {format_value(self.within)}"


def near_thresholds(values: Mapping[str, float], n: int) -> tuple[NearThreshold, ...]:
    """The thresholds within the 95% sampling error of the mean of n queries.

    A value from 0 to 1 with mean b has a variance of at most b (1 - b), that of a Bernoulli variable.
    """
    found = []
    for measure, bound in sorted({(one.measure, bound) for rule in RULES for one in rule.conditions for bound in one.bounds}):
        within = _Z_95 * math.sqrt(bound * (1 - bound) / n)
        if measure in values and abs(values[measure] - bound) <= within:
            sides = (diagnosis({**values, measure: bound + step}) for step in (-_STEP, _STEP))
            found += [NearThreshold(measure, values[measure], bound, within)] if len(set(sides)) > 1 else []
    return tuple(found)

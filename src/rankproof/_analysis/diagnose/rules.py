"""Rules and thresholds."""

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
    """A measure within bounds: at least the one, below the other."""

    measure: str
    least: float | None = None
    below: float | None = None

    def holds(self, values: Mapping[str, float]) -> bool:
        """Whether the value is known and within the bounds."""
        value = values.get(self.measure)
        return value is not None and (self.least is None or value >= self.least) and (self.below is None or value < self.below)

    @property
    def bounds(self) -> tuple[float, ...]:
        """The values at which it begins or ceases to hold."""
        return tuple(bound for bound in (self.least, self.below) if bound is not None)

    def __str__(self) -> str:
        bounds = [f"at least {format_value(self.least)}" if self.least is not None else ""]
        bounds += [f"below {format_value(self.below)}" if self.below is not None else ""]
        return f"{self.measure} {' and '.join(filter(None, bounds))}"


@dataclass(frozen=True, slots=True)
class Rule:
    """Fires where all its conditions hold."""

    name: str
    conditions: tuple[ThresholdRule, ...]
    means: str
    action: str
    source: str

    def fires(self, values: Mapping[str, float]) -> bool:
        """Whether every condition holds."""
        return all(condition.holds(values) for condition in self.conditions)

    def why(self, values: Mapping[str, float]) -> str:
        """The numbers that fired it."""
        return ", ".join(f"{condition.measure} {format_value(values[condition.measure])}" for condition in self.conditions)


RULES = (
    Rule(
        "perfect",
        (ThresholdRule(FIRST, 1.0), ThresholdRule(FEW, 1.0)),
        "a relevant document is first for every query",
        "nothing is left to win here: harder queries would tell more",
        f"{_TUTORIAL}, scenario of a perfect system",
    ),
    Rule(
        "good ranking",
        (ThresholdRule(FIRST, 0.50, 1.0), ThresholdRule(FEW, 0.80), ThresholdRule(FIRST_HIT, 0.70)),
        "most relevant documents are found, and most of those stand first",
        "look at the failed queries one by one",
        f"{_TUTORIAL}, scenario of a good ranking; {_BOTH_BANDS}",
    ),
    Rule(
        "ranking, not coverage",
        (ThresholdRule(FIRST, below=0.50), ThresholdRule(FEW, 0.70)),
        "relevant documents are retrieved, but ranked low",
        "improve the order, not the coverage: a reranker, BM25's parameters, other embeddings",
        GUIDELINES,
    ),
    Rule(
        "retrieval",
        (ThresholdRule(FIRST, below=0.50), ThresholdRule(FEW, below=0.70)),
        "relevant documents are not retrieved at all, or far down",
        "improve the coverage: what is indexed, how queries are treated, the vocabulary",
        GUIDELINES,
    ),
    Rule(
        "quality over quantity",
        (ThresholdRule(FEW, below=0.80), ThresholdRule(FIRST_HIT, 0.70)),
        "what is found stands high, but for many queries nothing is found",
        "widen what is retrieved, if those who search cannot ask again",
        WITH_RAG_BANDS,
    ),
    Rule(
        "quantity over quality",
        (ThresholdRule(FEW, 0.80), ThresholdRule(FIRST_HIT, 0.50, 0.70)),
        "something is found for most queries, but often behind noise",
        "sharpen the order of the top",
        WITH_RAG_BANDS,
    ),
)
NO_RULE = "no rule fires"


def fired_rules(values: Mapping[str, float]) -> tuple[Rule, ...]:
    """The rules that hold for Success@1, Success@5, Success@10 and RR@10; those whose values are missing do not."""
    return tuple(rule for rule in RULES if rule.fires(values))


def diagnosis(values: Mapping[str, float]) -> str:
    """What the values point at, in a few words."""
    return "; ".join(rule.name for rule in fired_rules(values)) or NO_RULE


def rule_sentences(systems: Mapping[str, Mapping[str, float]]) -> list[str]:
    """A sentence for each rule that fires for some system: what it means, what to do, and the numbers of each."""
    said = []
    for rule in RULES:
        numbers = [f"{name} ({rule.why(values)}{_depth(rule, values)})" for name, values in systems.items() if rule.fires(values)]
        if numbers:
            where = ", ".join(map(str, rule.conditions))
            said.append(f"{rule.name}: {rule.means} ({where}). To do: {rule.action}. So with {'; '.join(numbers)}.")
    return said


def _depth(rule: Rule, values: Mapping[str, float]) -> str:
    """For a problem of ranking, how many are found further down."""
    return f", {TEN} {format_value(values[TEN])}" if rule.name == "ranking, not coverage" and TEN in values else ""


_Z_95 = 1.96
_STEP = 1e-9


@dataclass(frozen=True, slots=True)
class NearThreshold:
    """A bound so near to a value that other queries could have put it on the other side, with another diagnosis."""

    measure: str
    value: float
    bound: float
    within: float

    def __str__(self) -> str:
        return f"{self.measure} {format_value(self.value)}: {format_value(self.bound)} ± {format_value(self.within)}"


def near_thresholds(values: Mapping[str, float], n: int) -> tuple[NearThreshold, ...]:
    """The bounds within 95% of what chance does to the mean of n queries, if the true value is the bound.

    A value from 0 to 1 with mean b has a variance of at most b (1 - b), that of a success or failure.
    """
    found = []
    for measure, bound in sorted({(one.measure, bound) for rule in RULES for one in rule.conditions for bound in one.bounds}):
        within = _Z_95 * math.sqrt(bound * (1 - bound) / n)
        if measure in values and abs(values[measure] - bound) <= within:
            sides = (diagnosis({**values, measure: bound + step}) for step in (-_STEP, _STEP))
            found += [NearThreshold(measure, values[measure], bound, within)] if len(set(sides)) > 1 else []
    return tuple(found)

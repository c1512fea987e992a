"""What a pattern of values points at: rules as data, each with its thresholds, what to do, and where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..wording import brief

FIRST, FEW, TEN, FIRST_HIT = "Success@1", "Success@5", "Success@10", "RR@10"
NEEDED = (FIRST, FEW, TEN, FIRST_HIT)
_TUTORIAL = "Retrieval Metrics Tutorial"
_BANDS = "thresholds: its bands"
_BOTH_BANDS = f"{_BANDS}, and those of the Hybrid RAG System with Automated Evaluation for MRR"
GUIDELINES = f"{_TUTORIAL}, diagnostic guidelines; {_BANDS}"
WITH_RAG_BANDS = f"{_TUTORIAL}, diagnostic guidelines; {_BOTH_BANDS}"


@dataclass(frozen=True, slots=True)
class Condition:
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
        bounds = [f"at least {brief(self.least)}" if self.least is not None else ""]
        bounds += [f"below {brief(self.below)}" if self.below is not None else ""]
        return f"{self.measure} {' and '.join(filter(None, bounds))}"


@dataclass(frozen=True, slots=True)
class Rule:
    """Fires where all its conditions hold."""

    name: str
    conditions: tuple[Condition, ...]
    means: str
    action: str
    source: str

    def fires(self, values: Mapping[str, float]) -> bool:
        """Whether every condition holds."""
        return all(condition.holds(values) for condition in self.conditions)

    def why(self, values: Mapping[str, float]) -> str:
        """The numbers that fired it."""
        return ", ".join(f"{condition.measure} {brief(values[condition.measure])}" for condition in self.conditions)


RULES = (
    Rule(
        "perfect",
        (Condition(FIRST, 1.0), Condition(FEW, 1.0)),
        "a relevant document is first for every query",
        "nothing is left to win here: harder queries would tell more",
        f"{_TUTORIAL}, scenario of a perfect system",
    ),
    Rule(
        "good ranking",
        (Condition(FIRST, 0.50, 1.0), Condition(FEW, 0.80), Condition(FIRST_HIT, 0.70)),
        "most relevant documents are found, and most of those stand first",
        "look at the failed queries one by one",
        f"{_TUTORIAL}, scenario of a good ranking; {_BOTH_BANDS}",
    ),
    Rule(
        "ranking, not coverage",
        (Condition(FIRST, below=0.50), Condition(FEW, 0.70)),
        "relevant documents are retrieved, but ranked low",
        "improve the order, not the coverage: a reranker, BM25's parameters, other embeddings",
        GUIDELINES,
    ),
    Rule(
        "retrieval",
        (Condition(FIRST, below=0.50), Condition(FEW, below=0.70)),
        "relevant documents are not retrieved at all, or far down",
        "improve the coverage: what is indexed, how queries are treated, the vocabulary",
        GUIDELINES,
    ),
    Rule(
        "quality over quantity",
        (Condition(FEW, below=0.80), Condition(FIRST_HIT, 0.70)),
        "what is found stands high, but for many queries nothing is found",
        "widen what is retrieved, if those who search cannot ask again",
        WITH_RAG_BANDS,
    ),
    Rule(
        "quantity over quality",
        (Condition(FEW, 0.80), Condition(FIRST_HIT, 0.50, 0.70)),
        "something is found for most queries, but often behind noise",
        "sharpen the order of the top",
        WITH_RAG_BANDS,
    ),
)
NO_RULE = "no rule fires"


def fired(values: Mapping[str, float]) -> tuple[Rule, ...]:
    """The rules that hold for Success@1, Success@5, Success@10 and RR@10; those whose values are missing do not."""
    return tuple(rule for rule in RULES if rule.fires(values))


def diagnosis(values: Mapping[str, float]) -> str:
    """What the values point at, in a few words."""
    return "; ".join(rule.name for rule in fired(values)) or NO_RULE


def explained(systems: Mapping[str, Mapping[str, float]]) -> list[str]:
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
    return f", {TEN} {brief(values[TEN])}" if rule.name == "ranking, not coverage" and TEN in values else ""

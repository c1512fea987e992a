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

    def __str__(self) -> str:
        bounds = [f"at least {brief(self.least)}" if self.least is not None else ""]
        bounds += [f"below {brief(self.below)}" if self.below is not None else ""]
        return f"{self.measure} {' and '.join(filter(None, bounds))}"

    def with_value(self, values: Mapping[str, float]) -> str:
        """The value beside the bounds that it met."""
        return f"{self.measure} = {brief(values[self.measure])} ({str(self).removeprefix(self.measure).strip()})"


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
        return ", ".join(condition.with_value(values) for condition in self.conditions)


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


def explained(values: Mapping[str, float]) -> list[str]:
    """A sentence for each rule that fires: what it means, the numbers, and what to do."""
    return [
        f"{rule.name}: {rule.means}{_depth(rule, values)}. {rule.why(values)}. To do: {rule.action}." for rule in fired(values)
    ]


def _depth(rule: Rule, values: Mapping[str, float]) -> str:
    """For a problem of ranking, how many are found further down."""
    if rule.name != "ranking, not coverage":
        return ""
    depth = TEN if TEN in values else FEW
    return f" ({values[depth]:.1%} of the queries have one in the top {depth.partition('@')[2]}, {values[FIRST]:.1%} at the top)"

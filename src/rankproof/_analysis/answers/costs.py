"""What answers cost by their logs: time, tokens and money of each system, and the differences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rankproof._data.answers import Answers, AnswerUsage
from rankproof._data.arrays import FloatArray
from rankproof._data.table import CellValue, Column, Table
from rankproof._statistics.intervals import mean_interval

_COSTS: Mapping[str, str] = {
    "latency_ms": "latency, ms",
    "tokens_in": "tokens of prompts",
    "tokens_out": "tokens of replies",
    "all_tokens": "tokens",
    "cost": "money",
}
COSTS_TABLE = "costs"


def cost_table(answers: Mapping[str, Answers], baseline: str | None, level: float = 0.95) -> Table | None:
    """A row for each kind of cost and system; None if no log says what an answer cost.

    Differences from the baseline are those of the questions of which both systems have the cost.
    """
    rows = [row for name in _COSTS for row in _rows(name, answers, baseline, level)]
    if not rows:
        return None
    columns = (
        *(Column("cost"), Column("system"), Column("model"), Column("n", "count", "questions of which it is known")),
        *(Column(name, "number") for name in ("mean", "p50", "p95")),
        Column("difference", "number", f"mean of the questions of both systems minus that of {baseline}"),
        Column("from", "number", f"lower end of the {100 * level:g}% interval of the difference"),
        Column("to", "number", "its upper end"),
    )
    return Table(COSTS_TABLE, "Costs of an answer, as logged", columns, tuple(rows))


def _rows(name: str, answers: Mapping[str, Answers], baseline: str | None, level: float) -> Iterator[tuple[CellValue, ...]]:
    by_system = {system: _by_query(own, name) for system, own in answers.items()}
    if name == "all_tokens" and all(_by_query(own, "tokens_in") for own in answers.values()):
        # The sum says nothing that its two parts do not say.
        return
    against = by_system.get(baseline or "", {})
    for system, costs in by_system.items():
        if not costs:
            continue
        values = np.array(list(costs.values()))
        p50, p95 = np.percentile(values, (50, 95)).tolist()
        difference = (None, None, None) if system == baseline else _difference(costs, against, level)
        mean = math.fsum(values.tolist()) / len(values)
        model = _model(answers[system].usages)
        yield _COSTS[name], system, model, len(values), mean, p50, p95, *difference


def _by_query(answers: Answers, name: str) -> dict[str, float]:
    """The mean cost of the answers to each question; a question of which an answer does not say it is left out."""
    every: dict[str, list[float | None]] = {}
    for query, _, answer in answers.with_repeats():
        every.setdefault(query, []).append(None if answer.usage is None else getattr(answer.usage, name))
    known = {query: [value for value in values if value is not None] for query, values in every.items()}
    return {query: math.fsum(values) / len(values) for query, values in known.items() if values and None not in every[query]}


def _difference(
    costs: Mapping[str, float], against: Mapping[str, float], level: float
) -> tuple[float | None, float | None, float | None]:
    """The mean difference and its interval, None where it is not known."""
    both = [query for query in costs if query in against]
    if not both:
        return None, None, None
    apart: FloatArray = np.array([costs[query] - against[query] for query in both])
    low, high = mean_interval(apart, level=level) or (None, None)
    return float(apart.mean()), low, high


def _model(usages: Sequence[AnswerUsage]) -> str | None:
    """The language models of a system; None if its log does not say them."""
    return ", ".join(dict.fromkeys(usage.model for usage in usages if usage.model)) or None

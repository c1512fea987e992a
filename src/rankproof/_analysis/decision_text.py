"""The sentences of a decision."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from rankproof._analysis.decision import SAME_COST_MS, Alternative, Costs, CostUnit, Decision, SystemRisk
from rankproof._data.text import percent, pluralise, shown_time
from rankproof.errors import for_message
from rankproof.measures._base import Measure

_SHOWN_PAIRS = 3
_TWICE = 1.95
_MIN_POINTS = 0.001


@dataclass(frozen=True, slots=True)
class Reasons:
    """The sentences that say why nothing is decided."""

    measure: Measure
    margin: float

    def all_zero(self) -> str:
        """No system found anything relevant."""
        return f"{self.measure} is 0 for every system and query"

    def few_queries(self, n: int, effective: float, least: int) -> str:
        """There are too few queries."""
        size = f"n = {n:,}" if effective == n else f"n = {n:,}, with weights worth {effective:.0f}"
        return f"a decision needs at least {least} queries ({size})"

    def no_low_risk(self, most: float, n: int) -> str:
        """Every system could be too far below the best."""
        below = f"more than {_past_best(self.margin, self.measure)}"
        return f"every system has a risk above {most:.0%} of being {below} ({pluralise(n, 'query', 'queries')})"

    def judged_only(self, chosen: str, other: str) -> str:
        """The choice depends on unjudged documents."""
        return f"without unjudged documents the choice is {for_message(other)}, not {for_message(chosen)}"

    def failed(self, system: str, share: float) -> str:
        """Queries of a system failed."""
        return f"{percent(share)} of the queries of {for_message(system)} failed"


def points(difference: float | None, measure: Measure) -> str:
    """The size of a difference: percentage points with one decimal, or the measure's own unit."""
    if difference is None:
        return "unknown"
    size = abs(difference)
    if not measure.is_fraction:
        return f"{size:.3g}"
    return f"{100 * size:.1f} pp" if size >= _MIN_POINTS or not size else "less than 0.1 pp"


def margin_text(margin: float, measure: Measure) -> str:
    """A margin with up to three digits: percentage points, or the measure's own unit."""
    return f"{100 * margin:.3g} pp" if measure.is_fraction else f"{margin:.3g}"


def _past_best(margin: float, measure: Measure) -> str:
    return f"{margin_text(margin, measure)} {'above' if measure.higher_is_better is False else 'below'} the best"


def cost_text(cost: float, unit: CostUnit | None) -> str:
    """A cost with its unit."""
    if unit == "ms":
        return f"{shown_time(cost)} ms"
    return f"{1000 * cost:.3g} per 1,000 queries" if unit == "money" else f"cost {cost:.4g}"


def decision_sentences(decision: Decision) -> tuple[str, ...]:
    """The decision in two to five sentences, the answer first."""
    return (*(_decided(decision) if decision.decided else _undecided(decision)), *_judge_noise(decision))


def _judge_noise(decision: Decision) -> Iterator[str]:
    if decision.judge_noise is not None and decision.alternative is not None:
        noise, other = points(decision.judge_noise, decision.measure), for_message(decision.alternative.system)
        yield f"The judge is too noisy: asked again, the difference from {other} changes by {noise}, more than half of it."


def _decided(decision: Decision) -> Iterator[str]:
    assert decision.system is not None
    chosen = decision.of(decision.system)
    below = f"{percent(chosen.risk)} of being more than {_past_best(decision.margin, decision.measure)}"
    yield f"Ship {for_message(chosen.name)}: {_value(decision, chosen)}; risk {below} (n = {decision.n:,})."
    if decision.alternative is not None:
        yield _alternative_sentence(decision, chosen, decision.alternative)
    yield _change_sentence(decision)
    if decision.optimistic:
        yield f"It was chosen from {len(decision.systems)} systems, so its value is optimistic."


def _value(decision: Decision, one: SystemRisk) -> str:
    direction = " (lower is better)" if decision.measure.higher_is_better is False else ""
    cost = "" if one.cost is None else f" at {cost_text(one.cost, decision.cost_unit)}"
    return f"{one.value:.3f} {decision.measure}{direction}{cost}"


def _alternative_sentence(decision: Decision, chosen: SystemRisk, alternative: Alternative) -> str:
    other = decision.of(alternative.system)
    parts = [part for part in (_cost_phrase(decision, chosen, other), _difference_phrase(decision, alternative)) if part]
    both = " and ".join(parts).replace(" and is ", " and ") if parts[0].startswith("is ") else " and ".join(parts)
    return f"{for_message(other.name)} {both}; its risk is {percent(other.risk)}."


def _difference_phrase(decision: Decision, alternative: Alternative) -> str:
    if alternative.difference == 0:
        return f"has the same {decision.measure}"
    size = points(alternative.difference, decision.measure)
    return f"is {size} {'lower' if alternative.difference < 0 else 'higher'}{_interval(alternative, decision.measure)}"


def _interval(alternative: Alternative, measure: Measure) -> str:
    if alternative.ci is None:
        return f" ({pluralise(alternative.differing, 'query differs', 'queries differ')})"
    low, high = (f"{100 * end:z.1f}" if measure.is_fraction else f"{end:.3g}" for end in alternative.ci)
    return f" (95% CI {low} to {high})"


def _cost_phrase(decision: Decision, chosen: SystemRisk, other: SystemRisk) -> str:
    """How much cheaper or faster the other system is; empty if a cost is unknown."""
    if chosen.cost is None or other.cost is None:
        return ""
    less, more = ("faster", "slower") if decision.cost_unit == "ms" else ("cheaper", "more expensive")
    if Costs(decision.cost_unit).are_equal(chosen.cost, other.cost):
        near = abs(chosen.cost - other.cost) <= SAME_COST_MS
        return f"is as fast within {'1 ms' if near else '10%'}" if decision.cost_unit == "ms" else "costs the same"
    low, high = sorted((chosen.cost, other.cost))
    word = less if other.cost < chosen.cost else more
    if low <= 0:
        return f"is {word}"
    ratio = high / low
    return f"is {ratio:.0f} times {word}" if ratio >= _TWICE else f"is {100 * (ratio - 1):.0f}% {word}"


def _change_sentence(decision: Decision) -> str:
    """The nearest change of the choice: a larger margin, else more queries, else a smaller margin."""
    larger = [one for one in decision.changes if one.by == "margin" and one.at > decision.margin]
    queries = [one for one in decision.changes if one.by == "queries"]
    smaller = [one for one in decision.changes if one.by == "margin" and one.at < decision.margin]
    if larger:
        return f"With a margin of {margin_text(larger[0].at, decision.measure)} the choice would be {_name(larger[0].system)}."
    if queries:
        return (
            f"With about {rounded_up(queries[0].at):,} queries and the same means the choice would be {_name(queries[0].system)}."
        )
    if smaller:
        what = (
            "nothing would be decided" if smaller[0].system is None else f"the choice would be {for_message(smaller[0].system)}"
        )
        return f"With a margin of {margin_text(smaller[0].at, decision.measure)} {what}."
    widest = margin_text(5 * decision.margin, decision.measure)
    return f"The choice is the same for margins of {margin_text(decision.margin / 4, decision.measure)} to {widest}."


def _name(system: str | None) -> str:
    return "open" if system is None else for_message(system)


def rounded_up(number: float) -> int:
    """The number with two digits, rounded up."""
    unit = int("1" + "0" * max(0, len(str(math.ceil(number))) - 2))
    return math.ceil(number / unit) * unit


def _undecided(decision: Decision) -> Iterator[str]:
    yield f"Not decided: {'; '.join(decision.reasons)}."
    if decision.system is None:
        return
    leading = decision.of(decision.system)
    if len(decision.systems) == 1 or decision.n < 2:
        yield f"{for_message(leading.name)}: {_value(decision, leading)} (n = {decision.n:,})."
        return
    yield f"{for_message(leading.name)} leads: {_value(decision, leading)}; {_losses(decision, leading)}."
    if decision.queries_needed is not None:
        needed = rounded_up(decision.queries_needed)
        yield f"With the same means, about {needed:,} queries would decide ({needed - decision.n:,} more)."
    if decision.judge_next:
        yield _judge_next_sentence(decision)


def _losses(decision: Decision, leading: SystemRisk) -> str:
    own = f"risk {percent(leading.risk)}, expected loss {points(leading.loss, decision.measure)}"
    if decision.baseline is None or decision.baseline == leading.name:
        return own
    kept = points(decision.of(decision.baseline).loss, decision.measure)
    return f"{own}; keeping {for_message(decision.baseline)} has an expected loss of {kept}"


def _judge_next_sentence(decision: Decision) -> str:
    shown = ", ".join(f"{for_message(query)} {for_message(doc)}" for query, doc in decision.judge_next[:_SHOWN_PAIRS])
    pairs = pluralise(decision.unjudged, "pair is", "pairs are")
    return f"{pairs} unjudged; judge first: {shown} (rankproof audit --judge-next lists more)."

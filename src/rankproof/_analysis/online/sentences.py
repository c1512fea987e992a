"""The sentences of a decision on live traffic, in the shape of those on judgements: the answer, then what it needs."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rankproof._analysis.decision.queries_needed import rounded_up
from rankproof._analysis.decision.record import Decision, PairDifference
from rankproof._analysis.decision.sentences import cost_text, margin_text, price_ratio
from rankproof._analysis.online.evidence import GuardrailCheck, LiveEvidence
from rankproof._data.text import in_a_sentence, pluralise
from rankproof._interleaving.methods import TEAM_METHODS
from rankproof.errors import for_message

_EVERY_LOOK = "valid at every look"
_FEW_USERS = ": log more users, as more sessions of the same ones do not help"


def live_sentences(decision: Decision, live: LiveEvidence) -> tuple[str, ...]:
    """The decision in words."""
    if decision.decided:
        return (_decided(decision, live), *map(_guardrail, live.guardrails))
    return tuple(_not_decided(decision, live))


def _decided(decision: Decision, live: LiveEvidence) -> str:
    name, verb = for_message(decision.systems[0]), "Keep" if decision.outcome == "keep" else "Ship"
    nearest = _nearest(decision)
    size = _size(decision, live)
    if decision.outcome == "either":
        names = in_a_sentence([for_message(system) for system in decision.systems])
        return f"Either of {names}: no difference that matters ({_within(decision, nearest, live)}; {size}). Costs do not decide."
    if decision.kind == "better":
        return f"{verb} {name}: {_better(decision, nearest, live)}."
    if decision.kind == "cheaper_and_worse":
        better = _signed(-nearest.difference, decision)
        low, high = _ends(nearest, decision, sign=-1)
        why = f"{for_message(nearest.other)} is measurably better by {better} (95% CI [{low}, {high}], {_EVERY_LOOK}; {size})"
        return f"{verb} {name} only to save cost: it is {_price(decision, nearest)}, and {why}."
    if decision.kind == "cheaper":
        cheaper = f"{_price(decision, nearest)} than {for_message(nearest.other)}"
        return f"{verb} {name}: {cheaper} and no difference that matters ({_within(decision, nearest, live)}; {size})."
    return f"{verb} {name}: nothing is shown to be better ({_within(decision, nearest, live)}; {size})."


def _better(decision: Decision, nearest: PairDifference, live: LiveEvidence) -> str:
    """How much better the chosen system is than the nearest other one."""
    low, high = _ends(nearest, decision)
    apart, interval = _signed(nearest.difference, decision), f"95% CI [{low}, {high}], {_EVERY_LOOK}; {_size(decision, live)}"
    if len(decision.by_system) > 2:
        what = "preferred to" if live.kind == "interleaving" else f"{_value(decision)}, better than"
        return f"{what} every other system (next: {for_message(nearest.other)}, {apart}, {interval})"
    if live.kind == "interleaving":
        value, sessions = f"{decision.of(decision.systems[0]).value:.1%}", f"the {nearest.differing:,} sessions with a preference"
        share = f"in {value} of {sessions}" if live.method in TEAM_METHODS else f"by {value} of the credit in {sessions}"
        return f"preferred {share}; net preference {apart} ({interval})"
    return f"{_value(decision)}, better than {for_message(nearest.other)} ({apart}, {interval})"


def _value(decision: Decision) -> str:
    system = decision.of(decision.systems[0])
    cost = "" if system.cost is None else f" at {cost_text(system.cost, decision.cost_unit)}"
    direction = " (lower is better)" if decision.measure.higher_is_better is False else ""
    return f"{system.value:.3f} {decision.measure}{direction}{cost}"


def _nearest(decision: Decision) -> PairDifference:
    """The pair with the best other system: that of the smallest gain."""
    lower = decision.measure.higher_is_better is False
    return min(decision.against, key=lambda pair: -pair.difference if lower else pair.difference)


def _within(decision: Decision, pair: PairDifference, live: LiveEvidence) -> str:
    """A difference whose interval lies within the margin."""
    low, high = _ends(pair, decision)
    what = "net preference of" if live.kind == "interleaving" else f"{decision.measure} of"
    names = f"{for_message(pair.system)} over {for_message(pair.other)}"
    size = f"{_signed(pair.difference, decision)}, 95% CI [{low}, {high}], {_EVERY_LOOK}"
    return f"{what} {names} {size}, within {margin_text(decision.margin, decision.measure)}"


def _price(decision: Decision, pair: PairDifference) -> str:
    return price_ratio(decision, decision.of(pair.other), decision.of(pair.system))


def _not_decided(decision: Decision, live: LiveEvidence) -> Iterator[str]:
    size = _size(decision, live)
    leader = f"{for_message(str(decision.leader))} leads"
    if decision.reason == "guardrail":
        yield f"Not decided: {leader}, but {'; '.join(_guardrail_words(check) for check in live.guardrails if not check.holds)}."
        yield f"{_leads(decision, live)}; {size}."
        return
    if decision.reason != "interval":
        yield f"Not decided: {decision.detail}{_FEW_USERS if decision.reason == 'few_users' else ''}."
        yield f"{_leads(decision, live)}; {size}." if decision.reason == "few_users" else f"Nothing is decided from {size[4:]}."
    else:
        yield _open_interval(decision, live)
        for pair in decision.better:
            low, high = _ends(pair, decision)
            gain = f"{_signed(pair.difference, decision)} (95% CI [{low}, {high}])"
            yield f"{for_message(pair.system)} is better than {for_message(pair.other)}: {gain}."
    yield from _needed(decision, live)


def _open_interval(decision: Decision, live: LiveEvidence) -> str:
    """Which interval decides nothing, and who leads."""
    pair = _open_pair(decision)
    low, high = _ends(pair, decision)
    what = "the net preference" if live.kind == "interleaving" else f"the difference in {decision.measure}"
    over = f" of {for_message(pair.system)} over {for_message(pair.other)}" if len(decision.by_system) > 2 else ""
    interval = f"(95% CI [{low}, {high}], {_EVERY_LOOK}; {_size(decision, live)})"
    lead = f"{for_message(pair.system)} leads by {_points(pair.difference, decision)}" if pair.difference else "No system leads"
    return f"Not decided: the interval of {what}{over} includes 0 {interval}. {lead}."


def _open_pair(decision: Decision) -> PairDifference:
    """The pair of the leader that is not significant, with the best other system."""
    unclear = [pair for pair in decision.against if not pair.is_significant]
    return (unclear or list(decision.against))[0]


def _leads(decision: Decision, live: LiveEvidence) -> str:
    pair = decision.against[0]
    low, high = _ends(pair, decision)
    if not pair.difference or not math.isfinite(pair.difference):
        return f"{for_message(pair.system)} and {for_message(pair.other)} are equal so far"
    what = "Net preference of" if live.kind == "interleaving" else f"{decision.measure} of"
    names = f"{for_message(pair.system)} over {for_message(pair.other)}"
    interval = "" if pair.ci is None else f" (95% CI [{low}, {high}], {_EVERY_LOOK})"
    return f"{what} {names} {_signed(pair.difference, decision)}{interval}"


def _needed(decision: Decision, live: LiveEvidence) -> Iterator[str]:
    """How many sessions decide, and how many days that takes at the traffic of the last week."""
    needed = live.needed
    if needed is None:
        return
    what = "preference" if live.kind == "interleaving" else "difference"
    if needed.same is None:
        yield f"With the same {what}, no number of sessions is in sight that decides."
        return
    same = rounded_up(max(needed.same, decision.n + 1))
    days = _days(needed.per_day, same - decision.n)
    sentence = f"With the same {what}, about {same:,} sessions would decide ({same - decision.n:,} more{days})"
    if needed.likely is None:
        yield f"{sentence}; no number of sessions in sight decides with a chance of 80%, as the {what} is not known exactly."
    else:
        likely = rounded_up(max(needed.likely, decision.n + 1))
        more = likely - decision.n
        yield f"{sentence}; with a chance of 80%, about {likely:,} do ({more:,} more{_days(needed.per_day, more)})."


def _days(per_day: float | None, sessions: int) -> str:
    """How many days so many sessions take."""
    if not per_day:
        return ""
    days = math.ceil(sessions / per_day)
    return f": {pluralise(days, 'day')} at today's traffic" if days <= 3650 else ": over 10 years at today's traffic"


def _guardrail(check: GuardrailCheck) -> str:
    return f"The guardrail {_guardrail_words(check)}."


def _guardrail_words(check: GuardrailCheck) -> str:
    scale, unit = (100, " pp") if check.is_fraction else (1, "")
    low, high, change = (f"{scale * end:+.3g}" for end in (*check.ci, check.difference))
    state = "holds" if check.holds else "is not clear" if check.holds is None else "is broken"
    return f"{for_message(check.text)} {state} for {for_message(check.system)}: {change}{unit} (95% CI [{low}, {high}])"


def _size(decision: Decision, live: LiveEvidence) -> str:
    return f"n = {pluralise(decision.n, 'session')} of {pluralise(live.users, 'user')}"


def _signed(difference: float, decision: Decision) -> str:
    return f"{100 * difference:+z.1f} pp" if decision.measure.is_fraction else f"{difference:+.3g}"


def _points(difference: float, decision: Decision) -> str:
    size = abs(difference)
    if not decision.measure.is_fraction:
        return f"{size:.3g}"
    return f"{100 * size:.1f} pp" if size >= 0.001 else "less than 0.1 pp"


def _ends(pair: PairDifference, decision: Decision, sign: int = 1) -> tuple[str, str]:
    """The ends of an interval, in percentage points for a share."""
    low, high = sorted(sign * end for end in (pair.ci or (-math.inf, math.inf)))
    if decision.measure.is_fraction:
        # An end beside 0 is shown on its side of it.
        digits = next((digits for digits in (1, 2, 3) if all(not end or round(100 * end, digits) for end in (low, high))), 4)
        return f"{100 * low:z.{digits}f}", f"{100 * high:z.{digits}f}"
    return f"{low:.3g}", f"{high:.3g}"

"""The sentences of a decision: the answer, its risk, what would change it, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from rankproof._analysis.decision.judge_sentences import by_labels, check_sentences, judge_leads_sentences, labels_not_decided
from rankproof._analysis.decision.queries_needed import queries_needed_sentences
from rankproof._analysis.decision.record import (
    SAME_COST_MS,
    CostUnit,
    Decision,
    PairDifference,
    SystemRisk,
)
from rankproof._analysis.decision.repeats import repeat_sentences
from rankproof._analysis.decision.scenarios import (
    BY_RANK,
    EQUALLY_LONG,
    REVERSED_TIES,
    missing_sentences,
    next_judgements,
    unjudged_text,
)
from rankproof._data.replies import reused_sentences
from rankproof._data.text import in_a_sentence, limit_text, ordinal, percent, pluralise, shown_time
from rankproof._statistics.decision_rule import LOOK_LIMITS
from rankproof.errors import for_message
from rankproof.measures._base import Measure, worst_value

MANY_SYSTEMS = 3
"""The best of more systems than this has an optimistic value."""
_SHOWN_PAIRS = 3
_UNSEEN = 3.0
"""Failures on up to this number divided by n of the queries are unseen in n queries with a chance of 5%."""
_TWICE = 1.95
"""From this ratio on, which is shown as "2 times", costs are compared by ratio; below it in percent."""
_WHOLE_PERCENT = 99.5
"""From this percentage on, two digits would need an exponent."""
_MIN_POINTS = 0.001
"""Smaller differences are "less than 0.1 pp"."""


def decision_sentences(decision: Decision) -> tuple[str, ...]:
    """The decision in two to six sentences, the answer first."""
    answer, *more = _of_outcome(decision)
    repeats = () if decision.repeats is None else repeat_sentences(decision.repeats)
    copies = () if decision.outcome is None else _same_systems(decision)
    return (
        answer,
        *(f"{same}: they count as one system." for same in copies),
        *_too_large_margin(decision),
        *_uncovered_look(decision),
        *reused_sentences(decision.reused_replies),
        *more,
        *check_sentences(decision),
        *repeats,
    )


def _too_large_margin(decision: Decision) -> Iterator[str]:
    """That a margin as large as the best value lets the worst system pass."""
    worst = worst_value(decision.measure)
    if decision.risk is None or worst is None or decision.leader is None:
        return
    best = decision.of(decision.leader).value
    if 0 < abs(best - worst) <= decision.margin:
        margin = margin_text(decision.margin, decision.measure)
        yield f"A margin of {margin} is no limit: with it even a system with the worst value on every query is good enough."


def _uncovered_look(decision: Decision) -> Iterator[str]:
    """That the limit for one look does not cover a further one."""
    if decision.look > 1 and decision.looks == "one" and decision.risk is not None:
        limit = f"the limit of {limit_text(LOOK_LIMITS['one'])} for one look does not cover it (--looks many does)"
        yield f"This is the {ordinal(decision.look)} look at these systems: {limit}."


def _of_outcome(decision: Decision) -> Iterator[str]:
    if decision.outcome is None:
        return _one_system(decision)
    if decision.outcome == "judge_leads":
        return chain(judge_leads_sentences(decision), _missing(decision), _judge_noise(decision))
    return _decided(decision) if decision.decided else _not_decided(decision)


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


def cost_text(cost: float, unit: CostUnit | None) -> str:
    """A cost with its unit."""
    if unit == "ms":
        return f"{shown_time(cost)} ms"
    if unit == "tokens":
        return f"{cost:,.0f} tokens per query"
    return f"{1000 * cost:.3g} per 1,000 queries" if unit == "money" else f"cost {cost:.4g}"


def _one_system(decision: Decision) -> Iterator[str]:
    if decision.leader is None:
        return
    interval = "" if decision.ci is None else f" (95% CI [{decision.ci[0]:.3f}, {decision.ci[1]:.3f}])"
    value = f"{for_message(decision.leader)} has {_value(decision, decision.leader)}{interval}"
    if len(decision.by_system) > 1:
        (same,) = _same_systems(decision)
        questions = pluralise(decision.queries, *(("question",) if decision.measure.kind == "answer" else ("query", "queries")))
        yield f"No decision: {same} on {'all ' if decision.queries > 1 else ''}{questions}."
        yield f"{value}; {_size(decision)}."
    else:
        yield f"One system, so nothing to decide: {value}."
        yield f"{_size(decision)}."


def _same_systems(decision: Decision) -> Iterator[str]:
    """Each system that stands for others, and those that have its rankings or answers."""
    what = "same answers and contexts" if decision.measure.kind == "answer" else "same rankings"
    for system in decision.distinct:
        copies = [for_message(copy.name) for copy in decision.by_system if copy.same_as == system.name]
        if copies:
            yield f"{in_a_sentence(copies)} {'has' if len(copies) == 1 else 'have'} the {what} as {for_message(system.name)}"


def _decided(decision: Decision) -> Iterator[str]:
    if decision.outcome == "either":
        yield _either(decision)
    elif decision.outcome == "keep":
        yield _keep(decision)
    else:
        yield _ship(decision)
    yield _risk_line(decision)
    if decision.unjudged_rival is not None and decision.unjudged_rival.is_near and not _is_better_as_judged(decision):
        yield f"{unjudged_text(decision.unjudged_rival, decision.limit)}."
    yield from _missing(decision)
    yield from _failures(decision)
    yield from _other_margin(decision)
    if decision.outcome == "ship" and len(decision.distinct) > MANY_SYSTEMS:
        yield f"It was chosen from {len(decision.distinct)} systems, so its value is optimistic."
    yield from _judge_noise(decision)


def _ship(decision: Decision) -> str:
    """The sentence of each kind of a system to ship."""
    chosen, name = decision.of(decision.systems[0]), for_message(decision.systems[0])
    if decision.kind == "better":
        return f"Ship {name}: {_value(decision, chosen.name)}, {_better_than_all(decision)}."
    if decision.kind == "safe":
        why = _as_judged(decision) if _is_better_as_judged(decision) else _not_shown(decision)
        return f"Ship {name}: {_value(decision, chosen.name)}; risk {_risk(decision)}. {why}"
    other = _closest_rival(decision)
    price = price_ratio(decision, decision.of(other.other), chosen)
    if decision.kind == "cheaper":
        apart = _signed(other.difference, decision.measure)
        within = margin_text(decision.margin, decision.measure)
        cheaper = (
            f"{price}, unlike {for_message(other.other)}," if price == "free" else f"{price} than {for_message(other.other)}"
        )
        what = f"{cheaper} and no difference that matters ({apart}, within {within}; {_risk_and_limit(decision)})"
        return f"Ship {name}: {_value(decision, chosen.name)}, {what}."
    lower = f"measurably worse than {for_message(other.other)} by {_size_with_interval(other, decision.measure)}"
    allowed = f"which your margin of {margin_text(decision.margin, decision.measure)} allows"
    quality = f"For quality alone ship {for_message(other.other)}."
    return f"Ship {name} only to save cost: it is {price}, and {lower}, {allowed}. {quality}"


def _keep(decision: Decision) -> str:
    name = for_message(decision.systems[0])
    if decision.kind == "better":
        return f"Keep {name}: {_value(decision, decision.systems[0])}, {_better_than_all(decision)}."
    if decision.kind == "cheaper_and_worse":
        other = _closest_rival(decision)
        price = price_ratio(decision, decision.of(decision.systems[0]), decision.of(other.other))
        better = f"{for_message(other.other)} is measurably better by {_size_with_interval(other, decision.measure)}"
        allowed = f"which your margin of {margin_text(decision.margin, decision.measure)} allows"
        return f"Keep {name} only to save cost: {better}, {allowed}, and is {price}."
    within = f"{name} is within {margin_text(decision.margin, decision.measure)} of the best"
    if _is_better_as_judged(decision):
        return f"Keep {name}: {within} ({_risk_and_limit(decision)}). {_as_judged(decision)}"
    return f"Keep {name}: nothing is shown to be better, and {within} ({_risk_and_limit(decision)})."


def _either(decision: Decision) -> str:
    names = in_a_sentence([for_message(name) for name in decision.systems])
    most = max(decision.of(name).risk or 0.0 for name in decision.systems)
    risk = percent(most) if percent(most).startswith("below") else f"at most {percent(most)}"
    within = f"each is within {margin_text(decision.margin, decision.measure)} of the best, risk {risk}"
    equal = all(pair.differing == 0 for pair in decision.against if pair.other in decision.systems)
    why = "no query tells them apart" if equal else "no difference that matters"
    return f"Either of {names}: {why} ({within}). Costs do not decide."


def _better_than_all(decision: Decision) -> str:
    nearest = decision.against[0]
    apart = _signed(-nearest.difference, decision.measure)
    following = f"{for_message(nearest.other)}, {apart}{_interval(nearest, decision.measure, -1)}"
    return f"better than every other system{_with_unanswered(decision)} (next: {following})"


def _with_unanswered(decision: Decision) -> str:
    """As what questions without an answer count in a comparison of all systems; empty without such questions."""
    if not any(count.no_answer for count in decision.missing):
        return ""
    lacking = "unanswered questions" if decision.measure.kind == "answer" else "missing queries"
    worst = worst_value(decision.measure)
    return f" with {lacking} {'left out' if worst is None else f'counted as {worst:g}'}"


def _is_better_as_judged(decision: Decision) -> bool:
    """Whether only unjudged documents keep a system from being better than every other one."""
    return decision.kind == "safe" and decision.unjudged_rival is not None and decision.unjudged_rival.claim == "better"


def _as_judged(decision: Decision) -> str:
    """That a system is better than every other one, and why that is not certain."""
    assert decision.unjudged_rival is not None
    better = f"By these judgements it is {_better_than_all(decision)}"
    return f"{better}, but {unjudged_text(decision.unjudged_rival, decision.limit)}."


def _not_shown(decision: Decision) -> str:
    """That a rival is not shown to be worse, and why it is not chosen all the same."""
    rival = next((pair for pair in decision.against if not (pair.is_significant and _is_gain(pair, decision.measure))), None)
    if rival is None:
        known = {scenario.name for scenario in decision.scenarios}
        rearranged = " or ".join(words for words in (REVERSED_TIES, EQUALLY_LONG, BY_RANK) if words in known)
        return f"{rearranged.capitalize()} it is not shown to be better than every other system."
    other = decision.of(rival.other)
    apart = f"{_signed(rival.difference, decision.measure)}{_interval(rival, decision.measure)}"
    if rival.ci is not None and not rival.is_significant and not rival.ci[0] <= 0 <= rival.ci[1]:
        apart += ", which one further query can change"
    worse_word = "higher" if decision.measure.higher_is_better is False else "worse"
    worse = f"{margin_text(decision.margin, decision.measure)} {worse_word}"
    risk = f"{for_message(other.name)} could be more than {worse} (risk {percent(other.risk)})"
    return f"It is not shown to be better than {for_message(other.name)} ({apart}), but {risk}."


def _is_gain(pair: PairDifference, measure: Measure) -> bool:
    """Whether the first system of a pair has the better mean."""
    return (pair.difference < 0) if measure.higher_is_better is False else (pair.difference > 0)


def _closest_rival(decision: Decision) -> PairDifference:
    """The pair with the best good-enough system among the others, else with the best of them."""
    good = [pair for pair in decision.against if decision.of(pair.other).is_good_enough]
    return (good or list(decision.against))[0]


def _risk(decision: Decision) -> str:
    return f"{percent(decision.risk)} (limit {limit_text(decision.limit)}) of being {_beyond_margin(decision)} the best"


def _risk_and_limit(decision: Decision) -> str:
    return f"risk {percent(decision.risk)}, limit {limit_text(decision.limit)}"


def _beyond_margin(decision: Decision) -> str:
    """The distance that is too large, with its share of the best mean and its direction."""
    side = "above" if decision.measure.higher_is_better is False else "below"
    share = "" if not decision.best_value else f" ({_share_of_best(decision)})"
    return f"more than {margin_text(decision.margin, decision.measure)}{share} {side}"


def _risk_line(decision: Decision) -> str:
    """The risk where the first sentence does not have it, the margin, and the number of queries."""
    if decision.outcome == "ship" and decision.kind in ("better", "cheaper_and_worse"):
        return f"Risk {_risk(decision)}; {_size(decision)}."
    return f"Margin {margin_text(decision.margin, decision.measure)}, {_share_text(decision)}; {_size(decision)}."


def _share_text(decision: Decision) -> str:
    return f"{_share_of_best(decision)} of the best" if decision.best_value else "of a best mean of 0"


def _share_of_best(decision: Decision) -> str:
    """The margin as a share of the best mean, with two digits below 100%."""
    share = 100 * decision.margin / decision.best_value
    return f"{share:,.0f}%" if share >= _WHOLE_PERCENT else f"{share:.2g}%"


def _size(decision: Decision) -> str:
    """How many queries decide, and why others do not; the mode for many looks is named."""
    if decision.labelled:
        return f"n = {pluralise(decision.labelled, 'labelled question')} of {decision.queries:,}, limits for many looks"
    size = f"n = {decision.n:,}" if decision.n == decision.queries else f"n = {decision.n:,} of {decision.queries:,} queries"
    if decision.without_relevant:
        size += f", {decision.without_relevant:,} without a relevant document"
    size += ", judgements complete" if decision.judgements else ""
    return f"{size}, limits for many looks" if decision.looks == "many" else size


def _other_margin(decision: Decision) -> Iterator[str]:
    """Which system to ship if a larger difference does not matter."""
    other = decision.other_margin
    if other is None:
        return
    chosen, shipped = decision.of(decision.systems[0]), decision.of(other.system)
    price = price_ratio(decision, chosen, shipped)
    what = f"{shipped.value:.3f}{f' and {price}' if price else ''}"
    margin = margin_text(other.margin, decision.measure).replace(" pp", " points")
    yield f"If {margin} do not matter to you, ship {for_message(shipped.name)}: {what}."


def _missing(decision: Decision) -> Iterator[str]:
    return missing_sentences(decision.measure, decision.missing, decision.n)


def _judge_noise(decision: Decision) -> Iterator[str]:
    if decision.judge_noise is not None and decision.against:
        noise, other = points(decision.judge_noise, decision.measure), for_message(decision.against[0].other)
        yield f"The judge is too noisy: asked again, the difference from {other} changes by {noise}, more than half of it."


def _value(decision: Decision, system: str) -> str:
    risk = decision.of(system)
    direction = " (lower is better)" if decision.measure.higher_is_better is False else ""
    cost = "" if risk.cost is None else f" at {cost_text(risk.cost, decision.cost_unit)}"
    return f"{risk.value:.3f} {decision.measure}{direction}{by_labels(decision)}{cost}"


def _signed(difference: float, measure: Measure) -> str:
    if not measure.is_fraction:
        return f"{difference:+.3g}"
    return f"{100 * difference:+z.1f} pp"


def _interval(pair: PairDifference, measure: Measure, sign: int = 1) -> str:
    """The 95% interval of a difference, or how many queries differ."""
    if pair.ci is None:
        return f", {pluralise(pair.differing, 'query differs', 'queries differ')}"
    low, high = sorted(sign * end for end in pair.ci)
    first, last = (f"{100 * end:z.1f}" if measure.is_fraction else f"{end:.3g}" for end in (low, high))
    return f", 95% CI [{first}, {last}]"


def _size_with_interval(pair: PairDifference, measure: Measure) -> str:
    sign = 1 if pair.difference > 0 else -1
    inside = _interval(pair, measure, sign).removeprefix(", ")
    return f"{points(pair.difference, measure)} ({inside})"


def price_ratio(decision: Decision, base: SystemRisk, system: SystemRisk) -> str:
    """How much cheaper or faster the second system is than the first; empty if a cost is unknown."""
    if base.cost is None or system.cost is None:
        return ""
    less, more = ("faster", "slower") if decision.cost_unit == "ms" else ("cheaper", "more expensive")
    apart = abs(base.cost - system.cost)
    if apart <= 0.1 * max(base.cost, system.cost) or (decision.cost_unit == "ms" and apart <= SAME_COST_MS):
        return "as fast" if decision.cost_unit == "ms" else "as expensive"
    low, high = sorted((base.cost, system.cost))
    word = less if system.cost < base.cost else more
    if low <= 0:
        return "free" if system.cost <= 0 else word
    ratio = high / low
    return f"{ratio:.0f} times {word}" if ratio >= _TWICE else f"{100 * (ratio - 1):.0f}% {word}"


def _not_decided(decision: Decision) -> Iterator[str]:
    if decision.reason == "no_system":
        yield "Not decided: no system retrieved anything."
        return
    leader = decision.of(str(decision.leader))
    if decision.labelled:
        yield from labels_not_decided(decision)
        yield from _certain(decision)
    elif decision.reason == "risk":
        certain = "".join(f" {sentence}" for sentence in _certain(decision))
        leads = "no query tells the systems apart, but" if _is_tied(decision) else f"{for_message(leader.name)} leads, but"
        yield f"Not decided: {leads} {_leader_risk(decision, leader)}.{certain}"
    elif decision.unjudged_rival is not None:
        yield f"Not decided: {unjudged_text(decision.unjudged_rival, decision.limit)}."
        yield next_judgements(decision.audit_command)
    else:
        yield f"Not decided: {decision.detail}."
        if decision.reason == "depth":
            yield "Next: pass rankings of the same length, or --depth N if users see N documents."
        if decision.reason == "grades":
            yield "Next: --grade-map if 1 is the best grade, or --judgements complete if the grades are right."
        if decision.reason == "ranks":
            yield "Next: --lower-is-better if the scores are distances, or --order rank if users see the order of ranks."
        if decision.reason == "ties":
            yield "Next: give tied documents scores of their own, or pass --order rank if users see them in the order of ranks."
    leads = f"{for_message(leader.name)} leads with {_value(decision, leader.name)}; "
    yield f"{leads if _has_leader(decision) else ''}{_size(decision)}."
    yield from _missing(decision)
    yield from queries_needed_sentences(decision)
    if decision.judge_next and decision.judgements is None:
        yield _judge_next(decision)
    yield from _judge_noise(decision)


def _has_leader(decision: Decision) -> bool:
    """Whether a system has a mean other than the worst value, and a query tells it from another."""
    return not _is_tied(decision) and any(system.value != worst_value(decision.measure) for system in decision.by_system)


def _is_tied(decision: Decision) -> bool:
    return bool(decision.against) and all(pair.differing == 0 for pair in decision.against)


def _certain(decision: Decision) -> Iterator[str]:
    """Which systems are better than others, although none of them is chosen."""
    if not decision.better:
        return
    better, worse = (
        [*dict.fromkeys(names)] for names in zip(*((pair.system, pair.other) for pair in decision.better), strict=True)
    )
    if len(decision.better) < len(better) * len(worse):
        better, worse = better[:1], [pair.other for pair in decision.better if pair.system == better[0]]
    if len(decision.better) == 1:
        size = _size_with_interval(decision.better[0], decision.measure)
        yield f"{for_message(better[0])} is better than {for_message(worse[0])} by {size}."
    else:
        both = (
            "Both are"
            if {*better} == {decision.leader, decision.rival}
            else f"{_few(better)} {'is' if len(better) == 1 else 'are'}"
        )
        yield f"{both} better than {_few(worse)}."


def _few(names: Sequence[str]) -> str:
    """Up to three names, and how many others."""
    shown = [for_message(name) for name in (names if len(names) <= _SHOWN_PAIRS else names[: _SHOWN_PAIRS - 1])]
    return in_a_sentence([*shown, f"{len(names) - len(shown)} others"] if len(shown) < len(names) else shown)


def _failures(decision: Decision) -> Iterator[str]:
    """On how many queries a cheaper system fails where its rival does not, or how many failures may be unseen."""
    if decision.kind not in ("cheaper", "cheaper_and_worse"):
        return
    pair, name = _closest_rival(decision), for_message(decision.systems[0])
    if pair.failures > pair.other_failures:
        where = f"where {for_message(pair.other)} does well (the reverse: {pair.other_failures:,})"
        yield f"{name} fails completely on {pair.failures:,} of {decision.n:,} queries {where}."
    elif decision.measure.is_fraction and not pair.failures and _UNSEEN / decision.n > decision.margin:
        unseen = percent(_UNSEEN / decision.n)
        yield f"In {decision.n:,} queries, failures of {name} on up to {unseen} of all queries can go unseen."


def _leader_risk(decision: Decision, leader: SystemRisk) -> str:
    against = f"{_beyond_margin(decision)} {for_message(leader.rival or '')}"
    race = f" for {decision.race} systems" if decision.race > 2 else ""
    whose = f"the risk of {for_message(leader.name)}" if _is_tied(decision) else "its risk"
    return f"{whose} of being {against} is {percent(leader.risk)} (limit {limit_text(leader.limit)}{race})"


def _judge_next(decision: Decision) -> str:
    shown = ", ".join(f"{for_message(query)} {for_message(doc)}" for query, doc in decision.judge_next[:_SHOWN_PAIRS])
    pairs = pluralise(decision.unjudged, "pair is", "pairs are")
    return f"{pairs} unjudged; judge first: {shown} ({decision.audit_command} lists more)."

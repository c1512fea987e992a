"""Thresholds, tests, decisions."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from rankproof._analysis.gate.baseline import SavedValues
from rankproof._data.text import first_ids, format_p, pluralise
from rankproof._statistics.correction import CORRECTIONS, SamplingOptions
from rankproof._statistics.paired import differences
from rankproof._statistics.permutation import fewest_queries, least_p, randomisation_p, why_not_significant
from rankproof.errors import UsageError, for_message
from rankproof.measures._parse import parse_measure

_THRESHOLD = re.compile(r"(?P<measure>.+?)\s*(?P<sign>>=|<=|>|<)\s*(?P<bound>[^<>=]+)", re.DOTALL)
_SIGNS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


@dataclass(frozen=True, slots=True)
class Threshold:
    """A measure's mean, and the bound that it must keep to."""

    measure: str
    sign: str
    bound: float

    def is_met(self, value: float) -> bool:
        """Whether the value keeps to the bound."""
        return _SIGNS[self.sign](value, self.bound)

    def __str__(self) -> str:
        return f"{self.measure} {self.sign} {self.bound:g}"


@dataclass(frozen=True, slots=True)
class GateOptions(SamplingOptions):
    """`max_drops` says by measure how much may be lost; there the test for significance does not decide."""

    thresholds: tuple[Threshold, ...] = ()
    max_drops: Mapping[str, float] = field(default_factory=dict)

    def with_rel(self, rel: int) -> GateOptions:
        """The same, measures named as an evaluation with that rel names them."""
        bounds = tuple(replace(one, measure=_full_name(one.measure, rel)) for one in self.thresholds)
        return replace(self, thresholds=bounds, max_drops={_full_name(name, rel): drop for name, drop in self.max_drops.items()})


def threshold_of(text: str) -> Threshold:
    """A threshold as it is written: nDCG@10>=0.45."""
    found = _THRESHOLD.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"threshold {for_message(text)} says nothing", fix="write it like nDCG@10>=0.45")
    return Threshold(str(parse_measure(found["measure"])), found["sign"], _number(found["bound"], text))


def max_drop_of(text: str) -> tuple[str, float]:
    """A measure and the drop that is allowed, as they are written: nDCG@10=0.02."""
    measure, equals, bound = text.strip().rpartition("=")
    if not equals or not measure:
        raise UsageError(f"drop {for_message(text)} says nothing", fix="write it like nDCG@10=0.02")
    drop = _number(bound, text)
    if drop < 0:
        raise UsageError(f"a drop of {for_message(bound.strip())} is a gain", fix="write how much may be lost, like nDCG@10=0.02")
    return str(parse_measure(measure)), drop


def _full_name(measure: str, rel: int) -> str:
    return str(parse_measure(measure).with_rel(rel))


def _number(text: str, whole: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(f"{for_message(text.strip())} in {for_message(whole)} is no number", fix="write it like 0.45")
    return value


@dataclass(frozen=True, slots=True)
class BaselineChange:
    """One measure of one system before and now, on the queries that both have; `p` is two-sided.

    `is_worse` is None where nothing changed on any query.
    """

    before: float
    now: float
    difference: float
    n: int
    p: float
    is_worse: bool | None


def baseline_change(
    measure: str, before: Mapping[str, float], now: Mapping[str, float], queries: Iterable[str], settings: GateOptions
) -> BaselineChange:
    """The change on the queries that both have, by the sign-flip randomisation test; p is not corrected yet."""
    shared = sorted(query for query in queries if query in before and query in now)
    pairs = np.array([[now[query], before[query]] for query in shared], dtype=np.float64).reshape(-1, 2)
    apart = differences(pairs[:, 0], pairs[:, 1])
    mean = math.fsum(apart.tolist()) / max(len(shared), 1)
    sign = -1.0 if parse_measure(measure).higher_is_better is False else 1.0
    p = float(randomisation_p(pairs, settings.samples, settings.seed)[0, 1]) if apart.any() else 1.0
    return BaselineChange(
        before=math.fsum(pairs[:, 1].tolist()) / max(len(shared), 1),
        now=math.fsum(pairs[:, 0].tolist()) / max(len(shared), 1),
        difference=mean,
        n=len(shared),
        p=p,
        is_worse=sign * mean < 0 if apart.any() else None,
    )


def holm_corrected(changes: Sequence[BaselineChange]) -> list[BaselineChange]:
    """The changes with Holm's correction over all of them."""
    if not changes:
        return []
    p = CORRECTIONS["holm"](np.array([change.p for change in changes])).tolist()
    return [replace(change, p=value) for change, value in zip(changes, p, strict=True)]


DecisionKind = Literal["test", "queries", "system", "drop", "threshold", "segment"]


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether one thing passes, in a sentence with its numbers; `is_news` says that a reader should see it though it passes.

    `value` is a mean over `n` queries that was held against a bound, `change` one that was measured against the baseline. Only
    a decision on the test itself has no system.
    """

    kind: DecisionKind
    system: str
    passed: bool
    sentence: str
    measure: str = ""
    segment: str = ""
    change: BaselineChange | None = None
    value: float | None = None
    n: int | None = None
    is_notable: bool = False

    @property
    def name(self) -> str:
        """What was decided on, in a few words."""
        return f"{self.system} {self.measure or self.kind}{f' in {self.segment}' if self.segment else ''}".lstrip()


def describe_change(change: BaselineChange) -> str:
    """From where to where, on how many queries."""
    return f"from {change.before:.4f} to {change.now:.4f} ({change.difference:+.4f}, n = {change.n:,})"


def decide_missing_system(name: str) -> Decision:
    """A system of the baseline must still be there."""
    return Decision("system", name, False, f"{for_message(name)} was blessed and is not here (--system leaves out the others).")


def decide_queries(now: SavedValues, before: SavedValues) -> Decision:
    """Every query that was answered when the baseline was made must still be answered."""
    had = sorted({query for values in before.measures.values() for query in values} - before.missing)
    has = {query for values in now.measures.values() for query in values} - now.missing
    lost = [query for query in had if query not in has]
    name = for_message(now.name)
    if lost:
        words = f"{len(lost):,} of {len(had):,} queries that the baseline answers went missing: {first_ids(lost)}."
        return Decision("queries", now.name, False, f"{name}: {words}")
    return Decision("queries", now.name, True, f"{name}: all {len(had):,} queries that the baseline answers are there.")


def decide_threshold(system: str, threshold: Threshold, value: float, n: int) -> Decision:
    """A mean over n queries must keep to its bound."""
    is_met = threshold.is_met(value)
    words = "as asked for" if is_met else "which misses the bound"
    sentence = f"{for_message(system)}: {threshold.measure} is {value:.4f} (n = {n:,}), {words} ({threshold})."
    return Decision("threshold", system, is_met, sentence, measure=str(threshold), value=value, n=n, is_notable=True)


def decide_change(system: str, measure: str, change: BaselineChange, settings: GateOptions, *, tests: int) -> Decision:
    """A measure must not drop: significantly, or by more than is allowed where that was said."""
    passed, verdict, is_news = _verdict(change, settings.max_drops.get(measure), settings.alpha, tests)
    sentence = f"{for_message(system)}: {measure} {_direction(change)}: {verdict}."
    return Decision("drop", system, passed, sentence, measure, change=change, is_notable=is_news)


def decide_segment(
    system: str, measure: str, segment: str, change: BaselineChange, settings: GateOptions, *, tests: int
) -> Decision:
    """The same in one segment, always by significance: an allowed drop is one of the whole."""
    passed, verdict, _ = _verdict(change, None, settings.alpha, tests)
    sentence = f"{for_message(system)}: {measure} in {for_message(segment)} {_direction(change)}: {verdict}."
    return Decision("segment", system, passed, sentence, measure, segment, change)


def _direction(change: BaselineChange) -> str:
    if change.is_worse is None:
        return f"is the same on every query, {change.now:.4f} (n = {change.n:,})"
    return f"{'rose' if change.difference > 0 else 'fell' if change.difference < 0 else 'stayed'} {describe_change(change)}"


def _verdict(change: BaselineChange, allowed: float | None, alpha: float, tests: int) -> tuple[bool, str, bool]:
    """Whether it passes, why, and whether a reader should see it though it passes."""
    inputs = f"{format_p(change.p)} after Holm over {tests:,} tests" if tests > 1 else format_p(change.p)
    is_sure = change.p <= alpha
    if change.is_worse is None:
        return True, "nothing changed", False
    if not change.is_worse:
        return True, f"{'an improvement' if is_sure else 'no drop'} ({inputs})", is_sure
    if allowed is not None:
        is_small = abs(change.difference) <= allowed
        return is_small, f"a drop {'within' if is_small else 'of more than'} the {allowed:g} allowed ({inputs})", True
    return not is_sure, f"{'a significant drop' if is_sure else 'a drop that chance may explain'} ({inputs})", True


def undetectable_drops(drops: Sequence[Decision], segments: Sequence[Decision], settings: GateOptions) -> Iterator[Decision]:
    """A failure where no drop, or none in a segment, could be significant; a drop with a bound of its own always can fail."""
    open_drops = [decision for decision in drops if decision.measure not in settings.max_drops]
    if lacking := _why_undetectable(open_drops, len(drops), settings):
        yield _cannot_be_judged(open_drops, "no drop could be significant", f"{lacking}; or use --max-drop")
    if lacking := _why_undetectable(segments, len(segments), settings):
        what = "no drop in a segment could be significant"
        yield _cannot_be_judged(segments, what, f"{lacking}; or leave the segments out", "segments")


def small_segments(segments: Sequence[Decision], settings: GateOptions) -> Iterator[str]:
    """How many segments cannot fail alone, where others can."""
    small = [one for one in segments if _least_p(one, settings) > settings.alpha / len(segments)]
    if small and not _why_undetectable(segments, len(segments), settings):
        fewest = fewest_queries(settings.alpha / len(segments))
        yield f"{len(small):,} of {len(segments):,} tests of segments have too few queries to fail alone: fewer than {fewest}"


def _cannot_be_judged(decisions: Sequence[Decision], what: str, why: str, segment: str = "") -> Decision:
    queries = pluralise(max(map(_n, decisions)), "query", "queries")
    return Decision("test", "", False, f"Cannot be judged: with {queries} {what}: {why}.", segment=segment)


def _why_undetectable(decisions: Sequence[Decision], tests: int, settings: GateOptions) -> str | None:
    """Why none of the decisions can be a significant drop."""
    if not decisions:
        return None
    largest = max(decisions, key=_n)
    return why_not_significant(_least_p(largest, settings), settings.alpha / tests, _n(largest))


def _least_p(decision: Decision, settings: GateOptions) -> float:
    return least_p(_n(decision), settings.samples)


def _n(decision: Decision) -> int:
    return decision.change.n if decision.change else 0

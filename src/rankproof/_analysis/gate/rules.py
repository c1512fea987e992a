"""Rules of the gate: thresholds, allowed drops, tests and checks."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from rankproof._analysis.gate.baseline import SavedValues
from rankproof._analysis.gate.changes import BaselineChange
from rankproof._data.text import first_ids, format_p, pluralise
from rankproof._statistics.correction import SamplingOptions
from rankproof._statistics.permutation import fewest_queries, smallest_p, why_not_significant
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
    """A bound on the mean of a measure."""

    measure: str
    sign: str
    bound: float

    def is_met(self, value: float) -> bool:
        """Whether the value meets the bound."""
        return _SIGNS[self.sign](value, self.bound)

    def __str__(self) -> str:
        return f"{self.measure} {self.sign} {self.bound:g}"


@dataclass(frozen=True, slots=True)
class GateOptions(SamplingOptions):
    """Options of the gate; a measure in `max_drops` may drop by that much, and its significance does not matter.

    `primary` is the measure whose drop fails the gate, by default nDCG@10 or else the first of the baseline.
    """

    thresholds: tuple[Threshold, ...] = ()
    max_drops: Mapping[str, float] = field(default_factory=dict)
    primary: str | None = None

    def with_rel(self, rel: int) -> GateOptions:
        """The options with measure names of an evaluation with that relevance threshold."""
        bounds = tuple(replace(one, measure=_full_name(one.measure, rel)) for one in self.thresholds)
        drops = {_full_name(name, rel): drop for name, drop in self.max_drops.items()}
        primary = None if self.primary is None else _full_name(self.primary, rel)
        return replace(self, thresholds=bounds, max_drops=drops, primary=primary)


def threshold_of(text: str) -> Threshold:
    """Parses a threshold such as nDCG@10>=0.45."""
    found = _THRESHOLD.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{for_message(text)} is not a threshold", fix="write it like nDCG@10>=0.45")
    return Threshold(str(parse_measure(found["measure"])), found["sign"], _number(found["bound"], text))


def max_drop_of(text: str) -> tuple[str, float]:
    """Parses a measure and its allowed drop, such as nDCG@10=0.02."""
    measure, equals, bound = text.strip().rpartition("=")
    if not equals or not measure:
        raise UsageError(f"{for_message(text)} is not an allowed drop", fix="write it like nDCG@10=0.02")
    drop = _number(bound, text)
    if drop < 0:
        raise UsageError(
            f"an allowed drop of {for_message(bound.strip())} is negative", fix="write a number of at least 0, like nDCG@10=0.02"
        )
    return str(parse_measure(measure)), drop


def _full_name(measure: str, rel: int) -> str:
    return str(parse_measure(measure).with_rel(rel))


def _number(text: str, rule: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(f"{for_message(text.strip())} in {for_message(rule)} is not a number", fix="write it like 0.45")
    return value


CheckKind = Literal["test", "queries", "system", "drop", "threshold", "segment"]


@dataclass(frozen=True, slots=True)
class GateCheck:
    """One check of the gate, with a sentence; `is_notable` marks a passed check that readers should see.

    `value` is a mean over `n` queries compared with a threshold, `change` a comparison with the baseline. Only a check on the
    test itself has no system.
    """

    kind: CheckKind
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
    def result(self) -> Literal["passed", "failed"]:
        """The result in one word."""
        return "passed" if self.passed else "failed"

    @property
    def name(self) -> str:
        """The subject of the check."""
        return f"{self.system} {self.measure or self.kind}{f' in {self.segment}' if self.segment else ''}".lstrip()


def check_empty_system(name: str) -> GateCheck:
    """A failure, as a system of the baseline retrieved nothing."""
    return GateCheck("system", name, False, f"{for_message(name)} retrieved nothing.")


def describe_change(change: BaselineChange) -> str:
    """The change in numbers."""
    return f"from {change.before:.4f} to {change.now:.4f} ({change.difference:+.4f}, n = {change.n:,})"


def check_missing_system(name: str) -> GateCheck:
    """A failure, as a system of the baseline is missing."""
    return GateCheck(
        "system",
        name,
        False,
        f"{for_message(name)} is in the baseline but was not evaluated (--system selects the systems to check).",
    )


def check_queries(now: SavedValues, before: SavedValues) -> GateCheck:
    """Whether every query with a ranking, or with a value of an answer, in the baseline still has one."""
    had = sorted({query for values in before.measures.values() for query in values} - before.missing)
    has = {query for values in now.measures.values() for query in values} - now.missing
    lost = [query for query in had if query not in has]
    name = for_message(now.name)
    if lost:
        text = f"{len(lost):,} of {len(had):,} queries of the baseline are missing: {first_ids(lost)}."
        return GateCheck("queries", now.name, False, f"{name}: {text}")
    return GateCheck("queries", now.name, True, f"{name}: all {len(had):,} queries of the baseline are present.")


def check_threshold(
    system: str, threshold: Threshold, value: float, n: int, bounds: tuple[float, float] | None = None
) -> GateCheck:
    """Whether a mean over n queries meets its threshold, wherever in its bounds the failed questions put it."""
    sure = all(map(threshold.is_met, (value, *(bounds or ()))))
    outcome = "meets" if sure else "can miss" if threshold.is_met(value) else "misses"
    found = f"is {value:.4f}" if n else "has no value"
    failed = "" if bounds is None else f", from {bounds[0]:.4f} to {bounds[1]:.4f} with the questions on which the judge failed,"
    sentence = f"{for_message(system)}: {threshold.measure} {found} (n = {n:,}){failed} and {outcome} the threshold {threshold}."
    return GateCheck("threshold", system, sure, sentence, measure=str(threshold), value=value, n=n, is_notable=True)


def check_change(system: str, measure: str, change: BaselineChange, options: GateOptions, *, tests: int) -> GateCheck:
    """Whether a measure did not drop significantly, or by more than allowed if a drop is allowed.

    An exploratory measure passes, unless its allowed drop is exceeded.
    """
    passed, verdict, is_notable = _verdict(change, options.max_drops.get(measure), options.alpha, tests)
    sentence = f"{for_message(system)}: {measure} {_direction(change)}: {verdict}."
    return GateCheck("drop", system, passed, sentence, measure, change=change, is_notable=is_notable)


def check_segment(
    system: str, measure: str, segment: str, change: BaselineChange, options: GateOptions, *, tests: int
) -> GateCheck:
    """Whether a measure did not drop significantly in one segment; allowed drops apply to all queries only."""
    passed, verdict, _ = _verdict(change, None, options.alpha, tests)
    sentence = f"{for_message(system)}: {measure} in {for_message(segment)} {_direction(change)}: {verdict}."
    return GateCheck("segment", system, passed, sentence, measure, segment, change)


def _direction(change: BaselineChange) -> str:
    if change.is_worse is None:
        return f"is the same on every query, {change.now:.4f} (n = {change.n:,})"
    return f"{'rose' if change.difference > 0 else 'fell' if change.difference < 0 else 'stayed'} {describe_change(change)}"


def _verdict(change: BaselineChange, allowed: float | None, alpha: float, tests: int) -> tuple[bool, str, bool]:
    """Whether it passes, why, and whether it is notable."""
    p, is_significant = _p_text(change, tests), change.p_adjusted <= alpha
    if change.is_worse is None:
        return True, "nothing changed", False
    if not change.is_worse:
        return True, f"{'a significant gain' if is_significant else 'no drop'} ({p})", is_significant
    if allowed is not None:
        is_small = abs(change.difference) <= allowed
        return is_small, f"a drop {'within' if is_small else 'of more than'} the allowed {allowed:g} ({p})", True
    drop = f"{'a significant drop' if is_significant else 'a drop, not significant'} ({p})"
    if change.exploratory:
        return True, f"{drop}; the measure is exploratory and cannot fail the gate", True
    return not is_significant, drop, True


def _p_text(change: BaselineChange, tests: int) -> str:
    """The p-value, corrected if there are several tests."""
    p = format_p(change.p_adjusted)
    return f"{p} after Holm's correction over {tests:,} tests" if tests > 1 else p


def undetectable_drops(drops: Sequence[GateCheck], segments: Sequence[GateCheck], options: GateOptions) -> Iterator[GateCheck]:
    """A failure if no drop, or none in a segment, can be significant; a measure with an allowed drop can always fail."""
    tested = [check for check in drops if check.change and not check.change.exploratory]
    open_drops = [check for check in tested if check.measure not in options.max_drops]
    if reason := _why_undetectable(open_drops, len(tested), options):
        yield _undecidable(open_drops, "no drop can be significant", f"{reason}; or use --max-drop")
    if reason := _why_undetectable(segments, len(segments), options):
        what = "no drop in a segment can be significant"
        yield _undecidable(segments, what, f"{reason}; or leave the segments out", "segments")


def small_segments(segments: Sequence[GateCheck], options: GateOptions) -> Iterator[str]:
    """How many segments are too small to fail, if others are not."""
    small = [one for one in segments if _least_p(one, options) > options.alpha / len(segments)]
    if small and not _why_undetectable(segments, len(segments), options):
        fewest = fewest_queries(options.alpha / len(segments))
        yield f"{len(small):,} of {len(segments):,} segment tests have too few queries to be significant: fewer than {fewest}"


def _undecidable(checks: Sequence[GateCheck], what: str, why: str, segment: str = "") -> GateCheck:
    queries = pluralise(max(map(_n, checks)), "query", "queries")
    return GateCheck("test", "", False, f"Not testable: with {queries} {what}: {why}.", segment=segment)


def _why_undetectable(checks: Sequence[GateCheck], tests: int, options: GateOptions) -> str | None:
    """Why none of the checks can be a significant drop, or None."""
    if not checks:
        return None
    largest = max(checks, key=_n)
    return why_not_significant(_least_p(largest, options), options.alpha / tests, _n(largest))


def _least_p(check: GateCheck, options: GateOptions) -> float:
    return smallest_p(_n(check), options.samples)


def _n(check: GateCheck) -> int:
    return check.change.n if check.change else 0

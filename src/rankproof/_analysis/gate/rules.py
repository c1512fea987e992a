"""Rules of the gate: thresholds, allowed drops, tests and checks."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from rankproof._analysis.decision.decide import MIN_QUERIES
from rankproof._analysis.decision.judge_sentences import by_unchecked_judge
from rankproof._analysis.decision.sentences import margin_text, points
from rankproof._analysis.gate.changes import BaselineChange, ChangeInput
from rankproof._analysis.inputs import AnalysisInput, named_measure
from rankproof._analysis.options import Unsure
from rankproof._data.text import format_p, limit_text, percent
from rankproof._data.validation import checked_choice, checked_integer
from rankproof._results.decision_settings import Completeness, LabelsBy
from rankproof._statistics.decision_rule import Margin, parse_margin
from rankproof._statistics.gate_rule import GateOutcome
from rankproof.errors import UsageError, for_message
from rankproof.measures._base import Measure
from rankproof.measures._claim_base import written_measure
from rankproof.measures._parse import parse_measure

ALPHA = 0.05
NOT_CHECKED = "judge not checked"
_RISK = re.compile(r" \((the )?risk [^)]*\)")

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
class GateOptions:
    """Options of the gate; a measure in `max_drops` may drop by that much.

    `primary` is the measure whose drop fails the gate, by default that of the experiment, else nDCG@10, else the first of the
    baseline that ranks systems. `margin` is the drop that does not matter, by default that of the experiment, else 0.02, or 10%
    of the higher mean if that is less. `unsure` says whether an unsure gate stops the build.
    """

    thresholds: tuple[Threshold, ...] = ()
    max_drops: Mapping[str, float] = field(default_factory=dict)
    primary: str | None = None
    margin: Margin | None = None
    unsure: Unsure = "warn"
    labels_by: LabelsBy | None = None
    judgements: Completeness | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        checked_choice("unsure", self.unsure, get_args(Unsure))
        checked_integer("seed", self.seed, 0, (1 << 63) - 1)

    @classmethod
    def of(
        cls,
        *,
        thresholds: Iterable[str] = (),
        max_drops: Mapping[str, float] | None = None,
        primary: str | Measure | None = None,
        margin: float | str | None = None,
        unsure: Unsure = "warn",
        labels_by: LabelsBy | None = None,
        judgements: Completeness | None = None,
        seed: int = 0,
    ) -> GateOptions:
        """The options as people write them."""
        return cls(
            thresholds=tuple(map(threshold_of, thresholds)),
            max_drops=dict(max_drop_of(f"{name}={drop}") for name, drop in (max_drops or {}).items()),
            primary=None if primary is None else written_measure(primary),
            margin=None if margin is None else parse_margin(margin, is_fraction=False),
            unsure=unsure,
            labels_by=labels_by,
            judgements=judgements,
            seed=seed,
        )

    def for_inputs(self, inputs: AnalysisInput) -> GateOptions:
        """The options with the names of measures as the inputs have them, with relevance threshold and judge, and a margin."""
        bounds = tuple(replace(threshold, measure=_full_name(threshold.measure, inputs)) for threshold in self.thresholds)
        drops = {_full_name(name, inputs): drop for name, drop in self.max_drops.items()}
        for name, drop in drops.items():
            if drop >= 1 and parse_measure(name).is_fraction:
                what = f"{for_message(name)} cannot drop by {drop:g}, so this bound holds nothing"
                raise UsageError(what, fix="write a number below 1, like nDCG@10=0.02")
        primary = None if self.primary is None else _full_name(self.primary, inputs)
        stated = inputs.decision_settings.margin
        margin = parse_margin(stated, is_fraction=False) if self.margin is None and stated is not None else self.margin
        return replace(self, thresholds=bounds, max_drops=drops, primary=primary, margin=margin)

    def margin_of(self, measure: str) -> Margin | None:
        """The allowed drop of the measure, else the margin."""
        return Margin(self.max_drops[measure]) if measure in self.max_drops else self.margin

    def changes(self, inputs: AnalysisInput, measure: str, *, is_primary: bool) -> ChangeInput:
        """What changes of a measure are computed from; unjudged documents matter to a measure that can fail the gate."""
        has_limit = measure in self.max_drops
        is_complete = (self.judgements or inputs.decision_settings.judgements) == "complete" or not (is_primary or has_limit)
        return ChangeInput(inputs, parse_measure(measure), self.margin_of(measure), has_limit, is_complete=is_complete)

    def bound_changes(self, inputs: AnalysisInput, threshold: Threshold) -> ChangeInput:
        """What the change of a mean against a threshold is computed from."""
        measure = parse_measure(threshold.measure)
        is_reversed = threshold.sign.startswith(">") == (measure.higher_is_better is False)
        return ChangeInput(inputs, measure, self.margin_of(threshold.measure), is_bound=True, is_reversed=is_reversed)

    def check_margin(self, measures: Sequence[str]) -> None:
        """Checks that differences of some of the measures can exceed the margin."""
        if self.margin is not None:
            parse_margin(str(self.margin), is_fraction=all(parse_measure(name).is_fraction for name in measures))


def threshold_of(text: str) -> Threshold:
    """Parses a threshold such as nDCG@10>=0.45."""
    match = _THRESHOLD.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{for_message(text)} is not a threshold", fix="write it like nDCG@10>=0.45")
    return Threshold(written_measure(match["measure"]), match["sign"], _number(match["bound"], text))


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
    return written_measure(measure), drop


def _full_name(measure: str, inputs: AnalysisInput) -> str:
    return str(named_measure(inputs, measure).with_rel(inputs.rel))


def _number(text: str, rule: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(f"{for_message(text.strip())} in {for_message(rule)} is not a number", fix="write it like 0.45")
    return value


CheckKind = Literal["queries", "system", "drop", "anchor", "threshold", "segment", "self-test", "case"]


@dataclass(frozen=True, slots=True)
class GateCheck:
    """One check of the gate, with a sentence; `is_notable` marks a passed check that readers should see.

    `value` is a mean over `n` queries compared with a threshold, `change` a comparison with the baseline. `judge` is the machine
    judge that gave the values and that people have not checked, empty if there is none. People labelled `labelled` of
    the `questions` behind a mean with a threshold; `label_gap` says why that does not check the judge.
    """

    kind: CheckKind
    system: str
    result: GateOutcome
    sentence: str
    measure: str = ""
    segment: str = ""
    change: BaselineChange | None = None
    value: float | None = None
    n: int | None = None
    is_notable: bool = False
    judge: str = ""
    labelled: int = 0
    questions: int = 0
    label_gap: str = ""

    @property
    def passed(self) -> bool:
        """Whether the check passed."""
        return self.result == "passed"

    @property
    def labels(self) -> BaselineChange | GateCheck:
        """What has the number of labels of people behind the check, and why they do not count."""
        return self.change or self

    @property
    def is_exploratory(self) -> bool:
        """Whether the measure is not the primary one."""
        return self.change is not None and self.change.exploratory

    @property
    def is_lower(self) -> bool:
        """Whether the check passed although the measure is significantly worse, by less than the margin."""
        return self.kind == "drop" and self.passed and _is_significant_drop(self.change) and not self.is_exploratory

    @property
    def name(self) -> str:
        """The subject of the check."""
        if self.kind == "case":
            return f"{self.system} test case {self.segment}"
        of = " against the first baseline" if self.kind == "anchor" else f" in {self.segment}" if self.segment else ""
        return f"{self.system} {self.measure or self.kind}{of}".lstrip()


def _is_significant_drop(change: BaselineChange | None) -> bool:
    return change is not None and bool(change.is_worse) and change.p_adjusted is not None and change.p_adjusted <= ALPHA


def by_judge(check: GateCheck, judge: str, question: str = "", *, is_other: bool = False) -> GateCheck:
    """The check on values of a machine judge, with people's labels if they correct it; `question` asks who unknown judges are.

    If people have not checked the judge, a pass is unsure and a failure is by that judge. If the baseline has another judge,
    nothing is sure.
    """
    if check.change is not None and check.change.is_same:
        return check
    name, stated, labels = for_message(judge), check.sentence.removesuffix("."), check.labels
    if labels.labelled:
        by = f"people's labels of {labels.labelled:,} of {labels.questions:,} questions and {name} on all"
        return replace(check, sentence=f"By {by}, {stated}.")
    stated = _RISK.sub("", stated)
    change = None if check.change is None else replace(check.change, risk=None)
    unchecked = replace(check, change=change, judge=name)
    if is_other:
        sentence = f"{stated}; unsure: the baseline has the values of another judge than {name}."
        return replace(unchecked, result="unsure", sentence=sentence)
    if check.result == "failed":
        return replace(unchecked, sentence=f"{by_unchecked_judge(judge)}, {stated}.")
    why = f"unsure ({labels.label_gap or NOT_CHECKED}): {name} gave the values, and people have not checked it"
    sentence = f"{stated}; {why}{' in both builds' if labels.label_gap else ''}. {question}"
    return replace(unchecked, result="unsure", sentence=sentence.rstrip())


def describe_change(change: BaselineChange) -> str:
    """The change in numbers."""
    return f"from {change.before:.4f} to {change.now:.4f} ({change.difference:+.4f}, n = {change.n:,})"


def check_threshold(system: str, threshold: Threshold, change: BaselineChange) -> GateCheck:
    """Whether a mean meets its threshold, by the rule of a change against the baseline; a missed threshold never passes."""
    is_met = bool(change.n) and threshold.is_met(change.now)
    result, why = _threshold_outcome(threshold, change, is_met=is_met)
    shown = f"is {change.now:.4f}" if change.n else "has no value"
    what = f"{threshold.measure} {shown} (n = {change.n:,}) and {'meets' if is_met else 'misses'} the threshold {threshold}{why}"
    return GateCheck(
        "threshold",
        system,
        result,
        " ".join((f"{for_message(system)}: {what}.", *_remarks(change))),
        measure=str(threshold),
        value=change.now if change.n else None,
        n=change.n,
        is_notable=True,
        labelled=change.labelled,
        questions=change.questions,
        label_gap=change.label_gap,
    )


def check_value(system: str, threshold: Threshold, value: float, n: int) -> GateCheck:
    """Whether a value that is not a mean, and so has no standard error, meets its threshold."""
    is_met = threshold.is_met(value)
    what = f"{threshold.measure} is {value:.4f} (n = {n:,}) and {'meets' if is_met else 'misses'} the threshold {threshold}"
    result: GateOutcome = "passed" if is_met else "failed"
    sentence = f"{for_message(system)}: {what}."
    return GateCheck("threshold", system, result, sentence, measure=str(threshold), value=value, n=n, is_notable=True)


def _threshold_outcome(threshold: Threshold, change: BaselineChange, *, is_met: bool) -> tuple[GateOutcome, str]:
    """Whether a threshold is met, and why or how surely."""
    measure = parse_measure(threshold.measure)
    if not change.n:
        return "failed", ""
    if change.obstacle or change.risk is None:
        return "unsure", f"; {change.obstacle}"
    side = "below" if threshold.sign.startswith(">") else "above"
    risk = f"the risk of being more than {margin_text(change.margin, measure)} {side} it is {percent(change.risk)}"
    stated, is_within = f" ({risk}, limit {limit_text(change.limit)})", change.risk <= change.limit
    if is_within if is_met else not is_within and _is_significant_drop(change):
        if change.doubt:
            return "unsure", f"; unsure: {change.doubt}"
        return ("passed", stated) if is_met else ("failed", f" significantly ({format_p(change.p or 0.0)})")
    return "unsure", stated


def check_change(system: str, measure: str, change: BaselineChange, options: GateOptions, *, tests: int) -> GateCheck:
    """Whether a measure is shown to be within the margin of the baseline, or to have dropped, or neither.

    With an allowed drop, whether the drop is shown to be within it or beyond it. Another exploratory measure passes.
    """
    allowed = options.max_drops.get(measure)
    result, verdict = _outcome(change, allowed, tests, parse_measure(measure))
    if change.exploratory and allowed is None:
        why = "; the measure is exploratory and cannot fail the gate" if change.is_worse else ""
        result, verdict = "passed", f"{_exploratory_text(change, tests)}{why}"
    elif change.doubt and result != "unsure":
        result, verdict = "unsure", f"unsure: {change.doubt}"
    sentence = " ".join((f"{for_message(system)}: {measure} {_direction(change)}: {verdict}.", *_remarks(change)))
    return GateCheck("drop", system, result, sentence, measure, change=change, is_notable=change.is_worse is not None)


def _remarks(change: BaselineChange) -> Iterator[str]:
    """What else is to be said of a change that can fail the gate."""
    if not change.exploratory and not change.is_same:
        yield from (*((f"{change.remark}.",) if change.remark else ()), *change.missing)


def _outcome(change: BaselineChange, allowed: float | None, tests: int, measure: Measure) -> tuple[GateOutcome, str]:
    """The outcome and its reason."""
    if change.obstacle or change.risk is None:
        return "unsure", change.obstacle
    if change.is_same:
        return "passed", "nothing changed"
    within = margin_text(change.margin, measure) if allowed is None else f"the allowed {allowed:g}"
    risk, p = f"risk {percent(change.risk)}, limit {limit_text(change.limit)}", _p_text(change, tests)
    if change.risk <= change.limit:
        inside = f"not more than {within} {_worse_word(measure)} ({risk})"
        if not _is_significant_drop(change):
            return "passed", inside
        return "passed", f"passed, but measurably {_worse_word(measure)} by {points(change.difference, measure)} ({p}); {inside}"
    if allowed is not None and change.risk >= 1 - ALPHA / 2:
        return "failed", f"a drop of more than {within}"
    if allowed is None and _is_significant_drop(change):
        return "failed", f"a significant drop ({p})"
    power = f"this comparison detects a drop of {points(change.detectable, measure)} with a chance of 80%"
    return "unsure", f"neither shown to be within {within} ({risk}) nor a significant drop ({p}); {power}"


def _worse_word(measure: Measure) -> str:
    return "higher" if measure.higher_is_better is False else "lower"


def _exploratory_text(change: BaselineChange, tests: int) -> str:
    if change.is_worse is None or change.p is None:
        return "nothing changed" if change.is_worse is None else "a drop"
    word = "drop" if change.is_worse else "gain"
    is_significant = change.p_adjusted is not None and change.p_adjusted <= ALPHA
    return f"{f'a significant {word}' if is_significant else f'a {word}, not significant'} ({_p_text(change, tests)})"


def check_segment(system: str, measure: str, segment: str, change: BaselineChange, *, tests: int) -> GateCheck:
    """Whether a measure did not drop significantly in one segment; allowed drops apply to all queries only.

    It is unsure only if the drop depends on missing values or unjudged documents.
    """
    verdict = _exploratory_text(change, tests)
    result: GateOutcome = "failed" if _is_significant_drop(change) else "passed"
    if result == "failed" and change.doubt:
        result, verdict = "unsure", f"unsure: {change.doubt}"
    sentence = f"{for_message(system)}: {measure} in {for_message(segment)} {_direction(change)}: {verdict}."
    return GateCheck("segment", system, result, sentence, measure, segment, change)


def _direction(change: BaselineChange) -> str:
    if change.is_worse is None:
        return f"is the same on every query, {change.now:.4f} (n = {change.n:,})"
    return f"{'rose' if change.difference > 0 else 'fell' if change.difference < 0 else 'stayed'} {describe_change(change)}"


def _p_text(change: BaselineChange, tests: int) -> str:
    """The p-value, corrected if there are several tests."""
    p = format_p(change.p_adjusted or 0.0)
    return f"{p} after Holm's correction over {tests:,} tests" if tests > 1 else p


def small_segments(segments: Sequence[GateCheck]) -> Iterator[str]:
    """How many segments have few queries."""
    small = [check for check in segments if check.change is not None and check.change.n < MIN_QUERIES]
    if small:
        few = f"{len(small):,} of {len(segments):,} segment tests have fewer than {MIN_QUERIES} queries"
        yield f"{few}; only large drops in them are significant"

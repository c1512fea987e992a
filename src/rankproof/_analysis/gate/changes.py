"""Changes against the baseline: one measure of a system now and as saved, over the queries of both."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rankproof._analysis.compare.counted_queries import (
    conversations,
    copied_queries,
    different_conversations,
    many_copies,
    too_few_queries,
)
from rankproof._analysis.compare.decision_data import has_non_relevant, reversed_tie_values, with_relevant_documents
from rankproof._analysis.compare.joined_values import (
    JoinedValues,
    answer_values,
    common_values,
    only_queries,
    unanswerable_questions,
)
from rankproof._analysis.compare.judged_decision import labelled_data
from rankproof._analysis.compare.people_labels import PeopleValues
from rankproof._analysis.compare.unjudged_documents import (
    LARGEST_POOL,
    ChosenSystems,
    audit_command,
    top_lists,
    unjudged_rival,
)
from rankproof._analysis.decision.decide import (
    MAX_FAILED,
    MIN_QUERIES,
    UNEVEN_WEIGHTS,
    DecisionData,
    few_queries_text,
    few_text,
    labelled_interval,
    margin_amount,
    no_margin_text,
)
from rankproof._analysis.decision.scenarios import (
    COPIES_ONCE,
    REVERSED_TIES,
    MissingValues,
    estimates_without_copies,
    missing_scenarios,
    missing_sentences,
    next_judgements,
    scenario_text,
    unjudged_text,
    without_worst_value,
)
from rankproof._analysis.gate.baseline import MISSING_KINDS, LabelledValues, SavedValues
from rankproof._analysis.inputs import AnalysisInput
from rankproof._data.arrays import FloatArray, weight_column
from rankproof._data.run import Run
from rankproof._data.text import pluralise
from rankproof._data.validation import ReadOptions
from rankproof._evaluation.result import MeasureResult, Result, SystemResult
from rankproof._statistics.decision_rule import LOOK_LIMITS, Margin, PairEstimates, group_means, pair_estimates
from rankproof._statistics.gate_rule import MAX_RISK, GateOutcome, PairedChange, change_of_pair
from rankproof._statistics.intervals import Interval, enough_differ, mean_interval
from rankproof._statistics.labelled_means import MIN_LABELLED
from rankproof._statistics.means import are_even_weights, effective_size, weighted_mean
from rankproof._statistics.paired import CORRECTIONS
from rankproof.errors import for_message
from rankproof.measures._base import Measure

BEFORE = "the baseline"
_VERBS = {"passed": "passes", "failed": "fails", "unsure": "is unsure"}
_ROUNDING = 1e-12
SystemPairs = Sequence[tuple[SavedValues, SavedValues]]
"""Each system now and as saved."""


@dataclass(frozen=True, slots=True)
class BaselineChange:
    """One measure of one system before and now, on the queries of both that have a relevant document.

    `risk` is the chance that the true mean is more than `margin` worse; `p` is two-sided, `p_adjusted` is corrected over systems
    or segments. `error` is the standard error of the difference; a drop of `detectable` is significant with a chance of 80%.
    Without two queries these are None. `is_same` says that the rankings or answers are the same. `is_worse` is None if no query
    changed. `obstacle` says why nothing can be shown. `exploratory` marks a measure other than the primary one.

    A gate passes up to the risk `limit`. `doubt` says on what missing values or unjudged documents the outcome depends; `remark`
    what is said of unjudged documents although it does not; `missing` as what missing values count. `labelled` of the
    `questions` have labels of people, which correct the judge; `label_gap` says why labels do not count, if there are any.
    """

    before: float
    now: float
    difference: float
    n: int
    margin: float
    risk: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    error: float | None = None
    detectable: float | None = None
    is_same: bool = False
    is_worse: bool | None = None
    ci: Interval | None = None
    obstacle: str = ""
    exploratory: bool = False
    limit: float = MAX_RISK
    doubt: str = ""
    remark: str = ""
    missing: tuple[str, ...] = ()
    labelled: int = 0
    questions: int = 0
    label_gap: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class ChangeInput:
    """What changes of a measure are computed from: the input, the measure and the margin.

    `is_allowed_drop` says that the margin is an allowed drop: only more than it fails. `is_bound` marks a change against a bound,
    which a mean beyond it never passes; with `is_reversed` a higher mean is beyond it for a measure where higher is better.
    `is_complete` says that unjudged documents do not matter.
    """

    inputs: AnalysisInput
    measure: Measure
    margin: Margin | None
    is_allowed_drop: bool = False
    is_bound: bool = False
    is_reversed: bool = False
    is_complete: bool = True

    def change(self, now: SavedValues, before: SavedValues, queries: Collection[str] | None = None) -> BaselineChange:
        """The change of a system, over all common queries or these; queries without a relevant document do not count."""
        whole, counted = self._joined((now, before), queries)
        joined = only_queries(whole, counted)
        gap, people = ("", None) if queries is not None else self._labelled(joined, now, before)
        copies = None if people else copied_queries(self.inputs, joined)
        data = people or DecisionData(
            self.measure,
            joined.systems,
            joined.values[0],
            joined.weights,
            missing=joined.missing,
            queries=len(joined.queries),
            too_few=too_few_queries(self.inputs, joined, copies, "the gate"),
            copies=many_copies(copies),
            groups=different_conversations(conversations(self.inputs, joined.queries), copies),
        )
        name = str(self.measure)
        is_same = bool(now.digest) and now.digest == before.digest and now.measures[name] == before.measures[name]
        change = replace(self._numbers(data), is_same=is_same, label_gap=gap)
        if is_same or change.risk is None or change.obstacle:
            return change
        outcome = self._outcome(data.estimates(), change)
        doubts = (self._missing_doubt(data, change, outcome), self._copies_doubt(data, change, outcome))
        if doubt := next(filter(None, doubts), "") or self._tie_doubt(joined, data, change, outcome):
            return replace(change, doubt=doubt)
        return self._with_unjudged(change, outcome, whole, data, before) if people is None else change

    def against_bound(self, now: SavedValues, bound: float) -> BaselineChange:
        """The change of a system against a bound that its mean should not be beyond."""
        name = str(self.measure)
        labels = {
            measure: LabelledValues(dict.fromkeys(own.values, bound), dict.fromkeys(own.values, bound))
            for measure, own in now.people.items()
        }
        values = dict.fromkeys(only_queries(*self._joined((now,))).queries, bound)
        change = self.change(now, SavedValues("the bound", {name: values}, people=labels))
        lacks, of = len(now.missing), len(now.missing) + len(values)
        if change.is_worse or not self.inputs.skip_missing or lacks <= MAX_FAILED * of:
            return change
        return replace(change, doubt=f"{for_message(now.name)} lacks {lacks:,} of {of:,} queries, which are left out")

    def _joined(self, systems: Sequence[SavedValues], queries: Collection[str] | None = None) -> tuple[JoinedValues, list[bool]]:
        """The values of systems, the current one first, on their common queries; and which of them have a relevant document.

        Missing values are the worst.
        """
        result = _as_result(systems, self.measure)
        if self.measure.kind == "answer":
            joined = answer_values(result, str(self.measure), unanswerable_questions(self.inputs))
        else:
            joined = common_values(result, self.measure)
            weights = self.inputs.result.weights
            share = None if weights is None else weight_column(weights[query] for query in joined.queries)
            joined = replace(joined, weights=share)
        if queries is not None:
            joined = only_queries(joined, [query in queries for query in joined.queries])
        return joined, with_relevant_documents(self.inputs, self.measure, joined.queries)

    def _labelled(self, joined: JoinedValues, now: SavedValues, before: SavedValues) -> tuple[str, DecisionData | None]:
        """People's values of the questions that are labelled in both builds; or why labels do not count, if there are any."""
        mine, theirs = (saved.people.get(str(self.measure)) for saved in (now, before))
        if mine is None or theirs is None:
            return "" if mine is theirs else f"labels are of {'the baseline' if mine is None else 'this build'} only", None
        places = {query: row for row, query in enumerate(joined.queries)}
        questions = tuple(question for question in mine.values if question in theirs.values and question in places)
        if len(questions) < MIN_LABELLED:
            return f"{pluralise(len(questions), 'labelled question')}, {MIN_LABELLED} are needed", None
        both, rows = (mine, theirs), [places[question] for question in questions]
        values, judged = (
            np.array([[part[question] for part in parts] for question in questions])
            for parts in ([labels.values for labels in both], [labels.judged for labels in both])
        )
        lacks = np.array([[labels.missing.get(question, "") for labels in both] for question in questions])
        shares = np.array([labels.share for labels in both])
        no_answer, abstained, unknown = (np.asarray(lacks == kind) for kind in MISSING_KINDS)
        missing = MissingValues(no_answer, abstained, unknown, shares)
        data = DecisionData(self.measure, joined.systems, joined.values[0], joined.weights)
        first = data.oriented(joined.values[0]).copy()
        first[rows] = data.oriented(judged)
        people = PeopleValues("", questions, values, missing)
        return "", labelled_data(
            joined, data, people, values, first, has_judge=True, groups=conversations(self.inputs, joined.queries)
        )

    def _numbers(self, data: DecisionData) -> BaselineChange:
        """The change with its risk, or why nothing can be shown."""
        n, weights = len(data.values), data.weights
        if not n:
            return BaselineChange(0.0, 0.0, 0.0, 0, 0.0, obstacle=few_queries_text("the gate", 0, 0))
        now, before = data.means()
        amount = margin_amount(self.margin, float(data.oriented(np.array([now, before])).max()), self.measure)
        why = obstacle(n, weights, self.margin, amount, self.measure)
        units = n if data.groups is None else len(np.unique(data.groups))
        if data.groups is not None and (size := data.estimates().size if units > 1 else 1.0) < MIN_QUERIES:
            why = why or few_text(data, "the gate", size)
        why = why or data.too_few or without_worst_value(self.measure, data.missing, data.systems)
        apart = data.values[:, 0] - data.values[:, 1]
        difference = now - before if data.labelled is not None else weighted_mean(apart, weights)
        lacks = (
            ()
            if data.missing is None
            else missing_sentences(self.measure, data.missing.counts((data.systems[0], BEFORE.capitalize())), n)
        )
        plain = BaselineChange(
            before, now, difference, n, amount, obstacle=why, questions=data.queries or n, missing=tuple(lacks)
        )
        if units < 2:
            return plain
        change = self._rule(data.estimates())
        return replace(
            plain,
            risk=change.risk(amount),
            limit=MAX_RISK if data.labelled is None else LOOK_LIMITS["many"],
            p=change.p,
            p_adjusted=change.p,
            error=change.error,
            detectable=change.detectable,
            is_worse=change.difference < 0 if apart.any() else None,
            ci=_interval(data, apart),
            labelled=0 if data.labelled is None else n,
        )

    def _rule(self, estimates: PairEstimates) -> PairedChange:
        change = change_of_pair(estimates)
        return change.reversed if self.is_reversed else change

    def _outcome(self, estimates: PairEstimates, change: BaselineChange) -> GateOutcome:
        """The outcome of one scenario, before p is corrected over systems."""
        rule = self._rule(estimates)
        outcome = rule.outcome(change.margin, change.limit, is_allowed_drop=self.is_allowed_drop)
        return "unsure" if self.is_bound and outcome == "passed" and rule.difference < -_ROUNDING else outcome

    def _missing_doubt(self, data: DecisionData, change: BaselineChange, outcome: GateOutcome) -> str:
        """The scenario of missing values that has another outcome; empty if none has."""
        missing = data.missing
        if outcome == "unsure" or missing is None or not missing.needs_scenarios():
            return ""
        values, chosen = data.oriented(data.values), [0 if outcome == "passed" else 1]
        for words, estimates in missing_scenarios(values, data.weights, missing, chosen, data.best_possible, data.groups):
            other = self._outcome(estimates, change)
            if other != outcome:
                return scenario_text(words, missing, data.systems, f"the check {_VERBS[outcome]}", f"it {_VERBS[other]}")
        return ""

    def _copies_doubt(self, data: DecisionData, change: BaselineChange, outcome: GateOutcome) -> str:
        """That the outcome is another one if copies of a query count once; empty if it is not."""
        if outcome == "unsure" or data.copies is None or data.groups is not None:
            return ""
        other = self._outcome(estimates_without_copies(data.oriented(data.values), data.copies), change)
        return "" if other == outcome else f"the check {_VERBS[outcome]}; {COPIES_ONCE} it {_VERBS[other]}"

    def _tie_doubt(self, joined: JoinedValues, data: DecisionData, change: BaselineChange, outcome: GateOutcome) -> str:
        """That the outcome depends on the order of ties in this build; empty if it does not."""
        values = None if outcome == "unsure" or data.labelled is not None else reversed_tie_values(self.inputs, joined)
        if values is None:
            return ""
        other = self._outcome(pair_estimates(data.oriented(values), data.weights, data.groups), change)
        return "" if other == outcome else f"the check {_VERBS[outcome]}; {REVERSED_TIES} it {_VERBS[other]}"

    def _with_unjudged(
        self, change: BaselineChange, outcome: GateOutcome, whole: JoinedValues, data: DecisionData, before: SavedValues
    ) -> BaselineChange:
        """The change with what depends on documents that nobody judged, if both rankings are known that deep."""
        cutoff = getattr(self.measure, "cutoff", None) or math.inf
        is_sure = self.is_complete or not self.measure.has_winner or outcome == "unsure"
        if is_sure or cutoff > before.depth or whole.systems[0] not in self.inputs.runs:
            return change
        name, saved = whole.systems
        now = top_lists(self.inputs.runs[name], self.inputs.read_options, whole.queries, max(int(cutoff), LARGEST_POOL))
        tops: dict[str, Mapping[str, Sequence[str]]] = {name: now, saved: before.tops}
        inputs = replace(self.inputs, runs={key: _as_run(key, lists) for key, lists in tops.items()}, read_options=ReadOptions())
        systems = (name, saved) if outcome == "passed" else (saved, name)
        choice = ChosenSystems(systems[:1], systems[1:], change.margin)
        has_zeros = has_non_relevant(inputs, whole.queries)
        finding, is_open = unjudged_rival(inputs, whole, data, choice, has_zeros=has_zeros)
        if finding is None:
            return change
        text, todo = unjudged_text(finding, change.limit), next_judgements(audit_command(self.inputs, self.measure))
        return replace(change, doubt=f"{text}. {todo.removesuffix('.')}") if is_open else replace(change, remark=text)


def _as_result(systems: Sequence[SavedValues], measure: Measure) -> Result:
    """The values of one measure of systems as a result, the current system first."""
    name = str(measure)
    names = (systems[0].name, BEFORE)
    results = []
    for own, saved in zip(names, systems, strict=False):
        values, partly = saved.measures[name], saved.partly.get(name, {})
        stored = MeasureResult(
            measure,
            0.0,
            tuple(values),
            np.fromiter(values.values(), np.float64),
            reasons=saved.reasons.get(name, {}),
            repeats={query: np.array(answered.values) for query, answered in partly.items()},
            repeat_reasons={query: answered.reasons for query, answered in partly.items()},
        )
        results.append(SystemResult(own, {name: stored}, ()))
    return Result((), tuple(results))


def _as_run(name: str, lists: Mapping[str, Sequence[str]]) -> Run:
    return Run.from_dict({query: {doc: -float(at) for at, doc in enumerate(docs)} for query, docs in lists.items()}, name=name)


def _interval(data: DecisionData, apart: FloatArray) -> Interval | None:
    """The 95% interval of the difference, None where few queries differ."""
    if data.labelled is not None:
        return labelled_interval(data, data.labelled, 0, 1)
    weights = data.weights
    if data.groups is not None:
        apart, weights = group_means(apart, weights, data.groups)
    return mean_interval(apart, weights=weights) if enough_differ(apart, weights) else None


def changed_pairs(pairs: SystemPairs, measures: Sequence[str]) -> SystemPairs:
    """The systems with another value than saved for some query."""
    return [(now, before) for now, before in pairs if any(now.measures[name] != before.measures[name] for name in measures)]


def obstacle(n: int, weights: FloatArray | None, margin: Margin | None, amount: float, measure: Measure) -> str:
    """Why nothing can be shown with these queries; empty if something can."""
    effective = effective_size(n, weights)
    if effective < MIN_QUERIES:
        return few_queries_text("the gate", n, effective)
    if weights is not None and not are_even_weights(weights):
        return UNEVEN_WEIGHTS
    if margin is not None or amount > 0:
        return ""
    return f"{measure} is 0 for every query" if measure.is_fraction else no_margin_text(measure)


def with_corrected_p(changes: Iterable[BaselineChange]) -> list[BaselineChange]:
    """The changes with p corrected by Holm over those that are not the same."""
    corrected_changes = list(changes)
    tested = [at for at, change in enumerate(corrected_changes) if change.p is not None and not change.is_same]
    corrected = CORRECTIONS["holm"](np.array([corrected_changes[at].p for at in tested], np.float64)).tolist()
    for at, p in zip(tested, corrected, strict=True):
        corrected_changes[at] = replace(corrected_changes[at], p_adjusted=p)
    return corrected_changes


def segment_changes(
    changes: ChangeInput, pairs: SystemPairs, segments: Mapping[str, Sequence[str]]
) -> list[tuple[str, str, BaselineChange]]:
    """System, segment and change of the measure in it; p is corrected over all segments of all systems."""
    keys = [(now, before, name) for now, before in pairs for name in segments]
    corrected = with_corrected_p(changes.change(now, before, frozenset(segments[name])) for now, before, name in keys)
    return [(now.name, name, change) for (now, _, name), change in zip(keys, corrected, strict=True)]

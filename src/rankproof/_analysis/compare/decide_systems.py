"""The decision of a comparison: the systems that take part, the rule, and what is known besides the values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rankproof._analysis.compare.counted_queries import (
    conversations,
    copied_queries,
    different_conversations,
    many_copies,
    too_few_queries,
)
from rankproof._analysis.compare.decision_data import (
    are_grades_reversed,
    equally_long_values,
    failed_calls,
    judged_only_values,
    only_systems,
    reversed_tie_values,
    same_systems,
    values_by_rank,
    with_copies,
    with_judge_noise,
    with_pairs_to_judge,
    with_relevant_documents,
    with_repeats,
    without_copies,
)
from rankproof._analysis.compare.joined_values import JoinedValues, only_queries
from rankproof._analysis.compare.unjudged_documents import audit_command, with_unjudged_documents
from rankproof._analysis.compare.value_judge import judge_of_values
from rankproof._analysis.decision.decide import DecisionData, decide
from rankproof._analysis.decision.record import Costs, Decision
from rankproof._analysis.inputs import AnalysisInput
from rankproof._data.arrays import FloatArray, IntArray
from rankproof._results.decision_settings import Completeness, DecisionSettings, LabelsBy
from rankproof._statistics.decision_rule import Margin, MarginLike, group_means, parse_margin
from rankproof._statistics.intervals import Interval, enough_differ, mean_interval
from rankproof._statistics.options import Looks


@dataclass(frozen=True, slots=True)
class DecisionRule:
    """How to decide; `margin` is parsed with the measure, as a share or in its unit."""

    margin: MarginLike | None
    labels_by: LabelsBy | None
    looks: Looks
    judgements: Completeness | None
    seed: int

    @classmethod
    def of(cls, settings: DecisionSettings, seed: int) -> DecisionRule:
        """The rule of these settings."""
        return cls(settings.margin, settings.labels_by, settings.looks or "one", settings.judgements, seed)


@dataclass(frozen=True, eq=False, slots=True)
class ComparedSystems:
    """The systems that retrieved anything, with their costs.

    `whole` are their values on all common queries, `counted` says which queries count for a decision, and `joined` are the values
    on those; `copies` numbers the queries, the same for copies of one, and `groups` are their conversations.
    """

    inputs: AnalysisInput
    whole: JoinedValues
    joined: JoinedValues
    counted: Sequence[bool]
    costs: Costs
    copies: IntArray | None
    groups: IntArray | None

    @classmethod
    def of(cls, inputs: AnalysisInput, whole: JoinedValues, costs: Costs) -> ComparedSystems:
        """Without the queries that have no relevant document."""
        counted = with_relevant_documents(inputs, whole.measures[0], whole.queries)
        joined = whole if all(counted) else only_queries(whole, counted)
        copies = copied_queries(inputs, joined)
        groups = different_conversations(conversations(inputs, joined.queries), copies)
        return cls(inputs, whole, joined, counted, costs, copies, groups)


def decide_systems(systems: ComparedSystems, rule: DecisionRule, *, named: str | None, baseline: str | None) -> Decision:
    """The decision on the primary measure; copies of a system are one system, for which `baseline` may stand.

    `named` is the baseline that the user named, which is kept unless another system is better.
    """
    inputs, joined, whole = systems.inputs, systems.joined, systems.whole
    margin = None if rule.margin is None else parse_margin(rule.margin, is_fraction=joined.measures[0].is_fraction)
    copies = same_systems(inputs, whole, systems.costs, baseline)
    distinct = systems
    if copies:
        kept = only_systems(inputs, [name for name in inputs.systems if name not in copies])
        distinct = replace(systems, inputs=kept, joined=without_copies(joined, copies), whole=without_copies(whole, copies))
    data = _decision_data(distinct, is_complete=rule.judgements is not None)
    decision = _decision(distinct, data, rule, margin=margin, named=named)
    if rule.judgements is None:
        decision = with_unjudged_documents(distinct.inputs, distinct.whole, data, decision)
    decision = replace(decision, judgements=rule.judgements)
    if decision.unjudged_rival is not None or decision.judge_next:
        decision = replace(decision, audit_command=audit_command(inputs, joined.measures[0]))
    decision = with_copies(decision, copies, joined, systems.costs, failed_calls(inputs)) if copies else decision
    return with_repeats(inputs, decision, joined)


def _decision_data(systems: ComparedSystems, *, is_complete: bool) -> DecisionData:
    """What the decision on the primary measure is made of."""
    inputs, joined = systems.inputs, systems.joined
    measure, queries = joined.measures[0], len(systems.whole.queries)
    return DecisionData(
        measure=measure,
        systems=joined.systems,
        values=joined.values[0],
        weights=joined.weights,
        costs=systems.costs,
        failed=failed_calls(inputs),
        judged_only=None if is_complete else judged_only_values(inputs, inputs.result, str(measure), joined.queries),
        reversed_ties=reversed_tie_values(inputs, joined),
        equally_long=equally_long_values(inputs, joined),
        by_rank=values_by_rank(inputs, joined),
        missing=joined.missing,
        queries=queries,
        too_few=too_few_queries(inputs, joined, systems.copies, "a decision"),
        are_grades_reversed=not is_complete and are_grades_reversed(inputs, joined),
        copies=many_copies(systems.copies),
        groups=systems.groups,
        without_relevant=queries - len(joined.queries),
    )


def _decision(
    systems: ComparedSystems, data: DecisionData, rule: DecisionRule, *, margin: Margin | None, named: str | None
) -> Decision:
    """The decision on the primary measure, with what failed, the noise of the judge, and which pairs to judge next."""
    inputs, joined = systems.inputs, systems.joined

    def decide_by(data: DecisionData, mode: Looks = rule.looks) -> Decision:
        return decide(
            data, margin=margin, baseline=named, looks=mode, interval=_interval_of(joined, systems.groups), seed=rule.seed
        )

    judge = judge_of_values(inputs, data.measure, joined.queries)
    if judge is not None and rule.labels_by is None:
        from rankproof._analysis.compare.judged_decision import judged_decision

        return with_judge_noise(inputs, judged_decision(inputs, joined, systems.whole, data, judge, decide_by))
    decision = decide_by(data)
    decision = replace(decision, judge=judge, labels_by=None if judge is None else rule.labels_by)
    decision = with_judge_noise(inputs, decision)
    return decision if decision.decided else with_pairs_to_judge(inputs, decision)


def _interval_of(joined: JoinedValues, groups: IntArray | None) -> Callable[[FloatArray], Interval | None]:
    """The 95% interval of a mean difference, None where few queries or conversations differ."""

    def interval(differences: FloatArray) -> Interval | None:
        weights = joined.weights
        if groups is not None:
            differences, weights = group_means(differences, weights, groups)
        return mean_interval(differences, weights=weights) if enough_differ(differences, weights) else None

    return interval

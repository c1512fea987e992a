"""The decision on values of a machine judge: by the labels of people who checked it, else only its leader."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from rankproof._analysis.compare.counted_queries import conversations
from rankproof._analysis.compare.joined_values import JoinedValues, with_first_answers
from rankproof._analysis.compare.people_labels import PeopleValues, people_values
from rankproof._analysis.compare.value_judge import without_check, without_risks
from rankproof._analysis.decision.decide import DecisionData
from rankproof._analysis.decision.record import Decision, JudgeCheck
from rankproof._analysis.inputs import AnalysisInput
from rankproof._data.arrays import FloatArray, IntArray
from rankproof._statistics.labelled_means import MIN_CLAIM_LABELS, MIN_FOR_INTERVAL, LabelledMeans, labelled_means, labels_needed
from rankproof._statistics.options import Looks
from rankproof._statistics.prediction_powered import combined_judges
from rankproof.measures._base import Measure
from rankproof.measures._claim_base import ClaimMeasure, judge_of_measure, measure_without_judge

Decide = Callable[[DecisionData, Looks], Decision]


def judged_decision(
    inputs: AnalysisInput, joined: JoinedValues, whole: JoinedValues, data: DecisionData, judge: str, decide: Decide
) -> Decision:
    """The decision by people's labels of a random sample of questions and the judge's values of all.

    Without labels, or with labels that are no such sample, the judge has a leader and nothing is decided. `joined` are the values
    of queries with a relevant document by the judge, `whole` those of all: people may know relevant documents of the others.
    """
    unchecked = without_check(inputs, joined, decide(data, "one"), judge)
    # People label the first answer to a question, so the judge's value of that answer stands beside theirs.
    labelled_answers = with_first_answers(whole, inputs.result)
    people = people_values(inputs, labelled_answers)
    if people is None or unchecked.reason != "judge_not_checked":
        return unchecked
    labelled = len(people.questions)
    check = JudgeCheck(people.file, people.unusable, people.agreement, changed=people.changed, claims=people.claims or None)
    if not labelled or people.values is None:
        return replace(unchecked, check=check)
    if labelled < MIN_FOR_INTERVAL:
        return replace(unchecked, outcome="not_decided", reason="few_labels", labelled=labelled, check=check)
    if people.means is None:
        whole, labelled_answers, judge = _with_all_judges(inputs, whole, labelled_answers, people, judge)
    data = replace(data, values=whole.values[0], weights=whole.weights)
    first, groups = data.oriented(labelled_answers.values[0]), conversations(inputs, whole.queries)
    if people.means is None:
        has_judge = _is_judge_alone(inputs, whole)
        own = labelled_data(whole, data, people, people.values, first, has_judge=has_judge, groups=groups)
    else:
        own = _claim_sample_data(whole, data, people, groups)
    decision = replace(decide(own, "many"), judge=judge, labelled=labelled)
    decision = replace(decision, check=_check(check, data, own, decision))
    if people.means is not None and people.claims < MIN_CLAIM_LABELS:
        decision = replace(decision, outcome="not_decided", kind=None, systems=(), reason="few_labels")
    return without_risks(decision) if decision.reason == "few_labels" else decision


def _with_all_judges(
    inputs: AnalysisInput, whole: JoinedValues, first: JoinedValues, people: PeopleValues, judge: str
) -> tuple[JoinedValues, JoinedValues, str]:
    """The values of all judges of the measure as one judge with its name, if there are several.

    `first` are the values of the first answers, which people labelled. A value that another judge lacks is that of the measure.
    """
    others = _other_judges(inputs, whole.measures[0])
    if not others or people.values is None:
        return whole, first, judge
    places = {query: row for row, query in enumerate(whole.queries)}
    labelled = np.array([places[question] for question in people.questions])
    values = [first.values[0], *(_values_by(inputs, str(other), first) for other in others.values())]
    combined, weights = combined_judges(values, people.values, labelled, conversations(inputs, whole.queries))
    name = " + ".join(f"{weight:.2f} {name}" for weight, name in zip(weights, (judge, *others), strict=True))
    return replace(whole, values=combined[None]), replace(first, values=combined[None]), name


def _other_judges(inputs: AnalysisInput, measure: Measure) -> dict[str, Measure]:
    """The same measure by other judges, by their names."""
    if not isinstance(measure, ClaimMeasure):
        return {}
    same = [
        values.measure
        for values in inputs.result.systems[0].measures.values()
        if isinstance(values.measure, ClaimMeasure) and measure_without_judge(values.measure) == measure_without_judge(measure)
    ]
    return {name: other for other in same if other != measure and (name := judge_of_measure(other)) is not None}


def _values_by(inputs: AnalysisInput, measure: str, joined: JoinedValues) -> FloatArray:
    """The values by another judge; of repeated answers the first."""
    values: FloatArray = joined.values[0].copy()
    systems = {system.name: system.measures[measure] for system in inputs.result.systems}
    for at, name in enumerate(joined.systems):
        by_query, repeats = systems[name].per_query, systems[name].repeats
        for row, query in enumerate(joined.queries):
            value = repeats[query][0] if query in repeats else by_query.get(query, values[row, at])
            values[row, at] = value
    return values


def _claim_sample_data(joined: JoinedValues, data: DecisionData, people: PeopleValues, groups: IntArray | None) -> DecisionData:
    """The corrected values of all questions, with the means that labels of single claims give."""
    assert people.values is not None, "people labelled claims"
    return replace(
        data,
        values=people.values,
        judged_only=None,
        reversed_ties=None,
        equally_long=None,
        by_rank=None,
        groups=groups,
        missing=people.missing,
        queries=len(joined.queries),
        without_relevant=0,
        labelled=people.means,
    )


def _is_judge_alone(inputs: AnalysisInput, joined: JoinedValues) -> bool:
    """Whether the judge gave every label: with grades of people among them, labelled questions are not like the others."""
    if joined.measures[0].kind == "answer":
        return True
    judged = ((query, doc) for query in joined.queries for doc in inputs.qrels.get(query, {}))
    return all(pair in inputs.qrels.judge_labels for pair in judged)


def labelled_data(
    joined: JoinedValues,
    data: DecisionData,
    people: PeopleValues,
    values: FloatArray,
    first: FloatArray,
    *,
    has_judge: bool,
    groups: IntArray | None,
) -> DecisionData:
    """People's values, with the means that they and the judge give; `has_judge` says whether the judge counts.

    `first` are the judge's values of the first answers, which people labelled; `groups` are the conversations of all questions.
    """
    places = {query: row for row, query in enumerate(joined.queries)}
    own = [places[question] for question in people.questions]
    others = [row for row in range(len(joined.queries)) if row not in set(own)] if has_judge else []
    weights = joined.weights
    judged = data.oriented(joined.values[0])
    order = None if weights is None else np.concatenate([weights[own], weights[others]])
    grouped = None if groups is None else np.concatenate([groups[own], groups[others]])
    means = labelled_means(data.oriented(values), first[own], judged[others], order, grouped)
    return replace(
        data,
        values=values,
        weights=None if weights is None else weights[own],
        judged_only=None,
        reversed_ties=None,
        equally_long=None,
        by_rank=None,
        groups=None if groups is None else groups[own],
        missing=people.missing,
        queries=len(joined.queries),
        without_relevant=0,
        labelled=means,
    )


def _check(check: JudgeCheck, data: DecisionData, own: DecisionData, decision: Decision) -> JudgeCheck:
    """The judge's weight, its own leader if people have another, and how many labels decide."""
    assert own.labelled is not None, "people labelled questions"
    systems, by_judge = data.systems, data.oriented(np.array(data.means()))
    leader, first = int(np.argmax(by_judge)), systems.index(str(decision.leader))
    check = replace(check, weight=own.labelled.weight, worth=own.labelled.worth, needed=_needed(own.labelled, own, decision))
    shown = {name: decision.of(name).value for name in systems}
    outside = {name: mean for name, mean in zip(systems, own.means(), strict=True) if mean != shown[name]}
    check = replace(check, outside=outside)
    rival = decision.rival or next((pair.other for pair in decision.against), None)
    if decision.first is not None and rival is not None:
        share = own.labelled.label_share(systems.index(decision.first), systems.index(rival))
        check = replace(check, label_share=share)
    if leader == first:
        return check
    apart, corrected = (float(means[leader] - means[first]) for means in (by_judge, own.labelled.means))
    return replace(check, leader=systems[leader], lead=apart, corrected_lead=corrected)


def _needed(labelled: LabelledMeans, own: DecisionData, decision: Decision) -> int | None:
    """The labelled questions that decide between the leader and its rival; None if it is decided."""
    if decision.decided or decision.leader is None or not labelled.unlabelled:
        return None
    leader = decision.of(decision.leader)
    if leader.rival is None or leader.limit is None:
        return None
    first, rival = own.systems.index(leader.name), own.systems.index(leader.rival)
    needed = labels_needed(labelled, labelled.pairs(), first, rival, decision.margin, leader.limit)
    if needed is None or own.groups is None:
        return needed
    # Conversations are counted there: a labelled one stands for as many labelled questions as those so far.
    return math.ceil(needed * len(own.values) / labelled.labelled)

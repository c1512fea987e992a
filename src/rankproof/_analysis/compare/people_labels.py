"""People's values of the questions that they labelled to check a machine judge, or why their labels cannot check it."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rankproof._analysis.answers.logged_answers import AnswerJudges, LoggedAnswers
from rankproof._analysis.answers.trust import CORRECTED_TABLES, counted_claims, is_sum_over_claims
from rankproof._analysis.compare.counted_queries import conversations
from rankproof._analysis.compare.joined_values import JoinedValues
from rankproof._analysis.compare.unjudged_documents import USUAL_DEPTH, top_lists
from rankproof._analysis.decision.scenarios import MissingValues
from rankproof._analysis.inputs import AnalysisInput
from rankproof._data.answers import Answers
from rankproof._data.arrays import BoolArray, FloatArray, IntArray
from rankproof._data.claims import ClaimVerdict, Verdict
from rankproof._data.dataset import Queries, Query
from rankproof._data.qrels import Qrels
from rankproof._data.text import pluralise
from rankproof._evaluation.claim_verdicts import has_unit, matching_label, unit_of
from rankproof._evaluation.evaluate import evaluate_runs
from rankproof._evaluation.result import Result
from rankproof._formats.claims import ClaimKey, ClaimLabels, PersonLabel, claim_key, read_labels
from rankproof._formats.read import read_qrels
from rankproof._io.open import open_source
from rankproof._results.judgements import join_judgements
from rankproof._results.label_tasks import (
    ClaimTexts,
    LabelDraw,
    claims_to_label,
    complete_questions,
    labelled_items,
    read_label_draw,
)
from rankproof._statistics.labelled_means import ClaimSample, LabelledMeans, claim_sample_means
from rankproof.errors import UsageError, for_message
from rankproof.measures._base import Measure, worst_value
from rankproof.measures._claim_base import ClaimMeasure, with_judge

_SAME_VALUE = 1e-9
_PEOPLE = "people"
_PEOPLE_LABEL = f"{_PEOPLE}:labels:1"
"""The label of a judge whose name is people, as verdicts have it."""


@dataclass(frozen=True, eq=False, slots=True)
class PeopleValues:
    """People's values of whole questions of a random draw: rows are questions, columns are systems.

    `missing` says which values people lack. `unusable` says why the labels cannot correct a judge; then there are no questions.
    `agreement` says how far people and judge agree on documents, empty if not known. `changed` counts the questions whose labels
    do not count, because they are of other answers, contexts or documents than the present ones.
    If people labelled `claims` single claims of a random draw, `questions` are those with a label, `values` are the corrected
    ones of all questions, and `means` theirs.
    """

    file: str
    questions: tuple[str, ...] = ()
    values: FloatArray | None = None
    missing: MissingValues | None = None
    unusable: str = ""
    agreement: str = ""
    changed: int = 0
    means: LabelledMeans | None = None
    claims: int = 0


def people_values(inputs: AnalysisInput, joined: JoinedValues) -> PeopleValues | None:
    """People's values of the questions that they labelled, in the order of the draw; None without labels for the measure."""
    measure = joined.measures[0]
    for file in filter(_has_labels, inputs.labels):
        draw = read_label_draw(file)
        if _is_of_claims(file, draw) == (measure.kind == "answer"):
            values_by = _of_claims if measure.kind == "answer" else _of_documents
            return values_by(inputs, joined, file, draw)
    return None


def with_labels_file(inputs: AnalysisInput, measure: Measure, file: str) -> AnalysisInput:
    """The input with labels in this file; labels of another kind than the measure needs are an error."""
    open_source(file)
    if _is_of_claims(file, read_label_draw(file)) != (measure.kind == "answer"):
        kind, other = ("claims", "documents") if measure.kind == "answer" else ("documents", "claims")
        raise UsageError(f"{for_message(file)} has labels of {other}", fix=f"pass labels of {kind}, which {measure} needs")
    return replace(inputs, labels=(file,))


def _has_labels(file: str) -> bool:
    return os.path.exists(file) and os.path.getsize(file) > 0


def _is_of_claims(file: str, draw: LabelDraw | None) -> bool:
    return file.endswith(".jsonl") if draw is None else draw.kind == "claims"


def _misfits(joined: JoinedValues, draw: LabelDraw | None) -> Iterator[str]:
    """Why labels cannot correct the judge of these values."""
    if draw is None or not draw.is_in_order:
        yield "are not a random draw of questions"
        return
    if missing := [name for name in joined.systems if name not in draw.systems]:
        yield f"are of other systems: {for_message(missing[0])} is not among them"
    if not set(joined.queries) <= set(draw.questions):
        yield "are of other questions"
    cutoff = getattr(joined.measures[0], "cutoff", None)
    if draw.depth is not None and cutoff is not None and cutoff > draw.depth:
        yield f"are of the top {draw.depth} documents, and {joined.measures[0]} needs {cutoff}"


def _of_documents(inputs: AnalysisInput, joined: JoinedValues, file: str, draw: LabelDraw | None) -> PeopleValues:
    """Values by the grades of people, over the documents that were shown to them."""
    people = Qrels((row for row in read_qrels(file).rows() if not row.judge_label), source=file)
    agreement = _agreement(inputs, people)
    unusable = next(_misfits(joined, draw), "")
    if draw is None or unusable:
        return PeopleValues(file, unusable=unusable, agreement=agreement)
    depth = draw.depth or USUAL_DEPTH
    tops = [
        top_lists(inputs.runs[name], inputs.read_options, draw.questions, depth) for name in draw.systems if name in inputs.runs
    ]

    def is_graded(question: str) -> bool:
        return {doc for top in tops for doc in top.get(question, ())} <= people.get(question, {}).keys()

    questions = _among(complete_questions(draw, is_graded), joined)
    begun = [question for question in draw.questions if question in people]
    # The last question with a grade may still be in work.
    changed = sum(not is_graded(question) for question in begun[:-1])
    if not questions:
        return PeopleValues(file, agreement=agreement, changed=changed)
    graded = Qrels((row for row in people.rows() if row.query in set(questions)), source=file)
    options = replace(inputs.options, queries=questions)
    runs = {name: inputs.runs[name] for name in joined.systems}
    result = evaluate_runs(graded, runs, [str(joined.measures[0])], options)
    return PeopleValues(file, questions, *values_by_labels(result, joined, questions), agreement=agreement, changed=changed)


def _agreement(inputs: AnalysisInput, people: Qrels) -> str:
    """How far people and the judge agree on the pairs that both graded; empty without such a pair."""
    agreement = join_judgements((inputs.qrels, people), "last").facts({}, inputs.rel).get("agreement")
    if agreement is None:
        return ""
    kappa = "" if agreement["kappa"] is None else f", kappa of relevance {agreement['kappa']:.2f}"
    return (
        f"People and judge give {agreement['same_grade']:.0%} of {pluralise(agreement['pairs'], 'pair')} the same grade{kappa}."
    )


def _among(questions: Sequence[str], joined: JoinedValues) -> tuple[str, ...]:
    queries = set(joined.queries)
    return tuple(question for question in questions if question in queries)


def values_by_labels(result: Result, joined: JoinedValues, questions: Sequence[str]) -> tuple[FloatArray, MissingValues | None]:
    """Values by question and system, and which of them people lack.

    A missing value is that of the judge where no label matters, as for an abstention; it is the worst one where people found
    nothing to check.
    """
    columns = [next(iter(system.measures.values())) for system in result.systems]
    places = {query: row for row, query in enumerate(joined.queries)}
    rows = np.array([places[question] for question in questions])
    by_query = [column.per_query for column in columns]
    labelled = np.array([[own.get(question, np.nan) for own in by_query] for question in questions])
    absent = np.isnan(labelled)
    unclaimed = absent & np.array([[column.reasons.get(question) == "no_claim" for column in columns] for question in questions])
    worst = worst_value(joined.measures[0]) or 0.0
    values = np.where(unclaimed, worst, np.where(absent, joined.values[0][rows], labelled))
    return values, None if joined.missing is None else _missing(joined.missing, rows, absent, unclaimed)


def _missing(judged: MissingValues, rows: IntArray, absent: BoolArray, unclaimed: BoolArray) -> MissingValues:
    """What people lack: of the judge's missing values those that people did not label, and answers with nothing to check."""
    own, still = judged[rows], absent & ~unclaimed
    abstained = (own.abstained & still) | (unclaimed & ~own.no_answer)
    missing = MissingValues(own.no_answer & absent, abstained, own.unknown & still, skips=judged.skips)
    everywhere = judged.left_out.copy()
    everywhere[rows] = missing.left_out
    return replace(missing, shares=everywhere.mean(axis=0) + missing.unknown.mean(axis=0))


def _of_claims(inputs: AnalysisInput, joined: JoinedValues, file: str, draw: LabelDraw | None) -> PeopleValues:
    """Values by the labels that people gave to all claims of a question."""
    measure = joined.measures[0]
    if not isinstance(measure, ClaimMeasure):
        return PeopleValues(file, unusable=f"are of claims, which {measure} does not count")
    labels = read_labels(open_source(file))
    if draw is None and labels.is_claim_sample:
        return _of_claim_sample(inputs, joined, file, labels)
    unusable = next(_misfits(joined, draw), "")
    answers = {run.name: run.answers for run in inputs.system_runs if run.name in joined.systems and run.answers is not None}
    if draw is None or unusable or len(answers) < len(joined.systems) or inputs.texts is None:
        return PeopleValues(file, unusable=unusable or "need the answers: pass the results folder")
    claims = labelled_claims(inputs, measure, joined.systems)
    present = _labels_of_present_texts(inputs, answers, labels.labels, labelled_items(file))
    verdicts = {claim_key(claim): verdict for claim, verdict in _labelled(claims, present)}
    keys: dict[str, set[ClaimKey]] = defaultdict(set)
    for claim in claims:
        keys[claim.query].add(claim_key(claim))

    def is_labelled(question: str) -> bool:
        return keys[question] <= verdicts.keys()

    outdated = {label.key[:2] for label in set(labels.labels).difference(present)}
    questions = _among(complete_questions(draw, is_labelled), joined)
    changed = len({query for query, system in outdated if system in joined.systems and not is_labelled(query)})
    if not questions:
        return PeopleValues(file, changed=changed)
    labelled_answers = _answers_to(questions, inputs, inputs.texts, answers)
    people = with_judge(measure, _PEOPLE)
    try:
        result = labelled_answers.evaluated([people], AnswerJudges(), rel=inputs.rel, known=tuple(verdicts.values()))
    except UsageError:
        return PeopleValues(file, unusable=f"do not give {measure}")
    if any("no_evidence" in next(iter(system.measures.values())).counts for system in result.systems):
        return PeopleValues(file, unusable=f"have no evidence, which {measure} needs")
    result = replace(result, systems=tuple(sorted(result.systems, key=lambda system: joined.systems.index(system.name))))
    return PeopleValues(file, questions, *values_by_labels(result, joined, questions), changed=changed)


def present_labels(inputs: AnalysisInput, file: str) -> tuple[ClaimLabels, list[str]]:
    """The labels of a file without those of other answers or contexts, and a note on the questions that have such labels.

    Without a log, nobody knows what was labelled: then all labels are there.
    """
    labels, items = read_labels(open_source(file)), labelled_items(file)
    if not items or inputs.texts is None:
        return labels, []
    present = set(_labels_of_present_texts(inputs, inputs.answers, labels.labels, items))
    known = {claim_key(verdict) for verdict in inputs.result.claims}
    outdated = {label for label in labels.labels if label.key in known and label not in present}
    kept = tuple(label for label in labels.labels if label not in outdated)
    questions = pluralise(len({label.key[0] for label in outdated}), "question")
    note = f"the labels of {questions} are of other answers or contexts and do not count"
    return replace(labels, labels=kept), [note] if outdated else []


def _labels_of_present_texts(
    inputs: AnalysisInput, answers: Mapping[str, Answers], labels: Sequence[PersonLabel], items: Collection[str]
) -> list[PersonLabel]:
    """The labels of claims whose texts, answer and contexts are those that people saw: the claims of these `items`."""
    assert inputs.texts is not None, "labels need the questions"
    texts, keys = ClaimTexts(inputs.texts, answers, inputs.contexts), {label.key for label in labels}
    present = {
        (claim_key(verdict), verdict.claim.text)
        for verdict in claims_to_label(inputs.result.claims)
        if claim_key(verdict) in keys and (item := texts.item(verdict)) is not None and item.id in items
    }
    return [label for label in labels if (label.key, label.text) in present]


def _of_claim_sample(inputs: AnalysisInput, joined: JoinedValues, file: str, labels: ClaimLabels) -> PeopleValues:
    """Values by the labels of single claims that were drawn at random."""
    sample = _claim_sample(inputs.result, joined, labels)
    unusable = next(_claim_sample_misfits(joined, sample), "")
    if sample is None or unusable:
        return PeopleValues(file, unusable=unusable)
    values, means = claim_sample_means(sample, conversations(inputs, joined.queries))
    labelled = np.unique(sample.questions[~np.isnan(sample.human)])
    questions = tuple(joined.queries[row] for row in labelled)
    return PeopleValues(file, questions, values, joined.missing, means=means, claims=int((~np.isnan(sample.human)).sum()))


def _claim_sample_misfits(joined: JoinedValues, sample: ClaimSample | None) -> Iterator[str]:
    """Why a random draw of claims cannot correct the judge of these values."""
    if sample is None:
        yield f"are of single claims, which do not give {joined.measures[0]}"
    elif not sample.is_every_system_labelled:
        yield "are of other systems: one of those compared has no labelled claim"
    if joined.weights is not None:
        yield "are of single claims, which do not give means of weighted questions"


def _claim_sample(result: Result, joined: JoinedValues, labels: ClaimLabels) -> ClaimSample | None:
    """The claims that give the values; None if the values are not shares of supported claims, or are means of repeats."""
    measure = joined.measures[0]
    if not isinstance(measure, ClaimMeasure) or not is_sum_over_claims(measure):
        return None
    claims = list(_counted(result, joined, measure))
    credits = np.array([verdict.credit for _, _, _, verdict in claims])
    questions, systems = (np.array([claim[column] for claim in claims], dtype=np.int64) for column in (0, 1))
    shares = np.array([share for _, _, share, _ in claims])
    by_claims, known = np.zeros_like(joined.values[0]), joined.values[0].copy()
    np.add.at(by_claims, (questions, systems), shares * credits)
    known[questions, systems] = 0.0
    if np.abs(by_claims + known - joined.values[0]).max(initial=0.0) > _SAME_VALUE:
        return None
    return ClaimSample(questions, systems, shares, credits, _mean_labels(labels, [verdict for *_, verdict in claims]), known)


def _counted(result: Result, joined: JoinedValues, measure: ClaimMeasure) -> Iterator[tuple[int, int, float, ClaimVerdict]]:
    """The row of the question, the column of the system, the share in the value, and the verdict of each claim."""
    judge = matching_label(measure.judge, dict.fromkeys(verdict.judge for verdict in result.claims))
    own: dict[str, list[ClaimVerdict]] = defaultdict(list)
    for verdict in result.claims:
        is_counted = verdict.table == CORRECTED_TABLES[measure.name] and has_unit(verdict.claim, unit_of(measure))
        if verdict.judge == judge and is_counted:
            own[verdict.system].append(verdict)
    for column, name in enumerate(joined.systems):
        values = dict(zip(joined.queries, joined.values[0, :, column].tolist(), strict=True))
        counted = counted_claims(values, measure.used_verdicts(own[name]))
        for row, query in enumerate(joined.queries):
            yield from ((row, column, 1 / len(counted[query]), verdict) for verdict in counted[query])


def _mean_labels(labels: ClaimLabels, claims: list[ClaimVerdict]) -> FloatArray:
    """The mean label of each claim; NaN without a label, or if people found nothing to check."""
    values: dict[object, list[float]] = defaultdict(list)
    for label in labels.labels:
        if label.value is not None:
            values[label.key, label.text].append(label.value)
    own = (values.get((claim_key(claim), claim.claim.text)) for claim in claims)
    return np.array([sum(claim_values) / len(claim_values) if claim_values else np.nan for claim_values in own])


def _answers_to(
    questions: Sequence[str], inputs: AnalysisInput, texts: Mapping[str, Query], answers: Mapping[str, Answers]
) -> LoggedAnswers:
    """The answers of each system to these questions."""
    kept = set(questions)
    return LoggedAnswers(
        inputs.name,
        Queries(query for key, query in texts.items() if key in kept),
        {name: Answers({key: answer for key, answer in own.items() if key in kept}) for name, own in answers.items()},
        inputs.qrels,
        inputs.contexts,
    )


def labelled_claims(inputs: AnalysisInput, measure: ClaimMeasure, systems: Sequence[str]) -> list[ClaimVerdict]:
    """The claims behind the values of a measure that people label, each once: those that state something, but no relevance."""
    judge = matching_label(measure.judge, dict.fromkeys(claim.judge for claim in inputs.result.claims))
    claims: dict[ClaimKey, ClaimVerdict] = {}
    for claim in inputs.result.claims:
        is_labelled = claim.table in measure.every_table and claim.against != "question" and claim.claim.remark is None
        if claim.judge == judge and claim.system in systems and is_labelled and has_unit(claim.claim, unit_of(measure)):
            key = claim_key(claim)
            claims[key] = max(claims.get(key, claim), claim, key=lambda verdict: verdict.contexts_shown)
    return list(claims.values())


def _labelled(claims: Sequence[ClaimVerdict], labels: Sequence[PersonLabel]) -> list[tuple[ClaimVerdict, ClaimVerdict]]:
    """The claims that people labelled, each with their verdict: the share of people who call it supported is its score."""
    by_claim: dict[object, list[PersonLabel]] = defaultdict(list)
    for label in labels:
        by_claim[label.key, label.text].append(label)
    own = ((claim, by_claim.get((claim_key(claim), claim.claim.text))) for claim in claims)
    return [(claim, _verdict_of(claim, claim_labels)) for claim, claim_labels in own if claim_labels]


def _verdict_of(claim: ClaimVerdict, labels: Sequence[PersonLabel]) -> ClaimVerdict:
    values = [label.value for label in labels if label.value is not None]
    score = sum(values) / len(values) if values else None
    verdict: Verdict = "nothing_to_check" if score is None else "supported" if score >= 0.5 else "not_stated"
    shown = score if score not in (None, 0.0, 1.0) else None
    return replace(claim, judge=_PEOPLE_LABEL, verdict=verdict, score=shown, evidence=(), reason="")

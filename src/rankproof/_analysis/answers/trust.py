"""How far a judge of claims agrees with people, and the means of measures as people would label their claims."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from rankproof._analysis.answers.judge_reliability import CheckedClaim, bias_table, combined_judges, several_judges_table
from rankproof._data.claims import CLAIM_TABLES, Calibration, ClaimTable, ClaimVerdict
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import pluralise
from rankproof._evaluation.claim_verdicts import has_unit, matching_label, unit_of
from rankproof._evaluation.result import MeasureResult, Result
from rankproof._formats.claims import ClaimKey, ClaimLabels, PersonLabel, claim_key
from rankproof._statistics.agreement import FEW_QUERIES, RatedItem, ScoredItem, auc, kappa
from rankproof._statistics.prediction_powered import (
    FEW_LABELS,
    INTERVAL_METHOD,
    JudgedItem,
    KnownValue,
    PredictionPoweredMean,
    corrected_mean,
)
from rankproof.errors import UsageError, for_message
from rankproof.measures._claim_base import ClaimMeasure, by_reference, checkable_verdicts, measure_without_judge

CORRECTED_TABLES: Mapping[str, ClaimTable] = {
    "Faithfulness": "answer-contexts",
    "ClaimP": "answer-reference",
    "ClaimR": "reference-answer",
    "ContextR": "reference-contexts",
    "NuggetR": "nugget-answer",
}
"""The measures that are means over answers of the share of supported claims, and the table of these claims."""
_TABLE_WORDS: Mapping[ClaimTable, str] = {
    table: "{} in {}".format(*table.split("-")) if table.endswith(("contexts", "answer")) else table.replace("-", " against ")
    for table in CLAIM_TABLES
}
_WITHOUT_CREDIT = ("failed", "nothing_to_check")


def _table_words(table: ClaimTable) -> str:
    """The table in words; of a criterion the name of its rubric."""
    return _TABLE_WORDS.get(table) or f"grades by {table.split(':')[1]}"


@dataclass(frozen=True, slots=True)
class _LabelledClaim:
    """The verdict of a judge on a claim, with the labels that people gave to it."""

    verdict: ClaimVerdict
    labels: tuple[PersonLabel, ...]

    @property
    def human(self) -> float | None:
        """The mean of the labels; None if nobody found something to check."""
        values = [label.value for label in self.labels if label.value is not None]
        return sum(values) / len(values) if values else None


@dataclass(frozen=True, eq=False, slots=True)
class TrustReport:
    """The tables on a judge, and its agreement with people as facts that results keep."""

    tables: tuple[Table, ...]
    calibrations: tuple[Calibration, ...]


def trust_report(result: Result, labels: ClaimLabels) -> TrustReport:
    """The agreement of each judge with people, and the means of its measures corrected by their labels.

    A label of another text than the result has is an error with its line.
    """
    matched = _Matched(result, labels)
    calibrations = tuple(matched.calibrations())
    if not calibrations:
        what = "no label is of a claim that a judge of these results checked"
        raise UsageError(
            f"{for_message(labels.source)}: {what}", fix="label the claims of these results: rankproof serve RESULTS"
        )
    tables = [
        table
        for judge in dict.fromkeys(calibration.judge for calibration in calibrations)
        for table in _judge_tables(
            judge, result, matched, [calibration for calibration in calibrations if calibration.judge == judge]
        )
    ]
    return TrustReport((*tables, *_tables_of_several(matched)), calibrations)


def _tables_of_several(matched: _Matched) -> Iterator[Table]:
    """The judges together where there are several, and the bias of each where there are several systems."""
    checked = matched.checked()
    together = {kind: combined_judges(judges) for kind, judges in checked.items() if len(judges) > 1}
    if together:
        yield several_judges_table(together)
    every = {**checked, **together}
    if any(len({claim.system for claim in claims}) > 1 for judges in every.values() for claims in judges.values()):
        yield bias_table(every)


def _judge_tables(judge: str, result: Result, matched: _Matched, calibrations: Sequence[Calibration]) -> tuple[Table, Table]:
    notes = tuple(_agreement_notes(judge, calibrations, matched))
    return agreement_table(calibrations, notes, matched.people()), _means_table(judge, result, matched)


class _Matched:
    """The verdicts of a result with the labels of their claims."""

    def __init__(self, result: Result, labels: ClaimLabels) -> None:
        self.labels = labels
        texts: dict[ClaimKey, set[str]] = defaultdict(set)
        for verdict in result.claims:
            texts[claim_key(verdict)].add(verdict.claim.text)
        self._given: dict[tuple[ClaimKey, str], list[PersonLabel]] = defaultdict(list)
        self.unknown = 0
        for label in labels.labels:
            self._add(label, texts.get(label.key))
        self.verdicts: dict[tuple[str, ClaimTable], list[ClaimVerdict]] = defaultdict(list)
        for verdict in _one_a_claim(result.claims):
            self.verdicts[verdict.judge, verdict.table].append(verdict)

    def _add(self, label: PersonLabel, texts: set[str] | None) -> None:
        if texts is None:
            self.unknown += 1
        elif label.text in texts:
            self._given[label.key, label.text].append(label)
        else:
            query, system, side, *_, n = label.key
            where = f"{side} claim {n} of system {for_message(system)} for query {for_message(query)}"
            what = f"the label is of another text than {where}"
            raise self.labels.error(label, what, "label the claims of these results; their texts have changed")

    def labelled(self, verdicts: Iterable[ClaimVerdict]) -> list[_LabelledClaim]:
        """The claims that people labelled."""
        labels_of = [(verdict, self._given.get((claim_key(verdict), verdict.claim.text))) for verdict in verdicts]
        return [_LabelledClaim(verdict, tuple(labels)) for verdict, labels in labels_of if labels]

    def people(self) -> str:
        """How many claims each person labelled."""
        acts = {_act(label): label.person for labels in self._given.values() for label in labels}
        counted = Counter(acts.values()).most_common()
        return f"Labelled claims: {', '.join(f'{count} by {for_message(name)}' for name, count in counted)}."

    def calibrations(self) -> Iterator[Calibration]:
        """The agreement of each judge on each table that has labels."""
        for (judge, table), verdicts in self.verdicts.items():
            claims = [claim for claim in self.labelled(verdicts) if claim.verdict.verdict not in _WITHOUT_CREDIT]
            pairs = _distinct_labels(claims)
            if pairs:
                yield _calibration(judge, table, pairs, _pairs_of_people(claims))

    def checked(self) -> dict[str, dict[str, list[CheckedClaim]]]:
        """The labels of claims that a judge checked, by the kind of claim and the judge."""
        kinds: dict[str, dict[str, list[CheckedClaim]]] = {}
        for (judge, table), verdicts in self.verdicts.items():
            claims = [
                CheckedClaim(
                    _act(label), found.system, found.query, found.credit, found.verdict == "supported", float(label.value)
                )
                for found, labels in ((claim.verdict, claim.labels) for claim in self.labelled(verdicts))
                for label in labels
                if label.value is not None and found.verdict not in _WITHOUT_CREDIT
            ]
            if claims:
                kinds.setdefault(_table_words(table), {})[judge] = claims
        return kinds


def _one_a_claim(verdicts: Iterable[ClaimVerdict]) -> Iterator[ClaimVerdict]:
    """One verdict of each judge on each claim: the one that was checked against the most contexts, as people see it."""
    widest: dict[tuple[str, ClaimKey, str], ClaimVerdict] = {}
    for verdict in verdicts:
        key = verdict.judge, claim_key(verdict), verdict.claim.text
        widest[key] = max(widest.get(key, verdict), verdict, key=lambda candidate: candidate.contexts_shown)
    return iter(widest.values())


def _act(label: PersonLabel) -> tuple[object, ...]:
    """What tells one act of labelling from another: a claim that systems share is labelled once, and has a line for each."""
    query, system, side, against, reference, n = label.key
    return label.person, label.when or system, query, side, against, reference, n, label.text


def _distinct_labels(claims: Iterable[_LabelledClaim]) -> list[tuple[ClaimVerdict, PersonLabel]]:
    """Each label that says whether a claim is supported, once, with the verdict on its claim."""
    distinct = {_act(label): (claim.verdict, label) for claim in claims for label in claim.labels if label.value is not None}
    return list(distinct.values())


def _pairs_of_people(claims: Iterable[_LabelledClaim]) -> list[RatedItem]:
    """Each claim with the labels of two people, in the order of their names."""
    items: dict[tuple[object, ...], RatedItem] = {}
    for claim in claims:
        known = sorted((label for label in claim.labels if label.value is not None), key=lambda label: label.person)
        for first, second in combinations(known, 2):
            item = RatedItem(claim.verdict.query, int(first.value or 0), int(second.value or 0))
            items[(*_act(first), *_act(second))] = item
    return list(items.values())


def _calibration(
    judge: str, table: ClaimTable, pairs: Sequence[tuple[ClaimVerdict, PersonLabel]], people: Sequence[RatedItem]
) -> Calibration:
    area = auc([ScoredItem(verdict.query, verdict.credit, bool(label.value)) for verdict, label in pairs])
    same = kappa([RatedItem(claim.query, int(label.value or 0), int(claim.verdict == "supported")) for claim, label in pairs])
    among = kappa(people)
    return Calibration(
        judge,
        table,
        labels=len(pairs),
        queries=len({verdict.query for verdict, _ in pairs}),
        auc=area.value,
        auc_interval=area.interval,
        kappa=same.value,
        kappa_interval=same.interval,
        people_kappa=among.value,
        people_kappa_interval=among.interval,
    )


def agreement_table(calibrations: Sequence[Calibration], notes: tuple[str, ...] = (), people: str = "") -> Table:
    """The agreement of each judge with people on each table of claims; a judge that is alone is in the title.

    `people` says who gave the labels.
    """
    judges = list(dict.fromkeys(calibration.judge for calibration in calibrations))
    several = len(judges) > 1
    return Table(
        "judge-trust",
        f"Agreement of {'judges' if several else for_message(judges[0])} with people",
        (
            *([Column("judge")] if several else []),
            Column("claims"),
            Column("agreement"),
            Column("value", "value", "AUC: 0.5 is chance; kappa: 1 is full agreement, 0 is chance"),
            Column("95% CI", "interval", "Student's t over queries"),
            Column("labels", "count", "labels that say whether a claim is supported"),
        ),
        tuple(
            (*([calibration.judge] if several else []), *row)
            for calibration in calibrations
            for row in _agreement_rows(calibration)
        ),
        sentences=(*([people] if people else []), *_agreement_sentences(calibrations, several=several)),
        notes=notes,
    )


def _agreement_rows(calibration: Calibration) -> Iterator[tuple[CellValue, ...]]:
    """AUC and kappa of the judge, and the kappa of people, which is what a judge can reach."""
    named = {
        "AUC": (calibration.auc, calibration.auc_interval),
        "kappa": (calibration.kappa, calibration.kappa_interval),
        "people's kappa": (calibration.people_kappa, calibration.people_kappa_interval),
    }
    for name, (value, interval) in named.items():
        pair = None if interval is None else (interval[0], interval[1])
        yield _table_words(calibration.table), name, value, pair, calibration.labels


def _agreement_sentences(calibrations: Sequence[Calibration], *, several: bool) -> Iterator[str]:
    """Warnings where the judge is not shown to tell supported claims from others."""

    def names_of(calibrations: Sequence[Calibration]) -> str:
        return ", ".join(
            (f"{for_message(calibration.judge)} " if several else "") + _table_words(calibration.table)
            for calibration in calibrations
        )

    if same := [calibration for calibration in calibrations if calibration.auc is None]:
        yield f"Agreement is not known, because people gave every claim the same label: {names_of(same)}."
    rest = [calibration for calibration in calibrations if calibration.auc is not None]
    if few := [calibration for calibration in rest if calibration.auc_interval is None]:
        yield f"Too few labels to show that the judge tells supported claims from others: {names_of(few)}."
    if chance := [
        calibration for calibration in rest if calibration.auc_interval is not None and calibration.auc_interval[0] <= 0.5
    ]:
        yield f"Not shown to tell supported claims from others, as the AUC may be 0.5: {names_of(chance)}."


def _agreement_notes(judge: str, calibrations: Sequence[Calibration], matched: _Matched) -> Iterator[str]:
    if matched.unknown:
        yield f"{pluralise(matched.unknown, 'label')} left out: these results have no such claim"
    every = [claim for (by, _), verdicts in matched.verdicts.items() if by == judge for claim in matched.labelled(verdicts)]
    failed = sum(claim.verdict.verdict == "failed" for claim in every)
    if failed:
        yield f"{pluralise(failed, 'labelled claim')} left out: the judge failed on them"
    differ = sum((claim.human is None) != (claim.verdict.verdict == "nothing_to_check") for claim in every)
    if differ:
        yield f"judge and people differ on whether there is anything to check in {pluralise(differ, 'claim')}"
    if any(calibration.people_kappa is None for calibration in calibrations):
        yield "people's own agreement is not known: two people have to label the same claims (serve --assessor NAME)"
    few = min(calibrations, key=lambda calibration: (calibration.queries >= FEW_QUERIES, calibration.labels))
    if few.queries < FEW_QUERIES or few.labels < FEW_LABELS:
        labels = f"{pluralise(few.labels, 'label')} of {pluralise(few.queries, 'query', 'queries')}"
        yield f"only {labels}: with fewer than {FEW_LABELS} labels or {FEW_QUERIES} queries the intervals are approximate"


@dataclass(frozen=True, eq=False, slots=True)
class _CorrectedMean:
    """The mean of a measure of one system, and what people make of it; None if too few of its claims have labels."""

    system: str
    measure: MeasureResult
    found: PredictionPoweredMean | None


def _means_table(judge: str, result: Result, matched: _Matched) -> Table:
    every = list(_corrected_means(judge, result, matched))
    shown = [mean for mean in every if mean.found is not None]
    return Table(
        "judge-means",
        f"Means of {for_message(judge)}, corrected by the labels of people",
        (
            Column("system"),
            Column("measure"),
            Column("mean of", "text", "the judge, the labels alone, or both"),
            Column("value", "value"),
            Column("95% CI", "interval", INTERVAL_METHOD),
            Column("claims", "count", "all claims, or those with a label"),
            Column("weight", "value", "the judge's share in the corrected mean"),
        ),
        tuple(row for mean in shown if mean.found is not None for row in _mean_rows(mean.system, mean.measure, mean.found)),
        sentences=_ASSUMPTION if shown else (),
        notes=tuple(_mean_notes(judge, result, every)),
    )


_ASSUMPTION = (
    "A corrected mean is the mean over answers of the share of claims that people would call supported.",
    "It is valid if the labelled claims, or their questions, are drawn at random, as serve --label does.",
)


def _mean_rows(system: str, measure: MeasureResult, mean: PredictionPoweredMean) -> Iterator[tuple[CellValue, ...]]:
    name, every = measure_without_judge(measure.measure), mean.seen + mean.unseen
    yield system, name, "judge", measure.value, None, every, None
    yield system, name, "labels", mean.human.value, mean.human.interval, mean.seen, None
    yield system, name, "corrected", mean.corrected.value, mean.corrected.interval, every, mean.weight


def _mean_notes(judge: str, result: Result, every: Sequence[_CorrectedMean]) -> Iterator[str]:
    lacking = [f"{measure_without_judge(mean.measure.measure)} of {mean.system}" for mean in every if mean.found is None]
    if lacking:
        yield f"fewer than two labels, so no corrected mean: {for_message(', '.join(lacking))}"
    others = [
        measure_without_judge(measure)
        for measure in _claim_measures(result)
        if not is_sum_over_claims(measure) and matching_label(measure.judge, [judge])
    ]
    if others:
        yield f"not corrected, because labels of single claims do not give their values: {', '.join(others)}"


def _claim_measures(result: Result) -> list[ClaimMeasure]:
    first = result.systems[0].measures.values() if result.systems else ()
    return [values.measure for values in first if isinstance(values.measure, ClaimMeasure)]


def is_sum_over_claims(measure: ClaimMeasure) -> bool:
    """Whether the value of an answer is the share of its supported claims, so that labels of single claims give means."""
    return measure.name in CORRECTED_TABLES and getattr(measure, "strict", True) is True


def _corrected_means(judge: str, result: Result, matched: _Matched) -> Iterator[_CorrectedMean]:
    """The means of the measures that name the judge."""
    labels = list(dict.fromkeys(by for by, _ in matched.verdicts))
    chosen = [
        claim_measure
        for claim_measure in _claim_measures(result)
        if is_sum_over_claims(claim_measure) and matching_label(claim_measure.judge, labels) == judge
    ]
    for system in result.systems:
        for measure in chosen:
            own = [
                verdict for verdict in matched.verdicts[judge, CORRECTED_TABLES[measure.name]] if verdict.system == system.name
            ]
            counted = [verdict for verdict in measure.used_verdicts(own) if has_unit(verdict.claim, unit_of(measure))]
            values = system.measures[str(measure)]
            yield _CorrectedMean(system.name, values, _corrected(values, counted, matched))


def _corrected(values: MeasureResult, verdicts: Iterable[ClaimVerdict], matched: _Matched) -> PredictionPoweredMean | None:
    """The corrected mean over the answers that have a value; one without claims counts with its value."""
    items, known = list[JudgedItem](), list[KnownValue]()
    for query, counted in counted_claims(values.per_query, verdicts).items():
        if not counted:
            known.append(KnownValue(query, values.per_query[query]))
        labels = {claim_key(claim.verdict): claim for claim in matched.labelled(counted)}
        for verdict in counted:
            items.append(_item(verdict, labels.get(claim_key(verdict)), 1 / len(counted)))
    return corrected_mean(items, (0.0, 1.0), known)


def counted_claims(values: Mapping[str, float], verdicts: Iterable[ClaimVerdict]) -> dict[str, Sequence[ClaimVerdict]]:
    """The claims that the value of each query is the share of, none if it is known without."""
    claims: dict[str, list[ClaimVerdict]] = defaultdict(list)
    for verdict in checkable_verdicts(verdicts):
        claims[verdict.query].append(verdict)
    return {query: _counted(claims.get(query, ()), value) for query, value in values.items()}


def _counted(claims: Sequence[ClaimVerdict], value: float) -> Sequence[ClaimVerdict]:
    """The claims of the reference that the value is of, where there are several references."""
    references = by_reference(claims)
    if len(references) < 2:
        return claims
    return min(
        references.values(), key=lambda reference: abs(sum(verdict.credit for verdict in reference) / len(reference) - value)
    )


def _item(verdict: ClaimVerdict, labelled: _LabelledClaim | None, weight: float) -> JudgedItem:
    if labelled is None:
        return JudgedItem(verdict.query, verdict.credit, weight=weight)
    return JudgedItem(verdict.query, verdict.credit, labelled.human, weight, skipped=labelled.human is None)


def calibration_words(measures: Sequence[ClaimMeasure], calibrations: Sequence[Calibration]) -> str:
    """How many labels of people the judges of the measures were compared with, to be shown beside their values."""
    labels_of = {measure: _labels(measure, calibrations) for measure in measures}
    counts = sorted(filter(None, labels_of.values()))
    if not counts:
        return "not calibrated"
    several = f"{counts[0]} to " if counts[0] < counts[-1] else ""
    without = [measure_without_judge(measure) for measure, labels in labels_of.items() if not labels]
    rest = f" ({', '.join(without)}: not calibrated)" if without else ""
    return f"calibrated on {several}{pluralise(counts[-1], 'label')}{rest}"


def _labels(measure: ClaimMeasure, calibrations: Iterable[Calibration]) -> int:
    """The labels of the least labelled table of the measure; 0 without any."""
    wanted = [
        calibration
        for calibration in calibrations
        if calibration.table in measure.every_table and matching_label(measure.judge, [calibration.judge])
    ]
    return min((known.labels for known in wanted), default=0)

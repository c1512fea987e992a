"""How far a judge of claims agrees with people, and the means of measures as people would label their claims."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from rankproof._data.claims import CLAIM_TABLES, Calibration, ClaimTable, ClaimVerdict
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import pluralise
from rankproof._evaluation.claim_verdicts import has_unit, matching_label, unit_of
from rankproof._evaluation.result import MeasureResult, Result
from rankproof._formats.labels import ClaimKey, ClaimLabels, PersonLabel, claim_key
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
from rankproof.measures._claim_base import ClaimMeasure, by_reference, checked

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


@dataclass(frozen=True, slots=True)
class _LabelledClaim:
    """The verdict of a judge on a claim, with the labels that people gave to it."""

    verdict: ClaimVerdict
    labels: tuple[PersonLabel, ...]

    @property
    def human(self) -> float | None:
        """The mean of the labels; None where nobody found something to check."""
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
    title = f"Agreement of judges with {pluralise(len(labels.labels), 'label')} of people"
    agreement = agreement_table(calibrations, title, tuple(_agreement_notes(calibrations, matched)))
    return TrustReport((agreement, _means_table(result, matched)), calibrations)


def trust_tables(result: Result, labels: ClaimLabels) -> tuple[Table, ...]:
    """The tables of `trust_report`."""
    return trust_report(result, labels).tables


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
        found = [(one, self._given.get((claim_key(one), one.claim.text))) for one in verdicts]
        return [_LabelledClaim(verdict, tuple(labels)) for verdict, labels in found if labels]

    def calibrations(self) -> Iterator[Calibration]:
        """The agreement of each judge on each table that has labels."""
        for (judge, table), verdicts in self.verdicts.items():
            claims = [one for one in self.labelled(verdicts) if one.verdict.verdict not in ("failed", "nothing_to_check")]
            pairs = _distinct_labels(claims)
            if pairs:
                yield _calibration(judge, table, pairs, _pairs_of_people(claims))


def _one_a_claim(verdicts: Iterable[ClaimVerdict]) -> Iterator[ClaimVerdict]:
    """One verdict of each judge on each claim: the one that was checked against the most contexts, as people see it."""
    found: dict[tuple[str, ClaimKey, str], ClaimVerdict] = {}
    for one in verdicts:
        key = one.judge, claim_key(one), one.claim.text
        found[key] = max(found.get(key, one), one, key=lambda each: float("inf") if each.shown is None else len(each.shown))
    return iter(found.values())


def _act(label: PersonLabel) -> tuple[object, ...]:
    """What tells one act of labelling from another: a claim that systems share is labelled once, and has a line for each."""
    query, system, side, against, reference, n = label.key
    return label.person, label.when or system, query, side, against, reference, n, label.text


def _distinct_labels(claims: Iterable[_LabelledClaim]) -> list[tuple[ClaimVerdict, PersonLabel]]:
    """Each label that says whether a claim is supported, once, with the verdict on its claim."""
    found = {_act(label): (one.verdict, label) for one in claims for label in one.labels if label.value is not None}
    return list(found.values())


def _pairs_of_people(claims: Iterable[_LabelledClaim]) -> list[RatedItem]:
    """Each claim with the labels of two people, in the order of their names."""
    found: dict[tuple[object, ...], RatedItem] = {}
    for one in claims:
        known = sorted((label for label in one.labels if label.value is not None), key=lambda label: label.person)
        for first, second in combinations(known, 2):
            item = RatedItem(one.verdict.query, int(first.value or 0), int(second.value or 0))
            found[(*_act(first), *_act(second))] = item
    return list(found.values())


def _calibration(
    judge: str, table: ClaimTable, pairs: Sequence[tuple[ClaimVerdict, PersonLabel]], people: Sequence[RatedItem]
) -> Calibration:
    area = auc([ScoredItem(verdict.query, verdict.credit, bool(label.value)) for verdict, label in pairs])
    same = kappa([RatedItem(one.query, int(label.value or 0), int(one.verdict == "supported")) for one, label in pairs])
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


def agreement_table(
    calibrations: Sequence[Calibration], title: str = "Agreement of judges with people", notes: tuple[str, ...] = ()
) -> Table:
    """The agreement of each judge with people on each table of claims."""
    return Table(
        "judge-trust",
        title,
        (
            Column("judge"),
            Column("claims"),
            Column("labels", "count", "labels that say whether a claim is supported"),
            Column("queries", "count"),
            Column("AUC", "value", "chance that a supported claim has more credit than another; .5 is chance"),
            Column("AUC 95%", "interval"),
            Column("kappa", "value", "supported or not; 1 is full agreement, 0 is chance"),
            Column("kappa 95%", "interval"),
            Column("people's kappa", "value", "of two people with each other: what a judge can reach"),
            Column("people's 95%", "interval"),
        ),
        tuple(_agreement_row(one) for one in calibrations),
        sentences=tuple(filter(None, map(_agreement_sentence, calibrations))),
        notes=notes,
    )


def _agreement_row(one: Calibration) -> tuple[CellValue, ...]:
    intervals = (one.auc_interval, one.kappa_interval, one.people_kappa_interval)
    pairs = [None if found is None else (found[0], found[1]) for found in intervals]
    values = (one.auc, pairs[0], one.kappa, pairs[1], one.people_kappa, pairs[2])
    return (one.judge, _TABLE_WORDS[one.table], one.labels, one.queries, *values)


def _agreement_sentence(one: Calibration) -> str:
    """A warning where the judge is not shown to tell supported claims from others."""
    judge, claims = for_message(one.judge), _TABLE_WORDS[one.table]
    if one.auc is None:
        return f"{judge}, {claims}: people gave every claim the same label, so agreement is not known."
    if one.auc_interval is None or one.auc_interval[0] <= 0.5:
        return f"{judge}, {claims}: not shown to tell supported claims from others (AUC may be .5)."
    return ""


def _agreement_notes(calibrations: Sequence[Calibration], matched: _Matched) -> Iterator[str]:
    if matched.unknown:
        yield f"{pluralise(matched.unknown, 'label')} left out: these results have no such claim"
    every = [one for verdicts in matched.verdicts.values() for one in matched.labelled(verdicts)]
    failed = sum(one.verdict.verdict == "failed" for one in every)
    if failed:
        yield f"{pluralise(failed, 'labelled claim')} left out: the judge failed on them"
    differ = sum((one.human is None) != (one.verdict.verdict == "nothing_to_check") for one in every)
    if differ:
        yield f"{pluralise(differ, 'claim')} where judge and people differ on whether there is anything to check"
    if any(one.people_kappa is None for one in calibrations):
        yield "people's own agreement is not known: two people have to label the same claims (serve --assessor NAME)"
    few = min(calibrations, key=lambda one: (one.queries >= FEW_QUERIES, one.labels))
    if few.queries < FEW_QUERIES or few.labels < FEW_LABELS:
        labels = f"{pluralise(few.labels, 'label')} of {pluralise(few.queries, 'query', 'queries')}"
        yield f"only {labels}: with fewer than {FEW_LABELS} labels or {FEW_QUERIES} queries the intervals are approximate"


@dataclass(frozen=True, eq=False, slots=True)
class _CorrectedMean:
    """The mean of a measure of one system, and what people make of it; None where too few of its claims have labels."""

    system: str
    measure: MeasureResult
    found: PredictionPoweredMean | None


def _means_table(result: Result, matched: _Matched) -> Table:
    every = list(_corrected_means(result, matched))
    shown = [one for one in every if one.found is not None]
    return Table(
        "judge-means",
        "Means of the judge, corrected by the labels of people",
        (
            Column("system"),
            Column("measure"),
            Column("judge", "value", "the mean of the measure, uncorrected"),
            Column("people", "value", "by the labels alone"),
            Column("people 95%", "interval", INTERVAL_METHOD),
            Column("corrected", "value", "prediction-powered mean"),
            Column("corrected 95%", "interval", INTERVAL_METHOD),
            Column("weight", "value", "the judge's share in the corrected mean"),
            Column("labelled", "count", "claims with a label"),
            Column("not labelled", "count"),
        ),
        tuple(_mean_row(one.system, one.measure, one.found) for one in shown if one.found is not None),
        sentences=_ASSUMPTION if shown else (),
        notes=tuple(_mean_notes(result, every)),
    )


_ASSUMPTION = (
    "A corrected mean is the mean over answers of the share of claims that people would call supported.",
    "It is valid if the labelled claims are a random sample of all claims, as serve draws them.",
)


def _mean_row(system: str, measure: MeasureResult, found: PredictionPoweredMean) -> tuple[CellValue, ...]:
    people, both = found.human, found.corrected
    means = (measure.value, people.value, people.interval, both.value, both.interval, found.weight)
    return (system, str(measure.measure), *means, found.seen, found.unseen)


def _mean_notes(result: Result, every: Sequence[_CorrectedMean]) -> Iterator[str]:
    lacking = [f"{one.measure.measure} of {one.system}" for one in every if one.found is None]
    if lacking:
        yield f"fewer than two labels, so no corrected mean: {for_message(', '.join(lacking))}"
    first = result.systems[0].measures.values() if result.systems else ()
    other = [str(one.measure) for one in first if isinstance(one.measure, ClaimMeasure) and not _is_corrected(one.measure)]
    if other:
        yield f"not corrected, because labels of single claims do not give their values: {', '.join(other)}"


def _is_corrected(measure: ClaimMeasure) -> bool:
    return measure.name in CORRECTED_TABLES and getattr(measure, "strict", True) is True


def _corrected_means(result: Result, matched: _Matched) -> Iterator[_CorrectedMean]:
    for system in result.systems:
        for one in system.measures.values():
            if isinstance(one.measure, ClaimMeasure) and _is_corrected(one.measure):
                verdicts = _verdicts_of(one.measure, matched)
                own = [verdict for verdict in verdicts if verdict.system == system.name]
                yield _CorrectedMean(system.name, one, _corrected(one, one.measure, own, matched))


def _verdicts_of(measure: ClaimMeasure, matched: _Matched) -> Sequence[ClaimVerdict]:
    """The verdicts of the judge that the measure names, on the claims that it counts."""
    table = CORRECTED_TABLES[measure.name]
    labels = [judge for judge, of in matched.verdicts if of == table]
    label = matching_label(measure.judge, labels)
    if label is None:
        return ()
    return [one for one in measure.relevant(matched.verdicts[label, table]) if has_unit(one.claim, unit_of(measure))]


def _corrected(
    values: MeasureResult, measure: ClaimMeasure, verdicts: Iterable[ClaimVerdict], matched: _Matched
) -> PredictionPoweredMean | None:
    """The corrected mean over the answers that have a value; one without claims counts with its value."""
    claims: dict[str, list[ClaimVerdict]] = defaultdict(list)
    for verdict in checked(verdicts):
        claims[verdict.query].append(verdict)
    items, known = list[JudgedItem](), list[KnownValue]()
    for query, value in values.per_query.items():
        counted = _counted(claims.get(query, ()), value)
        if not counted:
            known.append(KnownValue(query, value))
        labels = {claim_key(one.verdict): one for one in matched.labelled(counted)}
        for verdict in counted:
            items.append(_item(verdict, labels.get(claim_key(verdict)), 1 / len(counted)))
    return corrected_mean(items, (0.0, 1.0), known)


def _counted(claims: Sequence[ClaimVerdict], value: float) -> Sequence[ClaimVerdict]:
    """The claims of the reference that the value is of, where there are several references."""
    references = by_reference(claims)
    if len(references) < 2:
        return claims
    return min(references.values(), key=lambda one: abs(sum(each.credit for each in one) / len(one) - value))


def _item(verdict: ClaimVerdict, labelled: _LabelledClaim | None, weight: float) -> JudgedItem:
    if labelled is None:
        return JudgedItem(verdict.query, verdict.credit, weight=weight)
    return JudgedItem(verdict.query, verdict.credit, labelled.human, weight, skipped=labelled.human is None)


def calibration_words(measure: ClaimMeasure, calibrations: Iterable[Calibration]) -> str:
    """How many labels of people the judge of a measure was compared with, to be shown beside its values."""
    wanted = [one for one in calibrations if one.table in measure.tables and matching_label(measure.judge, [one.judge])]
    if not wanted:
        return "not calibrated"
    return f"calibrated on {pluralise(min(one.labels for one in wanted), 'label')}"

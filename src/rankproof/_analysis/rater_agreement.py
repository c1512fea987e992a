"""How far people, and machines that judge, agree on the same pairs of query and document, as tables and sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import get_args

from rankproof._data.table import CellValue, Column, Table, TableSummary
from rankproof._data.text import format_value, in_a_sentence, percent, pluralise
from rankproof._results.judgements import merged_grade
from rankproof._statistics.agreement import (
    FEW_QUERIES,
    Agreement,
    GradeCounts,
    Level,
    RatedItem,
    count_grades,
    fleiss_kappa,
    kappa,
    krippendorff_alpha,
    randolph_kappa,
    same_grade,
)
from rankproof.errors import UsageError, for_message

Pair = tuple[str, str]
"""The ids of a query and a document."""
PEOPLE = "people, merged"
_MAX_SCALE = 20
"""A scale with more grades than this is taken to have the grades in use alone."""


@dataclass(frozen=True, eq=False, slots=True)
class Rater:
    """A person, or a machine that judges, with the grades and the notes of pairs."""

    name: str
    grades: Mapping[Pair, int]
    is_machine: bool = False
    notes: Mapping[Pair, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Two raters on the pairs that both graded; fields are columns of the table of pairs of raters."""

    rater: str
    other: str
    items: int
    same: Agreement
    kappa: Agreement
    linear: Agreement
    quadratic: Agreement


@dataclass(frozen=True, eq=False, slots=True)
class GroupAgreement:
    """Several raters on the pairs that at least two graded; `complete` are those that all graded.

    `grades` counts each grade over these pairs.
    """

    raters: tuple[str, ...]
    of_people: bool
    queries: int
    complete: int
    alpha: Mapping[Level, Agreement]
    fleiss: Agreement
    randolph: Agreement
    same: Agreement
    grades: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A pair with different grades, by rater; `adjudicated` is the grade that counts, None if nobody decided."""

    pair: Pair
    grades: Mapping[str, int]
    adjudicated: int | None = None
    notes: Mapping[str, str] = field(default_factory=dict)

    @property
    def distance(self) -> int:
        """The highest grade less the lowest one."""
        return max(self.grades.values()) - min(self.grades.values())


@dataclass(frozen=True, eq=False, slots=True)
class AgreementFacts:
    """What the tables and sentences are made of."""

    group: GroupAgreement
    pairs: tuple[PairAgreement, ...]
    machines: tuple[PairAgreement, ...]
    disagreements: tuple[Disagreement, ...]


def rater_agreement(raters: Sequence[Rater], adjudicated: Mapping[Pair, int] | None = None) -> AgreementFacts:
    """The agreement of the people, or of all raters if there is one person; machines are compared with the people.

    `adjudicated` are grades that count before those of people.
    """
    if len(raters) < 2:
        raise UsageError("agreement needs two raters", fix="specify the judgements of two people, or of a person and a machine")
    people, machines = ([rater for rater in raters if rater.is_machine is kind] for kind in (False, True))
    group = people if len(people) > 1 else raters
    if not any(_shared(first, second) for first, second in combinations(raters, 2)):
        raise UsageError("no pair of query and document was graded by two raters", fix="let them judge some of the same pairs")
    merged = _merged(people, adjudicated or {})
    against = [pair_agreement(merged, machine) for machine in machines] if people else []
    return AgreementFacts(
        group_agreement(group, of_people=len(people) > 1),
        tuple(pair_agreement(first, second) for first, second in combinations(raters, 2)),
        tuple(against),
        tuple(disagreements(group, adjudicated or {})),
    )


def _shared(rater: Rater, other: Rater) -> list[Pair]:
    return [pair for pair in rater.grades if pair in other.grades]


def _merged(people: Sequence[Rater], adjudicated: Mapping[Pair, int]) -> Rater:
    """One person as is; several as one rater, by the rule for merged judgements."""
    if len(people) == 1:
        return people[0]
    grades_of: dict[Pair, list[int]] = {}
    for rater in people:
        for pair, grade in rater.grades.items():
            grades_of.setdefault(pair, []).append(grade)
    return Rater(PEOPLE, {pair: adjudicated.get(pair, merged_grade(grades)) for pair, grades in grades_of.items()})


def pair_agreement(rater: Rater, other: Rater) -> PairAgreement:
    """Cohen's kappas of two raters, and the share of equal grades."""
    items = [RatedItem(pair[0], rater.grades[pair], other.grades[pair]) for pair in sorted(_shared(rater, other))]
    # Sorted pairs, so that sums of floats do not depend on the order of the files.
    weighted = (kappa(items, weights) for weights in ("none", "linear", "quadratic"))
    return PairAgreement(rater.name, other.name, len(items), same_grade(items), *weighted)


def group_agreement(raters: Sequence[Rater], *, of_people: bool) -> GroupAgreement:
    """Krippendorff's alpha with gaps, and the kappas of the pairs that all graded."""
    graded = graded_pairs(raters)
    several = [(pair[0], list(grades.values())) for pair, grades in graded.items() if len(grades) > 1]
    counts = count_grades(several)
    complete = counts.only(counts.raters == len(raters))
    same = [RatedItem(query, min(grades), max(grades)) for query, grades in several if len(grades) == len(raters)]
    return GroupAgreement(
        tuple(rater.name for rater in raters),
        of_people,
        len({query for query, _ in several}),
        len(complete.counts),
        {level: krippendorff_alpha(counts, level) for level in get_args(Level)},
        fleiss_kappa(complete),
        randolph_kappa(complete, _possible_grades(counts)),
        same_grade(same),
        Counter(grade for _, grades in several for grade in grades),
    )


def graded_pairs(raters: Sequence[Rater]) -> dict[Pair, dict[str, int]]:
    """The grades of each pair by rater, sorted by pair."""
    grades_of: dict[Pair, dict[str, int]] = {}
    for rater in raters:
        for pair, grade in rater.grades.items():
            grades_of.setdefault(pair, {})[rater.name] = grade
    return dict(sorted(grades_of.items()))


def _possible_grades(counts: GradeCounts) -> int:
    """How many grades the scale has: the whole numbers from the lowest to the highest in use."""
    if not counts.grades:
        return 0
    span = counts.grades[-1] - counts.grades[0] + 1
    return span if span <= _MAX_SCALE else len(counts.grades)


def disagreements(raters: Sequence[Rater], adjudicated: Mapping[Pair, int]) -> list[Disagreement]:
    """The pairs with different grades: those without an adjudicated grade first, then the largest difference first."""
    disagreeing = []
    for pair, grades in graded_pairs(raters).items():
        if len(set(grades.values())) > 1:
            notes = {rater.name: rater.notes[pair] for rater in raters if rater.name in grades and rater.notes.get(pair)}
            disagreeing.append(Disagreement(pair, grades, adjudicated.get(pair), notes))
    return sorted(
        disagreeing, key=lambda disagreement: (disagreement.adjudicated is not None, -disagreement.distance, disagreement.pair)
    )


RELIABLE, TENTATIVE = 0.8, 0.667
"""Krippendorff (2004): rely on data with an alpha of at least 0.800, draw tentative conclusions from 0.667."""
BANDS = ((0.81, "almost perfect"), (0.61, "substantial"), (0.41, "moderate"), (0.21, "fair"), (0.0, "slight"))
"""Landis and Koch (1977) on kappa."""
FEW_ITEMS = 50
MANY_ALIKE = 0.8
"""With this share of equal grades and a low alpha, or this share of one grade, prevalence makes kappa misleading."""
_MAX_NAMES = 4
_SHOWN = 10


def agreement_sentences(facts: AgreementFacts) -> Iterator[str]:
    """How far the raters agree, how far machines agree with people, and how many pairs are open."""
    yield from _group(facts.group)
    for machine in facts.machines if facts.group.of_people else ():
        yield _machine(machine)
    open_pairs = sum(disagreement.adjudicated is None for disagreement in facts.disagreements)
    if facts.disagreements:
        adjudicated = len(facts.disagreements) - open_pairs
        more = f"; {adjudicated} of them {'is' if adjudicated == 1 else 'are'} adjudicated" if adjudicated else ""
        yield f"{pluralise(len(facts.disagreements), 'pair has', 'pairs have')} different grades{more}."


def _group(group: GroupAgreement) -> Iterator[str]:
    alpha = group.alpha["ordinal"]
    who = _names(group.raters)
    if not alpha.items:
        yield f"No pair was graded by two of {who}."
        return
    if alpha.value is None:
        yield f"The agreement of {who} is not defined: all grades are the same, so chance would agree as often."
        return
    figure = f"Krippendorff's alpha (ordinal) is {_value(alpha)} on {pluralise(alpha.items, 'pair')}."
    if alpha.items < FEW_ITEMS:
        yield f"There are too few pairs to say how far {who} agree: {figure}"
        return
    yield f"{who[0].upper() if len(group.raters) > _MAX_NAMES else who[0]}{who[1:]} {reading(alpha)}: {figure}"
    low = None if alpha.interval is None else alpha.interval[0]
    if low is not None and low < TENTATIVE <= alpha.value:
        yield f"The 95% interval reaches below {format_value(TENTATIVE)}: more pairs that two people grade would settle it."


def reading(alpha: Agreement) -> str:
    """What an alpha means for the use of the judgements."""
    assert alpha.value is not None, "an undefined alpha has no reading"
    if alpha.value >= RELIABLE:
        return "agree well enough to rely on their grades"
    if alpha.value >= TENTATIVE:
        return "agree well enough for tentative conclusions"
    return "do not agree well enough to rely on the grades of one of them"


def _machine(pair: PairAgreement) -> str:
    name = for_message(pair.other)
    if not pair.items:
        return f"{name} graded no pair that people graded."
    if pair.quadratic.value is None:
        return f"The agreement of {name} with people is not defined: all grades are the same."
    return (
        f"{name} and people: kappa with quadratic weights is {_value(pair.quadratic)} on {pluralise(pair.items, 'pair')}, "
        f"{band(pair.quadratic.value)} agreement."
    )


def band(value: float) -> str:
    """The word of Landis and Koch (1977) for a kappa."""
    return next((word for low, word in BANDS if round(value, 2) >= low), "poor")


def _value(agreement: Agreement) -> str:
    assert agreement.value is not None, "only defined values are shown"
    bounds = (
        "" if agreement.interval is None else f" [{format_value(agreement.interval[0])}, {format_value(agreement.interval[1])}]"
    )
    return f"{format_value(agreement.value)}{bounds}"


def _names(raters: tuple[str, ...]) -> str:
    if len(raters) > _MAX_NAMES:
        return f"the {len(raters)} raters"
    return in_a_sentence([for_message(name) for name in raters])


def agreement_notes(facts: AgreementFacts) -> Iterator[str]:
    """When the figures mislead, and the sources of the words for them."""
    group, alpha = facts.group, facts.group.alpha["ordinal"]
    if alpha.items < FEW_ITEMS:
        yield f"let two raters grade at least {FEW_ITEMS} of the same pairs; with fewer the figures are uncertain"
    if group.queries == 1:
        yield "one query gives no intervals: let two raters grade pairs of several queries"
    elif group.queries < FEW_QUERIES:
        yield f"with only {group.queries} queries the intervals are approximate"
    yield from _prevalence(group)
    if len(group.raters) > 2 and group.complete < alpha.items:
        left = f"{alpha.items - group.complete:,} of {alpha.items:,} pairs"
        yield f"Fleiss' and Randolph's kappa need the grades of all raters and leave out {left}; alpha does not"
    if alpha.value is not None:
        yield (
            f"alpha: from {format_value(RELIABLE)} reliable, from {format_value(TENTATIVE)} tentative (Krippendorff 2004); "
            "kappa: from 0.61 substantial (Landis and Koch 1977)"
        )


def _prevalence(group: GroupAgreement) -> Iterator[str]:
    """A note where most grades are the same one: a few disagreements then make alpha and kappa low."""
    grade, most = max(group.grades.items(), key=lambda item: item[1], default=(0, 0))
    share = most / max(sum(group.grades.values()), 1)
    alpha, same = group.alpha["ordinal"].value, group.same.value
    if share >= MANY_ALIKE and alpha is not None and same is not None and same >= MANY_ALIKE and alpha < RELIABLE:
        yield (
            f"{percent(share)} of the grades are {grade}, so alpha and kappa are low although {percent(same)} of the pairs have "
            "the same grade (Feinstein and Cicchetti 1990); see Randolph's kappa, which has no such effect"
        )


def agreement_tables(facts: AgreementFacts) -> list[Table]:
    """The agreement of all, of each two raters, and the pairs on which they differ."""
    return [_group_table(facts), _pairs_table(facts), _disagreements_table(facts)]


def _group_table(facts: AgreementFacts) -> Table:
    group = facts.group
    who = f"{len(group.raters)} {'people' if group.of_people else 'raters'}"
    items = group.alpha["ordinal"].items
    rows = tuple((name, agreement.value, agreement.interval, agreement.items) for name, agreement in _statistics(group))
    return Table(
        "agreement",
        f"Agreement of {who} on {pluralise(items, 'pair')} of {pluralise(group.queries, 'query', 'queries')}",
        (
            Column("measure"),
            Column("value", "value", "1 is full agreement, 0 is chance"),
            Column("95% CI", "interval", "jackknife or delta method over queries"),
            Column("pairs", "count", "alpha: graded by at least two raters; the others: graded by all"),
        ),
        rows,
        sentences=tuple(agreement_sentences(facts)),
        notes=tuple(agreement_notes(facts)),
        facts={"raters": list(group.raters), "queries": group.queries, "disagreements": len(facts.disagreements)},
        verdict_first=True,
        summary=TableSummary(("measure", "value", "95% CI", "pairs"), (0, 4, len(rows) - 1)),
    )


def _statistics(group: GroupAgreement) -> Iterator[tuple[str, Agreement]]:
    for level in ("ordinal", "nominal", "interval", "ratio"):
        yield f"Krippendorff's alpha, {level}", group.alpha[level]
    yield "Fleiss' kappa", group.fleiss
    yield "Randolph's kappa", group.randolph
    yield "same grade", group.same


def _pairs_table(facts: AgreementFacts) -> Table:
    merged = [machine for machine in facts.machines if machine.rater == PEOPLE]
    rows = tuple(_pair_row(pair) for pair in (*facts.pairs, *merged))
    return Table(
        "agreement-pairs",
        "Cohen's kappa of each two raters",
        (
            Column("rater"),
            Column("other"),
            Column("pairs", "count", "graded by both"),
            Column("same grade", "share"),
            Column("kappa", "value", "unweighted"),
            Column("linear", "value", "linear weights"),
            Column("quadratic", "value", "quadratic weights"),
            Column("95% CI", "interval", "of kappa with quadratic weights, Student's t over queries"),
        ),
        rows,
        summary=TableSummary(("rater", "other", "pairs", "same grade", "quadratic", "95% CI"), tuple(range(len(rows)))),
    )


def _pair_row(pair: PairAgreement) -> tuple[CellValue, ...]:
    values = (pair.same.value, pair.kappa.value, pair.linear.value, pair.quadratic.value, pair.quadratic.interval)
    return (pair.rater, pair.other, pair.items, *values)


def _disagreements_table(facts: AgreementFacts) -> Table:
    rows = tuple(
        (
            *disagreement.pair,
            disagreement.distance,
            listed(disagreement.grades),
            disagreement.adjudicated,
            listed(disagreement.notes),
        )
        for disagreement in facts.disagreements
    )
    shown = ("query", "document", "difference", "grades")
    more = [name for at, name in ((4, "adjudicated"), (5, "notes")) if any(row[at] not in (None, "") for row in rows)]
    return Table(
        "disagreements",
        f"{pluralise(len(rows), 'pair')} with different grades",
        (
            Column("query"),
            Column("document"),
            Column("difference", "count", "the highest grade less the lowest"),
            Column("grades"),
            Column("adjudicated", "count", "the grade that counts, if somebody decided"),
            Column("notes"),
        ),
        rows,
        summary=TableSummary((*shown, *more), tuple(range(min(len(rows), _SHOWN)))),
    )


def listed(values: Mapping[str, int] | Mapping[str, str]) -> str:
    """The value of each rater."""
    return "; ".join(f"{for_message(name)} {for_message(str(value))}" for name, value in values.items())

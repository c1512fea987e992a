"""How far people, and machines that judge, agree on the same pairs of query and document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import get_args

from rankproof._results.judgements import merged_grade
from rankproof._statistics.agreement import (
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
from rankproof.errors import UsageError

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
    if not any(_shared(one, other) for one, other in combinations(raters, 2)):
        raise UsageError("no pair of query and document was graded by two raters", fix="let them judge some of the same pairs")
    merged = _merged(people, adjudicated or {})
    against = [pair_agreement(merged, machine) for machine in machines] if people else []
    return AgreementFacts(
        group_agreement(group, of_people=len(people) > 1),
        tuple(pair_agreement(one, other) for one, other in combinations(raters, 2)),
        tuple(against),
        tuple(disagreements(group, adjudicated or {})),
    )


def _shared(one: Rater, other: Rater) -> list[Pair]:
    return [pair for pair in one.grades if pair in other.grades]


def _merged(people: Sequence[Rater], adjudicated: Mapping[Pair, int]) -> Rater:
    """One person as is; several as one rater, by the rule for merged judgements."""
    if len(people) == 1:
        return people[0]
    given: dict[Pair, list[int]] = {}
    for rater in people:
        for pair, grade in rater.grades.items():
            given.setdefault(pair, []).append(grade)
    return Rater(PEOPLE, {pair: adjudicated.get(pair, merged_grade(grades)) for pair, grades in given.items()})


def pair_agreement(one: Rater, other: Rater) -> PairAgreement:
    """Cohen's kappas of two raters, and the share of equal grades."""
    items = [RatedItem(pair[0], one.grades[pair], other.grades[pair]) for pair in sorted(_shared(one, other))]
    weighted = (kappa(items, weights) for weights in ("none", "linear", "quadratic"))
    return PairAgreement(one.name, other.name, len(items), same_grade(items), *weighted)


def group_agreement(raters: Sequence[Rater], *, of_people: bool) -> GroupAgreement:
    """Krippendorff's alpha with gaps, and the kappas of the pairs that all graded."""
    given = graded_pairs(raters)
    several = [(pair[0], list(grades.values())) for pair, grades in given.items() if len(grades) > 1]
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
    found: dict[Pair, dict[str, int]] = {}
    for rater in raters:
        for pair, grade in rater.grades.items():
            found.setdefault(pair, {})[rater.name] = grade
    return dict(sorted(found.items()))


def _possible_grades(counts: GradeCounts) -> int:
    """How many grades the scale has: the whole numbers from the lowest to the highest in use."""
    if not counts.grades:
        return 0
    span = counts.grades[-1] - counts.grades[0] + 1
    return span if span <= _MAX_SCALE else len(counts.grades)


def disagreements(raters: Sequence[Rater], adjudicated: Mapping[Pair, int]) -> list[Disagreement]:
    """The pairs with different grades: those without an adjudicated grade first, then the largest difference first."""
    found = []
    for pair, grades in graded_pairs(raters).items():
        if len(set(grades.values())) > 1:
            notes = {rater.name: rater.notes[pair] for rater in raters if rater.name in grades and rater.notes.get(pair)}
            found.append(Disagreement(pair, grades, adjudicated.get(pair), notes))
    return sorted(found, key=lambda one: (one.adjudicated is not None, -one.distance, one.pair))

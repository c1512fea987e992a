"""Which unjudged pairs to judge next: those that could change the difference between systems most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...data.arrays import FloatArray
from ...errors import UsageError, shown
from ...measures import Measure
from ..arrangements import values_of
from ..counts import counts_of
from ..listings import result_of
from ..measured import SAME
from ..table import Column, Glance, Item, Table
from ..wording import apart
from .pairs import Pairs, graded, pairs_of
from .unjudged import Holes


@dataclass(frozen=True, eq=False, slots=True)
class _Outlook:
    """Means and what pairs could change of them (grade x system x pair), turned so that more is better."""

    holes: Holes
    measure: Measure
    found: Pairs
    means: FloatArray
    gains: FloatArray


def can_be_served(measure: Measure) -> bool:
    """Whether a pair's part of the summary is known: that of a mean."""
    return measure.summary == "mean"


def judge_next(holes: Holes, name: str, count: int) -> Table:
    """The `count` pairs that could change most by one measure, each with what it could change."""
    evidence = holes.evidence
    measure = evidence.result.systems[0].measures[name].measure
    if not can_be_served(measure):
        raise UsageError(f"{name} is no mean over queries", fix="name a measure that is one first, as in -m nDCG@10")
    found, sign = pairs_of(holes, measure), -1.0 if measure.higher_is_better is False else 1.0
    means = np.array([result_of(evidence, system, name).value for system in evidence.systems])
    outlook = _Outlook(holes, measure, found, sign * means, sign * found.changes)
    order = np.argsort(-found.spread, kind="stable")[:count].tolist()
    counts = counts_of(evidence)
    return Table(
        name="audit-judge-next",
        title=f"Judge these {len(order)} pairs next ({name}, {counts})",
        columns=_COLUMNS,
        rows=tuple(_row(outlook, at) for at in order),
        sentences=(*_sentences(outlook, order), *counts.said),
        facts={**counts.facts, "measure": name, "grades": list(found.grades), "unjudged_pairs": len(found.pairs)},
        glance=Glance(("query", "document", "could change", "with grade", "for", "against"), tuple(range(len(order)))),
        verdict_first=True,
    )


_COLUMNS = (
    Column("query"),
    Column("document"),
    Column(
        "could change",
        "value",
        "the difference of two systems' means, by at most this, with any grade in use",
    ),
    Column("with grade", "count", "the grade that changes it so"),
    Column("for", about="the system that gains most"),
    Column("against", about="the system that gains least"),
    Column("new winner", "flag", "whether some grade of this pair alone puts another system ahead"),
    Column("stands at", about="its rank in each system"),
)


def _row(outlook: _Outlook, at: int) -> tuple[Item, ...]:
    systems, found = outlook.holes.evidence.systems, outlook.found
    strongest = int(found.strongest[at])
    gains = outlook.gains[strongest, :, at]
    query, doc = found.pairs[at]
    where = ", ".join(f"{shown(system)} {rank}" for system, rank in _places(outlook.holes, query, doc))
    up, down = systems[int(np.argmax(gains))], systems[int(np.argmin(gains))]
    return (query, doc, float(found.spread[at]), found.grades[strongest], up, down, _new_winner(outlook, at), where)


def _new_winner(outlook: _Outlook, at: int) -> bool:
    """Whether some grade of the pair puts a system ahead of all that lead now."""
    means = outlook.means
    leads = means >= means.max() - SAME
    after = means + outlook.gains[:, :, at]
    return bool(not leads.all() and (after[:, ~leads].max(axis=1) > after[:, leads].max(axis=1) + SAME).any())


def _places(holes: Holes, query: str, doc: str) -> list[tuple[str, int]]:
    lists = ((system, each[query].docs) for system, each in holes.lists.items() if query in each)
    return [(system, docs.index(doc) + 1) for system, docs in lists if doc in docs]


def _sentences(outlook: _Outlook, order: list[int]) -> tuple[str, ...]:
    found, means = outlook.found, outlook.means
    if not len(found.pairs):
        return ("Nothing within the cutoff is unjudged.",)
    what = f"Each could have a grade up to {found.grades[-1]}; {len(found.pairs)} pairs within the cutoff are unjudged."
    if len(means) < 2:
        return (what,)
    first, second = np.argsort(-means, kind="stable")[:2].tolist()
    best, next_one = (shown(outlook.holes.evidence.systems[at]) for at in (first, second))
    lead = float(means[first] - means[second])
    now = f"{best} and {next_one} tie" if lead <= SAME else f"{best} leads {next_one} by {apart(lead)}"
    favour = outlook.gains[:, second] - outlook.gains[:, first]
    helpful = {found.pairs[at]: found.grades[int(np.argmax(favour[:, at]))] for at in order if favour[:, at].max() > SAME}
    if not helpful:
        return (what, f"{now}; none of the listed pairs favours {next_one}.")
    lead = _lead_after(outlook, (first, second), helpful)
    after = f"{next_one} would lead by {apart(-lead)}" if lead < -SAME else f"{best} would still lead by {apart(lead)}"
    after = "they would tie" if abs(lead) <= SAME else after
    return (what, f"{now}; had the {len(helpful)} listed that favour {next_one} the grades that favour it most, {after}.")


def _lead_after(outlook: _Outlook, systems: tuple[int, int], grades: dict[tuple[str, str], int]) -> float:
    """The first system's lead over the second if all these pairs had these grades."""
    holes, measure = outlook.holes, outlook.measure
    by_query: dict[str, dict[str, int]] = {}
    for (query, doc), grade in grades.items():
        by_query.setdefault(query, {})[doc] = grade
    summaries = []
    for at in systems:
        system = holes.evidence.systems[at]
        hits = holes.hits[system]
        docs = [by_query.get(name, {}) for name in hits.queries]
        given = [graded(holes, hits, system, query, more) for query, more in enumerate(docs)]
        summaries.append(measure.summarise(values_of(measure, hits, given)[holes.counted(system)]))
    lead = summaries[0] - summaries[1]
    return -lead if measure.higher_is_better is False else lead

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
from ..table import Column, Item, Table
from .pairs import Pairs, given_grade, grade_for, pairs_of
from .unjudged import Holes


@dataclass(frozen=True, eq=False, slots=True)
class _Outlook:
    """Means and what pairs could change of them, turned so that more is better."""

    holes: Holes
    measure: Measure
    found: Pairs
    means: FloatArray
    gains: FloatArray
    grade: int


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
    outlook = _Outlook(holes, measure, found, sign * means, sign * found.changes, grade_for(holes, measure))
    order = np.argsort(-found.spread, kind="stable")[:count].tolist()
    counts = counts_of(evidence)
    return Table(
        name="audit-judge-next",
        title=f"Judge these {len(order)} pairs next ({name}, {counts})",
        columns=(
            Column("query"),
            Column("document"),
            Column("could change", "value", "the difference of two systems' means, by at most this"),
            Column("for", about="the system that gains most"),
            Column("against", about="the system that gains least"),
            Column("new winner", "flag", "whether this pair alone makes another system the best"),
            Column("stands at", about="its rank in each system"),
        ),
        rows=tuple(_row(outlook, at) for at in order),
        sentences=(*_sentences(outlook, order), *counts.said),
        facts={**counts.facts, "measure": name, "grade": outlook.grade, "unjudged_pairs": len(found.pairs)},
    )


def _row(outlook: _Outlook, at: int) -> tuple[Item, ...]:
    systems, gains = outlook.holes.evidence.systems, outlook.gains[:, at]
    query, doc = outlook.found.pairs[at]
    flips = int(np.argmax(outlook.means + gains)) != int(np.argmax(outlook.means))
    where = ", ".join(f"{shown(system)} {rank}" for system, rank in _places(outlook.holes, query, doc))
    up, down = systems[int(np.argmax(gains))], systems[int(np.argmin(gains))]
    return (query, doc, float(outlook.found.spread[at]), up, down, flips, where)


def _places(holes: Holes, query: str, doc: str) -> list[tuple[str, int]]:
    lists = ((system, each[query].docs) for system, each in holes.lists.items() if query in each)
    return [(system, docs.index(doc) + 1) for system, docs in lists if doc in docs]


def _sentences(outlook: _Outlook, order: list[int]) -> tuple[str, ...]:
    found, means = outlook.found, outlook.means
    if not len(found.pairs):
        return ("Nothing within the cutoff is unjudged.",)
    what = f"Each could have grade {outlook.grade}; {len(found.pairs)} pairs within the cutoff are unjudged."
    if len(means) < 2:
        return (what,)
    first, second = np.argsort(-means, kind="stable")[:2].tolist()
    best, next_one = (shown(outlook.holes.evidence.systems[at]) for at in (first, second))
    helpful = [at for at in order if outlook.gains[second, at] > outlook.gains[first, at]]
    now = f"{best} leads {next_one} by {float(means[first] - means[second]):.4f}"
    if not helpful:
        return (what, f"{now}; none of the listed pairs favours {next_one}.")
    lead = _lead_after(outlook, (first, second), [found.pairs[at] for at in helpful])
    after = f"{next_one} would lead by {-lead:.4f}" if lead < 0 else f"{best} would still lead by {lead:.4f}"
    return (what, f"{now}; were the {len(helpful)} listed that favour {next_one} relevant, {after}.")


def _lead_after(outlook: _Outlook, systems: tuple[int, int], pairs: list[tuple[str, str]]) -> float:
    """The first system's lead over the second if all these pairs had the grade."""
    holes, measure = outlook.holes, outlook.measure
    by_query: dict[str, set[str]] = {}
    for query, doc in pairs:
        by_query.setdefault(query, set()).add(doc)
    summaries = []
    for at in systems:
        system = holes.evidence.systems[at]
        hits = holes.hits[system]
        docs = [by_query.get(name, set()) for name in hits.queries]
        given = [given_grade(holes, hits, system, query, more, outlook.grade) for query, more in enumerate(docs)]
        summaries.append(measure.summarise(values_of(measure, hits, given)[holes.counted(system)]))
    lead = summaries[0] - summaries[1]
    return -lead if measure.higher_is_better is False else lead

"""Two experiments held against each other: every system of one and every system of the other, with verdicts in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..analysis.compare.compare import compare
from ..analysis.evidence import Evidence, evidence_of_climb
from ..analysis.joining import joined
from ..analysis.table import Table
from ..experiment.rung import Climb

MAIN = ("nDCG@10", "RR@10", "R@100")
"""Few measures: p-values are raised for the number of tests."""


def compared(one: Climb, other: Climb, labels: tuple[str, str]) -> list[Table]:
    """The means with letters, then the verdicts by each measure; refused where the two are not about the same data."""
    found = [evidence_of_climb(climb) for climb in (one, other)]
    both = joined([replace(each, name=name) for each, name in zip(found, _names(found, labels), strict=True)])
    tables = compare(both.result, measures=_measures(found))
    first = len(found[0].systems)
    across = {f"{mine} vs {theirs}" for mine in both.systems[:first] for theirs in both.systems[first:]}
    letters = [table for table in tables if table.name == "letters"]
    return letters + [_of_pairs(table, across) for table in tables if table.name == "verdicts"]


def _names(found: Sequence[Evidence], labels: tuple[str, str]) -> list[str]:
    """What the experiments are called; the folders' names where that is the same, or else numbers."""
    names = [each.name for each in found]
    if names[0] != names[1]:
        return names
    return list(labels) if labels[0] != labels[1] else [f"{name} ({at})" for at, name in enumerate(names, start=1)]


def _measures(found: Sequence[Evidence]) -> list[str] | None:
    """The main measures that both have, or all that can be compared."""
    have = [set(each.result.systems[0].measures) for each in found]
    return [name for name in MAIN if all(name in each for each in have)] or None


def _of_pairs(table: Table, wanted: set[str]) -> Table:
    """The rows of these pairs and their sentences: a sentence for each row, in the same order."""
    kept = [at for at, row in enumerate(table.rows) if row[0] in wanted]
    return replace(table, rows=tuple(table.rows[at] for at in kept), sentences=tuple(table.sentences[at] for at in kept))

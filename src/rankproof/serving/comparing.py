"""Two experiments held against each other: every pair of their systems, with verdicts in words."""

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
    names = [each.name for each in found]
    if names[0] == names[1]:
        names = list(labels) if labels[0] != labels[1] else [f"{name} ({at})" for at, name in enumerate(names, start=1)]
    both = joined([replace(each, name=name) for each, name in zip(found, names, strict=True)])
    tables = compare(both.result, measures=_measures(found))
    return [table for table in tables if table.name == "letters"] + [
        table for table in tables if table.name not in ("letters", "details")
    ]


def _measures(found: Sequence[Evidence]) -> list[str] | None:
    """The main measures that both have, or all that can be compared."""
    have = [set(each.result.systems[0].measures) for each in found]
    return [name for name in MAIN if all(name in each for each in have)] or None

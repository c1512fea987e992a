"""Two experiments held against each other: every system of one and every system of the other, with verdicts in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..analysis.compare.compare import compare
from ..analysis.evidence import Evidence, evidence_of_climb
from ..analysis.joining import joined
from ..analysis.measured import best_of
from ..analysis.table import Table
from ..evaluation import Result
from ..experiment.rung import Climb
from ..report.sheet import Sheet, sheet_of

MAIN = ("nDCG@10", "RR@10", "R@100")
"""Few measures: p-values are raised for the number of tests."""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """One measure: how many pairs came to which verdict, the table, and a sentence for each row."""

    title: str
    counts: str
    sheet: Sheet
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rivalry:
    """What the two came to: the best of the one against the best of the other, all means, and the verdicts."""

    names: tuple[str, str]
    lead: str
    means: Sheet
    verdicts: tuple[Verdicts, ...]


def compared(one: Climb, other: Climb, labels: tuple[str, str]) -> Rivalry:
    """The two experiments under the main measures; refused where they are not about the same data."""
    found = [evidence_of_climb(climb) for climb in (one, other)]
    names = _names(found, labels)
    both = joined([replace(each, name=name) for each, name in zip(found, names, strict=True)])
    tables = compare(both.result, measures=_measures(found))
    mine, theirs = both.systems[: len(one.rungs)], both.systems[len(one.rungs) :]
    across = {_pair(first, second) for first in mine for second in theirs}
    verdicts = [_of_pairs(table, across) for table in tables if table.name == "verdicts"]
    best = _pair(*(_best(both.result, side, verdicts[0]) for side in (mine, theirs)))
    means = next(table for table in tables if table.name == "letters")
    return Rivalry(names, _sentence(verdicts[0], best), sheet_of(means, told=True), tuple(map(_verdicts, verdicts)))


def _names(found: Sequence[Evidence], labels: tuple[str, str]) -> tuple[str, str]:
    """What the experiments are called; the folders' names where that is the same, or else numbers."""
    one, other = (each.name for each in found)
    if one != other:
        return one, other
    return labels if labels[0] != labels[1] else (f"{one} (1)", f"{other} (2)")


def _measures(found: Sequence[Evidence]) -> list[str] | None:
    """The main measures that both have, or all that can be compared."""
    have = [set(each.result.systems[0].measures) for each in found]
    return [name for name in MAIN if all(name in each for each in have)] or None


def _pair(one: str, other: str) -> str:
    """What the tables of verdicts call it."""
    return f"{one} vs {other}"


def _of_pairs(table: Table, wanted: set[str]) -> Table:
    """The rows of these pairs and their sentences: a sentence for each row, in the same order."""
    kept = [at for at, row in enumerate(table.rows) if row[0] in wanted]
    return replace(table, rows=tuple(table.rows[at] for at in kept), sentences=tuple(table.sentences[at] for at in kept))


def _best(result: Result, side: Sequence[str], table: Table) -> str:
    measure = _measure(table)
    return best_of({system.name: system.measures[measure] for system in result.systems if system.name in side})


def _sentence(table: Table, pair: str) -> str:
    return next(said for row, said in zip(table.rows, table.sentences, strict=True) if row[0] == pair)


def _verdicts(table: Table) -> Verdicts:
    at = [column.name for column in table.columns].index("verdict")
    counts = Counter(str(row[at]) for row in table.rows)
    words = ", ".join(f"{verdict}: {count}" for verdict, count in counts.items())
    return Verdicts(_measure(table), words, sheet_of(table), table.sentences)


def _measure(table: Table) -> str:
    """The measure that a table of verdicts is about: its title begins with it."""
    return table.title.partition(": ")[0]

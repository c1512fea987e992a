"""Two experiments held against each other: every system of one and every system of the other, with verdicts in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..analysis.compare.compare import limits
from ..analysis.compare.join import join
from ..analysis.compare.letters import letters
from ..analysis.compare.pairs import comparisons_across
from ..analysis.compare.settings import ComparisonSettings
from ..analysis.compare.tables import facts_of, verdicts
from ..analysis.compare.words import sentence
from ..analysis.evidence import Evidence, evidence_of_climb
from ..analysis.joining import joined
from ..analysis.measured import best_of
from ..analysis.table import Table
from ..evaluation import Result
from ..experiment.rung import Climb
from ..measures import Measure
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
    values, settings = join(both.result, _measures(found)), ComparisonSettings()
    mine, theirs = both.systems[: len(one.rungs)], both.systems[len(one.rungs) :]
    across, n = comparisons_across(values, mine, settings), len(values.queries)
    facts = facts_of(values, settings, len(across))
    notes = (*values.notes, *limits(across, n, settings))
    means = letters(values, across, settings.words(n, len(across)), notes, facts)
    bests = {_best(both.result, side, str(values.measures[0])) for side in (mine, theirs)}
    lead = next(pair for pair in across if {pair.seen.one, pair.seen.other} == bests)
    tables = [
        verdicts(measure, None, [pair for pair in across if pair.seen.measure == measure], settings, facts)
        for measure in values.measures
    ]
    shown = (_verdicts(measure, table) for measure, table in zip(values.measures, tables, strict=True))
    return Rivalry(names, sentence(lead, settings), sheet_of(means, told=True), tuple(shown))


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


def _best(result: Result, side: Sequence[str], measure: str) -> str:
    return best_of({system.name: system.measures[measure] for system in result.systems if system.name in side})


def _verdicts(measure: Measure, table: Table) -> Verdicts:
    counts = Counter(str(row["verdict"]) for row in table.records())
    words = ", ".join(f"{verdict}: {count}" for verdict, count in counts.items())
    return Verdicts(str(measure), words, sheet_of(table), table.sentences)

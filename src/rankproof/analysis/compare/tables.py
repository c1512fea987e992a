"""Comparisons as tables: the verdicts of each measure, and all the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import shown
from ...measures import Measure
from ..statistics.intervals import FEW
from ..statistics.power import POWER
from ..table import Column, Item, Table
from ..wording import counted
from .join import Joined
from .pairs import Comparison, Verdict
from .settings import ComparisonSettings
from .words import sentence

Facts = Mapping[str, Any]
_ORDER: tuple[Verdict, ...] = ("better", "worse", "equivalent", "same", "cannot tell")


def verdicts(
    measure: Measure, baseline: str | None, found: Sequence[Comparison], settings: ComparisonSettings, facts: Facts
) -> Table:
    """One measure: what is settled first, larger differences first, a sentence for each row."""
    rows = sorted(found, key=lambda one: (_ORDER.index(one.verdict), -abs(one.seen.differences.mean)))
    columns = (
        Column(
            "pair" if baseline is None else "system", about="the first system and the second, or the one held to the baseline"
        ),
        Column("difference", "difference", "the first system's mean less the second's"),
        Column("p", "p", "two-sided, corrected for all tests of the comparison"),
        Column("verdict", about="on the first system"),
        Column(
            f"{settings.percent} interval",
            "interval",
            "of the difference, for this pair alone; none where all differ by the same",
        ),
    )
    cells = tuple((_name(one, baseline), one.seen.differences.mean, one.p, one.verdict, one.seen.interval) for one in rows)
    against = "" if baseline is None else f" from {shown(baseline)}"
    title = f"{measure}: which differences{against} are real (n = {counted(facts['n'], 'query', 'queries')})"
    return Table("verdicts", title, columns, cells, tuple(sentence(one, settings) for one in rows), facts=dict(facts))


def _name(found: Comparison, baseline: str | None) -> str:
    return found.seen.one if baseline is not None else f"{found.seen.one} vs {found.seen.other}"


DETAILS = (
    Column("measure"),
    Column("system"),
    Column("other"),
    Column("value", "value", "the system's mean"),
    Column("other value", "value", "the other's mean"),
    Column("difference", "difference", "the system's mean less the other's"),
    Column("interval", "interval", "of the difference, for this pair alone"),
    Column("p randomisation", "p", "sign-flip randomisation test, two-sided, not corrected"),
    Column("p t-test", "p", "paired t-test, two-sided, not corrected; none where all queries differ by the same"),
    Column("p", "p", "of the test that decides, corrected for all tests"),
    Column("p equivalence", "p", "two one-sided t-tests within the margin, corrected"),
    Column("d", "number", "Cohen's d of differences: their mean over their standard deviation"),
    Column("wins", "count", "queries on which the system's value is higher"),
    Column("ties", "count"),
    Column("losses", "count"),
    Column("detectable", "value", "the least difference found with a power of 80% at this n, spread and number of tests"),
    Column("needed", "count", "queries that confirm the difference seen with a power of 80%"),
    Column("n", "count", "queries"),
    Column("verdict"),
)


def details(found: Sequence[Comparison], notes: Sequence[str], facts: Facts) -> Table:
    """Every number of every pair under every measure."""
    rows = tuple(map(_detailed, found))
    title = f"Every pair in numbers (n = {counted(facts['n'], 'query', 'queries')})"
    return Table("details", title, DETAILS, rows, (), tuple(notes), dict(facts))


def _detailed(found: Comparison) -> tuple[Item, ...]:
    seen, short = found.seen, found.seen.differences
    return (
        *(str(seen.measure), seen.one, seen.other, seen.value, seen.other_value, short.mean, seen.interval),
        *(seen.randomisation_p, seen.t_p, found.p, found.equivalence_p),
        *(short.effect, short.wins, short.ties, short.losses, found.detectable, found.needed, short.n, found.verdict),
    )


def facts_of(joined: Joined, settings: ComparisonSettings, tests: int) -> dict[str, Any]:
    """What every table rests on."""
    n = len(joined.queries)
    return {
        "n": n,
        "tests": tests,
        "test": settings.test,
        "exact": settings.test == "randomisation" and settings.is_exact(n),
        "samples": settings.samples,
        "correction": settings.correction,
        "alpha": settings.alpha,
        "interval": settings.interval if n >= FEW else "student",
        "resamples": settings.resamples,
        "margin": settings.margin,
        "power": POWER,
        "seed": settings.seed,
    }

"""Comparison tables and sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankproof._analysis.compare.pairs import CompareOptions, JoinedValues, ObservedDifference, PairComparison, Verdict
from rankproof._analysis.values import format_points
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import format_p, pluralise
from rankproof._statistics.correction import CORRECTION_NAMES
from rankproof._statistics.intervals import SMALL_SAMPLE
from rankproof._statistics.paired import POWER
from rankproof.errors import for_message
from rankproof.measures._base import Measure

_TOO_MANY = 1_000_000_000


def verdict_sentence(found: PairComparison, settings: CompareOptions) -> str:
    """What can be said of the pair."""
    seen = found.observed
    one, other, n = for_message(seen.one), for_message(seen.other), seen.differences.n
    if found.verdict == "same":
        return f"{one} and {other} are the same on every query in {seen.measure} (n = {n:,})."
    inputs = f"{_interval(seen, settings)}, {_p(found.p, settings)}, n = {n:,}"
    if found.verdict == "equivalent":
        margin = format_points(settings.margin or 0.0, seen.measure)
        both = f"both one-sided tests {_p(found.equivalence_p or 0.0, settings)}"
        real = "; the difference is real, and too small to matter" if found.p <= settings.alpha else ""
        return f"{one} and {other} are equivalent within {margin} in {seen.measure}: {_signed(seen)} ({inputs}; {both}){real}."
    if found.verdict == "cannot tell":
        return f"Cannot tell {one} from {other} in {seen.measure}: {_signed(seen)} ({inputs}){_power_clauses(found)}."
    return f"{one} is {found.verdict} than {other} in {seen.measure}: {_signed(seen)} ({inputs})."


def _signed(observed: ObservedDifference) -> str:
    sign = "+" if observed.differences.mean > 0 else ""
    return sign + format_points(observed.differences.mean, observed.measure)


def _interval(observed: ObservedDifference, settings: CompareOptions) -> str:
    if observed.interval is None:
        return "every query differs by the same: no interval"
    low, high = (format_points(end, observed.measure).removesuffix(" pp") for end in observed.interval)
    return f"{settings.percent} interval {low} to {high}"


def _p(p: float, settings: CompareOptions) -> str:
    return format_p(p) if settings.correction == "none" else f"{format_p(p)} after {CORRECTION_NAMES[settings.correction]}"


def _power_clauses(found: PairComparison) -> str:
    """What could have been told with these queries, and how many would tell."""
    n, parts = found.observed.differences.n, []
    if found.detectable is None:
        parts.append("with so few queries no difference could be told")
    elif found.detectable:
        least = format_points(found.detectable, found.observed.measure)
        parts.append(f"with these queries {least} would be found 4 times in 5")
    if found.needed is None:
        parts.append("no number of queries confirms a difference of 0")
    elif found.needed > n:
        many = f"about {found.needed:,}" if found.needed < _TOO_MANY else f"more than {_TOO_MANY:,}"
        parts.append(f"to find the one seen 4 times in 5 takes {many} queries")
    return "".join(f"; {part}" for part in parts)


Facts = Mapping[str, Any]
_VERDICT_ORDER: tuple[Verdict, ...] = ("better", "worse", "equivalent", "same", "cannot tell")


def verdict_table(
    measure: Measure, baseline: str | None, found: Sequence[PairComparison], settings: CompareOptions, facts: Facts
) -> Table:
    """One measure: what is settled first, larger differences first, a sentence for each row."""
    rows = sorted(found, key=lambda one: (_VERDICT_ORDER.index(one.verdict), -abs(one.observed.differences.mean)))
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
    cells = tuple(
        (_name(one, baseline), one.observed.differences.mean, one.p, one.verdict, one.observed.interval) for one in rows
    )
    against = "" if baseline is None else f" from {for_message(baseline)}"
    title = f"{measure}: which differences{against} are real (n = {pluralise(facts['n'], 'query', 'queries')})"
    return Table("verdicts", title, columns, cells, tuple(verdict_sentence(one, settings) for one in rows), facts=dict(facts))


def _name(found: PairComparison, baseline: str | None) -> str:
    return found.observed.one if baseline is not None else f"{found.observed.one} vs {found.observed.other}"


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


def details_table(found: Sequence[PairComparison], notes: Sequence[str], facts: Facts) -> Table:
    """Every number of every pair under every measure."""
    rows = tuple(map(_details_row, found))
    title = f"Every pair in numbers (n = {pluralise(facts['n'], 'query', 'queries')})"
    return Table("details", title, DETAILS, rows, (), tuple(notes), dict(facts))


def _details_row(found: PairComparison) -> tuple[CellValue, ...]:
    seen, short = found.observed, found.observed.differences
    return (
        *(str(seen.measure), seen.one, seen.other, seen.value, seen.other_value, short.mean, seen.interval),
        *(seen.randomisation_p, seen.t_p, found.p, found.equivalence_p),
        *(short.effect, short.wins, short.ties, short.losses, found.detectable, found.needed, short.n, found.verdict),
    )


def comparison_facts(joined: JoinedValues, settings: CompareOptions, tests: int) -> dict[str, Any]:
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
        "interval": settings.interval if n >= SMALL_SAMPLE else "student",
        "resamples": settings.resamples,
        "margin": settings.margin,
        "power": POWER,
        "seed": settings.seed,
    }

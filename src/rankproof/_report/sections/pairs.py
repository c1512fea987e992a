"""Every pair of systems: the tests behind the decision, and those of the exploratory measures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rankproof._analysis.compare.comparison import Comparison
from rankproof._analysis.compare.tables import PairRecord
from rankproof._data.table import Column, Table
from rankproof._report.context import ReportContext
from rankproof._report.elements import Section

_COLUMNS = (
    Column("pair", about="first and second system"),
    Column("difference", "difference", "mean of the first system minus mean of the second"),
    Column("95% CI", "interval", "of the difference, for this pair alone; empty if too few queries differ"),
    Column("differ", "count", "queries with different values"),
    Column("p", "p", "two-sided, not corrected"),
    Column("p adjusted", "p", "corrected for the number of pairs"),
    Column("verdict", about="on the first system"),
)


def pairs_section(context: ReportContext) -> Section | None:
    """Every tested pair; None if nothing was tested."""
    return next(comparison_pairs(context.comparison), None) if context.comparison is not None else None


def comparison_pairs(comparison: Comparison) -> Iterator[Section]:
    """A section with the pairs by the primary measure, and folded those by each other measure; none if nothing was tested."""
    if not comparison.pairs:
        return
    families: dict[str, list[PairRecord]] = {}
    for pair in comparison.pairs:
        families.setdefault(pair.measure, []).append(pair)
    others = [name for name in families if name != comparison.primary]
    yield Section(
        key="pairs",
        title="Pairs of systems",
        question="Which differences are significant?",
        tables=(_table(comparison.primary, families[comparison.primary]),),
        folded=tuple(_table(name, families[name], ", exploratory") for name in others),
        is_folded=True,
    )


def _table(measure: str, pairs: Sequence[PairRecord], kind: str = "") -> Table:
    rows = tuple(
        (
            f"{pair.system} vs {pair.other}",
            pair.difference,
            pair.ci,
            pair.wins + pair.losses,
            pair.p,
            pair.p_adjusted,
            pair.verdict,
        )
        for pair in sorted(pairs, key=lambda pair: -abs(pair.difference))
    )
    return Table("pairs", f"{measure}{kind}: every pair of systems", _COLUMNS, rows)

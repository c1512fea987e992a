"""The home page: a table of the results with what changed since the ones before, and the trend of results on the same queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated

from rankproof._analysis.compare.overview import Overview, SystemMean
from rankproof._analysis.inputs import different_data
from rankproof._data.text import percent
from rankproof._registry import Option
from rankproof._server.api import ApiCall, ApiRoute, Feature, NoRequest
from rankproof._server.library import LibraryRow, ResultsLibrary, library_rows
from rankproof.errors import RankproofError
from rankproof.measures._parse import parse_measure

MOST_TRENDS = 12
"""The most trends that the home page draws; others are drawn once the list is filtered."""
_NO_VALUE = "–"


@dataclass(frozen=True, slots=True)
class HomeRow:
    """A readable result as the table shows it: its trend, and the result before it on the same queries, if there is one.

    `trend` is the id of the newest result on the same queries by the same measure, empty if there is no other.
    """

    row: LibraryRow
    summary: Overview
    trend: str
    before: LibraryRow | None
    change: str

    @property
    def mean(self) -> SystemMean | None:
        """The mean of the chosen system, else of the leader."""
        return self.summary.mean(self.summary.first)

    @property
    def value(self) -> str:
        """The mean in words."""
        return _NO_VALUE if self.mean is None or self.mean.value is None else _number_text(self.mean.value)

    @property
    def interval(self) -> str:
        """The 95% interval of the mean, empty if there is none."""
        if self.mean is None or self.mean.low is None or self.mean.high is None:
            return ""
        return f"[{_number_text(self.mean.low)}, {_number_text(self.mean.high)}]"

    @property
    def risk(self) -> str:
        """The risk in percent, empty if it is not known."""
        return "" if self.summary.risk is None else percent(self.summary.risk)

    @property
    def can_compare(self) -> bool:
        """Whether the result before it is on the same judgements."""
        return self.before is not None and not self.summary.is_live and _is_same_data(self.before, self.row)


def home_rows(rows: Sequence[LibraryRow]) -> list[HomeRow]:
    """The readable results, in this order, which is the newest first."""
    series: dict[tuple[str, str], list[LibraryRow]] = {}
    for row in rows:
        if row.summary is not None:
            series.setdefault(_series(row.summary), []).append(row)
    return list(_home_rows(rows, series))


def _home_rows(rows: Sequence[LibraryRow], series: dict[tuple[str, str], list[LibraryRow]]) -> Iterator[HomeRow]:
    seen: dict[tuple[str, str], int] = {}
    for row in rows:
        if row.summary is None:
            continue
        key = _series(row.summary)
        members, at = series[key], seen.get(key, 0)
        seen[key] = at + 1
        before = members[at + 1] if at + 1 < len(members) else None
        trend = members[0].id if len(members) > 1 and row.summary.measure else ""
        yield HomeRow(row, row.summary, trend, before, "" if before is None else _change_text(before, row))


def _series(summary: Overview) -> tuple[str, str]:
    """The queries and the measure that the results of a trend share."""
    return summary.asked, summary.measure


def readable_summary(row: LibraryRow) -> Overview:
    """The summary of a row of readable results."""
    assert row.summary is not None, "unreadable results have no trend"
    return row.summary


def _is_same_data(first: LibraryRow, second: LibraryRow) -> bool:
    mine, theirs = readable_summary(first), readable_summary(second)
    return different_data(mine.data, theirs.data) is None


def _change_text(before: LibraryRow, after: LibraryRow) -> str:
    """What changed from one result to the next: the chosen system, and its value unless the judgements differ."""
    old, new = readable_summary(before), readable_summary(after)
    moved = f"{old.first} → {new.first}" if old.first != new.first else ""
    if not new.is_live and not _is_same_data(before, after):
        return ", ".join(filter(None, ("judgements changed" if old.judged != new.judged else "dataset changed", moved)))
    first, last = old.mean(old.first), new.mean(new.first)
    if first is None or last is None or first.value is None or last.value is None:
        return moved or _NO_VALUE
    return ", ".join(filter(None, (moved, _difference_text(last.value - first.value, new.measure))))


def _number_text(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 100 else f"{value:.5g}"


def _difference_text(difference: float, measure: str) -> str:
    sign = "+" if difference > 0 else "−" if difference < 0 else "±"
    return f"{sign}{100 * abs(difference):.1f} pp" if is_fraction(measure) else f"{sign}{abs(difference):.3g}"


@cache
def is_fraction(measure: str) -> bool:
    """Whether the values of the measure are from 0 to 1; not for a measure that is not known here."""
    try:
        return parse_measure(measure).is_fraction
    except RankproofError:
        return False


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """A result of a trend."""

    id: Annotated[str, Option("the id of the results")]
    name: Annotated[str, Option("the name of the experiment")]
    label: Annotated[str, Option("the name of the folder")]
    made: Annotated[str, Option("when it was run, UTC")]
    chosen: Annotated[str | None, Option("the chosen system, else the leader")]
    is_chosen: Annotated[bool, Option("whether the decision chose that system")]
    judgements_changed: Annotated[bool, Option("whether the judgements differ from those of the point before")]
    dataset_changed: Annotated[bool, Option("whether only the rest of the dataset differs from that of the point before")]
    means: Annotated[tuple[SystemMean, ...], Option("the mean of each system and its 95% interval")]


@dataclass(frozen=True, slots=True)
class Trend:
    """The results on the same queries, by the same measure."""

    dataset: Annotated[str, Option("the dataset of the newest results")]
    measure: Annotated[str, Option("the measure that decides")]
    is_fraction: Annotated[bool, Option("whether its values are from 0 to 1")]
    systems: Annotated[tuple[str, ...], Option("all systems, those of the newest results first")]
    points: Annotated[tuple[TrendPoint, ...], Option("the results, the oldest first")]
    left_out: Annotated[int, Option("results on the same queries that are decided by another measure")]


class HomeTrends(Feature):
    """The route that the home page draws trends from."""

    def __init__(self, library: ResultsLibrary) -> None:
        self._library = library

    def routes(self) -> Iterable[ApiRoute]:
        """The trend of the results on the same queries."""
        about = "the values of all results on the queries of these results, the oldest first"
        yield ApiRoute("GET", "/api/r/{id}/trend", about, NoRequest, Trend, self._trend)

    def _trend(self, call: ApiCall, request: NoRequest) -> Trend:
        own = self._library.summary(call.entry)
        if isinstance(own, RankproofError):
            raise own
        rows = [row for row in library_rows(self._library) if row.summary and row.summary.asked == own.asked]
        return trend_of([row for row in rows if readable_summary(row).measure == own.measure], own, len(rows))


def trend_of(rows: Sequence[LibraryRow], own: Overview, of: int) -> Trend:
    """The trend of rows on the same queries, the newest first; `of` counts those by other measures too."""
    systems = dict.fromkeys(name for row in rows for name in readable_summary(row).systems)
    older = [*rows[1:], None]
    points = tuple(_point(row, before) for row, before in zip(rows, older, strict=True))[::-1]
    return Trend(own.dataset, own.measure, is_fraction(own.measure), tuple(systems), points, of - len(rows))


def _point(row: LibraryRow, before: LibraryRow | None) -> TrendPoint:
    summary, old = readable_summary(row), None if before is None else before.summary
    is_same = before is None or summary.is_live or _is_same_data(before, row)
    has_new_judgements = not is_same and old is not None and old.judged != summary.judged
    return TrendPoint(
        row.id,
        summary.name,
        row.label,
        summary.made,
        summary.first,
        bool(summary.chosen),
        has_new_judgements,
        not is_same and not has_new_judgements,
        summary.means,
    )

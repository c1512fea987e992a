"""The pages: a path is looked up in one table, and what it names in the shelf."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ..errors import RankproofError
from ..report import page_of
from .assets import page
from .bench import Bench
from .comparing import compared
from .kept import Kept
from .listing import rivals_of, rows_of
from .passages import Passages
from .pile import Pile, pile_of
from .reply import HTML, RefusedError, Reply, plain
from .shelf import Shelf, Spot, stamp_of
from .summary import Summary

_REPORTS = 4
_COMPARISONS = 32
_PILES = 8
_ID = "([0-9]{1,9})"
_REPORT_POLICY = "base-uri 'none'; form-action 'none'"
"""A report brings its own policy, with the hashes of its script and style; this one is beside it."""

View = Callable[..., Reply]


class Site:
    """Answers for every page; `bench` is where judging happens, None where it was not asked for, `passages` what is judged."""

    def __init__(self, shelf: Shelf, bench: Bench | None, passages: Passages) -> None:
        self._shelf, self._bench, self._passages = shelf, bench, passages
        self._reports: Kept[bytes] = Kept(_REPORTS)
        self._comparisons: Kept[Reply] = Kept(_COMPARISONS)
        self._piles: Kept[Pile] = Kept(_PILES)
        self._views: tuple[tuple[re.Pattern[str], dict[str, View]], ...] = (
            (re.compile("/"), {"GET": self._list}),
            (re.compile(f"/r/{_ID}"), {"GET": self._report}),
            (re.compile(f"/r/{_ID}/compare"), {"GET": self._rivals}),
            (re.compile(f"/r/{_ID}/compare/{_ID}"), {"GET": self._comparison}),
            (re.compile(f"/r/{_ID}/judge"), {"GET": self._judging, "POST": self._judge}),
            (re.compile(f"/r/{_ID}/undo"), {"POST": self._undo}),
        )

    def answer(self, target: str, body: dict[str, Any] | None) -> Reply:
        """What the path names; a body makes it a change."""
        path = target.partition("?")[0]
        for pattern, views in self._views:
            if found := pattern.fullmatch(path):
                view = views.get("GET" if body is None else "POST")
                if view is None:
                    return Reply(405, "text/plain", b"", headers={"Allow": ", ".join(views)})
                return self._viewed(view, found.groups(), body)
        return self._refusal(404, "There is no such page", "The list has every page that there is.")

    def _viewed(self, view: View, ids: tuple[str, ...], body: dict[str, Any] | None) -> Reply:
        spots = [self._shelf.spot(each) for each in ids]
        if None in spots:
            return self._refusal(404, "There are no such results", "The list has every folder that there is.")
        try:
            return view(*spots) if body is None else view(*spots, body)
        except RankproofError as error:
            return self._refusal(422, "This cannot be shown", str(error)) if body is None else plain(422, str(error))

    def _list(self) -> Reply:
        return page("list.html.j2", title="Results", rows=rows_of(self._shelf), judge=self._bench is not None)

    def _report(self, spot: Spot) -> Reply:
        body = self._reports.of((spot.id, stamp_of(spot)), lambda: self._rendered(spot))
        return Reply(200, HTML, body, policy=_REPORT_POLICY)

    def _rendered(self, spot: Spot) -> bytes:
        ways = [("/", "All results"), (f"/r/{spot.id}/compare", "Compare")]
        if self._bench is not None:
            ways.append((f"/r/{spot.id}/judge", "Judge"))
        return page_of(self._shelf.climb(spot), ways).encode(errors="backslashreplace")

    def _rivals(self, spot: Spot) -> Reply:
        summary = self._known(spot)
        rivals = rivals_of(self._shelf, spot)
        return page("rivals.html.j2", title=f"Compare {summary.name}", id=spot.id, summary=summary, rivals=rivals)

    def _comparison(self, one: Spot, other: Spot) -> Reply:
        if one.id == other.id:
            return self._refusal(409, "These are the same results", "Choose two different ones.")
        key = (one.id, other.id, stamp_of(one), stamp_of(other))
        return self._comparisons.of(key, lambda: self._compared(one, other))

    def _compared(self, one: Spot, other: Spot) -> Reply:
        climbs = self._shelf.climb(one), self._shelf.climb(other)
        try:
            found = compared(*climbs, (one.label, other.label))
        except RankproofError as error:
            return self._refusal(409, "These cannot be compared", str(error))
        pair = [{"id": spot.id, "summary": self._known(spot), "label": spot.label} for spot in (one, other)]
        return page("comparison.html.j2", title=f"{found.names[0]} and {found.names[1]}", pair=pair, found=found)

    def _judging(self, spot: Spot) -> Reply:
        if self._bench is None:
            return self._refusal(404, "Judging was not asked for", "Start `rankproof serve` with --judge my.qrels.")
        return self._bench.page(spot.id, self._known(spot).name, self._pile(spot))

    def _judge(self, spot: Spot, body: dict[str, Any]) -> Reply:
        return self._at_bench().judge(self._pile(spot), body)

    def _undo(self, spot: Spot, body: dict[str, Any]) -> Reply:
        return self._at_bench().undo(self._pile(spot), body)

    def _at_bench(self) -> Bench:
        if self._bench is None:
            raise RefusedError(404, "judging was not asked for")
        return self._bench

    def _pile(self, spot: Spot) -> Pile:
        return self._piles.of((spot.id, stamp_of(spot)), lambda: pile_of(self._shelf.climb(spot), self._passages))

    def _known(self, spot: Spot) -> Summary:
        found = self._shelf.summary(spot)
        if isinstance(found, RankproofError):
            raise found
        return found

    def _refusal(self, status: int, what: str, why: str) -> Reply:
        return page("refusal.html.j2", status=status, title=what, why=why)

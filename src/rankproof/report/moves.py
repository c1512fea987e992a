"""How the relevant documents move from rung to rung."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .._charts.model import Medium
from .._charts.slopes import WAYS, Move, Way, binned, slope_chart, way_of
from .._charts.svg import svg_of
from ..analysis.listings import relevant_docs
from ..errors import shown
from .material import Material
from .section import Chart

_WIDTH, _HEIGHT = 340.0, 340.0
_WORDS: dict[Way, str] = {
    "found": "found",
    "lost": "lost",
    "promoted": "promoted",
    "demoted": "demoted",
    "kept": "at the same rank",
}
Places = Mapping[str, Mapping[str, int]]
"""Query to relevant document to rank."""


def moves_charts(material: Material) -> Iterator[Chart]:
    """A chart for each rung that is measured over another."""
    names = {name for rung in material.climb.rungs if rung.over for name in (rung.name, rung.over)}
    places = {name: _places(material, name) for name in sorted(names) if name in material.rungs}
    for rung in material.climb.rungs:
        if rung.over in places and rung.kind != "answer":
            yield _chart(rung.over, rung.name, _moves(places[rung.over], places[rung.name]))


def _places(material: Material, system: str) -> Places:
    found = {}
    for query, listing in material.holes.lists[system].items():
        wanted = set(relevant_docs(material.evidence.qrels[query], material.evidence.rel))
        found[query] = {doc: rank for rank, doc in enumerate(listing.docs, start=1) if doc in wanted}
    return found


def _moves(below: Places, above: Places) -> Iterator[Move]:
    """Where each relevant document that one of the two has stood, and where it stands."""
    for query in dict.fromkeys((*below, *above)):
        before, after = below.get(query, {}), above.get(query, {})
        for doc in dict.fromkeys((*before, *after)):
            yield before.get(doc), after.get(doc)


def _chart(over: str, name: str, found: Iterator[Move]) -> Chart:
    moves = binned(found)
    counts = dict.fromkeys(WAYS, 0)
    for move, times in moves.items():
        counts[way_of(move)] += times
    told = ", ".join(f"{counts[way]:,} {word}" for way, word in _WORDS.items())
    title = f"{shown(over)} → {shown(name)}"
    chart = slope_chart(Medium(_WIDTH), moves, (over, name), f"Ranks of relevant documents, {title}", told, _HEIGHT)
    return Chart(title, svg_of(chart), told, small=True)

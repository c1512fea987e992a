"""The rungs as a table: quality, what is gained and whether that is real, time and cost."""

from __future__ import annotations

from collections.abc import Iterator

from ..analysis.compare.pairs import turned
from ..experiment.rung import Rung
from ..views.grid import ABSENT, Cell, Grid, label
from ..views.ladder_grid import COUNTS, deciding, ladder_grid
from .material import Material
from .sheet import Sheet
from .words import span_text

_VERDICTS = {"better": "real gain", "worse": "real loss"}
_ABOUTS = {
    "95% interval": "of the first measure: {how}",
    "pp (over)": "percentage points gained over the rung of that number",
    "gain (over)": "what is gained over the rung of that number",
    "is it real": "whether the gain is more than chance, by a paired test that takes all pairs of systems into account",
    "ms p50/p95": "milliseconds a query: half of the queries and 95% of them take no longer; one at a time, after a warm-up",
    "calls": "how often language models were asked",
    "tokens": "in what they were sent and what they replied",
    "money": "what that cost, by the prices in the experiment",
    "index s": "seconds to build all that the system searches in",
    "index MB": "megabytes of it",
    "queries/s": "queries a second in batch",
}


def verdict_of(material: Material, rung: Rung) -> str:
    """What is known of the rung and the one that it is measured over, nothing where there is none."""
    pair = None if rung.over is None else material.comparison(rung.name, rung.over)
    if pair is None:
        return ""
    verdict = pair.verdict if pair.seen.one == rung.name else turned(pair.verdict)
    return _VERDICTS.get(verdict, verdict)


def rungs_sheet(material: Material) -> Sheet:
    """Every rung with the measures that matter at some stage; the others have a part of their own."""
    columns = list(_columns(material))
    names = tuple(name for name, _ in columns)
    rows = tuple(f"{at} {rung.name}" for at, rung in enumerate(material.climb.rungs, start=1))
    words = frozenset(at for at, name in enumerate(names) if name == "is it real")
    grid = Grid("rung", rows, names, tuple(zip(*(cells for _, cells in columns), strict=True)), words)
    abouts = {name: about.format(how=material.sampling) for name, about in _ABOUTS.items() if name in names}
    return Sheet("Every rung: quality, gain, latency and cost", grid, abouts, tuple(_notes(grid)))


def _notes(grid: Grid) -> Iterator[str]:
    cells = [cell for row in grid.cells for cell in row]
    if any(COUNTS in cell.text for cell in cells):
        yield f"{COUNTS} what matters at the rung's stage."
    if any(cell.best for cell in cells):
        yield "In bold: the best."


def _columns(material: Material) -> Iterator[tuple[str, list[Cell]]]:
    climb = material.climb
    grid = ladder_grid(climb)
    telling = {material.measure, *(name for rung in climb.rungs for name in deciding(climb, rung))}
    titles = {label(name, one): name for name, one in climb.result.systems[0].measures.items()}
    for at, name in enumerate(grid.columns):
        if name in titles and titles[name] not in telling:
            continue
        yield name, [row[at] for row in grid.cells]
        if titles.get(name) == material.measure and material.one.summary == "mean":
            spans = [material.intervals[rung.name, material.measure] for rung in climb.rungs]
            yield "95% interval", [Cell(span_text(span)) for span in spans]
        if "(over)" in name:
            yield "is it real", [Cell(verdict_of(material, rung) or ABSENT) for rung in climb.rungs]

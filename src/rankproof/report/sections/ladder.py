"""The ladder: what each rung reaches, what it adds to the rung below, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping

from ..._charts.model import Medium
from ..._charts.rows import ValueRow, dot_chart
from ..._charts.svg import svg_of
from ...analysis.measured import is_contest
from ...analysis.wording import counted
from ...errors import shown
from ...evaluation import MeasureResult
from ...experiment.rung import Rung
from ...views.grid import shown_number
from ...views.ladder import approximations, sentences
from ...views.ladder_grid import main_measure
from ..material import Material
from ..rungs import rungs_sheet, verdict_of
from ..section import Chart, Section
from ..words import signed
from .sizes import NARROW, WIDE

_MOST = 8
_SAID = {
    "real gain": "More than chance better than the rung below",
    "real loss": "More than chance worse than the rung below",
    "cannot tell": "Not to be told from the rung below by these queries",
    "same": "The same as the rung below on every query",
}


def ladder(material: Material) -> Section:
    """Rung by rung."""
    return Section(
        key="ladder",
        title="The ladder",
        question="What does each rung add to the one below it, and at what price?",
        points=(*_steps(material), *approximations(material.climb), *_few(_shortfalls(material))),
        charts=(_chart(material),),
        tables=(rungs_sheet(material),),
    )


def _steps(material: Material) -> list[str]:
    """The rungs by what is known of each and the one that it is measured over."""
    found: dict[str, list[str]] = {}
    for rung in material.climb.rungs:
        if rung.over is not None and (verdict := verdict_of(material, rung)):
            found.setdefault(verdict, []).append(f"{shown(rung.name)} ({_gain(material.values, rung)})")
    return [f"{_SAID[verdict]}: {_listed(found[verdict])}." for verdict in _SAID if verdict in found]


def _shortfalls(material: Material) -> list[str]:
    """Which rungs do not pay, by the first measure; none where that says nothing of better and worse."""
    first = next(iter(material.climb.result.systems[0].measures.values()))
    return sentences(material.climb, _unsure(material)) if is_contest(first.measure) else []


def _unsure(material: Material) -> list[str] | None:
    """The rungs that the test does not tell from the one below; None where it is not of the first measure."""
    if material.measure != main_measure(material.climb) or not material.comparisons:
        return None
    return [rung.name for rung in material.climb.rungs if verdict_of(material, rung) == "cannot tell"]


def _listed(gains: list[str]) -> str:
    return ", ".join(gains[:_MOST]) + (f" and {counted(len(gains) - _MOST, 'other')}" if len(gains) > _MOST else "")


def _few(said: list[str]) -> list[str]:
    """The first of many sentences, and how many there are besides."""
    more = (
        f"{counted(len(said) - _MOST, 'more rung does', 'more rungs do')} not gain or cannot be told to: the table below has all."
    )
    return said if len(said) <= _MOST else [*said[:_MOST], more]


def _chart(material: Material) -> Chart:
    rows = [_row(material, rung) for rung in material.climb.rungs]
    sure = any(row.interval for row in rows)
    title = f"{material.measure} of each rung{', with 95% intervals' if sure else ''}"
    told = ["Filled: the best."] if material.is_contest and len(material.values) > 1 else []
    key = " ".join([*told, f"Lines: 95% intervals ({material.sampling})."] if sure else told)
    about = "; ".join(f"{row.name} {row.shown}{f' ({row.aside})' if row.aside else ''}" for row in rows)
    within = material.one.measure.range
    wide, narrow = (svg_of(dot_chart(Medium(width), rows, title, about, within=within)) for width in (WIDE, NARROW))
    return Chart(title, wide, key, narrow)


def _row(material: Material, rung: Rung) -> ValueRow:
    one = material.values[rung.name]
    aside = "" if rung.over is None else _gain(material.values, rung)
    best = material.is_contest and rung.name in material.leaders
    return ValueRow(
        rung.name, one.value, shown_number(one.value, one), material.intervals[rung.name, material.measure], aside, best
    )


def _gain(values: Mapping[str, MeasureResult], rung: Rung) -> str:
    one, below = values[rung.name], values[rung.over or ""]
    return f"{signed(one.value - below.value, one)} over {shown(rung.over or '')}"

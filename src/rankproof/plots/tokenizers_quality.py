"""A comparison's quality: a panel of bars for each measure; and the words below the titles of its charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..analysis.statistics.intervals import method_words
from ..analysis.statistics.many import draws
from ..analysis.wording import counted
from ..lab.comparing.comparison import Comparison
from ..lab.comparing.entry import Entry
from ..lab.comparing.measures import plain_name
from ..lab.comparing.remarks import is_conclusive
from .canvas import MIDDLE, SMALL
from .lettering import fitted, fitted_names
from .palette import BLACK, BLUE, GREY, SKY
from .sheet import Chart, PlotSettings, sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW, _PANEL, _ACROSS = 0.2, 0.62, 3
HATCH = "////"
"""How systems are drawn whose numbers say nothing about tokenization."""


def quality(comparison: Comparison, settings: PlotSettings) -> Chart:
    """A panel for each measure, a bar for each system under the plainest condition."""
    entries, measures = comparison.under(comparison.first), comparison.measures
    title = f"Quality by {len(measures)} measures"
    best = "darker and bold: the highest" if len(entries) > 1 else ""
    about = [where(comparison), "; ".join(part for part in (how(entries), best, *hatching(entries)) if part)]
    across = min(2 if settings.narrow else _ACROSS, len(measures))
    down = -(-len(measures) // across)
    figure = sheet(settings, title, about, down * (_PANEL + _ROW * max(len(entries), 2)))
    axes = figure.subplots(down, across, squeeze=False, sharey=True)
    room = (settings.width - 1.9) / across
    for at, name in enumerate(measures):
        axis = axes[at // across][at % across]
        _panel(axis, entries, name)
        plain = plain_name(name)
        axis.set_title(fitted(name if plain == name else f"{name} ({plain})", room=room), loc="left", size=SMALL)
    for row in axes:
        row[0].set_yticks(range(len(entries)), fitted_names([entry.system for entry in entries], room=1.5), size=MIDDLE)
    axes[0][0].set_ylim(len(entries) - 0.4, -0.6)
    for spare in range(len(measures), down * across):
        axes[spare // across][spare % across].set_axis_off()
    return Chart("quality", title, figure)


def _panel(axis: Axes, entries: Sequence[Entry], measure: str) -> None:
    means = [entry.mean(measure) for entry in entries]
    spans = [entry.interval(measure) for entry in entries]
    ends = [max(mean, span[1] if span else 0.0) for mean, span in zip(means, spans, strict=True)]
    most, top = max(*ends, 1e-9), max(means) if len(set(means)) > 1 else None
    for at, (entry, mean, span) in enumerate(zip(entries, means, spans, strict=True)):
        won, hatch = mean == top, "" if is_conclusive(entry) else HATCH
        axis.barh(at, mean, height=0.68, color=BLUE if won else SKY, edgecolor=BLACK, linewidth=0.5, hatch=hatch)
        if span:
            error = [[max(mean - span[0], 0.0)], [max(span[1] - mean, 0.0)]]
            axis.errorbar(mean, at, xerr=error, color=BLACK, lw=1, capsize=2)
        axis.text(ends[at] + 0.03 * most, at, f"{mean:.3f}", va="center", size=SMALL, weight="bold" if won else "normal")
    axis.set_xlim(0, most * 1.32)
    axis.locator_params(axis="x", nbins=4)
    axis.grid(axis="x")
    axis.tick_params(axis="y", length=0)
    axis.tick_params(axis="x", color=GREY)


def where(comparison: Comparison, *, condition: bool = True) -> str:
    """The data, and how many queries and repeats stand behind each number."""
    entries = comparison.under(comparison.first)
    repeats = max(entry.repeats for entry in entries)
    models = f", trials are means of {repeats} repeats" if repeats > 1 else ""
    language = f", {comparison.first.language}" if condition and len(comparison.languages) > 1 else ""
    return f"{comparison.dataset}{language}, n = {counted(len(entries[0].queries), 'query', 'queries')}{models}"


def how(entries: Sequence[Entry]) -> str:
    """How the whiskers were made."""
    n = len(entries[0].queries)
    return f"whiskers: 95% intervals ({method_words('bca', draws(n), n, n)})"


def hatching(entries: Sequence[Entry]) -> list[str]:
    """What hatching means, where some system is drawn with it."""
    return [] if all(map(is_conclusive, entries)) else ["hatched or hollow: not trained for retrieval"]

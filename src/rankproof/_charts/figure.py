"""Renders a chart with matplotlib: no display, a fixed style, reproducible bytes."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from rankproof._charts.draw import SLANT, draw
from rankproof._charts.model import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    HEAT_SCALE,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    WHITE,
    Box,
    Chart,
    Label,
    Spot,
    series,
)
from rankproof._extras import extra
from rankproof.errors import escape_invisible

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure


Format = Literal["png", "svg", "pdf"]
FONT = "DejaVu Sans"
"""Included in matplotlib, so that charts look the same everywhere."""
_POINTS = 72.0
_LONGEST = 200
_RC = {
    "font.family": [FONT],
    "hatch.linewidth": 0.6,
    "text.parse_math": False,
    "text.usetex": False,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "rankproof",
}
_ANCHORS = {"start": "left", "middle": "center", "end": "right"}
_SOFT = frozenset(("tick", "axis", "aside"))


@dataclass(frozen=True, slots=True)
class _Style:
    """The style of a role: line, width, fill, dashes, hatching."""

    line: str = BLACK
    width: float = 1.0
    fill: str = "none"
    dash: tuple[float, ...] = ()
    hatch: str = ""
    alpha: float = 1.0


_STYLES = {
    "grid": _Style("#E4E4E4", 0.6),
    "zero": _Style(BLACK, 0.8),
    "tie": _Style(BLACK, 2.2),
    "leader": _Style("#888888", 0.4),
    "limit": _Style(VERMILLION, 1.2, dash=(4, 2)),
    "whisker": _Style(BLUE, 1.1, alpha=0.75),
    "whisker on-bar": _Style(BLACK, 1.0),
    "dot": _Style(BLUE, 1.4, WHITE),
    "dot best": _Style(BLUE, 1.4, BLUE),
    "reach": _Style(GREY, 1.3),
    "front": _Style(GREY, 1.2, dash=(4, 3)),
    "bar": _Style(BLACK, 0.5, SKY),
    "bar best": _Style(BLACK, 0.5, BLUE),
    "bar doubtful": _Style(BLACK, 0.5, SKY, hatch="////"),
    "bar best doubtful": _Style(BLACK, 0.5, BLUE, hatch="////"),
    "gain": _Style(BLUE, 0.0, BLUE),
    "loss": _Style(BLACK, 0.0, VERMILLION, hatch="////"),
    "stage stage-embed": _Style(BLACK, 0.5, SKY, hatch="---"),
    "stage stage-search": _Style(BLACK, 0.5, BLUE),
    "stage stage-network": _Style(BLACK, 0.5, GREY, hatch="|||"),
    "stage stage-rerank": _Style(BLACK, 0.5, ORANGE, hatch="///"),
    "stage stage-generate": _Style(BLACK, 0.5, VERMILLION, hatch="..."),
    "heat": _Style("none", 0.0),
    "gap": _Style(WHITE, 3.0),
    "chosen": _Style("none", 0.0, "#E8F2F9"),
    "move kept": _Style(GREY, alpha=0.4),
    "move promoted": _Style(BLUE, alpha=0.62),
    "move demoted": _Style(VERMILLION, dash=(4, 2), alpha=0.62),
    "move found": _Style(GREEN, alpha=0.85),
    "move lost": _Style(PURPLE, dash=(1, 3), alpha=0.9),
}


@contextmanager
def figure_style() -> Iterator[None]:
    """A context with the style of rankproof; the settings of the user are restored."""
    matplotlib = _library()
    unchanged = {"interactive", "toolbar", "timezone", "datapath"}
    default = {
        name: value for name, value in matplotlib.rcParamsDefault.items() if name not in unchanged and "backend" not in name
    }
    with matplotlib.rc_context({**default, **_RC}):
        yield


def figure_of(chart: Chart) -> Figure:
    """The chart as a figure; a chart unit is a point, 1/72 inch."""
    with extra("plot"):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

    figure = Figure(figsize=(chart.medium.width / _POINTS, chart.height / _POINTS), facecolor="white")
    FigureCanvasAgg(figure)
    draw(chart, _FigurePen(figure, chart.frame))
    return figure


def saved(chart: Chart, format: Format, *, dpi: int) -> bytes:
    """The chart as the bytes of a file, without a date."""
    about: dict[Format, dict[str, Any]] = {
        "png": {"Software": "rankproof", "Title": chart.title},
        "svg": {"Date": None, "Creator": "rankproof", "Title": chart.title},
        "pdf": {"CreationDate": None, "Creator": "rankproof", "Title": chart.title},
    }
    buffer = io.BytesIO()
    figure_of(chart).savefig(buffer, format=format, dpi=dpi, metadata=about[format])
    return buffer.getvalue()


def pages(charts: Sequence[Chart], *, dpi: int, title: str) -> bytes:
    """The charts as one PDF file, one page each."""
    with extra("plot"):
        from matplotlib.backends.backend_pdf import PdfPages

    buffer = io.BytesIO()
    with PdfPages(buffer, metadata={"CreationDate": None, "Creator": "rankproof", "Title": title}) as file:
        for chart in charts:
            figure_of(chart).savefig(file, format="pdf", dpi=dpi)
    return buffer.getvalue()


def drawable(text: str, longest: int = _LONGEST) -> str:
    """The text with invisible characters, and characters missing in the font, as escapes."""
    known = _known_characters()
    shown = "".join(
        char if ord(char) in known else char.encode("unicode_escape").decode() for char in escape_invisible(text[:longest])
    )
    return shown if len(text) <= longest else f"{shown}…"


class _FigurePen:
    """Adds artists to a figure, each above the previous ones."""

    def __init__(self, figure: Figure, frame: Box) -> None:
        with extra("plot"):
            from matplotlib.path import Path
            from matplotlib.transforms import Affine2D

        self._figure, self._frame, self._path = figure, frame, Path
        self._place = Affine2D().scale(1 / frame.width, -1 / frame.height).translate(0, 1) + figure.transFigure

    def lines(self, lines: Sequence[Sequence[Spot]], role: str, width: float) -> None:
        corners = [spot for line in lines for spot in line]
        codes = [self._path.LINETO if at else self._path.MOVETO for line in lines for at in range(len(line))]
        self._patch(self._path(corners, codes), role, width=width, open_=True)

    def area(self, points: Sequence[Spot], role: str, tip: str) -> None:
        self._patch(self._path([*points, points[0]], closed=True), role)

    def disc(self, spot: Spot, radius: float, role: str, tip: str) -> None:
        self._patch(self._path.circle(spot, radius), role)

    def box(self, box: Box, role: str, tip: str, level: float | None) -> None:
        left, top, right, bottom = box
        corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
        self._patch(self._path(corners, closed=True), role, fill=None if level is None else _heat(level))

    def text(self, spot: Spot, label: Label) -> None:
        words = frozenset(label.role.split())
        drawn = self._figure.text(
            spot[0] / self._frame.width,
            1 - spot[1] / self._frame.height,
            label.text,
            size=label.size,
            ha=_ANCHORS[label.anchor],
            va="baseline",
            color=WHITE if "on-dark" in words else GREY if words & _SOFT else BLACK,
            weight="bold" if "strong" in words else "normal",
            style="italic" if "missing" in words else "normal",
            rotation=SLANT if label.slanted else 0,
            rotation_mode="anchor",
        )
        if "halo" in words:
            with extra("plot"):
                from matplotlib.patheffects import withStroke

            drawn.set_path_effects([withStroke(linewidth=2, foreground=WHITE)])
        self._above(drawn)

    def _patch(self, path: Any, role: str, *, width: float = 0.0, open_: bool = False, fill: str | None = None) -> None:
        with extra("plot"):
            from matplotlib.patches import PathPatch

        style = _style_of(role)
        patch = PathPatch(
            path,
            facecolor="none" if open_ else fill or style.fill,
            edgecolor=style.line,
            linewidth=width or style.width,
            linestyle=(0, style.dash) if style.dash and open_ else "solid",
            hatch=None if open_ else style.hatch or None,
            alpha=style.alpha if open_ else None,
            capstyle="butt",
            transform=self._place,
        )
        self._figure.add_artist(patch)
        self._above(patch)

    def _above(self, artist: Artist) -> None:
        artist.set_zorder(len(self._figure.get_children()))


def _style_of(role: str) -> _Style:
    """The style of a role; `series-N` is that of line N, ` hollow` has a white fill, ` interval` a pale line."""
    if not role.startswith("series-"):
        return _STYLES.get(role) or _STYLES[role.split()[0]]
    first, *words = role.split()
    look = series(int(first.removeprefix("series-")))
    if "interval" in words:
        return _Style(look.colour, 0.8, alpha=0.6)
    return _Style(look.colour, 1.3, WHITE if "hollow" in words else look.colour, look.dash)


def _heat(level: float) -> str:
    with extra("plot"):
        from matplotlib import colormaps
        from matplotlib.colors import to_hex

    return to_hex(colormaps[HEAT_SCALE](level))


@cache
def _known_characters() -> frozenset[int]:
    """The code points in the regular and bold font."""
    with extra("plot"):
        from matplotlib.font_manager import FontProperties, findfont, get_font

    fonts = (findfont(FontProperties(family=[FONT], weight=weight)) for weight in ("normal", "bold"))
    plain, bold = (set(get_font(path).get_charmap()) for path in fonts)
    return frozenset(plain & bold)


def _library() -> Any:
    with extra("plot"):
        import matplotlib
    return matplotlib

"""The one door to matplotlib: figures without a display, in one style whatever the user's is, saved to the same bytes."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from .._extras import extra
from .palette import GREY

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Format = Literal["png", "svg", "pdf"]
FONT = "DejaVu Sans"
"""Comes with matplotlib, so that a picture has the same letters everywhere."""
SMALL, MIDDLE, LARGE = 7.5, 8.5, 10.5
_HINTING = 1.04

_STYLE = {
    "font.family": [FONT],
    "font.size": MIDDLE,
    "axes.titlesize": MIDDLE,
    "axes.labelsize": MIDDLE,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.axisbelow": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.6,
    "hatch.linewidth": 0.6,
    "text.parse_math": False,
    "text.usetex": False,
    "axes.unicode_minus": True,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "rankproof",
}


@contextmanager
def drawing() -> Iterator[None]:
    """Everything inside is drawn in our style; the user's own settings are untouched before and after."""
    matplotlib = _library()
    kept = {"backend", "backend_fallback", "interactive", "toolbar", "timezone", "datapath"}
    default = {name: value for name, value in matplotlib.rcParamsDefault.items() if name not in kept and "backend" not in name}
    with matplotlib.rc_context({**default, **_STYLE}):
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of that size in inches."""
    _library()
    with extra("plot"):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def saved(figure: Figure, format: Format, *, dpi: int, title: str) -> bytes:
    """The figure as a file; no date is in it."""
    about: dict[Format, dict[str, Any]] = {
        "png": {"Software": "rankproof", "Title": title},
        "svg": {"Date": None, "Creator": "rankproof", "Title": title},
        "pdf": {"CreationDate": None, "Creator": "rankproof", "Title": title},
    }
    buffer = io.BytesIO()
    figure.savefig(buffer, format=format, dpi=dpi, metadata=about[format])
    return buffer.getvalue()


def pages(figures: Sequence[Figure], *, dpi: int, title: str) -> bytes:
    """The figures as one PDF file, a page each."""
    _library()
    with extra("plot"):
        from matplotlib.backends.backend_pdf import PdfPages

    buffer = io.BytesIO()
    with PdfPages(buffer, metadata={"CreationDate": None, "Creator": "rankproof", "Title": title}) as file:
        for figure in figures:
            figure.savefig(file, format="pdf", dpi=dpi)
    return buffer.getvalue()


def width_of(text: str, size: float, *, bold: bool = False) -> float:
    """How wide the text is, in inches: a little too much, as letters are wider where dots are few."""
    _library()
    with extra("plot"):
        from matplotlib.font_manager import FontProperties
        from matplotlib.textpath import text_to_path

    font = FontProperties(family=[FONT], size=size, weight="bold" if bold else "normal")
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]) / 72 * _HINTING


def known_characters() -> frozenset[int]:
    """The code points that the font has a letter for, upright and bold."""
    _library()
    with extra("plot"):
        from matplotlib.font_manager import FontProperties, findfont, get_font

    fonts = (findfont(FontProperties(family=[FONT], weight=weight)) for weight in ("normal", "bold"))
    plain, bold = (set(get_font(path).get_charmap()) for path in fonts)
    return frozenset(plain & bold)


def _library() -> Any:
    with extra("plot"):
        import matplotlib
    return matplotlib

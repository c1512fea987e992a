"""Colour-blind safe colours (Okabe and Ito 2008), with markers and dashes."""

from __future__ import annotations

from dataclasses import dataclass

BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
BLACK, GREY, WHITE = "#000000", "#555555", "#FFFFFF"
HEAT_SCALE = "cividis"
"""The colour map of heat maps: colour-blind safe, with monotonic lightness."""
DARK_TEXT_FROM = 0.47
"""From this level of a heat map on, black text has more contrast than white (WCAG 2)."""

_COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, BLACK, SKY)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*")
_DASHES: tuple[tuple[float, ...], ...] = ((), (4, 2), (4, 1.5, 1, 1.5), (1, 1.5))


@dataclass(frozen=True, slots=True)
class Series:
    """The style of one of several lines; the first 77 differ in colour or marker."""

    colour: str
    marker: str
    dash: tuple[float, ...]


def series(index: int) -> Series:
    """The style of the line at the index; dashes start when colours repeat."""
    dash = _DASHES[index // len(_COLOURS) % len(_DASHES)]
    return Series(_COLOURS[index % len(_COLOURS)], _MARKERS[index % len(_MARKERS)], dash)


def series_role(index: int) -> str:
    """The role of the marks of the line."""
    return f"series-{index}"

"""Colours that colour-blind people tell apart (Okabe and Ito 2008), and the marks that tell the same without colour."""

from __future__ import annotations

from dataclasses import dataclass

BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
BLACK, GREY, WHITE = "#000000", "#555555", "#FFFFFF"
HEAT_SCALE = "cividis"
"""The colours of heat maps: as good for the colour-blind, and they only get lighter."""
DARK_TEXT_FROM = 0.47
"""From this level of a heat map on, black text has more contrast than white (WCAG 2)."""

_COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, BLACK, SKY)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*")
_DASHES: tuple[tuple[float, ...], ...] = ((), (4, 2), (4, 1.5, 1, 1.5), (1, 1.5))


@dataclass(frozen=True, slots=True)
class Series:
    """How one of several lines is drawn: no two of the first 77 have both the same colour and the same marker."""

    colour: str
    marker: str
    dash: tuple[float, ...]


def series(place: int) -> Series:
    """The look of the line at that place; dashes begin where colours repeat."""
    dash = _DASHES[place // len(_COLOURS) % len(_DASHES)]
    return Series(_COLOURS[place % len(_COLOURS)], _MARKERS[place % len(_MARKERS)], dash)


def series_role(place: int) -> str:
    """The role of the marks of that line."""
    return f"series-{place}"

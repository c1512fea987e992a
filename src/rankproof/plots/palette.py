"""Colours that colour-blind people tell apart (Okabe and Ito 2008), and the marks that tell the same without colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
BLACK, GREY = "#000000", "#555555"
SCALE = "cividis"
"""The scale of heat maps: as good for the colour-blind, and it only gets lighter."""

_COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, BLACK, SKY)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*")
_LINES = ("-", "--", "-.", ":")


@dataclass(frozen=True, slots=True)
class Style:
    """How one system is drawn: no two of the first 77 have both the same colour and the same marker."""

    colour: str
    marker: str
    line: str


def style_of(place: int) -> Style:
    """The style of the system at that place; dashes begin where colours come round again."""
    return Style(_COLOURS[place % len(_COLOURS)], _MARKERS[place % len(_MARKERS)], _LINES[place // len(_COLOURS) % len(_LINES)])


def lightness(colour: Sequence[float]) -> float:
    """The relative luminance of a colour (WCAG 2), from 0 for black to 1 for white."""
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue

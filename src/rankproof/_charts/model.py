"""The chart model: panels with scales, axes and marks, and the palette; sizes are in the unit of the medium."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from rankproof._charts.text import fitted, fitted_names, text_width
from rankproof.errors import escape_invisible

Spot = tuple[float, float]


class Box(NamedTuple):
    """A rectangle; y grows downwards."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        """From left to right."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """From top to bottom."""
        return self.bottom - self.top

    @property
    def centre(self) -> Spot:
        """The centre of the rectangle."""
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2

    def shared(self, other: Box) -> float:
        """The area of the intersection."""
        across = min(self.right, other.right) - max(self.left, other.left)
        down = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(across, 0.0) * max(down, 0.0)

    def outside(self, frame: Box) -> float:
        """The area outside the frame."""
        return self.width * self.height - self.shared(frame)


_LOG_FROM = 20.0
"""Times use a logarithmic scale if the largest is more than this many times the smallest."""
_LEAST_TIME, _LEAST_SPAN = 1e-3, 1e-9
_MARGIN, _LEAST_MARGIN = 0.06, 0.05
_LOG_STEPS: tuple[tuple[tuple[int, ...], int], ...] = (((1, 2, 5), 1), ((1, 3), 1), ((1,), 1), ((1,), 2), ((1,), 4))
"""Factors of a decade and step in decades, from many to few ticks."""
ANY = (-math.inf, math.inf)
"""The range of an unbounded value."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The values from `low` to `high`, as shares of a length from 0 to 1."""

    low: float
    high: float
    log: bool = False

    def share(self, value: float) -> float:
        """The position of a value from 0 to 1, clipped."""
        low, high, at = (self._linear(number) for number in (self.low, self.high, value))
        return min(max((at - low) / (high - low), 0.0), 1.0)

    def ticks(self, most: int = 6) -> list[float]:
        """Round values within the scale."""
        return _log_ticks(self.low, self.high, most) if self.log else _ticks(self.low, self.high, most)

    def _linear(self, value: float) -> float:
        return math.log10(max(value, _LEAST_TIME / 10)) if self.log else value


def value_scale(values: Sequence[float], within: tuple[float, float] = ANY) -> Scale:
    """A scale for all values with a margin, within the range of the measure."""
    low, high = min(values), max(values)
    margin = _MARGIN * (high - low) if high - low > _LEAST_SPAN else max(_MARGIN * abs(high), _LEAST_MARGIN)
    least, greatest = min(within[0], low), max(within[1], high)
    return Scale(max(low - margin, least), min(high + margin, greatest))


def bar_scale(values: Sequence[float]) -> Scale:
    """A scale from 0 to a little more than the largest value."""
    low, high = min(*values, 0.0), max(*values, 0.0)
    span = max(high - low, _LEAST_SPAN)
    return Scale(low - 0.04 * span if low < 0 else 0.0, high + 0.04 * span)


def time_scale(values: Sequence[float]) -> Scale:
    """A scale for milliseconds: logarithmic if they differ by a large factor, else from 0."""
    low, high = max(min(values), _LEAST_TIME), max(*values, _LEAST_TIME)
    if high / low > _LOG_FROM:
        return Scale(low / 1.6, high * 1.6, log=True)
    return Scale(0.0, high * 1.08)


def tick_text(value: float) -> str:
    """The text of a tick, with a minus sign."""
    return (f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}").replace("-", "−")


def _ticks(low: float, high: float, most: int) -> list[float]:
    span = (high - low) / max(most, 1)
    power = 10.0 ** math.floor(math.log10(span))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= span)
    first = math.ceil(low / step - 1e-9)
    return [round(at * step, 12) for at in range(first, math.floor(high / step + 1e-9) + 1)]


def _log_ticks(low: float, high: float, most: int) -> list[float]:
    choices = list(_log_choices(low, high))
    return next((ticks for ticks in choices if len(ticks) <= most), choices[-1])


def _log_choices(low: float, high: float) -> Iterator[list[float]]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for factors, every in _LOG_STEPS:
        powers = [power for power in range(first, last + 1) if power % every == 0]
        numbers = [float(f"{factor}e{power}") for power in powers for factor in factors]
        yield [number for number in numbers if low <= number <= high]


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


Anchor = Literal["start", "middle", "end"]
_NARROW = 40.0
"""A medium narrower than this many text sizes is narrow."""


@dataclass(frozen=True, slots=True)
class Medium:
    """The medium of a chart: its width and text sizes, in one unit.

    `large` is the size of titles, 0 if the page has its own; `clean` makes text safe to show.
    """

    width: float
    text: float = 13.0
    small: float = 11.5
    large: float = 0.0
    clean: Callable[[str], str] = escape_invisible

    @property
    def narrow(self) -> bool:
        """Whether it is a phone or one of two columns."""
        return self.width < _NARROW * self.text

    def names(self, names: Sequence[str], room: float, *, small: bool = False, bold: bool = False) -> list[str]:
        """The names shortened to fit, all different."""
        return fitted_names([self.clean(name) for name in names], room, self.small if small else self.text, bold=bold)

    def names_room(self, names: Sequence[str], *, bold: bool = False) -> float:
        """The width of the names at the left."""
        widest = max((text_width(self.clean(name), self.text, bold=bold) for name in names), default=0.0)
        return min(widest, (0.36 if self.narrow else 0.32) * self.width)

    def label(
        self, text: str, x: float, y: float, room: float, *, anchor: Anchor = "start", role: str = "", small: bool = False
    ) -> Label:
        """A label shortened to fit; `tip` has the full text if it was shortened."""
        full, size = self.clean(text), self.small if small else self.text
        shown = fitted(full, room, size, bold="strong" in role)
        return Label(x, y, shown, size, anchor, role, tip=full if shown != full else "")


@dataclass(frozen=True, slots=True)
class Tick:
    """A value of an axis and its text; `tip` is the full text if it was shortened, `strong` ticks are bold."""

    value: float
    text: str
    tip: str = ""
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale with ticks; from bottom to top or left to right unless `reverse`.

    `size` is the text size of the ticks, 0 for the small size; `slanted` ticks need less width.
    """

    scale: Scale
    name: str = ""
    ticks: tuple[Tick, ...] = ()
    grid: bool = True
    reverse: bool = False
    opposite: bool = False
    slanted: bool = False
    size: float = 0.0


@dataclass(frozen=True, slots=True)
class Point:
    """A marker; `role` is its style, `tip` its tooltip."""

    x: float
    y: float
    radius: float
    role: str = "dot"
    marker: str = "o"
    tip: str = ""


@dataclass(frozen=True, slots=True)
class ErrorBar:
    """A line between two values with caps of length `cap`."""

    start: Spot
    end: Spot
    cap: float
    role: str = "whisker"


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of one style; `width` is set if it depends on the data."""

    lines: tuple[tuple[Spot, ...], ...]
    role: str
    width: float = 0.0


@dataclass(frozen=True, slots=True)
class Area:
    """A filled outline."""

    points: tuple[Spot, ...]
    role: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle between two corners; `level` from 0 to 1 is the colour of a heat map cell."""

    start: Spot
    end: Spot
    role: str
    tip: str = ""
    level: float | None = None


@dataclass(frozen=True, slots=True)
class Label:
    """A text at a position of the panel, shifted by `dx` and `dy` units and vertically centred."""

    x: float
    y: float
    text: str
    size: float
    anchor: Anchor = "start"
    role: str = ""
    tip: str = ""
    dx: float = 0.0
    dy: float = 0.0
    slanted: bool = False


Mark = Point | ErrorBar | Lines | Area | Bar | Label


@dataclass(frozen=True, slots=True)
class Panel:
    """A frame with two axes; marks are positioned in values of the axes."""

    frame: Box
    x: Axis
    y: Axis
    marks: tuple[Mark, ...] = ()

    def place(self, spot: Spot) -> Spot:
        """The position of the values in the chart."""
        across, down = self.x.scale.share(spot[0]), 1 - self.y.scale.share(spot[1])
        across, down = 1 - across if self.x.reverse else across, 1 - down if self.y.reverse else down
        return self.frame.left + across * self.frame.width, self.frame.top + down * self.frame.height


@dataclass(frozen=True, slots=True)
class ChartLink:
    """A part of a chart that leads to an address, and its name."""

    box: Box
    address: str
    name: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart: panels, title and text alternative.

    `name` is the file name; `missing` is the reason if there is nothing to draw. Pages can follow the `links`.
    """

    name: str
    title: str
    about: str
    medium: Medium
    height: float
    panels: tuple[Panel, ...]
    missing: str = ""
    links: tuple[ChartLink, ...] = ()

    @property
    def frame(self) -> Box:
        """The frame of the chart."""
        return Box(0, 0, self.medium.width, self.height)


def free_panel(medium: Medium, height: float, marks: Sequence[Mark]) -> Panel:
    """A panel whose marks are positioned from the left and top of the chart."""
    across, down = Axis(Scale(0, medium.width)), Axis(Scale(0, height), reverse=True)
    return Panel(Box(0, 0, medium.width, height), across, down, tuple(marks))


def value_axis(scale: Scale, name: str = "", *, most: int = 6, reverse: bool = False) -> Axis:
    """An axis of numbers with about `most` round ticks at most."""
    name = f"{name}, logarithmic" if scale.log and name else name
    return Axis(scale, name, tuple(Tick(value, tick_text(value)) for value in scale.ticks(most)), reverse=reverse)


def row_axis(medium: Medium, names: Sequence[str], room: float, *, strong: Sequence[bool] = (), lift: float = 0.0) -> Axis:
    """An axis of named rows, the first on top; `lift` moves the names up by a share of a row."""
    shown = medium.names(names, room, bold=any(strong))
    ticks = [
        Tick(at - lift, text, medium.clean(name) if text != medium.clean(name) else "", bool(strong) and strong[at])
        for at, (name, text) in enumerate(zip(names, shown, strict=True))
    ]
    return Axis(Scale(-0.5, len(names) - 0.5), ticks=tuple(ticks), grid=False, reverse=True, size=medium.text)

"""The diagram of the decision rule as SVG: `python -m tools.docs.decision_diagram` writes it."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import NamedTuple

PATH = Path(__file__).parents[2] / "docs" / "img" / "decision-rule.svg"
_WIDTH, _HEIGHT = 780, 268
_LEFT, _RIGHT, _TOP, _ROW = 110, 520, 64, 40
_LOWEST, _HIGHEST, _MARGIN = -6.0, 2.0, -2.0
_GOOD, _BAD, _GREY = "#0b5f8a", "#b5500b", "#444444"


class _System(NamedTuple):
    """An example: its difference from its closest rival in pp, how far down the data reach, and what follows."""

    name: str
    cost: int
    difference: float
    reach: float
    verdict: str

    @property
    def is_good(self) -> bool:
        """Whether the bar ends within the margin."""
        return self.difference - self.reach >= _MARGIN


_SYSTEMS = (
    _System("A", 8, 0.6, 1.4, "good enough"),
    _System("B", 2, -0.6, 1.1, "good enough and cheapest: ship B"),
    _System("C", 1, -0.3, 3.0, "few data: could be 3.3 pp worse"),
    _System("D", 1, -3.6, 1.2, "too far below"),
)


def decision_diagram() -> str:
    """A row for each system: a point at its difference from the best rival, and a bar as far down as the data allow."""
    about = "; ".join(f"{system.name} at cost {system.cost}: {system.verdict}" for system in _SYSTEMS)
    zero, margin = _x(0.0), _x(_MARGIN)
    bottom = _TOP + _ROW * len(_SYSTEMS)
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
            ' role="img" font-family="system-ui, sans-serif" font-size="14">',
            "<title>A system is good enough if its bar ends within the margin; the cheapest of these is shipped</title>",
            f"<desc>{escape(about)}</desc>",
            f'<rect width="{_WIDTH}" height="{_HEIGHT}" rx="8" fill="#ffffff"/>',
            f'<rect x="{margin}" y="{_TOP - 14}" width="{_x(_HIGHEST) - margin}" height="{bottom - _TOP}" fill="#eef4f8"/>',
            f'<path d="M{zero} {_TOP - 14}V{bottom - 14}" stroke="{_GREY}"/>',
            f'<path d="M{margin} {_TOP - 14}V{bottom - 14}" stroke="{_BAD}" stroke-width="2" stroke-dasharray="5 4"/>',
            _text(zero, _TOP - 24, "as good as the best rival", _GREY),
            _text(margin, bottom + 6, "margin: 2 pp below", _BAD),
            _text(
                (_LEFT + _RIGHT) // 2, bottom + 30, "point: measured difference; bar: as far down as the risk limit asks", _GREY
            ),
            *(_row(at, system) for at, system in enumerate(_SYSTEMS)),
            "</svg>\n",
        )
    )


def _row(at: int, system: _System) -> str:
    y, colour = _TOP + at * _ROW + 6, _GOOD if system.is_good else _BAD
    point, low = _x(system.difference), _x(system.difference - system.reach)
    return "\n".join(
        (
            _text(16, y + 5, f"{system.name}, cost {system.cost}", "#1b1b1b", anchor="start"),
            f'<path d="M{low} {y}H{point}" stroke="{colour}" stroke-width="6"/>',
            f'<circle cx="{point}" cy="{y}" r="7" fill="{colour}"/>',
            _text(_RIGHT + 12, y + 5, system.verdict, colour, anchor="start"),
        )
    )


def _x(difference: float) -> int:
    return round(_LEFT + (difference - _LOWEST) / (_HIGHEST - _LOWEST) * (_RIGHT - _LEFT))


def _text(x: int, y: int, text: str, colour: str, *, anchor: str = "middle") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>'


if __name__ == "__main__":
    PATH.write_text(decision_diagram(), encoding="utf-8")

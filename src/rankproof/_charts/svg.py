"""Renders a chart as SVG; all text is escaped here, and roles are CSS classes."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

from rankproof._charts.draw import SLANT, draw
from rankproof._charts.model import Box, Chart, ChartLink, Label, Spot
from rankproof.errors import escape_invisible

_STAGE = "stage "


def svg_of(chart: Chart) -> Markup:
    """The chart as SVG, in pixels, with title and text alternative."""
    pen = _SvgPen()
    draw(chart, pen)
    return element(
        "svg",
        element("title", chart.title),
        element("desc", chart.about),
        *pen.elements,
        *map(_link, chart.links),
        viewBox=f"0 0 {number(chart.medium.width)} {number(chart.height)}",
        width=chart.medium.width,
        height=chart.height,
        role="group" if chart.links else "img",
    )


def _link(link: ChartLink) -> Markup:
    """A transparent area over the chart; a group and not an image has such areas, so that screen readers reach them."""
    left, top, _, _ = link.box
    area = element("rect", x=left, y=top, width=link.box.width, height=link.box.height, class_="reach-area")
    return element("a", element("title", link.name), area, href=link.address)


def element(tag: str, /, *children: str | Markup, **attributes: str | float | None) -> Markup:
    """One element; `class_` becomes class, `stroke_width` becomes stroke-width; text children are escaped."""
    written = "".join(f' {_name(key)}="{_value(value)}"' for key, value in attributes.items() if value is not None)
    inside = "".join(str(_safe(child)) for child in children)
    return Markup(f"<{tag}{written}>{inside}</{tag}>" if children else f"<{tag}{written}/>")


def number(value: float) -> str:
    """A coordinate, to a hundredth of a pixel."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


class _SvgPen:
    """Collects elements."""

    def __init__(self) -> None:
        self.elements: list[Markup] = []

    def lines(self, lines: Sequence[Sequence[Spot]], role: str, width: float) -> None:
        if len(lines) == 1 and len(lines[0]) == 2:
            (x1, y1), (x2, y2) = lines[0]
            self.elements.append(element("line", x1=x1, x2=x2, y1=y1, y2=y2, class_=role, stroke_width=width or None))
        else:
            path = "".join(map(_path, lines))
            self.elements.append(element("path", d=path, class_=role, stroke_width=width or None))

    def area(self, points: Sequence[Spot], role: str, tip: str) -> None:
        self.elements.append(element("path", *_title(tip), d=f"{_path(points)}Z", class_=role))

    def disc(self, spot: Spot, radius: float, role: str, tip: str) -> None:
        self.elements.append(element("circle", *_title(tip), cx=spot[0], cy=spot[1], r=radius, class_=role))

    def box(self, box: Box, role: str, tip: str, level: float | None) -> None:
        """A rectangle; stages get a second one with hatching, so that colour is not the only difference."""
        heat = "" if level is None else f" heat-{round(9 * level)}"
        for css_class in (f"{role}{heat}", *([role.replace("stage", "hatch")] if role.startswith(_STAGE) else ())):
            spot = {"x": box.left, "y": box.top, "width": box.width, "height": box.height}
            self.elements.append(element("rect", *_title(tip), class_=css_class, **spot))

    def text(self, spot: Spot, label: Label) -> None:
        turn = f"rotate({number(-SLANT)} {number(spot[0])} {number(spot[1])})" if label.slanted else None
        self.elements.append(
            element(
                "text",
                *_title(label.tip),
                label.text,
                x=spot[0],
                y=spot[1],
                text_anchor=label.anchor,
                class_=label.role or None,
                font_size=label.size,
                transform=turn,
            )
        )


def _path(points: Sequence[Spot]) -> str:
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)


def _title(tip: str) -> tuple[Markup, ...]:
    return (element("title", tip),) if tip else ()


def _safe(child: str | Markup) -> Markup:
    return child if isinstance(child, Markup) else escape(escape_invisible(child))


def _name(key: str) -> str:
    return key.rstrip("_") if key.endswith("_") else key.replace("_", "-")


def _value(value: str | float) -> Markup | str:
    return escape(escape_invisible(value)) if isinstance(value, str) else number(value)

"""SVG as text: every name, number and word is escaped here and nowhere else."""

from __future__ import annotations

from markupsafe import Markup, escape

from ...errors import visible

Value = str | float


def element(tag: str, /, *children: str | Markup, **attributes: Value | None) -> Markup:
    """One element; a `class_` is a class, `stroke_width` is stroke-width; text among the children is escaped."""
    written = "".join(f' {_name(key)}="{_value(value)}"' for key, value in attributes.items() if value is not None)
    inside = "".join(str(_safe(child)) for child in children)
    return Markup(f"<{tag}{written}>{inside}</{tag}>" if children else f"<{tag}{written}/>")


def drawing(width: float, height: float, title: str, about: str, children: list[Markup]) -> Markup:
    """The whole picture, in pixels of the page, named for those who cannot see it."""
    return element(
        "svg",
        element("title", title),
        element("desc", about),
        *children,
        viewBox=f"0 0 {number(width)} {number(height)}",
        width=width,
        height=height,
        role="img",
    )


def number(value: float) -> str:
    """A place in the picture, to a hundredth of a pixel."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _safe(child: str | Markup) -> Markup:
    return child if isinstance(child, Markup) else escape(visible(child))


def _name(key: str) -> str:
    return key.rstrip("_") if key.endswith("_") else key.replace("_", "-")


def _value(value: Value) -> Markup | str:
    return escape(visible(value)) if isinstance(value, str) else number(value)

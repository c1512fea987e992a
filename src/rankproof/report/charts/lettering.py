"""How wide words are, near enough: the page's font is the reader's own."""

from __future__ import annotations

from unicodedata import east_asian_width

from markupsafe import Markup

from ...errors import visible
from .svg import element

SIZE = 13.0
SMALL = 11.5
_NARROW, _WIDE = frozenset("iljtfrI.,:;'|!()[] "), frozenset("mwMW@%<>=+~")


def width_of(text: str, size: float = SIZE) -> float:
    """The width in pixels, rather too much than too little."""
    return size * sum(_share(char) for char in text)


def fitted(text: str, room: float, size: float = SIZE) -> str:
    """The text as it is seen, with … in its middle where there is no room for all of it: names often differ at their end."""
    safe = visible(text)
    if width_of(safe, size) <= room:
        return safe
    kept = len(safe) - 1
    while kept and width_of(_cut(safe, kept), size) > room:
        kept -= 1
    return _cut(safe, kept)


def _cut(text: str, kept: int) -> str:
    """So many characters of the text, two of five from its end."""
    last = 2 * kept // 5
    return f"{text[: kept - last]}…{text[len(text) - last :]}"


def label(x: float, y: float, text: str, *, room: float, anchor: str = "start", class_: str = "", size: float = SIZE) -> Markup:
    """A word in the picture; where it is cut, the whole is told on hovering."""
    shown = fitted(text, room, size)
    told = (element("title", text),) if shown != visible(text) else ()
    return element("text", *told, shown, x=x, y=y, text_anchor=anchor, class_=class_ or None, font_size=size)


def _share(char: str) -> float:
    """The width of a character, as a share of the size of the letters."""
    if char in _NARROW:
        return 0.36
    if east_asian_width(char) in "WF" or ord(char) > 0xFFFF:
        return 1.0
    return 0.9 if char in _WIDE else 0.72 if char.isupper() else 0.6

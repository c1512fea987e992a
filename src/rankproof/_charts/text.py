"""Text widths, and text that is shortened or wrapped to fit."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

_FIRST = 32
_REGULAR = """
318 401 460 838 636 950 780 275 390 390 500 838 318 361 318 337 636 636 636 636 636 636 636 636 636 636 337 337 838 838 838 531
1000 684 686 698 770 632 575 775 752 295 295 656 557 863 748 787 603 787 695 635 611 732 684 989 685 611 685 390 337 390 838 500
500 613 635 550 635 615 352 635 634 278 278 579 278 974 634 612 635 635 411 521 392 634 592 818 592 592 525 636 337 636 838"""
_BOLD = """
348 456 521 838 696 1002 872 306 457 457 523 838 380 415 380 365 696 696 696 696 696 696 696 696 696 696 400 400 838 838 838 580
1000 774 762 734 830 683 683 821 837 372 372 775 637 995 837 850 733 850 770 720 682 812 774 1103 771 724 725 457 365 457 838 500
500 675 716 593 716 678 435 716 712 343 343 665 343 1042 712 687 716 716 493 595 478 712 652 924 645 652 582 712 365 712 838"""
_WIDTHS = {bold: [int(width) / 1000 for width in text.split()] for bold, text in ((False, _REGULAR), (True, _BOLD))}
"""Advance widths of the ASCII characters from space on in DejaVu Sans, which is wider than most fonts of a page."""
_HINTING = 1.04
"""Hinting widens letters at small pixel sizes."""


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """The width in the unit of the size, as an upper estimate."""
    return _HINTING * size * sum(_share(char, bold=bold) for char in unicodedata.normalize("NFD", text))


def fitted(text: str, room: float, size: float, *, bold: bool = False, tail: float = 0.4) -> str:
    """The text, shortened with … in the middle to fit: names often differ only at their end."""
    if text_width(text, size, bold=bold) <= room:
        return text
    low, high = 0, len(text) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if text_width(_cut(text, middle, tail), size, bold=bold) <= room else (low, middle - 1)
    return _cut(text, low, tail)


def fitted_names(names: Sequence[str], room: float, size: float, *, bold: bool = False) -> list[str]:
    """The names shortened to fit; equal results get a number, in alphabetical order."""
    short = [fitted(name, room, size, bold=bold) for name in names]
    alike = {text: sorted({name for name, fit in zip(names, short, strict=True) if fit == text}) for text in set(short)}
    return [
        text if len(alike[text]) == 1 else _numbered(name, alike[text].index(name) + 1, room, size, bold=bold)
        for name, text in zip(names, short, strict=True)
    ]


def wrapped(text: str, room: float, size: float, *, bold: bool = False, most: int = 4) -> list[str]:
    """The text in at most `most` lines that fit, the last one shortened with …"""
    lines, words = [""], text.split()
    for at, word in enumerate(words):
        longer = f"{lines[-1]} {word}".lstrip()
        if text_width(longer, size, bold=bold) <= room:
            lines[-1] = longer
        elif len(lines) == most:
            lines[-1] = fitted(" ".join([lines[-1], *words[at:]]), room, size, bold=bold, tail=0)
            break
        elif lines[-1]:
            lines.append(fitted(word, room, size, bold=bold))
        else:
            lines[-1] = fitted(word, room, size, bold=bold)
    return lines


def _numbered(name: str, number: int, room: float, size: float, *, bold: bool) -> str:
    mark = f" ({number})"
    return f"{fitted(name, room - text_width(mark, size, bold=bold), size, bold=bold)}{mark}"


def _cut(text: str, count: int, tail: float) -> str:
    """`count` characters of the text, a share of them from its end."""
    last = int(count * tail)
    return f"{text[: count - last].rstrip()}…{text[len(text) - last :].lstrip()}"


def _share(char: str, *, bold: bool) -> float:
    """The width of a character, as a share of the size."""
    at = ord(char) - _FIRST
    if 0 <= at < len(_WIDTHS[bold]):
        return _WIDTHS[bold][at]
    if unicodedata.combining(char):
        return 0.0
    if unicodedata.east_asian_width(char) in "WF" or not char.isalpha():
        return 1.0
    return 0.85 if char.isupper() else 0.75

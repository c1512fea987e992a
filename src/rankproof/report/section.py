"""What a page is made of: sections with sentences, charts and tables."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from .sheet import Sheet


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing as SVG, and the same in words for those who cannot see it.

    `narrow` is the same drawing for a phone, None where the first fits one; `small` charts stand side by side.
    """

    title: str
    svg: Markup
    about: str
    narrow: Markup | None = None
    small: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A number that must not be missed: what it is, its value, and what must be known beside it."""

    label: str
    value: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """A text of its own lines, folded under its title."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Term:
    """A word and what it means; `aside` is shown small behind it."""

    word: str
    title: str
    meaning: str
    aside: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page; `key` is its anchor, `question` what it answers.

    What must be read first stands first: the lead, figures, sentences, points of a list, warnings, then charts, then tables.
    `folded` tables and texts are shown when asked for; `key_of_ways` says that its small charts show moves, which need a key.
    """

    key: str
    title: str
    question: str
    lead: str = ""
    figures: tuple[Figure, ...] = ()
    sentences: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    charts: tuple[Chart, ...] = ()
    tables: tuple[Sheet, ...] = ()
    folded: tuple[Sheet, ...] = ()
    texts: tuple[Text, ...] = ()
    terms: tuple[Term, ...] = ()
    key_of_ways: bool = False

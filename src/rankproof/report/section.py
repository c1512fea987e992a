"""What a page is made of: sections with sentences, charts and tables."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from ..analysis.table import Table


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing as SVG, and the same in words for those who cannot see it."""

    title: str
    svg: Markup
    about: str


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page; `key` is its anchor. What must be read first stands first: sentences, then charts, then tables.

    `folded` tables are shown when asked for.
    """

    key: str
    title: str
    sentences: tuple[str, ...] = ()
    charts: tuple[Chart, ...] = ()
    tables: tuple[Table, ...] = ()
    folded: tuple[Table, ...] = ()

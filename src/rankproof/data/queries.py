"""The queries that a system is asked."""

from __future__ import annotations

from .texts import TextRecord, Texts


class Query(TextRecord):
    """One query; `fields` holds what its source has besides the text, such as a category."""

    __slots__ = ()


class Queries(Texts[Query]):
    """Query id to query."""

    __slots__ = ()
    column = "query"

"""Addresses of views of the table of queries, which numbers of the page lead to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from urllib.parse import urlencode

from rankproof._data.table import CellValue, Table


def queries_link(*repeated: tuple[str, str], **parameters: str | None) -> str:
    """The address of the table of queries with these parameters, of docs/report.md; those that are None are left out."""
    pairs = [(name, value) for name, value in (*parameters.items(), *repeated) if value is not None]
    return f"#queries?{urlencode(pairs, errors='replace')}"


def pair_link(system: str, other: str | None, measure: str | None = None) -> str:
    """The queries with the largest losses of a system to another; alone, those where it is worst."""
    if other is None or other == system:
        return queries_link(a=system, sort="value", measure=measure)
    return queries_link(a=system, b=other, sort="difference", measure=measure)


RowLinks = Callable[[Mapping[str, CellValue]], Mapping[str, str]]
"""The addresses of the cells of a row by the name of their column, from the cells by the name of their column."""


def linked(table: Table, links_of: RowLinks) -> Table:
    """The table with the addresses of its cells."""
    places = {column.name: at for at, column in reversed(list(enumerate(table.columns)))}
    rows: Sequence[Mapping[str, CellValue]] = table.records()
    links = {
        (row, places[name]): link for row, record in enumerate(rows) for name, link in links_of(record).items() if name in places
    }
    return replace(table, links=links)


def with_system_links(table: Table, systems: Collection[str]) -> Table:
    """The table with an address for each system of its column `system` and in each column of a system: its worst queries.

    A table with addresses stays.
    """
    if table.links:
        return table

    def links(row: Mapping[str, CellValue]) -> dict[str, str]:
        named = {"system": row["system"]} if "system" in row else {name: name for name in row}
        return {column: pair_link(str(name), None) for column, name in named.items() if name in systems}

    return linked(table, links)

"""The formats `prefs` and `qrels_prefs` of trec_eval: preferences between documents, as levels within groups of a query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rankproof._data.row_errors import row_error
from rankproof._data.validation import checked_id
from rankproof._formats.fields import _DECIMAL
from rankproof._formats.trec import numbered_lines
from rankproof._io.streams import ByteSource

PREFERENCE_FORMATS = {"prefs": "query group subgroup doc level", "qrels_prefs": "query group doc level"}
"""The columns of each format."""


class PreferenceRow(NamedTuple):
    """One row of preferences: within a subgroup, a document of a higher level is preferred to one of a lower level."""

    query: str
    group: str
    subgroup: str
    doc: str
    level: float
    line: int


def preference_rows(source: ByteSource, form: str) -> Iterator[PreferenceRow]:
    """The rows of the file; a row without a column for the subgroup is in subgroup 0."""
    names = PREFERENCE_FORMATS[form]
    count = len(names.split())
    for line, text in numbered_lines(source):
        parts = text.split()
        if len(parts) != count:
            raise row_error("preference-columns", source=source.name, line=line, found=len(parts), count=count, names=names)
        query, doc = parts[0].decode(), parts[-2].decode()
        if b"\0" in text:
            for column, id in (("query", query), ("document", doc)):
                checked_id(id, column, source=source.name, line=line)
        subgroup = parts[2].decode() if count == 5 else "0"
        yield PreferenceRow(query, parts[1].decode(), subgroup, doc, _level(parts[-1], source.name, line), line)


def _level(token: bytes, source: str, line: int) -> float:
    level = float(token) if _DECIMAL.fullmatch(token) else -1.0
    if not 0 <= level < float("inf"):
        raise row_error("level", source=source, line=line, token=token.decode())
    return level

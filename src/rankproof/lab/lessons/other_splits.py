"""Queries that other splits of a dataset judge: none of them may be taught."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from ...formats.folder import other_qrels
from ...formats.opened import open_file
from ...formats.opening import open_source
from ...formats.texts_format import read_queries
from .digest import text_digest


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Their ids, the digests of their texts in every language, and the files that judge them."""

    ids: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    files: tuple[str, ...] = ()

    def has(self, query: str, text: str) -> bool:
        """Whether the query is one of them by its id or by its text."""
        return query in self.ids or self.has_text(text)

    def has_text(self, text: str) -> bool:
        """Whether one of them has this text."""
        return bool(self.texts) and text_digest(text) in self.texts


def asked_elsewhere(folder: str, *, split: str) -> Elsewhere:
    """What the folder's other splits ask; nothing where there is no folder, as for the sample.

    A file of judgements that cannot be read is refused: its queries might be taught.
    """
    if not os.path.isdir(folder):
        return Elsewhere()
    files = other_qrels(folder, split=split)
    ids = frozenset(query for path in files for query in open_file(path).qrels())
    return Elsewhere(ids, frozenset(_digests(folder, ids)), tuple(files)) if ids else Elsewhere()


def _digests(folder: str, ids: frozenset[str]) -> Iterator[str]:
    for place in (folder, os.path.join(folder, "i18n")):
        for name in sorted(os.listdir(place)) if os.path.isdir(place) else ():
            if name.startswith("queries.") and ".jsonl" in name:
                found = read_queries(open_source(os.path.join(place, name)))
                yield from (text_digest(record.text) for query, record in found.items() if query in ids)

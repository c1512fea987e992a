"""Queries that other splits of a dataset judge: none of them may be taught."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from ...formats.folder import judged_elsewhere
from ...formats.opening import open_source
from ...formats.texts_format import read_queries
from .digest import text_digest


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Their ids and the digests of their texts, in every language."""

    ids: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()

    def has(self, query: str, text: str) -> bool:
        """Whether the query is one of them by its id or by its text."""
        return query in self.ids or self.has_text(text)

    def has_text(self, text: str) -> bool:
        """Whether one of them has this text."""
        return bool(self.texts) and text_digest(text) in self.texts


def asked_elsewhere(folder: str, *, split: str) -> Elsewhere:
    """What the folder's other splits ask; nothing where there is no folder, as for the sample."""
    if not os.path.isdir(folder):
        return Elsewhere()
    ids = judged_elsewhere(folder, split=split)
    return Elsewhere(ids, frozenset(_digests(folder, ids))) if ids else Elsewhere()


def _digests(folder: str, ids: frozenset[str]) -> Iterator[str]:
    for place in (folder, os.path.join(folder, "i18n")):
        for name in sorted(os.listdir(place)) if os.path.isdir(place) else ():
            if name.startswith("queries.") and ".jsonl" in name:
                found = read_queries(open_source(os.path.join(place, name)))
                yield from (text_digest(record.text) for query, record in found.items() if query in ids)

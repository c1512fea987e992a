"""Documents and queries as seed 001 has them: items of JSONL, or a mapping by id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..data.corpus import Corpus
from ..data.queries import Queries
from ..errors import InputError
from ..formats import texts_format
from .ranked import listed

Texts = Iterable[Mapping[str, Any]] | Mapping[str, Any]
"""Items with `id` or `_id`, `text` and perhaps `title`; or id to text, or id to such an item."""


def corpus_of(corpus: Texts) -> Corpus:
    """The documents, checked; a faulty one is refused by its place in the list."""
    return corpus if isinstance(corpus, Corpus) else texts_format.corpus_of(_numbered(corpus, "documents"), "corpus")


def queries_of(queries: Texts) -> Queries:
    """The queries, checked in the same way."""
    return queries if isinstance(queries, Queries) else texts_format.queries_of(_numbered(queries, "queries"), "queries")


def _numbered(texts: Texts, what: str) -> Iterator[tuple[int, Any]]:
    items = [_item(*pair) for pair in texts.items()] if isinstance(texts, Mapping) else listed(texts, what)
    if not items:
        raise InputError(f"there are no {what}", fix="pass at least one")
    return ((at, dict(item) if isinstance(item, Mapping) else item) for at, item in enumerate(items, start=1))


def _item(key: Any, value: Any) -> dict[str, Any]:
    rest = (
        {name: part for name, part in value.items() if name not in ("_id", "id")}
        if isinstance(value, Mapping)
        else {"text": value}
    )
    return {"_id": key, **rest}

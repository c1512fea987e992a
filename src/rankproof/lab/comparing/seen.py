"""Queries that a model was trained on: they are left out for every system, so that training and test never mix."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ...data.queries import Queries
from ..lessons.digest import text_digest


def seen_queries(cards: Iterable[Mapping[str, Any]], dataset: str, editions: Collection[Queries]) -> set[str]:
    """The ids of queries, in any language, that a model was trained on.

    Ids count where the card names this dataset, in whatever language, or shares a text with it: another dataset's query 1 is
    another query. A model that was made and never trained has seen none.
    """
    digests = [(query, text_digest(record.text)) for queries in editions for query, record in queries.items()]
    seen: set[str] = set()
    for card in (one for one in cards if one.get("trained") is not False):
        told = _part(card, "data")
        ids, texts = set(_listed(told, "queries")), set(_listed(told, "texts"))
        known = {query for query, digest in digests if digest in texts}
        seen |= known
        if known or not texts or _is_of(told.get("name"), dataset):
            seen |= {query for queries in editions for query in queries if query in ids}
    return seen


def _is_of(name: object, dataset: str) -> bool:
    """Whether it is the dataset's name, or that of one of its languages, as in NAME-de."""
    return isinstance(name, str) and (name == dataset or name.startswith(f"{dataset}-"))


def _part(card: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = card.get(name)
    return found if isinstance(found, Mapping) else {}


def _listed(data: Mapping[str, Any], name: str) -> list[str]:
    found = data.get(name)
    return [str(one) for one in found] if isinstance(found, list | tuple) else []

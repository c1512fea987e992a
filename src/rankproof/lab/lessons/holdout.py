"""A hold-out for datasets without a split for training: queries go together with every query that shares a relevant document."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from ...data.qrels import Qrels
from ...errors import UsageError


def relevant_of(qrels: Qrels) -> dict[str, frozenset[str]]:
    """The documents with a grade of at least 1, for each query that has any."""
    found = {query: frozenset(doc for doc, grade in docs.items() if grade >= 1) for query, docs in qrels.items()}
    return {query: docs for query, docs in sorted(found.items()) if docs}


def kept_in(relevant: Mapping[str, frozenset[str]], share: float, seed: int) -> dict[str, frozenset[str]]:
    """The queries to train on, where those of at most `share` of the relevant documents are held out.

    No query that is kept shares a relevant document with one that is held out.
    """
    groups = _groups(relevant)
    Random(f"{seed}\0holdout").shuffle(groups)
    room = share * len(frozenset().union(*relevant.values()))
    held: set[str] = set()
    for group in groups:
        documents = len(frozenset().union(*(relevant[query] for query in group)))
        if documents <= room:
            room -= documents
            held.update(group)
    if share and not 0 < len(held) < len(relevant):
        what = f"a hold-out of {share:g} leaves no query {'to test' if not held else 'to train'} with"
        raise UsageError(what, fix="choose a share nearer to 0.5, or a dataset with a split for training")
    return {query: docs for query, docs in relevant.items() if query not in held}


def _groups(relevant: Mapping[str, frozenset[str]]) -> list[list[str]]:
    """Queries joined by the documents they share, directly or by way of others."""
    home: dict[str, list[str]] = {}
    for query, docs in relevant.items():
        met = {id(group): group for doc in sorted(docs) if (group := home.get(doc)) is not None}
        joined = [query, *(member for group in met.values() for member in group)]
        home.update(dict.fromkeys((doc for member in joined for doc in relevant[member]), joined))
    return [sorted(group) for group in {id(group): group for group in home.values()}.values()]

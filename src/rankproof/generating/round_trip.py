"""The way back: whether BM25 finds the document that a query was made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..data.corpus import Corpus
from ..data.queries import Query
from ..stages.bm25 import BM25
from ..stages.clock import Clock
from .draft import Made

TOP = 10


def round_trip(corpus: Corpus, made: Sequence[Made], fields: tuple[str, ...]) -> dict[str, Any]:
    """How many queries have their target in BM25's first ten, in all and by category; nothing is left out by it."""
    index = BM25(fields=fields, depth=TOP).index(corpus)
    rankings = [index.search(Query(one.id, one.text), (), Clock()) for one in made]
    of = Counter(one.source.category for one in made)
    found = Counter(one.source.category for one, (docs, _) in zip(made, rankings, strict=True) if one.source.docs[0] in docs)
    return {
        "by": "bm25",
        "top": TOP,
        "found": found.total(),
        "of": len(made),
        "categories": {category: {"found": found[category], "of": count} for category, count in of.items()},
    }

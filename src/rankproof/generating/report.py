"""The report beside generated queries: from what, by whom, how many, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..data.corpus import Corpus
from ..data.counting import counted
from ..version import __version__
from .draft import REASONS
from .drawing import LEAST_WORDS, Drawing
from .generate import Generated
from .maker import Maker


def report_of(
    found: Generated, maker: Maker, corpus: Corpus, drawing: Drawing, seed: int, check: Mapping[str, Any] | None
) -> dict[str, Any]:
    """As JSON; every document that failed and every query that was left out is listed."""
    counts = found.counts()
    return {
        "rankproof": __version__,
        "made_by": found.mark,
        **maker.told(),
        "seed": seed,
        "corpus": {
            "name": corpus.source,
            "documents": len(corpus),
            "with_too_few_words": len(corpus) - len(drawing.docs),
            "least_words": LEAST_WORDS,
            "fingerprint": corpus.fingerprint(),
        },
        "wanted": sum(found.wanted.values()),
        "made": len(found.made),
        "categories": counts,
        "reasons": REASONS,
        "check": check,
        "failed": [one.plain() for one in found.lost],
        "left_out": [one.plain() for one in found.dropped],
    }


def shortfalls(found: Generated) -> list[str]:
    """What a reader must know of the numbers."""
    told = [
        f"{category}: {counted(count, 'query', 'queries')} fewer than wanted"
        for category, count in found.lacking().items()
        if count
    ]
    if found.lost:
        failed = counted(len(found.lost), "document")
        told.append(f"{failed} failed: the model gave no reply of use; the report has the reasons")
    return told

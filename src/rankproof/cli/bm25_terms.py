"""The terms of a BM25 score, from the documents and the stage that gave it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import UsageError, shown
from .dataset import read_named, refuse_other

if TYPE_CHECKING:
    from ..analysis.evidence import Evidence
    from ..stages.bm25 import BM25
    from ..stages.bm25_parts import TermPart


def terms_of(evidence: Evidence, stage: Mapping[str, Any], query: str, doc: str, path: str | None) -> list[TermPart] | None:
    """What each term of the query gave to the document; None for another stage, or where the documents are not at hand."""
    if stage.get("kind") != "BM25" or path is None or evidence.texts is None or query not in evidence.texts:
        return None
    dataset = read_named(path)
    refuse_other(dataset, path, evidence)
    if doc not in dataset.corpus:
        raise UsageError(f"the dataset has no document {shown(doc)}", fix="name the dataset that the results are about")
    return bm25_of(stage).index(dataset.corpus).parts(evidence.texts[query].text, doc)


def bm25_of(identity: Mapping[str, Any]) -> BM25:
    """The BM25 stage that an identity names."""
    from ..stages.bm25 import BM25

    words = identity["stop_words"]
    return BM25(
        k1=identity["k1"],
        b=identity["b"],
        language=identity["language"],
        stemming=identity["stemming"],
        stop_words=words if isinstance(words, bool) else tuple(words),
        fields=tuple(identity["fields"]),
        depth=identity["depth"],
        tokens=identity.get("tokens", "words"),
    )

"""Which systems are baselines, title-only and full-text BM25, and whether the corpus can be as large as it is said to be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...errors import UsageError
from ...experiment.rung import Rung
from ..evidence import Evidence

TITLE_ONLY, FULL_TEXT = "title-only BM25", "full-text BM25"


def check_documents(evidence: Evidence) -> None:
    """The corpus must have room for what is relevant to one query, and for what was retrieved for it."""
    if evidence.documents is None:
        return
    judged = max(sum(grade > 0 for grade in evidence.qrels[query].values()) for query in evidence.result.queries)
    longest = max(int(np.diff(run.offsets).max(initial=0)) for run in evidence.runs.values())
    if max(judged, longest) > evidence.documents:
        what = f"{evidence.documents} documents are fewer than a query's relevant ({judged}) or retrieved ones ({longest})"
        raise UsageError(what, fix="pass the number of documents in the whole corpus: --documents N")


def references_of(evidence: Evidence) -> dict[str, str]:
    """Baseline to the system that is one: BM25 over titles alone, and over the text."""
    found: dict[str, str] = {}
    for rung in evidence.rungs:
        if role := _role(rung):
            found.setdefault(role, rung.name)
    return {role: found[role] for role in (TITLE_ONLY, FULL_TEXT) if role in found}


def _role(rung: Rung) -> str | None:
    stage: Mapping[str, Any] = rung.stage
    if stage.get("kind") != "BM25":
        return None
    fields = stage.get("fields")
    if not isinstance(fields, list):
        return None
    return TITLE_ONLY if fields == ["title"] else FULL_TEXT if "text" in fields else None

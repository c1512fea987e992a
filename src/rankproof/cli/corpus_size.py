"""How many documents there are, which a results folder knows and run files do not."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..errors import UsageError
from .values import at_least_one

if TYPE_CHECKING:
    from ..analysis.evidence import Evidence


def add_documents(group: argparse._ArgumentGroup) -> None:
    """The option that says it."""
    group.add_argument("--documents", type=at_least_one, metavar="N", help="the size of the corpus, for what chance would give")


def with_documents(evidence: Evidence, documents: int | None) -> Evidence:
    """The evidence with the size that was named, refused where it is known to be another."""
    from dataclasses import replace

    if documents is None:
        return evidence
    if evidence.documents not in (None, documents):
        raise UsageError(f"the corpus has {evidence.documents} documents, not {documents}", fix="leave out --documents")
    return replace(evidence, documents=documents)

"""The documents that a person judges: whole where the dataset is at hand, else the beginnings that results keep."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..data.dataset import Dataset
from ..errors import UsageError, shown
from ..experiment.rung import Climb

LONGEST = 10_000
"""Characters of a passage: more than a person reads for one grade, and a page of a thousand stays loadable."""
_CUT = "…"


@dataclass(frozen=True, slots=True)
class Passage:
    """What is shown of a document, and whether that is all of it."""

    text: str
    whole: bool


class Passages:
    """Looks documents up in the dataset for the results that were made on it."""

    def __init__(self, dataset: Dataset | None = None) -> None:
        self._dataset = dataset
        self._fingerprint = None if dataset is None else dataset.fingerprint()

    def refuse_strange(self, fingerprints: Iterable[str], name: str) -> None:
        """Refuses a dataset that none of the results were made on."""
        if self._fingerprint is not None and self._fingerprint not in fingerprints:
            what = f"{shown(name)} is not the dataset of any of these results"
            raise UsageError(what, fix="name the dataset that they were made on, with its judgements as they were then")

    def of(self, climb: Climb, doc: str) -> Passage:
        """The document as far as it is known."""
        if self._dataset is not None and climb.fingerprint == self._fingerprint and doc in self._dataset.corpus:
            document = self._dataset.corpus[doc]
            text = " · ".join(part for part in (document.title, document.text) if part)
            return Passage(text, True) if len(text) <= LONGEST else Passage(f"{text[:LONGEST]}{_CUT}", False)
        kept = climb.snippets.get(doc, "")
        return Passage(kept, not kept.endswith(_CUT))

"""Quality of BM25 over 4-grams taken across words, within words, and from the text as written, on the shared collections.

Across words is what `characters-4` does. Within words takes each word by itself. As written keeps punctuation. A * means that the
paired 95% interval of the difference from the first (bootstrap over queries) excludes 0. Does nothing without the collections.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar
from unicodedata import normalize

from tools import shared_folder

from rankproof import Dataset, read_dataset
from rankproof.stages import BM25
from rankproof.stages._analyzer import split_words
from rankproof.stages._bm25 import BM25Partitions, BM25Searcher, index_in_memory

from .bm25_tokens import COLLECTIONS, DATA, MEASURE, markdown, measured, shown

SIZE = 4
STAGE = BM25(tokens=f"characters-{SIZE}")
WAYS: dict[str, Callable[[str], list[str]]] = {
    "across words": lambda text: [" ".join(split_words(text))],
    "within words": split_words,
    "as written": lambda text: [" ".join(normalize("NFKC", text).lower().split())],
}


@dataclass(frozen=True, slots=True)
class Cut:
    """The n-grams of each part of a text, with a blank at both its ends."""

    parts: Callable[[str], list[str]]
    splits_at_blanks: ClassVar = False

    def tokenize(self, text: str) -> list[str]:
        """The n-grams, in the order of the text."""
        marked = [f" {part} " for part in self.parts(text) if part]
        return [part[at : at + SIZE] for part in marked for at in range(max(1, len(part) - SIZE + 1))]

    tokenize_once = tokenize

    def display(self, token: str) -> str:
        """The token itself."""
        return token

    def analyzer(self) -> Cut:
        """The analyzer: this one."""
        return self


def searcher(way: str, dataset: Dataset) -> BM25Searcher:
    """An index of the n-grams that are cut so."""
    partitions = BM25Partitions(Cut(WAYS[way]), STAGE.fields, STAGE.k1, STAGE.b)  # type: ignore[arg-type]
    return index_in_memory(STAGE, dataset.corpus, partitions)


def main() -> None:
    """Prints a row for each way as Markdown."""
    if reasons := [*filter(None, map(shared_folder.missing_data, COLLECTIONS))]:
        print(f"{reasons[0]}: skipped", file=sys.stderr)
        return
    rows = [["4-grams", *(f"{name} {MEASURE}" for name in COLLECTIONS)], *([way] for way in WAYS)]
    for name in COLLECTIONS:
        dataset = read_dataset(DATA / name)
        found = [measured(partial(searcher, way, dataset), dataset) for way in WAYS]
        for row, one in zip(rows[1:], found, strict=True):
            row.append(shown(one, found[0]))
    print("\n".join(markdown(rows)))


if __name__ == "__main__":
    main()

"""Stages in which a search library indexes the passages, in files of the run."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from rankproof._data.dataset import Query
from rankproof._data.identity import identity_key
from rankproof._data.ordering import Ranking
from rankproof._data.text import encodable, pluralise
from rankproof._executors.base import Progress
from rankproof._io.paths import TemporaryPath
from rankproof.errors import UsageError, for_message
from rankproof.stages._base import BuildContext, Cost, QueryTimer, Searcher, Stage
from rankproof.stages._fields import passage_texts
from rankproof.stores._base import folder_size, new_folder

_ITEMS_PER_PROGRESS = 1_000
_Item = TypeVar("_Item")
STEMMERS = (
    *("arabic", "danish", "dutch", "english", "finnish", "french", "german", "greek", "hungarian", "italian", "norwegian"),
    *("portuguese", "romanian", "russian", "spanish", "swedish", "tamil", "turkish"),
)
"""The languages of tantivy and of LanceDB, which uses its stemmers."""


class LexicalIndex(Protocol):
    """An open index of a search library."""

    def search(self, text: str, depth: int) -> Ranking:
        """The best documents, best first; ties: larger id first."""
        ...

    def facts(self) -> Mapping[str, Any]:
        """What decides the scores besides the settings of the stage, as JSON."""
        ...

    def notes(self) -> Sequence[str]:
        """Notes on the queries so far; none by default."""
        return ()

    def close(self) -> None:
        """Closes its files."""
        ...


class LexicalStage(Stage):
    """A stage that searches the documents with the index of a library."""

    fields: tuple[str, ...]
    depth: int

    def require_library(self) -> None:
        """Imports the library, which is no part of the build time; a missing one is an error."""
        raise NotImplementedError

    def create_index(self, folder: Path, docs: Sequence[str], texts: Iterator[str]) -> LexicalIndex:
        """The index of the documents, larger id first, and of their passages, in an empty folder."""
        raise NotImplementedError

    def revision(self) -> str:
        """The version of the library."""
        raise NotImplementedError

    def build(self, context: BuildContext) -> LexicalSearcher:
        """Indexes the passages in a new folder of the run; a build that fails leaves no files."""
        self.require_library()
        start = time.perf_counter()
        docs, passages = passage_texts(context.corpus, self.fields).larger_ids_first()
        texts = _CountedTexts(passages)
        folder = new_folder(context.block_cache.folder(identity_key(context.corpus_key, self)))
        path = Path(folder.path)
        try:
            index = self.create_index(path, docs, _with_progress(texts, len(docs), "indexing passages", context.progress))
            cost = Cost(seconds=time.perf_counter() - start, bytes=folder_size(path))
            return LexicalSearcher(self, index, folder, cost, len(docs), texts.empty, context.progress)
        except BaseException:
            folder.remove()
            raise


class _CountedTexts:
    """The texts, one at a time, as libraries take them; `empty` counts the empty ones."""

    def __init__(self, texts: Iterator[str]) -> None:
        self._texts, self.empty = texts, 0

    def __iter__(self) -> Iterator[str]:
        for text in self._texts:
            self.empty += not text
            yield encodable(text)


class LexicalSearcher(Searcher):
    """The index and its folder, ready to search."""

    def __init__(
        self,
        stage: LexicalStage,
        index: LexicalIndex,
        folder: TemporaryPath,
        cost: Cost,
        documents: int,
        empty: int,
        progress: Progress,
    ) -> None:
        self._stage, self._index, self._folder, self._cost = stage, index, folder, cost
        self._documents, self._empty, self._progress = documents, empty, progress

    def search(self, query: Query, inputs: Sequence[Ranking], timer: QueryTimer) -> Ranking:
        """The documents with a word of the query, best first."""
        with timer.part("search"):
            return self._index.search(encodable(query.text), self._stage.depth)

    def search_all(self, queries: Sequence[Query]) -> list[Ranking]:
        """The rankings of all queries, one by one."""
        return [
            self.search(query, (), QueryTimer()) for query in _with_progress(queries, len(queries), "searching", self._progress)
        ]

    def cost(self) -> Cost:
        """The time of indexing, and the bytes of the files."""
        return self._cost

    def facts(self) -> Mapping[str, Any]:
        """The library and what it indexed."""
        counts = {"documents": self._documents, "empty_passages": self._empty}
        return {"library": self._stage.revision(), **self._index.facts(), **counts}

    def notes(self) -> Sequence[str]:
        """A note on documents that cannot be found, and those of the index."""
        fields = " and ".join(self._stage.fields)
        what = pluralise(self._empty, "document is", "documents are")
        empty = [f"{what} empty in {fields} and cannot be found"] if self._empty else []
        return [*empty, *self._index.notes()]

    def close(self) -> None:
        """Closes the index and deletes its files."""
        try:
            self._index.close()
        finally:
            self._folder.remove()


def check_language(language: str, *, stemming: bool, stop_words: bool, stop_lists: Sequence[str]) -> None:
    """Raises an error for a language for which tantivy or LanceDB has no stemmer or stop words."""
    for what, setting, wanted, known in (
        ("stemmer", "stemming", stemming, STEMMERS),
        ("stop word list", "stop_words", stop_words, stop_lists),
    ):
        if wanted and language not in known:
            raise UsageError(
                f"no {what} for {for_message(language)}", fix=f"choose one of {', '.join(known)}, or turn {setting} off"
            )


def _with_progress(items: Iterable[_Item], count: int, label: str, progress: Progress) -> Iterator[_Item]:
    for at, item in enumerate(items):
        if at % _ITEMS_PER_PROGRESS == 0:
            progress(label, at, count)
        yield item
    progress(label, count, count)

"""BM25 of LanceDB's full-text index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from rankproof._data.identity import library_version
from rankproof._data.ordering import Ranking
from rankproof._extras import extra
from rankproof._registry import Option
from rankproof.stages._fields import DEFAULT_FIELDS, Depth, Fields, check_settings
from rankproof.stages._lexical import STEMMERS, LexicalIndex, LexicalStage, check_language
from rankproof.stores._base import cut_ties_by_id, library_errors
from rankproof.stores._lancedb import import_lancedb, lance_table

BATCH_ROWS = 8192


@dataclass(frozen=True)
class LanceDBFTS(LexicalStage):
    """BM25 of LanceDB's full-text index with its k1 of 1.2 and b of 0.75, and its tokenizer simple; words are joined by OR."""

    language: Annotated[str, Option("language of stemmer and stop words")] = "english"
    stemming: Annotated[bool, Option("whether words are stemmed")] = True
    stop_words: Annotated[bool, Option("whether stop words are removed")] = True
    fields: Fields = DEFAULT_FIELDS
    depth: Depth = 100

    def __post_init__(self) -> None:
        check_settings(self)
        check_language(self.language, stemming=self.stemming, stop_words=self.stop_words, stop_lists=STEMMERS)

    def revision(self) -> str:
        """The version of the library."""
        return library_version("lancedb")

    def require_library(self) -> None:
        """Imports LanceDB."""
        import_lancedb()

    def create_index(self, folder: Path, docs: Sequence[str], texts: Iterator[str]) -> LanceDBIndex:
        """The table with its index, built by one worker, so that it is the same again."""
        return LanceDBIndex(self, folder, docs, texts)


class LanceDBIndex(LexicalIndex):
    """A table with the row and passage of each document, and its full-text index."""

    def __init__(self, stage: LanceDBFTS, folder: Path, docs: Sequence[str], texts: Iterator[str]) -> None:
        with extra("lancedb"):
            import pyarrow
            from lancedb.index import FTS
            from lancedb.query import MatchQuery
        self._docs, self._query = docs, MatchQuery
        language = stage.language.title() if stage.stemming or stage.stop_words else "English"
        columns: list[tuple[str, Any]] = [("row", pyarrow.int64()), ("text", pyarrow.string())]
        schema = pyarrow.schema(columns)
        with library_errors("LanceDB", "indexing"):
            self._table = _written_table(folder, schema, _Batches(schema, texts))
            words = FTS(language=language, stem=stage.stemming, remove_stop_words=stage.stop_words, num_workers=1)
            self._table.create_index("text", config=words)

    def search(self, text: str, depth: int) -> Ranking:
        """The best documents; a query without words finds nothing."""
        with library_errors("LanceDB", "searching"):
            return cut_ties_by_id(partial(self._found, text), depth)

    def facts(self) -> Mapping[str, Any]:
        """The constants of BM25 and the tokenizer."""
        return {"k1": 1.2, "b": 0.75, "tokenizer": "simple", "index": "FTS"}

    def close(self) -> None:
        """Releases the files."""
        del self._table

    def _found(self, text: str, limit: int) -> Ranking:
        hits = self._table.search(self._query(text, "text")).select(["row", "_score"]).limit(limit).to_arrow()
        return [self._docs[row] for row in hits["row"].to_pylist()], hits["_score"].to_numpy().astype(np.float64)


class _Batches:
    """The rows and texts in batches, so that few are in memory; `error` is what ended them, which LanceDB turns into a text."""

    def __init__(self, schema: Any, texts: Iterator[str]) -> None:
        self._schema, self._rows = schema, enumerate(texts)
        self.error: BaseException | None = None

    def __iter__(self) -> Iterator[Any]:
        try:
            while part := list(islice(self._rows, BATCH_ROWS)):
                yield _batch(self._schema, part)
        except BaseException as error:
            self.error = error
            raise


def _batch(schema: Any, part: Sequence[tuple[int, str]]) -> Any:
    with extra("lancedb"):
        import pyarrow
    columns = [pyarrow.array(column, schema[at].type) for at, column in enumerate(zip(*part, strict=True))]
    return pyarrow.RecordBatch.from_arrays(columns, schema=schema)


def _written_table(folder: Path, schema: Any, batches: _Batches) -> Any:
    with extra("lancedb"):
        import pyarrow
    try:
        return lance_table(folder, pyarrow.RecordBatchReader.from_batches(schema, batches))
    except Exception:
        if batches.error is not None:
            raise batches.error from None
        raise

"""BM25 of SQLite's full-text index FTS5."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from rankproof._data.ordering import Ranking
from rankproof._registry import Option
from rankproof.errors import ExternalError
from rankproof.stages._fields import DEFAULT_FIELDS, Depth, Fields
from rankproof.stages._lexical import LexicalIndex, LexicalStage
from rankproof.stores._base import library_errors

if TYPE_CHECKING:
    import sqlite3

MODULE = "fts5"
MAX_REPETITIONS = 8
"""How often a word of a query counts at most: FTS5 lists every occurrence in a document once for each repetition."""
SEARCH = "SELECT rowid, -rank FROM passages WHERE passages MATCH ? ORDER BY rank, rowid LIMIT ?"


@dataclass(frozen=True)
class SQLiteFTS5(LexicalStage):
    """BM25 of SQLite FTS5 with its k1 of 1.2 and b of 0.75, and its tokenizer unicode61; words are joined by OR."""

    stemming: Annotated[bool, Option("whether words are stemmed (Porter, English)")] = True
    fields: Fields = DEFAULT_FIELDS
    depth: Depth = 100

    def revision(self) -> str:
        """The version of SQLite."""
        import sqlite3

        return f"SQLite {sqlite3.sqlite_version}"

    def require_library(self) -> None:
        """Checks that this SQLite has FTS5."""
        _require_fts5()

    def create_index(self, folder: Path, docs: Sequence[str], texts: Iterator[str]) -> FTS5Index:
        """The index in one file, without the texts."""
        return FTS5Index(folder / "index.db", docs, texts, tokenizer="porter unicode61" if self.stemming else "unicode61")


class FTS5Index(LexicalIndex):
    """A table of passages in a file, and a table in memory in which SQLite splits each query into words."""

    def __init__(self, path: Path, docs: Sequence[str], texts: Iterator[str], *, tokenizer: str) -> None:
        import sqlite3

        self._docs, self._tokenizer = docs, tokenizer
        self._passages, self._query = (sqlite3.connect(place, isolation_level=None) for place in (path, ":memory:"))
        try:
            with library_errors("SQLite", "indexing"):
                # The file is deleted after the run and written again after a crash, so nothing need wait for the disk.
                self._passages.execute("PRAGMA synchronous = off")
                self._passages.execute("PRAGMA journal_mode = off")
                _create_table(self._passages, "passages", tokenizer)
                self._write(texts)
                _create_table(self._query, "query", "unicode61")
                self._query.execute("CREATE VIRTUAL TABLE words USING fts5vocab(query, instance)")
        except BaseException:
            self.close()
            raise

    def search(self, text: str, depth: int) -> Ranking:
        """The best documents; a query without words finds nothing."""
        with library_errors("SQLite", "searching"):
            query = " OR ".join(f'"{word}"' for word in self._words(text))
            rows = self._passages.execute(SEARCH, (query, depth)).fetchall() if query else []
        return [self._docs[row] for row, _ in rows], np.array([score for _, score in rows], np.float64)

    def facts(self) -> Mapping[str, Any]:
        """The constants of BM25 and the tokenizer."""
        return {"k1": 1.2, "b": 0.75, "tokenizer": self._tokenizer}

    def close(self) -> None:
        """Closes both databases."""
        self._passages.close()
        self._query.close()

    def _write(self, texts: Iterator[str]) -> None:
        """Writes the passages in one transaction; row n is the n-th largest id, so that rowid orders ties."""
        self._passages.execute("BEGIN")
        self._passages.executemany("INSERT INTO passages (rowid, text) VALUES (?, ?)", enumerate(texts))
        self._passages.execute("COMMIT")
        self._passages.execute("INSERT INTO passages (passages) VALUES ('optimize')")

    def _words(self, text: str) -> Iterator[str]:
        """The words of a query as unicode61 splits them, with at most 8 repetitions; no word has a quotation mark."""
        self._query.execute("INSERT INTO query (rowid, text) VALUES (1, ?)", (text,))
        words = [word for (word,) in self._query.execute("SELECT term FROM words ORDER BY offset")]
        self._query.execute("INSERT INTO query (query) VALUES ('delete-all')")
        seen: Counter[str] = Counter()
        for word in words:
            seen[word] += 1
            if seen[word] <= MAX_REPETITIONS:
                yield word


def _create_table(connection: sqlite3.Connection, name: str, tokenizer: str) -> None:
    connection.execute(f"CREATE VIRTUAL TABLE {name} USING {MODULE}(text, content = '', tokenize = '{tokenizer}')")


def _require_fts5() -> None:
    import sqlite3

    try:
        with closing(sqlite3.connect(":memory:")) as connection:
            _create_table(connection, "query", "unicode61")
    except sqlite3.OperationalError:
        what = f"SQLite {sqlite3.sqlite_version} of this Python is compiled without FTS5"
        raise ExternalError(f"{what}; use another build of Python, or the stage tantivy") from None

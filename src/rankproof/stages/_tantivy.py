"""BM25 of tantivy, the Rust library behind Quickwit and ParadeDB."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from rankproof._data.identity import library_version
from rankproof._data.ordering import Ranking
from rankproof._extras import extra
from rankproof._registry import Option
from rankproof.errors import for_message
from rankproof.stages._fields import DEFAULT_FIELDS, Depth, Fields, check_settings
from rankproof.stages._lexical import STEMMERS, LexicalIndex, LexicalStage, check_language
from rankproof.stores._base import cut_ties_by_id, library_errors

STOP_LISTS = tuple(name for name in STEMMERS if name not in ("arabic", "greek", "romanian", "tamil", "turkish"))
LONGEST_WORD = 40
"""The limit of tantivy's own analyzers, in bytes."""
WRITER_BYTES = 256_000_000


@dataclass(frozen=True)
class Tantivy(LexicalStage):
    """BM25 of tantivy with its k1 of 1.2 and b of 0.75, and its analyzers; words are joined by OR."""

    language: Annotated[str, Option("language of stemmer and stop words")] = "english"
    stemming: Annotated[bool, Option("whether words are stemmed")] = True
    stop_words: Annotated[bool, Option("whether stop words are removed")] = False
    syntax: Annotated[
        Literal["words", "tantivy"],
        Option(
            "words: the query is plain text; tantivy: its lenient parser reads operators and joins hyphenated words to phrases"
        ),
    ] = "words"
    fields: Fields = DEFAULT_FIELDS
    depth: Depth = 100

    def __post_init__(self) -> None:
        check_settings(self)
        check_language(self.language, stemming=self.stemming, stop_words=self.stop_words, stop_lists=STOP_LISTS)

    def revision(self) -> str:
        """The version of the library."""
        return library_version("tantivy")

    def require_library(self) -> None:
        """Imports tantivy."""
        _tantivy()

    def create_index(self, folder: Path, docs: Sequence[str], texts: Iterator[str]) -> TantivyIndex:
        """The index, written by one thread, so that it is the same again."""
        return TantivyIndex(self, folder, docs, texts)


class TantivyIndex(LexicalIndex):
    """An index in a folder: one text field, and the row of each document."""

    def __init__(self, stage: Tantivy, folder: Path, docs: Sequence[str], texts: Iterator[str]) -> None:
        tantivy = _tantivy()
        self._library, self._stage, self._docs = tantivy, stage, docs
        self._analyzer = _analyzer(tantivy, stage)
        self._misread: tuple[str, str] | None = None
        self._positions = "position" if stage.syntax == "tantivy" else "freq"
        with library_errors("tantivy", "indexing"):
            self._schema = self._new_schema()
            self._index = tantivy.Index(self._schema, str(folder))
            self._index.register_tokenizer("rankproof", self._analyzer)
            self._write(texts)
            self._index.reload()
            self._searcher = self._index.searcher()

    def search(self, text: str, depth: int) -> Ranking:
        """The best documents; a query without words finds nothing."""
        with library_errors("tantivy", "searching"):
            return cut_ties_by_id(partial(self._found, self._query(text)), depth)

    def facts(self) -> Mapping[str, Any]:
        """The constants of BM25, and how many segments the index has."""
        return {"k1": 1.2, "b": 0.75, "longest_word": LONGEST_WORD, "segments": self._searcher.num_segments}

    def notes(self) -> Sequence[str]:
        """A note on a query of which the parser leaves parts out."""
        if not self._misread:
            return ()
        query, why = self._misread
        return (f"tantivy's parser leaves out parts of queries, such as {for_message(query)} ({for_message(why)})",)

    def close(self) -> None:
        """Releases the files."""
        del self._searcher, self._index

    def _new_schema(self) -> Any:
        fields = self._library.SchemaBuilder().add_integer_field("row", fast=True)
        return fields.add_text_field("text", tokenizer_name="rankproof", index_option=self._positions).build()

    def _write(self, texts: Iterator[str]) -> None:
        # The writer commits and ends its threads when the block ends, also after an error.
        with self._index.writer(heap_size=WRITER_BYTES, num_threads=1) as writer:
            for row, text in enumerate(texts):
                writer.add_document(self._library.Document(row=row, text=text))

    def _query(self, text: str) -> Any:
        if self._stage.syntax == "tantivy":
            query, errors = self._index.parse_query_lenient(text, ["text"])
            if errors and not self._misread:
                self._misread = text, str(errors[0])
            return query
        query, should = self._library.Query, self._library.Occur.Should
        words = self._analyzer.analyze(text)
        return query.boolean_query([(should, query.term_query(self._schema, "text", word, self._positions)) for word in words])

    def _found(self, query: Any, limit: int) -> Ranking:
        hits = self._searcher.search(query, limit, count=False).hits
        rows = self._searcher.fast_field_values("row", [address for _, address in hits])
        return [self._docs[row] for row in rows], np.array([score for score, _ in hits], np.float64)


def _tantivy() -> Any:
    with extra("tantivy"):
        import tantivy
    return tantivy


def _analyzer(tantivy: Any, stage: Tantivy) -> Any:
    """tantivy's `default` analyzer, or `en_stem` with stemming, for any language."""
    made = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    made = made.filter(tantivy.Filter.remove_long(LONGEST_WORD)).filter(tantivy.Filter.lowercase())
    if stage.stop_words:
        made = made.filter(tantivy.Filter.stopword(stage.language))
    if stage.stemming:
        made = made.filter(tantivy.Filter.stemmer(stage.language))
    return made.build()

"""AutoRAG's pair of tables: questions with relevant documents and reference answers, and the corpus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from rankproof._data.answers import ANSWER_FIELDS
from rankproof._data.qrels import Judgement
from rankproof._data.text import pluralise
from rankproof._formats.source_table import SourceTable
from rankproof._importers.base import Imported, ImportOptions, ImportSource
from rankproof._importers.builder import DatasetBuilder
from rankproof._importers.cells import TableCell
from rankproof.errors import InputError

_QUESTIONS = {"qid", "query", "retrieval_gt"}
_CORPUS = {"doc_id", "contents"}
_RELEVANT = "1"
_COLUMNS = {
    "query id": "qid",
    "query": "query",
    "relevant documents": "retrieval_gt",
    "reference answers": "generation_gt",
    "document id": "doc_id",
    "text": "contents",
}


class AutoRagImporter:
    """`qa.parquet` and `corpus.parquet`, found by their columns; every document of `retrieval_gt` has grade 1.

    `retrieval_gt` is a list of groups. AutoRAG wants one document of every group; judgements have no groups.
    """

    has_grades = False
    settings: Mapping[str, str] = {}

    def detect(self, source: ImportSource) -> bool:
        """Whether one of the tables has the columns of the questions."""
        return any(_QUESTIONS.issubset(table.names) for table in _tables(source))

    def read(self, source: ImportSource, options: ImportOptions) -> Imported:
        """The dataset of the two tables; without the corpus it has no documents."""
        tables = _tables(source)
        questions = [table for table in tables if _QUESTIONS.issubset(table.names)]
        corpora = [table for table in tables if _CORPUS.issubset(table.names)]
        if not questions:
            fix = f"add a table with the columns {', '.join(sorted(_QUESTIONS))}"
            raise InputError("no table of questions", fix=fix, source=source.name)
        if len(questions) > 1 or len(corpora) > 1:
            names = ", ".join(table.source for table in (questions if len(questions) > 1 else corpora))
            raise InputError(
                f"more than one table of a kind: {names}", fix="pass one table of questions and one corpus", source=source.name
            )
        builder = DatasetBuilder(source, options)
        for table in corpora:
            builder.place = table.source
            for line, row in table.rows():
                builder.document(
                    row["doc_id"], None, TableCell(row["contents"], "contents", table.source, line).text(), line=line
                )
        columns = {role: name for role, name in _COLUMNS.items() if any(name in table.names for table in (*questions, *corpora))}
        return builder.imported(_judgements(questions[0], builder, has_corpus=bool(corpora)), "autorag", columns)


def _tables(source: ImportSource) -> list[SourceTable]:
    if source.frame is not None and source.table is not None:
        return [source.table]
    paths = source.plain_files or [path for name, path in source.files.items() if name.lower().endswith(".parquet")]
    return [source.table_of(path) for path in paths if source.format_of(path) != "json" or source.json_of(path).is_array]


def _judgements(table: SourceTable, builder: DatasetBuilder, *, has_corpus: bool) -> Iterator[Judgement | None]:
    alternatives = 0
    builder.place = table.source
    for line, row in table.rows():
        builder.counts.read("rows")
        groups = TableCell(row["retrieval_gt"], "retrieval_gt", table.source, line).nested_texts() or ()
        groups = tuple(group for group in (tuple(filter(str.strip, group)) for group in groups) if group)
        query = builder.query(row["qid"], row["query"], partial(_references, row, table.source, line), line=line)
        if query is None or query not in builder.queries:
            builder.counts.drop("rows", "without a question", line=line)
            continue
        alternatives += any(len(group) > 1 for group in groups)
        for doc in dict.fromkeys(doc for group in groups for doc in group):
            yield builder.judged_ids(query, doc, _RELEVANT, line=line)
    if alternatives:
        have = pluralise(alternatives, "query has", "queries have")
        what = f"{have} groups of alternatives, of which AutoRAG expects one each"
        builder.notes.append(f"{what}: here every document of a group is relevant, so recall is lower")
    if not has_corpus:
        builder.notes.append("no documents: pass the corpus too, as in: rankproof import qa.parquet corpus.parquet")


def _references(row: Mapping[str, Any], source: str, line: int) -> dict[str, Any]:
    """The reference answers of a question as a field of the query."""
    texts = TableCell(row.get("generation_gt"), "generation_gt", source, line).texts_or_text() or ()
    return {ANSWER_FIELDS[0]: list(texts)} if any(map(str.strip, texts)) else {}


AUTORAG = AutoRagImporter()

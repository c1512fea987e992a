"""An evaluation of pyvespa: queries and relevant documents, by id, as a list of ids, or with a relevance from 0 to 1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rankproof._data.qrels import Judgement
from rankproof._formats.fields import id_of_value, json_type_name
from rankproof._importers.base import Imported, ImportOptions, ImportSource
from rankproof._importers.builder import DatasetBuilder
from rankproof._importers.json_parts import JsonCursor, JsonPart, json_builder, json_documents, require_keys
from rankproof._importers.score_grades import (
    SETTING,
    SETTING_HELP,
    THIRDS,
    Thresholds,
    are_grades,
    describe_thresholds,
    grade_by,
    thresholds_of,
)

_KEYS = ("queries", "relevant_docs")


class PyvespaImporter:
    """`queries` and `relevant_docs` of one file, as VespaEvaluator takes them; a Python set is a list in JSON."""

    has_grades = False
    settings: Mapping[str, str] = {SETTING: f"{SETTING_HELP} (0,1/3,2/3)"}

    def detect(self, source: ImportSource) -> bool:
        """Whether the file is an object with the two keys and no documents."""
        documents = list(json_documents(source).values())
        return bool(documents) and all(document.has(*_KEYS) and not document.has("corpus") for document in documents)

    def read(self, source: ImportSource, options: ImportOptions) -> Imported:
        """The queries and judgements of the file."""
        require_keys(self.detect(source), source, " and ".join(_KEYS))
        thresholds = thresholds_of(options, THIRDS)
        builder, cursor = json_builder(source, options)
        builder.notes.append("no documents: the file has ids only")
        judgements = (
            judgement for part in json_documents(source).values() for judgement in _judgements(part, builder, cursor, thresholds)
        )
        return builder.built(cursor.located(judgements), "pyvespa")


def _judgements(
    document: JsonPart, builder: DatasetBuilder, cursor: JsonCursor, thresholds: Thresholds
) -> Iterator[Judgement | None]:
    builder.place = document.source
    for key, text in document["queries"].entries():
        builder.query(key, text.text())
    relevant = list(document["relevant_docs"].entries())
    plain = are_grades(score for _, docs in relevant for _, score in _scored(docs, cursor))
    if not plain:
        builder.notes.append(describe_thresholds(thresholds, "relevance"))
    for query, docs in relevant:
        known = query in builder.queries
        for doc, score in _scored(docs, cursor):
            if known:
                yield builder.judged_ids(query, doc, int(score) if plain else grade_by(score, thresholds))
            else:
                builder.counts.read("judgements")
                builder.counts.drop("judgements", "of a query that is not among the queries", line=docs.line)


def _scored(docs: JsonPart, cursor: JsonCursor) -> Iterator[tuple[str, float]]:
    """The relevant documents of a query with their relevance."""
    if isinstance(docs.value, dict):
        for doc, part in docs.entries():
            cursor.part, value = part, part.value
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise part.error("is no relevance from 0 to 1", "write a number from 0 to 1")
            yield doc, float(value)
    elif isinstance(docs.value, list):
        for part in cursor.at(docs.items()):
            yield id_of_value(part.value, "document", source=part.source, line=None), 1.0
    elif isinstance(docs.value, str | int) and not isinstance(docs.value, bool):
        cursor.part = docs
        yield id_of_value(docs.value, "document", source=docs.source, line=None), 1.0
    else:
        what = f"is {json_type_name(docs.value)}, not an id, a list of ids, or an object of ids"
        raise docs.error(what, 'write {"d1": 1.0}, ["d1"] or "d1"')


PYVESPA = PyvespaImporter()

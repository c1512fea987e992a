"""JSON exports of pyvespa, OpenSearch's Search Relevance Workbench and LlamaIndex."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from rankproof._data.answers import ANSWER_FIELDS
from rankproof._data.qrels import Judgement
from rankproof._formats.rows import id_of_value, json_type_name
from rankproof._importers.base import Imported, ImportOptions, ImportSource
from rankproof._importers.builder import DatasetBuilder
from rankproof._importers.cells import (
    SETTING,
    SETTING_HELP,
    THIRDS,
    Thresholds,
    are_grades,
    describe_thresholds,
    grade_by,
    thresholds_of,
)
from rankproof._importers.json_parts import JsonCursor, JsonPart, json_builder, json_documents, require_keys

_PYVESPA_KEYS = ("queries", "relevant_docs")


class PyvespaImporter:
    """`queries` and `relevant_docs` of one file, as VespaEvaluator takes them; a Python set is a list in JSON."""

    has_grades = False
    settings: Mapping[str, str] = {SETTING: f"{SETTING_HELP} (0,1/3,2/3)"}

    def detect(self, source: ImportSource) -> bool:
        """Whether the file is an object with the two keys and no documents."""
        documents = list(json_documents(source).values())
        return bool(documents) and all(document.has(*_PYVESPA_KEYS) and not document.has("corpus") for document in documents)

    def read(self, source: ImportSource, options: ImportOptions) -> Imported:
        """The queries and judgements of the file."""
        require_keys(self.detect(source), source, " and ".join(_PYVESPA_KEYS))
        thresholds = thresholds_of(options, THIRDS)
        builder, cursor = json_builder(source, options)
        builder.notes.append("no documents: the file has ids only")
        judgements = (
            judgement
            for part in json_documents(source).values()
            for judgement in _pyvespa_judgements(part, builder, cursor, thresholds)
        )
        return builder.imported(cursor.with_lines(judgements), "pyvespa")


def _pyvespa_judgements(
    document: JsonPart, builder: DatasetBuilder, cursor: JsonCursor, thresholds: Thresholds
) -> Iterator[Judgement | None]:
    builder.place = document.source
    for key, text in document["queries"].entries():
        builder.query(key, text.text())
    relevant = list(document["relevant_docs"].entries())
    plain = are_grades(score for _, docs in relevant for _, score in _scored_documents(docs, cursor))
    if not plain:
        builder.notes.append(describe_thresholds(thresholds, "relevance"))
    for query, docs in relevant:
        known = query in builder.queries
        for doc, score in _scored_documents(docs, cursor):
            if known:
                yield builder.judged_ids(query, doc, int(score) if plain else grade_by(score, thresholds))
            else:
                builder.counts.read("judgements")
                builder.counts.drop("judgements", "of a query that is not among the queries", line=docs.line)


def _scored_documents(docs: JsonPart, cursor: JsonCursor) -> Iterator[tuple[str, float]]:
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


_RATINGS, _QUERIES = "judgmentRatings", "querySetQueries"
_JUDGE_LABELS = {"LLM_JUDGMENT": "llm:opensearch", "UBI_JUDGMENT": "clicks:opensearch"}
"""The label of a judge by the type of a judgement list; an imported list is people's."""


class OpenSearchImporter:
    """Objects with `judgmentRatings` or `querySetQueries`, alone or in the reply of the API that lists them."""

    settings: Mapping[str, str] = {}

    def detect(self, source: ImportSource) -> bool:
        """Whether every file holds a judgement list or a query set."""
        documents = list(json_documents(source).values())
        return bool(documents) and all(any(_opensearch_lists(document)) for document in documents)

    def read(self, source: ImportSource, options: ImportOptions) -> Imported:
        """The queries of all files and the ratings of all judgement lists."""
        require_keys(self.detect(source), source, f"{_RATINGS} or {_QUERIES}")
        builder, cursor = json_builder(source, options)
        lists = [list_ for document in json_documents(source).values() for list_ in _opensearch_lists(document)]
        return builder.imported(cursor.with_lines(_opensearch_judgements(lists, builder, cursor)), "opensearch")


def _opensearch_lists(document: JsonPart) -> list[JsonPart]:
    """The judgement lists and query sets of a file."""
    if not document.has("hits"):
        return [document] if document.has(_RATINGS) or document.has(_QUERIES) else []
    hits = document.value["hits"]
    if not isinstance(hits, dict) or not isinstance(hits.get("hits"), list):
        return []
    sources = (hit["_source"] for hit in document["hits"]["hits"].items() if hit.has("_source"))
    return [source for source in sources if source.has(_RATINGS) or source.has(_QUERIES)]


def _opensearch_judgements(lists: list[JsonPart], builder: DatasetBuilder, cursor: JsonCursor) -> Iterator[Judgement | None]:
    for judgement_list in lists:
        for query in cursor.at(judgement_list[_QUERIES].items() if judgement_list.has(_QUERIES) else ()):
            builder.query(None, query["queryText"].text(), partial(_reference, query))
    for judgement_list in lists:
        judge_label = _JUDGE_LABELS.get(str(judgement_list.value.get("type")), "")
        for query in cursor.at(judgement_list[_RATINGS].items() if judgement_list.has(_RATINGS) else ()):
            key = builder.query(None, query["query"].text())
            for rating in cursor.at(query["ratings"].items()):
                yield builder.judged_ids(str(key), rating["docId"].text(), rating["rating"].value, judge_label=judge_label)
    builder.notes.append("no documents: the lists have ids only")
    if not any(list_.has(_RATINGS) for list_ in lists):
        builder.notes.append("no judgements: a query set has queries only; import a judgement list too")


def _reference(query: JsonPart) -> dict[str, Any]:
    """The reference answer of a query as its field."""
    return {ANSWER_FIELDS[0]: [query["referenceAnswer"].text()]} if query["referenceAnswer"].value else {}


OPENSEARCH = OpenSearchImporter()


_LLAMA_INDEX_GRADE = "1"


class LlamaIndexImporter:
    """`queries`, `corpus` and `relevant_docs` of one file; every relevant document has grade 1."""

    has_grades = False
    settings: Mapping[str, str] = {}

    def detect(self, source: ImportSource) -> bool:
        """Whether the file is an object with the three keys."""
        return any(document.has("queries", "corpus", "relevant_docs") for document in json_documents(source).values())

    def read(self, source: ImportSource, options: ImportOptions) -> Imported:
        """The dataset of the file."""
        require_keys(self.detect(source), source, "queries, corpus and relevant_docs")
        builder = DatasetBuilder(source, options)
        documents = json_documents(source).values()
        return builder.imported(
            (judgement for document in documents for judgement in _llama_index_judgements(document, builder)), "llama-index"
        )


def _llama_index_judgements(document: JsonPart, builder: DatasetBuilder) -> Iterator[Judgement | None]:
    for key, text in document["corpus"].entries():
        builder.document(key, None, text.text_or_empty())
    for key, text in document["queries"].entries():
        builder.query(key, text.text())
    for query, docs in document["relevant_docs"].entries():
        if query not in builder.queries:
            count = len(list(docs.items()))
            builder.counts.read("judgements", count)
            builder.counts.drop("judgements", "of a query that is not among the queries", line=docs.line, count=count)
            continue
        for doc in docs.items():
            yield builder.judged_ids(query, doc.text(), _LLAMA_INDEX_GRADE)


LLAMA_INDEX = LlamaIndexImporter()

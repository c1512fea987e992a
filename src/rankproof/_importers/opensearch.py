"""Judgement lists and query sets of OpenSearch's Search Relevance Workbench."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from rankproof._data.answers import ANSWER_FIELDS
from rankproof._data.qrels import Judgement
from rankproof._importers.base import Imported, ImportOptions, ImportSource
from rankproof._importers.builder import DatasetBuilder
from rankproof._importers.json_parts import JsonCursor, JsonPart, json_builder, json_documents, require_keys

_RATINGS, _QUERIES = "judgmentRatings", "querySetQueries"
_JUDGE_LABELS = {"LLM_JUDGMENT": "llm:opensearch", "UBI_JUDGMENT": "clicks:opensearch"}
"""The label of a judge by the type of a judgement list; an imported list is people's."""


class OpenSearchImporter:
    """Objects with `judgmentRatings` or `querySetQueries`, alone or in the reply of the API that lists them."""

    settings: Mapping[str, str] = {}

    def detect(self, source: ImportSource) -> bool:
        """Whether every file holds a judgement list or a query set."""
        documents = list(json_documents(source).values())
        return bool(documents) and all(any(_lists(document)) for document in documents)

    def read(self, source: ImportSource, options: ImportOptions) -> Imported:
        """The queries of all files and the ratings of all judgement lists."""
        require_keys(self.detect(source), source, f"{_RATINGS} or {_QUERIES}")
        builder, cursor = json_builder(source, options)
        lists = [list_ for document in json_documents(source).values() for list_ in _lists(document)]
        return builder.built(cursor.located(_judgements(lists, builder, cursor)), "opensearch")


def _lists(document: JsonPart) -> list[JsonPart]:
    """The judgement lists and query sets of a file."""
    if not document.has("hits"):
        return [document] if document.has(_RATINGS) or document.has(_QUERIES) else []
    hits = document.value["hits"]
    if not isinstance(hits, dict) or not isinstance(hits.get("hits"), list):
        return []
    sources = (hit["_source"] for hit in document["hits"]["hits"].items() if hit.has("_source"))
    return [source for source in sources if source.has(_RATINGS) or source.has(_QUERIES)]


def _judgements(lists: list[JsonPart], builder: DatasetBuilder, cursor: JsonCursor) -> Iterator[Judgement | None]:
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

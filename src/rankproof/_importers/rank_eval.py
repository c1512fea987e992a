"""Elasticsearch's ranking evaluation: the request with its ratings, and the rankings in its responses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from rankproof._data.qrels import Judgement
from rankproof._data.run import Run
from rankproof._data.text import pluralise
from rankproof._importers.base import Imported, ImportOptions, ImportSource
from rankproof._importers.builder import DatasetBuilder
from rankproof._importers.json_parts import JsonCursor, JsonPart, json_builder, json_documents, require_keys
from rankproof.errors import for_message

_QUERIES_WITH_FIELDS = ("match", "match_phrase", "match_phrase_prefix", "match_bool_prefix", "sparse_vector", "text_expansion")
_QUERIES_WITH_TEXT = ("multi_match", "query_string", "simple_query_string", "combined_fields", "semantic")
_NOT_ASKED = ("filter", "must_not")
_PARAMETERS = ("query", "query_string", "query_text", "user_query", "text", "q")


class RankEvalImporter:
    """The body of a `_rank_eval` request, and its responses, each the ranking of one system named after the file."""

    settings: Mapping[str, str] = {}

    def detect(self, source: ImportSource) -> bool:
        """Whether every file is a request or a response."""
        documents = list(json_documents(source).values())
        return bool(documents) and all(_is_request(document) or _is_response(document) for document in documents)

    def read(self, source: ImportSource, options: ImportOptions) -> Imported:
        """The ratings of the requests, and a run for each response."""
        require_keys(self.detect(source), source, "requests and ratings, or metric_score and details")
        documents = json_documents(source)
        requests = [document for document in documents.values() if _is_request(document)]
        responses = {source.system_names[path]: document for path, document in documents.items() if _is_response(document)}
        builder, cursor = json_builder(source, options)
        reader = _RankEvalReader(builder, cursor, with_index=_ids_clash(documents.values()))
        imported = builder.imported(cursor.with_lines(reader.judgements(requests, responses)), "elasticsearch")
        return replace(imported, runs=reader.runs)


def _is_request(document: JsonPart) -> bool:
    requests = document.value.get("requests") if isinstance(document.value, dict) else None
    return isinstance(requests, list) and any(isinstance(request, dict) and "ratings" in request for request in requests)


def _is_response(document: JsonPart) -> bool:
    return document.has("metric_score", "details")


class _RankEvalReader:
    """Reads requests and responses; `with_index` says that the id of a document needs the name of its index."""

    def __init__(self, builder: DatasetBuilder, cursor: JsonCursor, *, with_index: bool) -> None:
        self._builder, self._cursor, self._with_index = builder, cursor, with_index
        self.runs: dict[str, Run] = {}
        self._without_text: set[str] = set()

    def judgements(self, requests: list[JsonPart], responses: Mapping[str, JsonPart]) -> Iterator[Judgement | None]:
        """The ratings of the requests; those of the responses where there is no request."""
        for document in requests:
            for request in self._cursor.at(document["requests"].items()):
                yield from self._ratings(request)
        for name, document in responses.items():
            self.runs[name] = self._run(name, document)
            if failed := document.value.get("failures"):
                self._builder.notes.append(f"{name}: {_failure_text(failed)}")
            for key, detail in document["details"].entries() if not requests else ():
                self._builder.query(key, key)
                self._without_text.add(key)
                yield from self._graded_hits(key, detail)
        self._add_notes(has_requests=bool(requests), has_responses=bool(responses))

    def _run(self, name: str, response: JsonPart) -> Run:
        """The ranking of each query in a response."""
        rankings: dict[str, list[str]] = {}
        for key, detail in response["details"].entries():
            docs = [self._doc(hit["hit"]) for hit in detail["hits"].items()]
            rankings[key] = list(dict.fromkeys(docs))
            self._builder.counts.read(f"ranked documents of {name}", len(docs))
            if repeats := len(docs) - len(rankings[key]):
                self._builder.counts.drop(f"ranked documents of {name}", "that the ranking has twice", count=repeats)
        return Run(rankings, name=name, source=response.source)

    def _ratings(self, request: JsonPart) -> Iterator[Judgement | None]:
        key = request["id"].text()
        texts = query_texts(request.value)
        if len(texts) != 1:
            self._without_text.add(key)
        self._builder.query(key, texts[0] if len(texts) == 1 else key)
        for rating in self._cursor.at(request["ratings"].items()):
            yield self._builder.judged_ids(key, self._doc(rating), rating["rating"].value)

    def _graded_hits(self, key: str, detail: JsonPart) -> Iterator[Judgement | None]:
        for hit in self._cursor.at(detail["hits"].items()):
            if hit["rating"].value is not None:
                yield self._builder.judged_ids(key, self._doc(hit["hit"]), hit["rating"].value)

    def _doc(self, part: JsonPart) -> str:
        key = part["_id"].text()
        return f"{part['_index'].text()}/{key}" if self._with_index else key

    def _add_notes(self, *, has_requests: bool, has_responses: bool) -> None:
        notes = self._builder.notes
        if self._without_text:
            count = pluralise(len(self._without_text), "query", "queries")
            notes.append(f"{count} without one plain query text in the request: the id is the text")
        if self._with_index:
            notes.append("two indexes share ids: the id of a document is INDEX/ID")
        if not has_requests:
            notes.append("responses grade only what they retrieved, so recall is not known: import the request too")
        notes.append("no documents: the request has ids only" + ("" if has_responses else "; import responses too for rankings"))


def _failure_text(failures: Any) -> str:
    """How many queries of a response failed, with the first."""
    names = list(failures) if isinstance(failures, dict | list) else [failures]
    count = pluralise(len(names), "query", "queries")
    return f"{count} failed in Elasticsearch and will score 0, such as {for_message(str(names[0]))}"


def query_texts(request: Mapping[str, Any]) -> list[str]:
    """The distinct texts that a rated request searches for; filters and excluded parts are left out."""
    parameters = request.get("params")
    if isinstance(parameters, dict) and parameters:
        texts = {name: value for name, value in parameters.items() if isinstance(value, str) and value.strip()}
        named = [texts[name] for name in _PARAMETERS if name in texts]
        return named[:1] or list(texts.values())
    return list(dict.fromkeys(_texts_in(request.get("request"))))


def _texts_in(body: Any) -> Iterator[str]:
    if isinstance(body, list):
        for item in body:
            yield from _texts_in(item)
    for key, value in body.items() if isinstance(body, dict) else ():
        if key in _NOT_ASKED:
            continue
        if key in _QUERIES_WITH_FIELDS and isinstance(value, dict):
            yield from (text for item in value.values() for text in _texts_of_clause(item))
        elif key in _QUERIES_WITH_TEXT:
            yield from _texts_of_clause(value)
        elif key == "model_text" and isinstance(value, str):
            yield value
        else:
            yield from _texts_in(value)


def _texts_of_clause(clause: Any) -> Iterator[str]:
    text = clause.get("query") if isinstance(clause, dict) else clause
    if isinstance(text, str) and text.strip():
        yield text


def _ids_clash(documents: Iterable[JsonPart]) -> bool:
    """Whether two indexes have a document of the same id."""
    indexes: dict[Any, Any] = {}
    for document in documents:
        for part in _ratings_and_hits(document.value):
            if (
                isinstance(part, dict)
                and isinstance(part.get("_id"), str)
                and indexes.setdefault(part["_id"], part.get("_index")) != part.get("_index")
            ):
                return True
    return False


def _ratings_and_hits(value: Any) -> Iterator[Any]:
    """The ratings of a request and the hits of a response."""
    if isinstance(value, list):
        for item in value:
            yield from _ratings_and_hits(item)
    elif isinstance(value, dict):
        if "_id" in value:
            yield value
        for item in value.values():
            yield from _ratings_and_hits(item)


RANK_EVAL = RankEvalImporter()

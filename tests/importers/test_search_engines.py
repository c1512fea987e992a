"""Ratings of Elasticsearch's ranking evaluation and of OpenSearch's workbench."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rankproof._importers.base import Imported, ImportOptions
from rankproof._importers.rank_eval import query_texts
from rankproof._importers.registry import import_source
from rankproof.errors import InputError


def written(path: Path, value: Any) -> str:
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
    return str(path)


def rated(key: str, body: Any, *ratings: tuple[str, Any], index: str = "docs") -> dict[str, Any]:
    return {"id": key, "request": body, "ratings": [{"_index": index, "_id": doc, "rating": grade} for doc, grade in ratings]}


def grades(imported: Imported) -> dict[str, dict[str, int]]:
    return {query: dict(docs) for query, docs in imported.dataset.qrels.items()}


def texts(imported: Imported) -> dict[str, str]:
    return {key: query.text for key, query in imported.dataset.queries.items()}


MATCH = {"query": {"match": {"text": "amsterdam"}}}


def test_the_ratings_of_a_request_are_judgements_and_its_query_text_is_found(tmp_path: Path) -> None:
    request = {"requests": [rated("city", MATCH, ("d1", 3), ("d2", 0))], "metric": {"dcg": {"k": 10}}}
    imported = import_source(written(tmp_path / "request.json", request))
    assert imported.report.importer == "elasticsearch"
    assert grades(imported) == {"city": {"d1": 3, "d2": 0}}
    assert texts(imported) == {"city": "amsterdam"}
    assert not imported.dataset.has_documents


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"query": {"match": {"title": {"query": "red shoes", "operator": "and"}}}}, ["red shoes"]),
        ({"query": {"multi_match": {"query": "red shoes", "fields": ["title", "text"]}}}, ["red shoes"]),
        ({"query": {"simple_query_string": {"query": "red shoes"}}}, ["red shoes"]),
        ({"query": {"semantic": {"field": "text", "query": "red shoes"}}}, ["red shoes"]),
        (
            {"query": {"bool": {"should": [{"match": {"title": "red shoes"}}, {"match_phrase": {"text": "red shoes"}}]}}},
            ["red shoes"],
        ),
        ({"query": {"bool": {"must": {"match": {"t": "shoes"}}, "filter": {"match": {"lang": "en"}}}}}, ["shoes"]),
        ({"retriever": {"rrf": {"retrievers": [{"standard": {"query": {"match": {"t": "shoes"}}}}]}}}, ["shoes"]),
        (
            {"knn": {"field": "v", "query_vector_builder": {"text_embedding": {"model_id": "m", "model_text": "shoes"}}}},
            ["shoes"],
        ),
        ({"query": {"match_all": {}}}, []),
        ({"query": {"term": {"brand": "acme"}}}, []),
        ({"query": {"bool": {"should": [{"match": {"title": "red"}}, {"match": {"text": "shoes"}}]}}}, ["red", "shoes"]),
        (None, []),
    ],
)
def test_the_text_of_a_query_is_found_in_its_body(body: Any, expected: list[str]) -> None:
    assert query_texts({"request": body}) == expected


def test_the_parameter_of_a_template_is_the_text() -> None:
    assert query_texts({"template_id": "t", "params": {"query_string": "berlin", "field": "text"}}) == ["berlin"]
    assert query_texts({"template_id": "t", "params": {"phrase": "berlin"}}) == ["berlin"]
    assert query_texts({"template_id": "t", "params": {"a": "berlin", "b": "paris"}}) == ["berlin", "paris"]


def test_a_request_without_one_plain_text_has_its_id_as_text_and_is_counted(tmp_path: Path) -> None:
    request = {"requests": [rated("all cities", {"query": {"match_all": {}}}, ("d1", 1))]}
    imported = import_source(written(tmp_path / "request.json", request))
    assert texts(imported) == {"all cities": "all cities"}
    assert "1 query without one plain query text in the request: the id is the text" in imported.report.notes


def test_ids_of_two_indexes_are_told_apart_where_they_clash(tmp_path: Path) -> None:
    both = rated("city", MATCH, ("1", 3))
    both["ratings"].append({"_index": "news", "_id": "1", "rating": 0})
    imported = import_source(written(tmp_path / "request.json", {"requests": [both]}))
    assert grades(imported) == {"city": {"docs/1": 3, "news/1": 0}}


def response(*hits: tuple[str, int | None]) -> dict[str, Any]:
    found = [{"hit": {"_index": "docs", "_id": doc, "_score": 1.0}, "rating": rating} for doc, rating in hits]
    return {"metric_score": 0.5, "details": {"city": {"metric_score": 0.5, "unrated_docs": [], "hits": found}}, "failures": {}}


def test_each_response_is_the_ranking_of_a_system(tmp_path: Path) -> None:
    request = written(tmp_path / "request.json", {"requests": [rated("city", MATCH, ("d1", 3))]})
    first = written(tmp_path / "bm25.json", response(("d2", None), ("d1", 3)))
    second = written(tmp_path / "hybrid.json", response(("d1", 3), ("d2", None)))
    imported = import_source([request, first, second])
    assert grades(imported) == {"city": {"d1": 3}}
    assert [row.doc for row in imported.runs["bm25"].rows()] == ["d2", "d1"]
    assert [row.doc for row in imported.runs["hybrid"].rows()] == ["d1", "d2"]


def test_a_response_alone_grades_what_it_retrieved_and_says_so(tmp_path: Path) -> None:
    imported = import_source(written(tmp_path / "bm25.json", response(("d2", None), ("d1", 3))))
    assert grades(imported) == {"city": {"d1": 3}}
    assert any("recall is not known" in note for note in imported.report.notes)


def judged(query: str, *ratings: tuple[str, Any]) -> dict[str, Any]:
    return {"query": query, "ratings": [{"docId": doc, "rating": rating} for doc, rating in ratings]}


def test_ratings_that_are_texts_are_grades(tmp_path: Path) -> None:
    value = {"name": "j", "type": "IMPORT_JUDGMENT", "judgmentRatings": [judged("tv", ("d1", "100.000"), ("d2", "0.000"))]}
    imported = import_source(written(tmp_path / "judgments.json", value))
    assert imported.report.importer == "opensearch"
    assert sorted(next(iter(grades(imported).values())).items()) == [("d1", 100), ("d2", 0)]
    assert list(texts(imported).values()) == ["tv"]


def test_decimal_ratings_need_a_map_which_is_suggested(tmp_path: Path) -> None:
    path = written(tmp_path / "judgments.json", {"judgmentRatings": [judged("tv", ("d1", "1.0"), ("d2", "0.9"))]})
    with pytest.raises(InputError, match=r'judgments.json:10: grade "0.9" is not an integer; grades found: .*1\.0 \(1\)'):
        import_source(path)
    imported = import_source(path, ImportOptions(grade_map={"1.0": 2, "0.9": 1}))
    assert sorted(next(iter(grades(imported).values())).items()) == [("d1", 2), ("d2", 1)]


def test_a_query_that_is_listed_twice_with_the_same_ratings_counts_once(tmp_path: Path) -> None:
    value = {"judgmentRatings": [judged("tv", ("d1", "1")), judged("tv", ("d1", "1"))]}
    imported = import_source(written(tmp_path / "judgments.json", value))
    judgements = next(count for count in imported.report.counts if count.part == "judgements")
    assert (judgements.read, judgements.kept) == (2, 1)


def test_a_query_set_adds_queries_and_reference_answers(tmp_path: Path) -> None:
    queries = {"querySetQueries": [{"queryText": "tv", "referenceAnswer": "a screen"}, {"queryText": "led tv"}]}
    ratings = {"judgmentRatings": [judged("tv", ("d1", "1"))]}
    imported = import_source([written(tmp_path / "j.json", ratings), written(tmp_path / "q.json", queries)])
    assert list(texts(imported).values()) == ["tv", "led tv"]
    assert [query.fields.get("answers") for query in imported.dataset.queries.values()] == [["a screen"], None]
    alone = import_source(str(tmp_path / "q.json"))
    assert not alone.dataset.is_judged
    assert any("import a judgement list too" in note for note in alone.report.notes)


def test_the_reply_of_the_api_that_lists_judgements_is_read(tmp_path: Path) -> None:
    value = {"took": 1, "hits": {"total": {"value": 1}, "hits": [{"_source": {"judgmentRatings": [judged("tv", ("d1", "1"))]}}]}}
    assert list(grades(import_source(written(tmp_path / "j.json", value))).values()) == [{"d1": 1}]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"judgmentRatings": 5}, "x.json:2: judgmentRatings is a number, not a list"),
        ({"judgmentRatings": [judged("tv", ("d1", "5000"))]}, "x.json:6: grade 5000 is above the limit of 1000"),
        ({"judgmentRatings": [judged("tv", ("", "1"))]}, r"x.json:7: judgmentRatings\[0\].ratings\[0\].docId is empty, not text"),
        ({"judgmentRatings": [{"ratings": []}]}, r"x.json.*: judgmentRatings\[0\].query is null, not text"),
        ({"judgmentRatings": [judged("tv", ("d1", {}))]}, r'x.json:6: grade "\{\}" is not an integer'),
        ({"requests": [{"ratings": [], "request": {}}]}, r"x.json.*: requests\[0\].id is null, not text"),
        ({"requests": [rated("q", MATCH, (5, 1))]}, r"x.json:\d+: requests\[0\].ratings\[0\]._id is a number, not text"),  # type: ignore[arg-type]
        (
            {"requests": [{"id": "q", "request": {}, "ratings": {"d": 1}}]},
            r"x.json:\d+: requests\[0\].ratings is an object, not a list",
        ),
    ],
)
def test_a_wrong_value_is_an_error_with_its_path_and_line(tmp_path: Path, value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        import_source(written(tmp_path / "x.json", value))


def test_queries_that_failed_in_a_response_are_counted(tmp_path: Path) -> None:
    failed = {**response(("d1", 3)), "failures": {"town": {"error": {"type": "x"}}}}
    notes = import_source(written(tmp_path / "bm25.json", failed)).report.notes
    assert "bm25: 1 query failed in Elasticsearch and will score 0, such as town" in notes


@pytest.mark.parametrize("name", ["elasticsearch", "opensearch", "llama-index"])
def test_other_json_is_refused_where_the_importer_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"x\.json: not JSON with .*; specify another file, or leave out importer="):
        import_source(written(tmp_path / "x.json", {"a": 1}), importer=name)

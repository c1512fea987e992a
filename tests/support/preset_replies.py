"""What each preset must send for one query, and a reply of its engine, written after the engine's documentation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

QUERY = 'is "A+B" -ok?'
SIZE = 3
VECTOR = [0.5, 0.0, -0.75]


@dataclass(frozen=True)
class Case:
    """A request and replies to it: `reply` has d2 before d1, `empty` no document, and each of `errors` is an error in a success.

    `sent` are headers of the request, `headers` those of the reply.
    """

    path: str
    reply: Mapping[str, Any]
    body: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    scores: tuple[float, ...] | None = (2.5, 1.5)
    server_ms: float | None = 7.0
    method: str = "POST"
    sent: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    empty: Mapping[str, Any] = field(default_factory=dict)
    errors: tuple[Mapping[str, Any], ...] = ()


def _lucene(**more: Any) -> dict[str, Any]:
    hits = [{"_index": "products", "_id": "d2", "_score": 2.5}, {"_index": "products", "_id": "d1", "_score": 1.5}]
    shards = {"total": 2, "successful": 2, "skipped": 0, "failed": 0}
    found = {"total": {"value": 2, "relation": "eq"}, "max_score": 2.5, "hits": hits}
    return {"took": 7, "timed_out": False, "_shards": shards, "hits": found, **more}


_LUCENE_EMPTY = _lucene(hits={"total": {"value": 0, "relation": "eq"}, "max_score": None, "hits": []})
_LUCENE_ERRORS = (_lucene(timed_out=True), _lucene(_shards={"total": 2, "successful": 1, "failed": 1}))
_SEARCH = "/products/_search?preference=rankproof"


def _search(query: Mapping[str, Any], **more: Any) -> Case:
    return Case(
        **{"path": _SEARCH, "reply": _lucene(), "empty": _LUCENE_EMPTY, "errors": _LUCENE_ERRORS, "values": {"index": "products"}}
        | {"body": {**query, "size": SIZE, "_source": False}}
        | more
    )


_KNN = {"knn": {"vector": {"vector": VECTOR, "k": SIZE}}}
_VESPA_HITS = [
    {"id": "id:shop:product::2", "relevance": 2.5, "source": "shop", "fields": {"id": "d2"}},
    {"id": "id:shop:product::1", "relevance": 1.5, "source": "shop", "fields": {"id": "d1"}},
]


def _vespa(**root: Any) -> dict[str, Any]:
    coverage = {"coverage": 100, "documents": 2, "full": True, "nodes": 1, "results": 1, "resultsFull": 1}
    return {
        "timing": {"querytime": 0.003, "summaryfetchtime": 0.001, "searchtime": 0.007},
        "root": {"id": "toplevel", "relevance": 1.0, "fields": {"totalCount": 2}, "coverage": coverage, **root},
    }


_VESPA_TIMEOUT = {"code": 12, "summary": "Timed out", "message": "Timeout while waiting for sc0.num0"}
_TYPESENSE = [{"document": {"id": "d2"}, "text_match": 2.5}, {"document": {"id": "d1"}, "text_match": 1.5}]
_SOLR = {"numFound": 2, "start": 0, "maxScore": 2.5, "docs": [{"id": "d2", "score": 2.5}, {"id": "d1", "score": 1.5}]}
_WEAVIATE = [{"docid": "d2", "_additional": {"score": "2.5"}}, {"docid": "d1", "_additional": {"score": "1.5"}}]
_AZURE = [{"@search.score": 2.5, "id": "d2"}, {"@search.score": 1.5, "id": "d1"}]
_POINTS = [{"id": 5, "score": 2.5, "payload": {"id": "d2"}}, {"id": 9, "score": 1.5, "payload": {"id": "d1"}}]
_GROONGA_COLUMNS = [{"name": "_key", "type": "ShortText"}, {"name": "_score", "type": "Float"}]
_GROONGA_HEADER = {"return_code": 0, "start_time": 1.0, "elapsed_time": 0.007}
_ARCADE = (
    "select id as id, $score as score from Product where SEARCH_INDEX('Product[text]', :query) = true order by score desc limit 3"
)
_CHROMA = "3f8b1a52-6a5c-4f0e-9d53-0c1b6a4f2e11"
_LUCENE_QUERY = r"is \"A\+B\" \-ok\?"
_ALGOLIA = {
    "query": QUERY,
    "hitsPerPage": SIZE,
    "attributesToRetrieve": ["objectID"],
    "attributesToHighlight": [],
    "enablePersonalization": False,
    "enableABTest": False,
    "analytics": False,
}

CASES: dict[str, Case] = {
    "elasticsearch": _search({"query": {"match": {"text": QUERY}}}),
    "elasticsearch-knn": _search({"knn": {"field": "vector", "query_vector": VECTOR, "k": SIZE, "num_candidates": 200}}),
    "opensearch": _search({"query": {"match": {"text": QUERY}}}),
    "opensearch-knn": _search({"query": _KNN}),
    "opensearch-hybrid": _search(
        {"query": {"hybrid": {"queries": [{"match": {"text": QUERY}}, _KNN]}}},
        path=f"{_SEARCH}&search_pipeline=hybrid",
        values={"index": "products", "pipeline": "hybrid"},
    ),
    "solr": Case(
        "/solr/products/select",
        {"responseHeader": {"status": 0, "QTime": 7}, "response": _SOLR},
        {"params": {"q": _LUCENE_QUERY, "defType": "edismax", "qf": "text", "rows": 3, "fl": "id,score", "wt": "json"}},
        {"collection": "products"},
        empty={"responseHeader": {"status": 0, "QTime": 7}, "response": {"numFound": 0, "start": 0, "docs": []}},
        errors=({"responseHeader": {"status": 0, "QTime": 7, "partialResults": True}, "response": _SOLR},),
    ),
    "vespa": Case(
        "/search/",
        _vespa(children=_VESPA_HITS),
        {
            "yql": "select * from sources * where userQuery()",
            "query": "is A B ok",
            "hits": 3,
            "ranking": "default",
            "timeout": "10s",
            "presentation.timing": True,
        },
        empty=_vespa(fields={"totalCount": 0}),
        errors=(
            _vespa(children=_VESPA_HITS, errors=[_VESPA_TIMEOUT]),
            _vespa(children=_VESPA_HITS, coverage={"coverage": 19, "full": False, "degraded": {"timeout": True}}),
        ),
    ),
    "typesense": Case(
        "/collections/products/documents/search?q=is%20%20A%2BB%20%20%20ok%3F&query_by=text&per_page=3&include_fields=id",
        {"found": 2, "out_of": 9, "page": 1, "search_time_ms": 7, "search_cutoff": False, "hits": _TYPESENSE},
        values={"collection": "products"},
        method="GET",
        sent={"X-TYPESENSE-API-KEY": "key-of-typesense"},
        empty={"found": 0, "out_of": 9, "search_time_ms": 7, "hits": []},
        errors=({"found": 2, "search_time_ms": 7, "search_cutoff": True, "hits": _TYPESENSE},),
    ),
    "meilisearch": Case(
        "/indexes/products/search",
        {
            "hits": [{"id": "d2", "_rankingScore": 2.5}, {"id": "d1", "_rankingScore": 1.5}],
            "query": "…",
            "processingTimeMs": 7,
            "limit": 3,
            "offset": 0,
            "estimatedTotalHits": 2,
        },
        {"q": "is  A+B   ok?", "limit": 3, "showRankingScore": True, "attributesToRetrieve": ["id"]},
        {"index": "products"},
        empty={"hits": [], "processingTimeMs": 7, "estimatedTotalHits": 0},
    ),
    "qdrant": Case(
        "/collections/products/points/query",
        {"result": {"points": _POINTS}, "status": "ok", "time": 0.007},
        {"query": VECTOR, "limit": 3, "with_payload": ["id"]},
        {"collection": "products"},
        empty={"result": {"points": []}, "status": "ok", "time": 0.007},
        errors=({"status": {"error": "Wrong input"}, "time": 0.0},),
    ),
    "weaviate": Case(
        "/v1/graphql",
        {"data": {"Get": {"Product": _WEAVIATE}}},
        {"query": '{ Get { Product(bm25: { query: "is \\"A+B\\" -ok?" }, limit: 3) { docid _additional { score } } } }'},
        {"class": "Product"},
        server_ms=None,
        empty={"data": {"Get": {"Product": []}}},
        errors=({"data": {"Get": {"Product": None}}, "errors": [{"message": "Cannot query field", "path": None}]},),
    ),
    "milvus": Case(
        "/v2/vectordb/entities/search",
        {"code": 0, "cost": 6, "data": [{"id": "d2", "distance": 2.5}, {"id": "d1", "distance": 1.5}]},
        {"collectionName": "products", "data": [VECTOR], "annsField": "vector", "limit": 3, "outputFields": ["id"]},
        {"collection": "products"},
        server_ms=None,
        empty={"code": 0, "cost": 6, "data": []},
        errors=({"code": 1100, "message": "invalid parameter"}, {"code": 100, "message": "collection not found", "data": []}),
    ),
    "azure-ai-search": Case(
        "/indexes/products/docs/search?api-version=2024-07-01",
        {"@odata.context": "…", "@odata.count": 2, "value": _AZURE},
        {"search": _LUCENE_QUERY, "top": 3, "select": "id", "queryType": "simple", "searchMode": "any", "count": True},
        {"index": "products"},
        sent={"api-key": "key-of-azure"},
        headers={"elapsed-time": "7"},
        empty={"@odata.count": 0, "value": []},
    ),
    "algolia": Case(
        "/1/indexes/products/query",
        {"hits": [{"objectID": "d2"}, {"objectID": "d1"}], "nbHits": 2, "page": 0, "hitsPerPage": 3, "processingTimeMS": 7},
        _ALGOLIA,
        {"index": "products", "app": "APP"},
        scores=None,
        sent={"x-algolia-application-id": "APP", "x-algolia-api-key": "key-of-algolia"},
        empty={"hits": [], "nbHits": 0, "processingTimeMS": 7},
    ),
    "chroma": Case(
        f"/api/v2/tenants/default_tenant/databases/default_database/collections/{_CHROMA}/query",
        {"ids": [["d2", "d1"]], "distances": [[2.5, 1.5]], "documents": None, "include": ["distances"]},
        {"query_embeddings": [VECTOR], "n_results": 3, "include": ["distances"]},
        {"collection": _CHROMA},
        server_ms=None,
        empty={"ids": [[]], "distances": [[]]},
    ),
    "groonga": Case(
        "/d/select?table=Products&match_columns=scorer_tf_idf(text)&query=%22is%22%20OR%20%22A%22%20OR%20%22B%22%20OR%20%22ok%22"
        "&output_columns=_key,_score&sort_keys=-_score,_key&limit=3&command_version=3",
        {"header": _GROONGA_HEADER, "body": {"n_hits": 2, "columns": _GROONGA_COLUMNS, "records": [["d2", 2.5], ["d1", 1.5]]}},
        values={"table": "Products"},
        method="GET",
        empty={"header": _GROONGA_HEADER, "body": {"n_hits": 0, "columns": _GROONGA_COLUMNS, "records": []}},
        errors=({"header": {**_GROONGA_HEADER, "return_code": -63, "error": {"message": "Syntax error"}}},),
    ),
    "arcadedb": Case(
        "/api/v1/query/shop",
        {"user": "root", "result": [{"id": "d2", "score": 2.5}, {"id": "d1", "score": 1.5}], "returned": 2, "truncated": False},
        {"language": "sql", "command": _ARCADE, "params": {"query": _LUCENE_QUERY}},
        {"database": "shop", "type": "Product"},
        server_ms=None,
        sent={"Authorization": "Basic cm9vdDprZXktb2YtYXJjYWRl"},
        empty={"user": "root", "result": [], "returned": 0, "truncated": False},
        errors=({"result": [{"id": "d2", "score": 2.5}], "returned": 1, "truncated": True},),
    ),
}
KEYS = {
    "TYPESENSE_API_KEY": "key-of-typesense",
    "AZURE_SEARCH_KEY": "key-of-azure",
    "ALGOLIA_API_KEY": "key-of-algolia",
    "ARCADEDB_LOGIN": "root:key-of-arcade",
}

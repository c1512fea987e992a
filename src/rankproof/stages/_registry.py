"""The stages and scorers by the names that experiment files use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankproof._registry import Component, Registry

if TYPE_CHECKING:
    from rankproof.stages._base import Scorer, Stage


STAGES: Registry[Stage] = Registry(
    "stage",
    "rankproof.stages",
    (
        Component("bm25", "rankproof.stages._bm25:BM25", "ranks by the words or other tokens that query and document share"),
        Component("tantivy", "rankproof.stages._tantivy:Tantivy", "BM25 of tantivy, a search library in Rust", "tantivy"),
        Component("sqlite-fts5", "rankproof.stages._sqlite_fts5:SQLiteFTS5", "BM25 of SQLite's full-text index FTS5"),
        Component("lancedb-fts", "rankproof.stages._lancedb_fts:LanceDBFTS", "BM25 of LanceDB's full-text index", "lancedb"),
        Component("dense", "rankproof.stages._dense:Dense", "ranks by the similarity of vectors"),
        Component("run", "rankproof.stages._run_file:RunFile", "takes the rankings of a run file"),
        Component("fuse", "rankproof.stages._fuse:Fuse", "fuses the rankings of several systems"),
        Component("rerank", "rankproof.stages._rerank:Rerank", "sorts the top documents of a system by a scorer"),
        Component(
            "chunked",
            "rankproof.stages._chunked:Chunked",
            "lets a system search chunks of the documents; a document ranks by its best chunk",
        ),
        Component(
            "answer",
            "rankproof.stages._answer:GenerateAnswer",
            "lets a language model answer from the top documents of a system",
        ),
        Component(
            "extract",
            "rankproof.stages._answer:ExtractAnswer",
            "answers with the best sentence of the top documents of a system, without a language model",
        ),
        Component("rewrite", "rankproof.stages._rewrite:Rewrite", "lets a language model rewrite the query of a system"),
        Component("rm3", "rankproof.stages._rewrite:RM3", "expands the query of a bm25 system with words from its top documents"),
        Component(
            "python",
            "rankproof.stages._engines.function:Function",
            "asks a search function of your own, which returns document ids for a query",
        ),
        Component(
            "sql",
            "rankproof.stages._engines.sql:SQL",
            "asks a PostgreSQL database by a SELECT of yours: full-text search or an existing table of vectors",
        ),
        Component("http", "rankproof.stages._engines.http:Http", "asks a search engine behind HTTP", extra="http"),
    ),
    needs=("inputs", "build"),
)
SCORERS: Registry[Scorer] = Registry(
    "scorer",
    "rankproof.scorers",
    (
        Component("maxsim", "rankproof.stages._maxsim:MaxSim", "late interaction over the encoder's token vectors"),
        Component(
            "bi-encoder", "rankproof.stages._scorers:BiEncoderScorer", "a bi-encoder: the cosine similarity of query and passage"
        ),
        Component(
            "cross-encoder",
            "rankproof.stages._scorers:CrossEncoderScorer",
            "a cross-encoder, which reads query and passage together",
        ),
        Component(
            "listwise", "rankproof.stages._llm_scorers:Listwise", "a language model sorts windows of passages, from the bottom up"
        ),
        Component("pointwise", "rankproof.stages._llm_scorers:Pointwise", "a language model says Yes or No to each passage"),
        Component(
            "pairwise", "rankproof.stages._llm_scorers:Pairwise", "a language model compares every two passages, in both orders"
        ),
        Component("keywords", "rankproof.stages._scorers:KeywordScorer", "counts the words of the query that a passage has"),
        Component("cohere", "rankproof.stages._rerank_apis.apis:CohereRerank", "Cohere's rerank API", "http"),
        Component("jina", "rankproof.stages._rerank_apis.apis:JinaRerank", "Jina's rerank API", "http"),
        Component("voyage", "rankproof.stages._rerank_apis.apis:VoyageRerank", "Voyage's rerank API", "http"),
        Component("mixedbread", "rankproof.stages._rerank_apis.apis:MixedbreadRerank", "mixedbread's rerank API", "http"),
        Component(
            "tei",
            "rankproof.stages._rerank_apis.apis:TEIRerank",
            "a reranker on your own server with text-embeddings-inference (TEI)",
            "http",
        ),
        Component(
            "infinity",
            "rankproof.stages._rerank_apis.apis:InfinityRerank",
            "a reranker on your own server with Infinity",
            "http",
        ),
        Component("vllm", "rankproof.stages._rerank_apis.apis:VLLMRerank", "a reranker on your own server with vLLM", "http"),
    ),
    needs=("build",),
)

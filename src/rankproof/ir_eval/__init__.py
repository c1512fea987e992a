"""Simple functions and retrievers for small evaluations, on top of the measures and stages of rankproof."""

from __future__ import annotations

from rankproof.ir_eval._measures import (
    Scored,
    compute_answer_f1,
    dcg_at_k,
    evaluate_all,
    evaluate_retrieval,
    mrr,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
    reciprocal_rank,
)
from rankproof.ir_eval._retrievers import (
    MODES,
    BM25Retriever,
    EmbeddingReranker,
    EmbeddingRetriever,
    KeywordJudge,
    build_qrels,
    compute_recall_at_k,
    default_encoder,
    load_jsonl,
    run_system,
    run_systems,
)

__all__ = [
    "MODES",
    "BM25Retriever",
    "EmbeddingReranker",
    "EmbeddingRetriever",
    "KeywordJudge",
    "Scored",
    "build_qrels",
    "compute_answer_f1",
    "compute_recall_at_k",
    "dcg_at_k",
    "default_encoder",
    "evaluate_all",
    "evaluate_retrieval",
    "load_jsonl",
    "mrr",
    "ndcg_at_k",
    "precision_at_k",
    "recall_at_k",
    "reciprocal_rank",
    "run_system",
    "run_systems",
]

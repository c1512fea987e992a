"""The functions and retrievers of the seeds, at their names and arguments; each is a thin call of the one definition."""

from __future__ import annotations

from .answer import compute_answer_f1
from .files import build_qrels, load_jsonl
from .graded import dcg_at_k, evaluate_all, mrr, ndcg_at_k, precision_at_k
from .ranked import Scored
from .retrievers import BM25Retriever, EmbeddingReranker, EmbeddingRetriever, KeywordJudge, default_encoder
from .systems import MODES, run_system, run_systems
from .target import evaluate_retrieval, recall_at_k, reciprocal_rank
from .urls import compute_recall_at_k

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

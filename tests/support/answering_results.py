"""Results with a system that answers questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rankproof._data.answers import Answer, Answers
from rankproof._data.dataset import Queries, Query
from rankproof._experiment.answers import evaluate_answering_systems
from rankproof._results.experiment_result import ExperimentResult
from support.small_results import small_results

QUERIES = tuple(f"q{at}" for at in range(12))
TYPES = ("factual", "comparative", "inferential", "multi-hop")


def answering_results(texts: Sequence[str] = (), names: tuple[str, str] = ("bm25", "says")) -> ExperimentResult:
    """Results whose second system answers; every third question has no answer, and the texts are the first answers."""
    results = small_results(names, QUERIES)
    queries = Queries(
        [
            Query(query, f"what is {at}?", fields={"answers": [] if at % 3 == 2 else [f"word {at}"], "type": TYPES[at % 4]})
            for at, query in enumerate(QUERIES)
        ]
    )
    answer_texts = [*texts, *(f"it is word {at}" for at in range(len(texts), len(QUERIES)))]
    answers = {
        query: Answer("", state="failed") if at == 11 else Answer(answer_texts[at], ("d1#c2",), ("d1#c2", "d2"))
        for at, query in enumerate(QUERIES)
    }
    counts = {"calls": np.arange(len(QUERIES)), "failed": np.zeros(len(QUERIES), np.int64)}
    bm25, system_run = results.system_runs
    system_run = replace(system_run, kind="answer", answers=Answers(answers), counts=counts, money=0.1 + 0.2)
    measured = evaluate_answering_systems(
        [bm25, system_run], queries, results.qrels, None, rel=results.rel, document=lambda doc: doc.partition("#")[0]
    )
    urls = {"d1": "https://a.example/1", "d3": "https://a.example/3"}
    return replace(
        results,
        system_runs=(bm25, system_run),
        texts=queries,
        answers=measured.result,
        judged_documents=measured.judged_documents,
        urls=urls,
        document_fields={"d1": {"category": "tea"}},
    )

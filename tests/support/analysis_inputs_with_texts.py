"""Analysis inputs made of rankings, with query texts and fields."""

from collections.abc import Mapping, Sequence
from typing import Any

from rankproof import evaluate
from rankproof._analysis.inputs import AnalysisInput
from rankproof._data.dataset import Queries, Query
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._data.validation import ReadOptions

MEASURES = ("nDCG@10", "RR@10", "R@100", "Success@1", "Success@5")


def input_of(
    qrels: Mapping[str, Mapping[str, int]],
    runs: Mapping[str, Mapping[str, Sequence[str]]],
    *,
    measures: Sequence[str] = MEASURES,
    fields: Mapping[str, Mapping[str, Any]] | None = None,
    texts: Mapping[str, str] | None = None,
    documents: int | None = None,
    skip_missing: bool = False,
) -> AnalysisInput:
    """Systems by their rankings, best first."""
    scored = {
        name: Run.from_dict({query: {doc: -float(at) for at, doc in enumerate(docs)} for query, docs in run.items()}, name=name)
        for name, run in runs.items()
    }
    known = None
    if fields is not None or texts is not None:
        known = Queries(
            [Query(query, (texts or {}).get(query, "a text"), fields=(fields or {}).get(query, {})) for query in qrels]
        )
    return AnalysisInput(
        name="by hand",
        fingerprint="f",
        qrels=Qrels.from_dict(qrels),
        runs=scored,
        result=evaluate(qrels, scored, list(measures), skip_missing=skip_missing),
        read_options=ReadOptions(),
        texts=known,
        documents=documents,
        skip_missing=skip_missing,
    )


def ranked_at(ranks: Mapping[str, int | None], depth: int = 12) -> dict[str, list[str]]:
    """A ranking for each query that has the document `target` at that rank, or nowhere."""
    return {query: [f"x{at}" if at != rank else "target" for at in range(1, depth + 1)] for query, rank in ranks.items()}


def one_target(queries: Sequence[str]) -> dict[str, dict[str, int]]:
    """Judgements that have one relevant document, called `target`, for each query."""
    return {query: {"target": 1} for query in queries}

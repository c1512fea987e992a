"""What one stage gave: its rankings, its own times, and what building it cost."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.arrays import FloatArray, frozen
from ..data.run import Run
from ..fusion.ranking import Ranking
from ..stages.base import Cost


@dataclass(frozen=True, eq=False, slots=True)
class Outcome:
    """A stage's rankings for the asked queries, in their order; `times` holds its own milliseconds a query, by part."""

    rankings: tuple[Ranking, ...]
    times: Mapping[str, FloatArray]
    cost: Cost
    throughput: float | None
    facts: Mapping[str, Any]
    notes: tuple[str, ...]
    computed: str
    from_cache: bool = False


def as_run(name: str, queries: Sequence[str], rankings: Sequence[Ranking]) -> Run:
    """The rankings as a run, with ranks."""
    lengths = [len(docs) for docs, _ in rankings]
    ranks = [np.arange(1, length + 1, dtype=np.int64) for length in lengths]
    return Run(
        name=name,
        queries=tuple(queries),
        offsets=frozen(np.cumsum([0, *lengths], dtype=np.int64)),
        docs=tuple(doc for docs, _ in rankings for doc in docs),
        scores=frozen(np.concatenate([np.zeros(0), *(scores for _, scores in rankings)])),
        ranks=frozen(np.concatenate([np.zeros(0, np.int64), *ranks])),
        source=name,
    )


def outcome_bytes(outcome: Outcome) -> bytes:
    """The outcome as an npz file without pickles."""
    meta = {
        "docs": [docs for docs, _ in outcome.rankings],
        "cost": [outcome.cost.seconds, outcome.cost.bytes],
        "throughput": outcome.throughput,
        "facts": outcome.facts,
        "notes": outcome.notes,
        "computed": outcome.computed,
    }
    arrays = {f"time-{part}": values for part, values in outcome.times.items()}
    arrays["scores"] = np.concatenate([np.zeros(0), *(scores for _, scores in outcome.rankings)])
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, meta=np.frombuffer(json.dumps(meta).encode(), np.uint8), **arrays)
    return buffer.getvalue()


def outcome_of(content: bytes) -> Outcome:
    """The outcome that was written."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        meta = json.loads(arrays["meta"].tobytes())
        scores = arrays["scores"]
        times = {name.removeprefix("time-"): arrays[name] for name in arrays.files if name.startswith("time-")}
    parts = np.split(scores, np.cumsum([len(docs) for docs in meta["docs"]])[:-1]) if meta["docs"] else []
    return Outcome(
        tuple(zip(meta["docs"], parts, strict=True)),
        times,
        Cost(meta["cost"][0], meta["cost"][1]),
        meta["throughput"],
        meta["facts"],
        tuple(meta["notes"]),
        meta["computed"],
        from_cache=True,
    )

"""What one stage gave: its rankings, its own times, and what building it cost."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.arrays import FloatArray
from ..data.ranking import Ranking
from ..stages.base import Cost
from .packing import packed, unpacked


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


def outcome_bytes(outcome: Outcome) -> bytes:
    """The outcome as an npz file without pickles."""
    docs, scores = packed(outcome.rankings)
    meta = {
        "docs": docs,
        "cost": [outcome.cost.seconds, outcome.cost.bytes, dict(outcome.cost.shared)],
        "throughput": outcome.throughput,
        "facts": outcome.facts,
        "notes": outcome.notes,
        "computed": outcome.computed,
    }
    arrays = {f"time-{part}": values for part, values in outcome.times.items()}
    arrays["scores"] = scores
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, meta=np.frombuffer(json.dumps(meta).encode(), np.uint8), **arrays)
    return buffer.getvalue()


def outcome_of(content: bytes) -> Outcome:
    """The outcome that was written."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        meta = json.loads(arrays["meta"].tobytes())
        scores = arrays["scores"]
        times = {name.removeprefix("time-"): arrays[name] for name in arrays.files if name.startswith("time-")}
    seconds, size, shared = meta["cost"]
    return Outcome(
        tuple(unpacked(meta["docs"], scores)),
        times,
        Cost(seconds, size, {key: (part[0], part[1]) for key, part in shared.items()}),
        meta["throughput"],
        meta["facts"],
        tuple(meta["notes"]),
        meta["computed"],
        from_cache=True,
    )

"""What one stage gave: its rankings, its own times, and what building it cost."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ..data.answers import Answer
from ..data.arrays import FloatArray, IntArray
from ..data.ranking import Ranking
from ..stages.base import Cost
from .asked import answers_of
from .packing import packed, unpacked


@dataclass(frozen=True, eq=False, slots=True)
class Outcome:
    """A stage's rankings for the asked queries, in their order; `times` holds its own milliseconds a query, by part.

    `counts` is what its own asks of language models came to, by query; `answers` is None where neither it nor what it rests on
    answers.
    """

    rankings: tuple[Ranking, ...]
    times: Mapping[str, FloatArray]
    cost: Cost
    throughput: float | None
    facts: Mapping[str, Any]
    notes: tuple[str, ...]
    computed: str
    from_cache: bool = False
    counts: Mapping[str, IntArray] = field(default_factory=dict)
    answers: tuple[Answer, ...] | None = None


def answers_above(own: tuple[Answer, ...] | None, below: Sequence[Outcome]) -> tuple[tuple[Answer, ...] | None, tuple[str, ...]]:
    """The answers of a stage: its own, else those of the only stage below it; and a note where there are several, and so none."""
    if own is not None or len(below) == 1:
        return below[0].answers if own is None else own, ()
    many = sum(each.answers is not None for each in below)
    note = f"the answers of {many} of the {len(below)} rankings that are joined are dropped: the joined ranking has none"
    return None, (note,) if many else ()


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
        "answers": None if outcome.answers is None else [asdict(answer) for answer in outcome.answers],
    }
    arrays: dict[str, Any] = {f"time-{part}": values for part, values in outcome.times.items()}
    arrays |= {f"count-{name}": values for name, values in outcome.counts.items()}
    arrays["scores"] = scores
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, meta=np.frombuffer(json.dumps(meta).encode(), np.uint8), **arrays)
    return buffer.getvalue()


def outcome_of(content: bytes) -> Outcome:
    """The outcome that was written."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        meta = json.loads(arrays["meta"].tobytes())
        scores = arrays["scores"]
        times = _named("time-", arrays)
        counts = _named("count-", arrays)
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
        counts=counts,
        answers=None if meta["answers"] is None else tuple(answers_of(meta["answers"])),
    )


def _named(start: str, arrays: Any) -> dict[str, Any]:
    return {name.removeprefix(start): arrays[name] for name in arrays.files if name.startswith(start)}

"""Tasks for claim judges."""

from __future__ import annotations

from collections.abc import Sequence

from rankproof._data.claims import Claim, ClaimTable, Side
from rankproof._evaluation.claim_judges import ClaimTask
from rankproof.measures._answers import AnswerCase

CONTEXTS = ("A pie bakes for an hour. The oven is hot.", "Tea is a drink.")


def silent(label: str, done: int, total: int | None) -> None:
    """Progress that nobody sees."""


def claim_task(
    table: ClaimTable,
    claims: Sequence[str | Claim],
    sources: Sequence[str] = CONTEXTS,
    *,
    question: str = "How long does a pie bake?",
    shown: tuple[int, ...] | None = None,
) -> ClaimTask:
    """A task of the query q1 and the system bm25."""
    side: Side = table.partition("-")[0]  # type: ignore[assignment]
    made = tuple(
        claim if isinstance(claim, Claim) else Claim(side, at, claim, 0, len(claim)) for at, claim in enumerate(claims, start=1)
    )
    case = AnswerCase("An answer.", ("A reference.",), query="q1", system="bm25", question=question, contexts=tuple(sources))
    return ClaimTask(case, table, made, tuple(sources), shown)

"""The sentences of the texts that claims are checked against, numbered as evidence names them, and packed into requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

from rankproof._data.claims import Claim, ClaimVerdict, Evidence, Verdict
from rankproof._data.sentences import sentences
from rankproof._data.text import without_citations
from rankproof._data.wording.remarks import without_thinking
from rankproof._evaluation.claim_judges import ClaimTask
from rankproof._io.open import Progress

PROGRESS_LABEL = "judging claims"
THRESHOLD = 0.5
"""The lowest score of a supported claim, of judges that give scores; no mean uses it."""
DIGEST_LENGTH = 8
"""Characters of the digest in the label of a judge."""
ItemT = TypeVar("ItemT")


@dataclass(frozen=True, slots=True)
class Piece:
    """A sentence of a source, or a part of a long one; both numbers are those of evidence."""

    source: int
    sentence: int
    text: str

    @property
    def place(self) -> tuple[int, int]:
        """The source and the sentence."""
        return self.source, self.sentence


def claim_text(claim: Claim) -> str:
    """The claim as judges read it: with its lead-in, and of an answer without thinking and marks of citations."""
    text = without_citations(without_thinking(claim.text)).strip() if claim.side == "answer" else claim.text
    return f"{claim.lead_in} {text}" if claim.lead_in else text


def task_pieces(task: ClaimTask, characters: int, *, reverse: bool = False) -> list[Piece]:
    """The sentences of all sources of a task, a long one in parts; `reverse` starts with the last source."""
    numbered = list(zip(task.numbers, task.sources, strict=True))
    return [
        Piece(number, at, part)
        for number, text in (reversed(numbered) if reverse else numbered)
        for at, sentence in enumerate(sentences(text), start=1)
        for part in _parts(sentence, characters)
    ]


def _parts(text: str, characters: int) -> Iterable[str]:
    return (text[start : start + characters] for start in range(0, len(text), characters))


def pack(items: Iterable[ItemT], size: Callable[[ItemT], int], most: int) -> list[list[ItemT]]:
    """The items in groups of at most `most` in size, in their order; a larger item has a group of its own."""
    groups: list[list[ItemT]] = []
    total = 0
    for item in items:
        total += size(item)
        if not groups or total > most:
            groups.append([])
            total = size(item)
        groups[-1].append(item)
    return groups


def by_source(pieces: Iterable[Piece]) -> list[list[Piece]]:
    """Adjacent pieces of the same source, together."""
    return [list(group) for _, group in groupby(pieces, key=lambda piece: piece.source)]


@dataclass(frozen=True, slots=True)
class ClaimFinding:
    """What one request, or all of them together, say of a claim."""

    verdict: Verdict
    evidence: Evidence = ()
    score: float | None = None
    reason: str = ""

    def for_claim(self, task: ClaimTask, claim: Claim, label: str) -> ClaimVerdict:
        """As the verdict on the claim."""
        return task.verdict(claim, self.verdict, label, evidence=self.evidence, score=self.score, reason=self.reason)


_PRECEDENCE: tuple[Verdict, ...] = ("failed", "supported", "contradicted", "not_stated", "nothing_to_check")
"""The verdict of several requests with different sources: the first of these that one of them gives."""


def combined(findings: Sequence[ClaimFinding]) -> ClaimFinding:
    """The finding of several requests on one claim, each with a part of the sources; one that failed makes the whole fail."""
    verdict = min((finding.verdict for finding in findings), key=_PRECEDENCE.index)
    chosen = [finding for finding in findings if finding.verdict == verdict]
    scores = [one.score for one in chosen if one.score is not None]
    evidence = tuple(sorted({place for one in chosen for place in one.evidence}))
    return ClaimFinding(verdict, evidence, max(scores, default=None), chosen[0].reason)


def scored(score: float, evidence: Evidence = (), *, threshold: float = THRESHOLD) -> ClaimFinding:
    """A score with its verdict by the threshold."""
    return ClaimFinding("supported" if score >= threshold else "not_stated", evidence, score)


def unasked(task: ClaimTask, score: float | None = None) -> ClaimFinding:
    """The finding on a claim without a request: the sources are blank, so they state nothing; a blank question is a failure."""
    if task.against == "question":
        return ClaimFinding("failed", reason="the question has no text")
    return ClaimFinding("not_stated", score=score)


def judge_in_blocks(
    tasks: Sequence[ClaimTask],
    judge: Callable[[Sequence[ClaimTask]], Sequence[tuple[ClaimVerdict, ...]]],
    progress: Progress,
    size: int,
) -> list[tuple[ClaimVerdict, ...]]:
    """The verdicts of all tasks, judged block by block with progress."""
    found: list[tuple[ClaimVerdict, ...]] = []
    for start in range(0, len(tasks), size):
        found += judge(tasks[start : start + size])
        progress(PROGRESS_LABEL, len(found), len(tasks))
    return found

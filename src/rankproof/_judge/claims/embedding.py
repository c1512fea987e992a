"""Scores claims by the cosine with the nearest sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

import numpy as np

from rankproof._data.arrays import Matrix
from rankproof._data.claims import Claim, ClaimVerdict
from rankproof._data.identity import identity_key
from rankproof._data.qrels import make_judge_label
from rankproof._data.sentences import SENTENCE_RULES, sentences
from rankproof._data.text import pluralise
from rankproof._evaluation.claim_judges import ClaimTask, no_extraction_error
from rankproof._io.open import Progress
from rankproof._judge.claims.calls import JudgeResources
from rankproof._judge.claims.pieces import (
    DIGEST_LENGTH,
    THRESHOLD,
    ClaimFinding,
    Piece,
    claim_text,
    judge_in_blocks,
    scored,
    task_pieces,
    unasked,
)
from rankproof._llm.budget import Estimate
from rankproof.models._base import Encoder, EncoderModel
from rankproof.models._registry import encoder_by_name

_TASKS_PER_BLOCK = 200
_WHOLE = 1 << 30
"""Sentences are not split: the encoder truncates them, which is counted."""
_SURELY_WHOLE = 128
"""Characters that every encoder reads."""


@dataclass(frozen=True)
class EmbeddingSettings:
    """What a score depends on."""

    model: EncoderModel
    threshold: float = THRESHOLD


class EmbeddingJudge:
    """The score of a claim is the largest cosine with a sentence of the sources; below 0 it is 0.

    Against a question, the sentences of the claim are compared with the whole question.
    """

    has_scores = True

    def __init__(self, name: str, settings: EmbeddingSettings, *, threads: int = 1) -> None:
        self.name, self._settings, self._threads = name, settings, threads
        self._cut = 0

    @classmethod
    def named(cls, name: str, source: str, resources: JudgeResources) -> EmbeddingJudge:
        """The judge of an encoder."""
        return cls(name, EmbeddingSettings(encoder_by_name(source)), threads=resources.threads)

    @cached_property
    def label(self) -> str:
        """embedding:NAME:THRESHOLD:DIGEST."""
        name = f"{self.name}:{self._settings.threshold:g}"
        return make_judge_label("embedding:", name, identity_key(self._settings, SENTENCE_RULES)[:DIGEST_LENGTH])

    @cached_property
    def _encoder(self) -> Encoder:
        return self._settings.model.load(threads=self._threads)

    def judge(self, tasks: Sequence[ClaimTask], progress: Progress) -> list[tuple[ClaimVerdict, ...]]:
        """A score for each claim; a claim that the encoder reads no token of fails."""
        return judge_in_blocks(tasks, self._judge_block, progress, _TASKS_PER_BLOCK)

    def extract(self, texts: Sequence[tuple[str, str]], progress: Progress) -> NoReturn:
        """An encoder writes no claims."""
        raise no_extraction_error(self.name)

    def varied(self, *, repeat: int = 0, reverse: bool = False) -> EmbeddingJudge:
        """This judge: neither repeats nor the order change a cosine."""
        return self

    def estimate(self, tasks: Sequence[ClaimTask]) -> Estimate:
        """No call."""
        return Estimate()

    def notes(self) -> tuple[str, ...]:
        """A note on truncated sentences."""
        cut = pluralise(self._cut, "sentence was truncated", "sentences were truncated")
        return (f"{self.name}: {cut} at the length that the encoder reads",) if self._cut else ()

    def _judge_block(self, tasks: Sequence[ClaimTask]) -> list[tuple[ClaimVerdict, ...]]:
        compared = [[_compared(task, claim, pieces) for claim in task.claims] for task, pieces in _with_pieces(tasks)]
        texts = dict.fromkeys(text for each in compared for left, right in each for text in (*left, *(one.text for one in right)))
        rows = dict(zip(texts, self._encoded(list(texts)), strict=True))
        return [
            tuple(
                (self._finding(left, right, rows) if right else unasked(task, 0.0)).for_claim(task, claim, self.label)
                for claim, (left, right) in zip(task.claims, each, strict=True)
            )
            for task, each in zip(tasks, compared, strict=True)
        ]

    def _encoded(self, texts: Sequence[str]) -> Matrix:
        self._cut += self._encoder.cut([text for text in texts if len(text) > _SURELY_WHOLE])
        return self._encoder.encode(texts)

    def _finding(self, claims: Sequence[str], pieces: Sequence[Piece], rows: dict[str, Matrix]) -> ClaimFinding:
        left = np.array([rows[text] for text in claims])
        if not left.any():
            return ClaimFinding("failed", reason="the encoder reads no token of the claim")
        cosines = (left @ np.array([rows[piece.text] for piece in pieces]).T).max(axis=0).clip(0, 1)
        best: dict[int, tuple[float, Piece]] = {}
        for piece, cosine in zip(pieces, cosines.tolist(), strict=True):
            if piece.source not in best or cosine > best[piece.source][0]:
                best[piece.source] = cosine, piece
        score = max(cosine for cosine, _ in best.values())
        least = min(score, self._settings.threshold)
        return scored(
            score,
            tuple(sorted(piece.place for cosine, piece in best.values() if cosine >= least)),
            threshold=self._settings.threshold,
        )


def _with_pieces(tasks: Sequence[ClaimTask]) -> list[tuple[ClaimTask, list[Piece]]]:
    return [(task, [] if task.against == "question" else task_pieces(task, _WHOLE)) for task in tasks]


def _compared(task: ClaimTask, claim: Claim, pieces: list[Piece]) -> tuple[list[str], list[Piece]]:
    """The texts of the claim and the pieces that they are compared with."""
    if task.against == "question":
        return sentences(claim_text(claim)), [Piece(1, 1, text) for text in task.sources if text.strip()]
    return [claim_text(claim)], pieces

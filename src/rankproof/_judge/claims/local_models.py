"""Judges with a local model: the cosine with the nearest sentence, and the probability of an entailment model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn, Self

import numpy as np

from rankproof._data.arrays import FloatArray, Matrix
from rankproof._data.claims import Claim, ClaimVerdict
from rankproof._data.identity import identity_key
from rankproof._data.qrels import make_judge_label
from rankproof._data.sentences import SENTENCE_RULES, sentences
from rankproof._data.text import pluralise
from rankproof._evaluation.claim_judges import ClaimTask, no_extraction_error
from rankproof._io.open import Progress
from rankproof._judge.claims.base import (
    DIGEST_LENGTH,
    PROGRESS_LABEL,
    THRESHOLD,
    ClaimFinding,
    JudgeResources,
    Piece,
    blank_finding,
    by_source,
    claim_text,
    pack,
    scored_finding,
    task_pieces,
)
from rankproof._llm.budget import Estimate
from rankproof.errors import UsageError
from rankproof.models._base import Encoder, EncoderModel
from rankproof.models._bert import EntailmentModel, LoadedEntailment, entailment_by_name
from rankproof.models._registry import encoder_by_name

_WHOLE = 1 << 30
"""Sentences are not split: the encoder truncates them, which is counted."""
_SURELY_WHOLE = 128
"""Characters that every encoder reads."""
_SHORTEST = 40
"""Characters of the shortest premise that a long claim leaves room for."""


class _LocalJudge:
    """What judges with a local model share: they score every claim, make no call, and the same claim has the same score."""

    has_scores = True
    name: str
    tasks_per_block = 1

    def judge(self, tasks: Sequence[ClaimTask], progress: Progress) -> list[tuple[ClaimVerdict, ...]]:
        """A score for each claim; a claim that the model cannot read fails."""
        verdicts: list[tuple[ClaimVerdict, ...]] = []
        for start in range(0, len(tasks), self.tasks_per_block):
            verdicts += self._judge_block(tasks[start : start + self.tasks_per_block])
            progress(PROGRESS_LABEL, len(verdicts), len(tasks))
        return verdicts

    def extract(self, texts: Sequence[tuple[str, str]], progress: Progress) -> NoReturn:
        """The model writes no claims."""
        raise no_extraction_error(self.name)

    def varied(self, *, repeat: int = 0, reverse: bool = False) -> Self:
        """This judge: neither repeats nor the order change a score."""
        return self

    def estimate(self, tasks: Sequence[ClaimTask]) -> Estimate:
        """No call."""
        return Estimate()

    def _judge_block(self, tasks: Sequence[ClaimTask]) -> list[tuple[ClaimVerdict, ...]]:
        raise NotImplementedError


@dataclass(frozen=True)
class EmbeddingSettings:
    """What a score depends on."""

    model: EncoderModel
    threshold: float = THRESHOLD


class EmbeddingJudge(_LocalJudge):
    """The score of a claim is the largest cosine with a sentence of the sources; below 0 it is 0.

    Against a question, the sentences of the claim are compared with the whole question.
    """

    tasks_per_block = 200
    """Tasks whose texts are encoded together, so that repeated sentences are encoded once."""

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

    def notes(self) -> tuple[str, ...]:
        """A note on truncated sentences."""
        cut = pluralise(self._cut, "sentence was truncated", "sentences were truncated")
        return (f"{self.name}: {cut} at the length that the encoder reads",) if self._cut else ()

    def _judge_block(self, tasks: Sequence[ClaimTask]) -> list[tuple[ClaimVerdict, ...]]:
        compared = [[_compared(task, claim, pieces) for claim in task.claims] for task, pieces in _with_pieces(tasks)]
        texts = dict.fromkeys(
            text for claims in compared for left, right in claims for text in (*left, *(piece.text for piece in right))
        )
        rows = dict(zip(texts, self._encoded(list(texts)), strict=True))
        return [
            tuple(
                (self._finding(left, right, rows) if right else blank_finding(task, 0.0)).for_claim(task, claim, self.label)
                for claim, (left, right) in zip(task.claims, claims, strict=True)
            )
            for task, claims in zip(tasks, compared, strict=True)
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
        return scored_finding(
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


@dataclass(frozen=True)
class EntailmentSettings:
    """What a verdict depends on; `characters` is the length of a premise, a window of sentences of one source."""

    model: EntailmentModel
    characters: int = 1200
    threshold: float = THRESHOLD


class EntailmentJudge(_LocalJudge):
    """The score of a claim is the largest probability of entailment by a window of sentences of one source.

    A claim that is not supported is contradicted where a window contradicts it with at least the threshold. Pairs that are too
    long for the model are read in shorter windows, never truncated.
    """

    def __init__(self, name: str, settings: EntailmentSettings, *, threads: int = 1) -> None:
        self.name, self._settings, self._threads = name, settings, threads

    @classmethod
    def named(cls, name: str, source: str, resources: JudgeResources) -> EntailmentJudge:
        """The judge of an entailment model."""
        return cls(name, EntailmentSettings(entailment_by_name(source)), threads=resources.threads)

    @cached_property
    def label(self) -> str:
        """nli:NAME:THRESHOLD:DIGEST."""
        name = f"{self.name.removeprefix('nli:')}:{self._settings.threshold:g}"
        return make_judge_label("nli:", name, identity_key(self._settings, SENTENCE_RULES)[:DIGEST_LENGTH])

    @cached_property
    def _model(self) -> LoadedEntailment:
        return self._settings.model.load(threads=self._threads)

    def _judge_block(self, tasks: Sequence[ClaimTask]) -> list[tuple[ClaimVerdict, ...]]:
        return [self._judge_task(task) for task in tasks]

    def _judge_task(self, task: ClaimTask) -> tuple[ClaimVerdict, ...]:
        if task.against == "question":
            what = f"the judge {self.name} says whether a text entails a claim, not whether a text answers a question"
            raise UsageError(what, fix="use another judge for AnswerRelevance and ContextRelevance")
        pieces = task_pieces(task, self._settings.characters)
        windows = [
            window
            for source in by_source(pieces)
            for window in pack(source, lambda piece: len(piece.text), self._settings.characters)
        ]
        return tuple(
            (self._finding(claim_text(claim), windows) if windows else blank_finding(task, 0.0)).for_claim(
                task, claim, self.label
            )
            for claim in task.claims
        )

    def _finding(self, claim: str, windows: Sequence[list[Piece]]) -> ClaimFinding:
        # A window that is cut could lose the sentence that entails the claim, so it is halved until it fits.
        fitting = [part for window in windows for part in self._fitting(window, claim)]
        if not all(fitting):
            return ClaimFinding("failed", reason="the claim is longer than the entailment model reads")
        shares = [self._shares(window, claim) for window in fitting]
        entailed, _, contradicted = (max(column) for column in zip(*shares, strict=True))
        threshold = self._settings.threshold
        if entailed >= threshold or contradicted < threshold:
            naming = [window for window, share in zip(fitting, shares, strict=True) if share[0] >= min(entailed, threshold)]
            return scored_finding(float(entailed), self._evidence(naming, claim, 0), threshold=threshold)
        naming = [window for window, share in zip(fitting, shares, strict=True) if share[2] >= threshold]
        return ClaimFinding("contradicted", self._evidence(naming, claim, 2), float(entailed))

    def _shares(self, window: Sequence[Piece], claim: str) -> FloatArray:
        row: FloatArray = self._model.probabilities(_premise(window), [claim])[0]
        return row

    def _evidence(self, windows: Sequence[Sequence[Piece]], claim: str, label: int) -> tuple[tuple[int, int], ...]:
        """The sentence of each window that the label is most probable for."""
        best = (
            max(window, key=lambda piece: self._shares([piece], claim)[label]) if len(window) > 1 else window[0]
            for window in windows
        )
        return tuple(sorted({piece.place for piece in best}))

    def _fitting(self, window: list[Piece], claim: str) -> list[list[Piece]]:
        """The window in parts that the model reads whole with the claim; an empty part where even a short one is too long."""
        if not self._model.cut(_premise(window), [claim]):
            return [window]
        if len(window) > 1:
            halves = [window[: len(window) // 2], window[len(window) // 2 :]]
        else:
            (piece,) = window
            if len(piece.text) < _SHORTEST:
                return [[]]
            middle = len(piece.text) // 2
            halves = [[Piece(*piece.place, text)] for text in (piece.text[:middle], piece.text[middle:])]
        return [part for half in halves for part in self._fitting(half, claim)]


def _premise(window: Sequence[Piece]) -> str:
    return " ".join(piece.text for piece in window)

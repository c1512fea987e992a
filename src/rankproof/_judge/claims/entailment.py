"""Scores claims by the probability that an entailment model gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

from rankproof._data.arrays import FloatArray
from rankproof._data.claims import ClaimVerdict
from rankproof._data.identity import identity_key
from rankproof._data.qrels import make_judge_label
from rankproof._data.sentences import SENTENCE_RULES
from rankproof._evaluation.claim_judges import ClaimTask, no_extraction_error
from rankproof._io.open import Progress
from rankproof._judge.claims.calls import JudgeResources
from rankproof._judge.claims.pieces import (
    DIGEST_LENGTH,
    THRESHOLD,
    ClaimFinding,
    Piece,
    by_source,
    claim_text,
    judge_in_blocks,
    pack,
    scored,
    task_pieces,
    unasked,
)
from rankproof._llm.budget import Estimate
from rankproof.errors import UsageError
from rankproof.models._entailment import EntailmentModel, LoadedEntailment, entailment_by_name

_SHORTEST = 40
"""Characters of the shortest premise that a long claim leaves room for."""


@dataclass(frozen=True)
class EntailmentSettings:
    """What a verdict depends on; `characters` is the length of a premise, a window of sentences of one source."""

    model: EntailmentModel
    characters: int = 1200
    threshold: float = THRESHOLD


class EntailmentJudge:
    """The score of a claim is the largest probability of entailment by a window of sentences of one source.

    A claim that is not supported is contradicted where a window contradicts it with at least the threshold. Pairs that are too
    long for the model are read in shorter windows, never truncated.
    """

    has_scores = True

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

    def judge(self, tasks: Sequence[ClaimTask], progress: Progress) -> list[tuple[ClaimVerdict, ...]]:
        """A score for each claim; a claim that is longer than the model reads fails."""
        return judge_in_blocks(tasks, lambda block: [self._judge_task(task) for task in block], progress, 1)

    def extract(self, texts: Sequence[tuple[str, str]], progress: Progress) -> NoReturn:
        """An entailment model writes no claims."""
        raise no_extraction_error(self.name)

    def varied(self, *, repeat: int = 0, reverse: bool = False) -> EntailmentJudge:
        """This judge: it reads one claim and one source at a time, and the same pair gives the same probabilities."""
        return self

    def estimate(self, tasks: Sequence[ClaimTask]) -> Estimate:
        """No call."""
        return Estimate()

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
            (self._finding(claim_text(claim), windows) if windows else unasked(task, 0.0)).for_claim(task, claim, self.label)
            for claim in task.claims
        )

    def _finding(self, claim: str, windows: Sequence[list[Piece]]) -> ClaimFinding:
        fitting = [part for window in windows for part in self._fitting(window, claim)]
        if not all(fitting):
            return ClaimFinding("failed", reason="the claim is longer than the entailment model reads")
        shares = [self._shares(window, claim) for window in fitting]
        entailed, _, contradicted = (max(column) for column in zip(*shares, strict=True))
        threshold = self._settings.threshold
        if entailed >= threshold or contradicted < threshold:
            naming = [window for window, share in zip(fitting, shares, strict=True) if share[0] >= min(entailed, threshold)]
            return scored(float(entailed), self._evidence(naming, claim, 0), threshold=threshold)
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

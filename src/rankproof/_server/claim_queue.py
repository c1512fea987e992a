"""The claims that people label: all claims of questions drawn at random, without judge, verdict and system."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.label_tasks import DEFAULT_QUESTIONS, ClaimItem, ClaimTexts, LabelDraw, claims_to_label


@dataclass(frozen=True, eq=False, slots=True)
class ClaimQueue:
    """The claims of the first questions of a draw, in random order within a question, the same for every person.

    `fingerprint` identifies the questions. `sizes` has the number of claims of each question, `every` the ids of all claims.
    `left_out` counts the claims whose texts the results do not have.
    """

    fingerprint: str
    draw: LabelDraw
    items: Mapping[str, ClaimItem]
    sizes: tuple[int, ...]
    every: frozenset[str]
    left_out: int


def build_claim_queue(results: ExperimentResult, draw: LabelDraw, most: int = DEFAULT_QUESTIONS) -> ClaimQueue:
    """The claims of at most `most` questions; claims that are added to the results later do not change the order of others."""
    texts, items_by_id, left_out = _texts(results), dict[str, ClaimItem](), 0
    for verdict in claims_to_label(results.claims):
        item = texts.item(verdict)
        if item is None:
            left_out += 1
        else:
            items_by_id[item.id] = _joined(items_by_id.get(item.id), item)
    shown: dict[str, list[ClaimItem]] = {question: [] for question in draw.questions[:most]}
    for id in sorted(items_by_id, key=lambda id: hashlib.sha256(f"{draw.seed} {id}".encode()).digest()):
        if items_by_id[id].query in shown:
            shown[items_by_id[id].query].append(items_by_id[id])
    items = {item.id: item for items in shown.values() for item in items}
    return ClaimQueue(_fingerprint(results), draw, items, tuple(map(len, shown.values())), frozenset(items_by_id), left_out)


def _fingerprint(results: ExperimentResult) -> str:
    """Of the questions alone: references, nuggets and systems may be added without changing what was labelled."""
    questions = sorted((query, results.texts[query].text) for query in results.texts)
    return hashlib.sha256(json.dumps(questions).encode()).hexdigest()


def _joined(known: ClaimItem | None, item: ClaimItem) -> ClaimItem:
    return item if known is None else replace(known, systems=tuple(dict.fromkeys((*known.systems, *item.systems))))


def _texts(results: ExperimentResult) -> ClaimTexts:
    answers = {run.name: run.answers for run in results.system_runs if run.answers is not None}
    return ClaimTexts(results.texts, answers, results.contexts)

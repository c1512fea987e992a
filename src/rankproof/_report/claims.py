"""The claims of answers with their verdicts and evidence, as JSON for the script of the page; texts and numbers cut to size."""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from rankproof._data.answers import Answer, References
from rankproof._data.claims import CLAIM_TABLES, VERDICTS, ClaimVerdict, tables_in_order
from rankproof._data.sentences import sentence_spans
from rankproof._data.wording.remarks import without_thinking
from rankproof._results.experiment_result import ExperimentResult

MAX_ANSWER_LENGTH = 4_000


def truncate(text: str, length: int) -> str:
    """The text cut at the length, with an ellipsis."""
    return text if len(text) <= length + 1 else f"{text[:length]}…"


def utf16_length(text: str) -> int:
    """The length of the text in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def text_size(texts: Iterable[str], length: int) -> int:
    """The size of the texts as JSON, each cut at the length."""
    return len(json.dumps([truncate(text, length) for text in texts]))


VALUE_DIGITS = 5


def round_number(value: float, digits: int = VALUE_DIGITS) -> float | int | None:
    """The rounded number, as an integer if it is one; None if it is not finite."""
    if not math.isfinite(value):
        return None
    near = round(value, digits)
    return int(near) if near == int(near) else near


def round_column(values: Iterable[float | None], digits: int = VALUE_DIGITS) -> list[float | int | None]:
    """The rounded numbers of a column as integers where they are; None for those that are missing or not finite."""
    numbers = np.round(np.array([math.nan if value is None else value for value in values], np.float64), digits)
    rounded = [int(number) if number.is_integer() else number for number in numbers.tolist()]
    return rounded if np.isfinite(numbers).all() else [number if math.isfinite(number) else None for number in rounded]


_TEXT_LENGTHS = (600, 400, 240, 120, 60, 0)
_MAX_TEXT_SIZE = 8_000_000


class TextList:
    """Distinct texts in the order of their first use, by index."""

    def __init__(self) -> None:
        self._indices: dict[str, int] = {}

    def index_of(self, text: str) -> int:
        """The index of the text, new or known."""
        return self._indices.setdefault(text, len(self._indices))

    def texts(self) -> list[str]:
        """The texts, all cut at the longest length that keeps the page small."""
        at = bisect_left(_TEXT_LENGTHS, -_MAX_TEXT_SIZE, key=lambda length: -text_size(self._indices, length))
        length = _TEXT_LENGTHS[min(at, len(_TEXT_LENGTHS) - 1)]
        return [truncate(text, length) for text in self._indices]


class ClaimColumns:
    """The verdicts of results by system and query; evidence and claims share one list of texts."""

    def __init__(self, results: ExperimentResult, references: References) -> None:
        self._results, self._references = results, references
        self._texts, self._judges = TextList(), TextList()
        self._found: dict[tuple[str, str], dict[tuple[Any, ...], list[ClaimVerdict]]] = {}
        self._tables = [*CLAIM_TABLES, *tables_in_order({claim.table for claim in results.claims} - set(CLAIM_TABLES))]
        for claim in results.claims:
            key = (self._tables.index(claim.table), claim.judge, claim.claim.unit, claim.claim.reference)
            self._found.setdefault((claim.system, claim.query), {}).setdefault(key, []).append(claim)

    def of_answer(self, system: str, query: str, answer: Answer) -> list[dict[str, Any]]:
        """The checks of one answer: those of each table, judge, unit and reference."""
        groups = self._found.get((system, query), {})
        return [self._check(key, groups[key], query, answer) for key in sorted(groups)]

    def shared(self) -> dict[str, Any]:
        """What all checks refer to by index."""
        return {
            "tables": self._tables,
            "verdicts": list(VERDICTS),
            "judges": self._judges.texts(),
            "texts": self._texts.texts(),
        }

    def _check(self, key: tuple[Any, ...], verdicts: Sequence[ClaimVerdict], query: str, answer: Answer) -> dict[str, Any]:
        table, judge, unit, reference = key
        sources = self._sources(verdicts[0], query, answer)
        shown = truncate(self._claimed_text(verdicts[0], query, answer), MAX_ANSWER_LENGTH)
        return {
            "table": table,
            "judge": self._judges.index_of(judge),
            "unit": unit,
            "reference": reference,
            "rows": [self._row(verdict, shown, sources) for verdict in verdicts],
        }

    def _row(self, verdict: ClaimVerdict, shown: str, sources: Mapping[int, str]) -> list[Any]:
        """Number, place in the text, text, verdict, score, evidence, reason, contexts that it was checked against, importance."""
        claim = verdict.claim
        placed = claim.start is not None and claim.end is not None and shown[claim.start : claim.end] == claim.text
        place = [utf16_length(shown[: claim.start]), utf16_length(shown[: claim.end])] if placed else None
        text = None if placed else self._texts.index_of(claim.text)
        score = None if verdict.score is None else round_number(verdict.score)
        evidence = [[source, at, self._evidence(sources.get(source, ""), at)] for source, at in verdict.evidence]
        shown_contexts = None if verdict.shown is None else list(verdict.shown)
        reason = verdict.reason or claim.remark or (f"read with its lead-in: {claim.lead_in}" if claim.lead_in else "")
        return [
            claim.n,
            place,
            text,
            VERDICTS.index(verdict.verdict),
            score,
            evidence,
            reason,
            shown_contexts,
            verdict.importance,
        ]

    def _evidence(self, text: str, number: int) -> int | None:
        """The index of the sentence of that number; None where the text is not known."""
        spans = _sentences(text)
        return None if number > len(spans) else self._texts.index_of(text[slice(*spans[number - 1])])

    def _claimed_text(self, verdict: ClaimVerdict, query: str, answer: Answer) -> str:
        """The text that the claims are from."""
        texts = self._references[query].answers if query in self._references else ()
        if verdict.claim.side == "answer":
            return answer.text
        return (
            texts[verdict.claim.reference - 1]
            if verdict.claim.side == "reference" and verdict.claim.reference <= len(texts)
            else ""
        )

    def _sources(self, verdict: ClaimVerdict, query: str, answer: Answer) -> Mapping[int, str]:
        """The texts that the claims are checked against, by number."""
        if verdict.against in ("contexts", "cited"):
            return _numbered(self._results.contexts.get(passage, "") for passage in answer.given or ())
        if verdict.against == "reference":
            return _numbered(self._references[query].answers if query in self._references else ())
        return {1: without_thinking(answer.text)} if verdict.against == "answer" else {1: self._results.texts[query].text}


def _numbered(texts: Iterable[str]) -> dict[int, str]:
    return dict(enumerate(texts, start=1))


@lru_cache(maxsize=4096)
def _sentences(text: str) -> list[tuple[int, int]]:
    return sentence_spans(text)

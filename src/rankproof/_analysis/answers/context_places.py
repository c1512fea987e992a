"""Where the contexts stand that support claims, and what the place of the first relevant one does to the answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from rankproof._analysis.answers.answer_input import AnswerInput
from rankproof._analysis.compare.sessions import session_interval
from rankproof._data.answers import Answers
from rankproof._data.claims import ClaimVerdict
from rankproof._data.table import CellValue, Column, Table
from rankproof._evaluation.result import MeasureResult

PLACES = 5
SUPPORT_TABLE, FIRST_RELEVANT_TABLE = "context_support", "first_relevant"
_NONE = "none"


def support_table(answer_input: AnswerInput) -> Table | None:
    """For each system the share of its supported claims that rest on the context at each place; None without such claims."""
    answers, claims = answer_input.answers, answer_input.inputs.result.claims
    supported = [claim for claim in claims if claim.table == "answer-contexts" and claim.verdict == "supported"]
    judge = next((claim.judge for claim in supported), None)
    rows = []
    for system, own in answers.items():
        if not any(len(answer.given or ()) > 1 for answer in own.values()):
            continue
        chosen = [claim for claim in supported if claim.system == system and claim.judge == judge]
        if chosen:
            rows.append((system, len(chosen), *(_share(chosen, own, place) for place in range(1, PLACES + 1))))
    columns = (
        *(Column("system"), Column("claims", "count", f"of answers that their contexts support, by {judge}")),
        *(Column(f"context {place}", "share", "of those with a context at this place") for place in range(1, PLACES + 1)),
    )
    return Table(SUPPORT_TABLE, "Contexts that supported claims rest on", columns, tuple(rows)) if rows else None


def _share(claims: list[ClaimVerdict], answers: Answers, place: int) -> float | None:
    having = [claim for claim in claims if len(answers[claim.query].given or ()) >= place]
    return sum(any(number == place for number, _ in claim.evidence) for claim in having) / len(having) if having else None


def first_relevant_table(answer_input: AnswerInput, measure: str, level: float = 0.95) -> Table | None:
    """The mean of a measure by the place of the first relevant context; None if all are at one place, or none is judged."""
    results = {system.name: system.measures[measure] for system in answer_input.inputs.result.systems}
    places = {name: _first_places(answer_input, name) for name in results}
    if len({place for own in places.values() for place in own.values()}) < 2:
        return None
    rows = [row for name, result in results.items() for row in _rows(answer_input, name, result, places[name], level)]
    columns = (
        *(Column("system"), Column("place", "text", "of the first relevant context"), Column("n", "count")),
        *(Column("value", "value"), Column(f"{level:.0%} interval", "interval")),
    )
    return Table(FIRST_RELEVANT_TABLE, f"{measure} by the place of the first relevant context", columns, tuple(rows))


def _first_places(answer_input: AnswerInput, system: str) -> dict[str, str]:
    """The place as it is shown, of each question with a relevant document whose contexts are known."""
    inputs, documents = answer_input.inputs, answer_input.judged_documents
    places = {}
    for query, answer in answer_input.answers[system].items():
        relevant = {doc for doc, grade in inputs.qrels.get(query, {}).items() if grade >= inputs.rel}
        if relevant and answer.given is not None:
            found_at = (at for at, doc in enumerate(answer.given, start=1) if documents.get(doc, doc) in relevant)
            place = next(found_at, None)
            places[query] = _NONE if place is None else str(place) if place < PLACES else f"{PLACES} or more"
    return places


def _rows(
    answer_input: AnswerInput, system: str, result: MeasureResult, places: Mapping[str, str], level: float
) -> Iterator[tuple[CellValue, ...]]:
    values = result.per_query
    for place in sorted({*places.values()}):
        queries = tuple(query for query, own in places.items() if own == place and query in values)
        if queries:
            own = np.array([values[query] for query in queries])
            part = MeasureResult(result.measure, float(own.mean()), queries, own)
            yield system, place, len(queries), part.value, session_interval(part, answer_input.inputs.texts, level)

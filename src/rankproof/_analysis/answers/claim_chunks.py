"""Which chunk supports which claim, over all answers of a log."""

from __future__ import annotations

from collections.abc import Iterator

from rankproof._data.answers import Answers
from rankproof._data.claims import ClaimVerdict
from rankproof._data.sentences import sentence_spans
from rankproof._data.table import CellValue, Column, Table
from rankproof._results.experiment_result import ExperimentResult
from rankproof.errors import UsageError

CLAIM_CHUNKS_TABLE = "claim_chunks"


def claim_chunks(results: ExperimentResult) -> Table:
    """A row for each claim that was checked against contexts and each chunk that it rests on; without one, its chunk is empty."""
    evaluated = results.answers
    verdicts = [] if evaluated is None else [*evaluated.claims, *evaluated.repeat_claims]
    checked = [verdict for verdict in verdicts if verdict.against == "contexts"]
    if not checked:
        fix = "measure answers by claims, with -m Faithfulness or ContextR, and save them with -o"
        raise UsageError(f"{results.name} has no claims that were checked against contexts", fix=fix)
    answers = {run.name: run.answers for run in results.system_runs if run.answers is not None}
    columns = (
        *(
            Column("query"),
            Column("question"),
            Column("system"),
            Column("answer", "count", "1, or more if the question was answered again"),
        ),
        *(Column("side", "text", "answer or reference"), Column("claim", "count"), Column("text"), Column("verdict")),
        *(Column("score", "value"), Column("judge"), Column("place", "count", "of the chunk among the contexts, from 1")),
        *(Column("chunk", "text", "its id"), Column("sentence", "text", "of the chunk, that the verdict rests on")),
    )
    rows = (row for verdict in checked for row in _rows(verdict, _given(verdict, answers.get(verdict.system)), results))
    return Table(CLAIM_CHUNKS_TABLE, "Chunks that claims rest on", columns, tuple(rows))


def _given(verdict: ClaimVerdict, answers: Answers | None) -> tuple[str, ...]:
    if answers is None or verdict.query not in answers:
        return ()
    every = (answers[verdict.query], *answers.repeats.get(verdict.query, ()))
    return every[verdict.repeat - 1].given or () if verdict.repeat <= len(every) else ()


def _rows(verdict: ClaimVerdict, given: tuple[str, ...], results: ExperimentResult) -> Iterator[tuple[CellValue, ...]]:
    claim = verdict.claim
    question = results.texts[verdict.query].text if verdict.query in results.texts else None
    own = (verdict.query, question, verdict.system, verdict.repeat, claim.side, claim.n, claim.text, verdict.verdict)
    for place, sentence in verdict.evidence or ((None, None),):
        chunk = given[place - 1] if place is not None and place <= len(given) else None
        text = results.contexts.get(chunk, "") if chunk is not None else ""
        spans = sentence_spans(text)
        words = text[slice(*spans[sentence - 1])] if sentence is not None and 0 < sentence <= len(spans) else None
        yield *own, verdict.score, verdict.judge, place, chunk, words

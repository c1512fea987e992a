"""The page on how far people agree, on which pairs they differ, and which grade counts there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from rankproof._analysis.rater_agreement import agreement_tables, rater_agreement
from rankproof._data.text import pluralise
from rankproof._io.escape import json_block
from rankproof._report.elements import Section
from rankproof._results.experiment_result import ExperimentResult
from rankproof._server.judgement_log import (
    MAX_NOTE_LENGTH,
    LoggedJudgement,
    MergedJudgement,
    QueryAndDoc,
    adjudicated_grades,
    raters_of,
)
from rankproof._server.judging_page import (
    JudgingPage,
    check_person,
    record_change,
    requested_note,
    requested_pair,
    shown_line,
)
from rankproof._server.judging_queue import DocumentTexts, checked_grade, queue_items, rubric_of, scale_of
from rankproof._server.responses import HttpError, PageResponse, html_page, json_response, page_script
from rankproof.errors import UsageError, escape_invisible

MAX_SHOWN = 200
"""The largest number of pairs on the page; the others follow when these are adjudicated."""
MERGE_RULE = "The adjudicated grade counts; else the median of the grades, of two middle ones the lower."


@dataclass(frozen=True, slots=True)
class ShownJudgement:
    """The judgement of a pair by a person, as text of the page."""

    who: str
    grade: str
    when: str
    note: str


@dataclass(frozen=True, slots=True)
class DisputedPair:
    """A pair with different grades, as text of the page; `adjudication` is None if nobody decided."""

    query: str
    doc: str
    text: str
    passage: str
    judgements: tuple[ShownJudgement, ...]
    adjudication: ShownJudgement | None
    counts: int


class AgreementPage:
    """The page of agreement and its requests, on top of the judging page."""

    def __init__(self, judging: JudgingPage, texts: DocumentTexts) -> None:
        self._judging, self._log, self._texts = judging, judging.log, texts

    def page(self, id: str, results: ExperimentResult, assessor: str, *, everything: bool) -> PageResponse:
        """The agreement, and the pairs on which people differ; those that this person has not judged only with `everything`."""
        self._log.check_unchanged()
        self._log.check_collection(results.fingerprint)
        merged = self._log.merged()
        disputed = _disputed(merged)
        shown = [
            dispute for dispute in disputed if everything or any(record.assessor == assessor for record in dispute.individual)
        ]
        pairs = [self._shown(results, judgement) for judgement in shown[:MAX_SHOWN]]
        data = {
            "adjudicate": f"/r/{id}/adjudicate",
            "undo": f"/r/{id}/unadjudicate",
            "assessor": assessor,
            "pairs": [dispute.pair for dispute in shown[:MAX_SHOWN]],
        }
        return html_page(
            "agreement.html.j2",
            title=f"Agreement on {results.name}",
            id=id,
            script=page_script("changes.js", "agreement.js"),
            data=json_block(data),
            section=_agreement_section(merged),
            pairs=pairs,
            hidden=len(disputed) - len(shown),
            more=max(0, len(shown) - MAX_SHOWN),
            rubric=rubric_of(scale_of(results)),
            rule=MERGE_RULE,
            assessor=assessor,
            several=len(self._judging.assessors) > 1,
            longest_note=MAX_NOTE_LENGTH,
        )

    def _shown(self, results: ExperimentResult, judgement: MergedJudgement) -> DisputedPair:
        query, doc = judgement.pair
        items = list(queue_items(results, self._texts, [(query, doc, "")]))
        text, passage = (items[0].text, items[0].passage) if items else ("", "")
        judgements = tuple(_shown_judgement(record) for record in judgement.individual)
        adjudication = None if judgement.adjudication is None else _shown_judgement(judgement.adjudication)
        query, doc, text, passage = map(shown_line, (query, doc, text, passage))
        return DisputedPair(query, doc, text, passage, judgements, adjudication, judgement.grade)

    def adjudicate(self, results: ExperimentResult, body: dict[str, Any], assessor: str) -> PageResponse:
        """Saves the grade that counts for a pair."""
        pair, note = requested_pair(body), requested_note(body)
        grade = checked_grade(body.get("grade"), scale_of(results))
        check_person(body, assessor)
        record_change(lambda: self._log.adjudicate(pair, grade, results.fingerprint, assessor, note))
        return self._state(pair)

    def undo(self, results: ExperimentResult, body: dict[str, Any], assessor: str) -> PageResponse:
        """Takes the last adjudication of a pair back."""
        pair = requested_pair(body)
        check_person(body, assessor)
        record_change(lambda: self._log.undo_adjudication(pair, results.fingerprint, assessor))
        return self._state(pair)

    def _state(self, pair: QueryAndDoc) -> PageResponse:
        judgement = next((merged for merged in self._log.merged() if merged.pair == pair), None)
        if judgement is None:
            raise HttpError(409, "this pair has no grade; reload the page")
        shown = None if judgement.adjudication is None else asdict(_shown_judgement(judgement.adjudication))
        return json_response(200, {"adjudication": shown, "counts": judgement.grade})


def _disputed(merged: Iterable[MergedJudgement]) -> list[MergedJudgement]:
    """The pairs with different grades, then the adjudicated ones; of each, the largest difference first."""
    disputed = [judgement for judgement in merged if judgement.is_disputed]
    return sorted(disputed, key=lambda judgement: (judgement.adjudication is not None, -judgement.distance, judgement.pair))


def open_disagreements(merged: Iterable[MergedJudgement]) -> str:
    """A sentence on the pairs with different grades that nobody adjudicated; empty if there are none."""
    count = sum(judgement.adjudication is None for judgement in _disputed(merged))
    if not count:
        return ""
    return f"{pluralise(count, 'pair has', 'pairs have')} different grades that are not adjudicated: their lower median counts."


def _agreement_section(merged: list[MergedJudgement]) -> Section:
    """How far the people agree, in words and tables."""
    section = Section("agreement", "Agreement", "How far do the people agree?")
    raters = raters_of(merged)
    if len(raters) < 2:
        so_far = f"only {escape_invisible(raters[0].name)} has judged" if raters else "nobody has judged"
        return replace(section, lead=f"Agreement needs the grades of two people on the same pairs; so far {so_far}.")
    try:
        group, pairs, _ = agreement_tables(rater_agreement(raters, adjudicated_grades(merged)))
    except UsageError:
        return replace(section, lead="No pair has the grades of two people yet.")
    lead, *more = group.sentences
    return replace(section, lead=lead, sentences=tuple(more), tables=(group.without_sentences(), pairs.without_sentences()))


def _shown_judgement(record: LoggedJudgement) -> ShownJudgement:
    return ShownJudgement(
        escape_invisible(record.assessor), str(record.grade), escape_invisible(record.when), shown_line(record.note)
    )

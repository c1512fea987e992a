"""The views of judging: what a browser gets at each path, for the person who sits at it."""

from __future__ import annotations

from typing import Any

from rankproof._report.context import ReportContext
from rankproof._report.page import build_sections
from rankproof._report.sections import OPEN_SECTIONS
from rankproof._results.label_tasks import continued_draw
from rankproof._server.agreement_page import MERGE_RULE, AgreementPage, open_disagreements
from rankproof._server.judging_page import JudgingPage
from rankproof._server.judging_queue import DocumentTexts, JudgingQueue, QueueOptions, build_draw_queue, build_queue, new_draw
from rankproof._server.library import LibraryEntry, LruCache, ResultsLibrary, results_stamp
from rankproof._server.responses import HttpError, PageResponse, html_page

_MAX_QUEUES = 8


class JudgingViews:
    """The views of judging, all with the name that the browser chose; `judging` is None if judging is off."""

    def __init__(
        self, library: ResultsLibrary, judging: JudgingPage | None, texts: DocumentTexts, options: QueueOptions | None = None
    ) -> None:
        self._library, self._page, self._texts, self._options = library, judging, texts, options or QueueOptions()
        self._agreement = None if judging is None else AgreementPage(judging, texts)
        self._queues: LruCache[JudgingQueue] = LruCache(_MAX_QUEUES)

    @property
    def is_on(self) -> bool:
        """Whether people can judge."""
        return self._page is not None

    def judging(self, entry: LibraryEntry, *, chosen: str | None) -> PageResponse:
        """The judging page, or the choice of a person before it."""
        if self._page is None:
            return _judging_off()
        results = self._library.results(entry)
        assessor = self._page.assessor(chosen)
        if assessor is None:
            return self._page.choice(entry.id, results.name, chosen)
        return self._page.page(entry.id, results.name, self._queue(entry), assessor)

    def judge(self, entry: LibraryEntry, body: dict[str, Any], *, chosen: str | None) -> PageResponse:
        """Saves a grade."""
        page = self._required()
        return page.judge(self._queue(entry), body, page.required(chosen))

    def undo(self, entry: LibraryEntry, body: dict[str, Any], *, chosen: str | None) -> PageResponse:
        """Takes a grade back."""
        page = self._required()
        return page.undo(self._queue(entry), body, page.required(chosen))

    def choice(self, entry: LibraryEntry, *, chosen: str | None) -> PageResponse:
        """The choice of a person."""
        if self._page is None:
            return _judging_off()
        return self._page.choice(entry.id, self._library.results(entry).name, chosen)

    def choose(self, entry: LibraryEntry, body: dict[str, Any], *, chosen: str | None) -> PageResponse:
        """Keeps the chosen person in the browser."""
        return self._required().choose(body)

    def agreement(self, entry: LibraryEntry, *, chosen: str | None) -> PageResponse:
        """The agreement, and the pairs on which people differ, of those that this person has judged."""
        return self._show_agreement(entry, chosen, everything=False)

    def every_disagreement(self, entry: LibraryEntry, *, chosen: str | None) -> PageResponse:
        """The agreement, and all pairs on which people differ."""
        return self._show_agreement(entry, chosen, everything=True)

    def _show_agreement(self, entry: LibraryEntry, chosen: str | None, *, everything: bool) -> PageResponse:
        if self._page is None or self._agreement is None:
            return _judging_off()
        results = self._library.results(entry)
        assessor = self._page.assessor(chosen)
        if assessor is None:
            return self._page.choice(entry.id, results.name, chosen)
        return self._agreement.page(entry.id, results, assessor, everything=everything)

    def adjudicate(self, entry: LibraryEntry, body: dict[str, Any], *, chosen: str | None) -> PageResponse:
        """Saves an adjudicated grade."""
        assessor = self._required().required(chosen)
        assert self._agreement is not None, "a judging page has a page of agreement"
        return self._agreement.adjudicate(self._library.results(entry), body, assessor)

    def undo_adjudication(self, entry: LibraryEntry, body: dict[str, Any], *, chosen: str | None) -> PageResponse:
        """Takes an adjudicated grade back."""
        assessor = self._required().required(chosen)
        assert self._agreement is not None, "a judging page has a page of agreement"
        return self._agreement.undo(self._library.results(entry), body, assessor)

    def decision(self, entry: LibraryEntry, *, chosen: str | None) -> PageResponse:
        """The decision that the merged grades so far give."""
        if self._page is None:
            return _judging_off()
        context = ReportContext(self._page.measured(self._library.results(entry)))
        sections = build_sections(OPEN_SECTIONS, context)
        disputed = open_disagreements(self._page.log.merged())
        title = f"Decision on {context.results.name}"
        return html_page("decision.html.j2", title=title, id=entry.id, sections=sections, disputed=disputed, rule=MERGE_RULE)

    def _required(self) -> JudgingPage:
        if self._page is None:
            raise HttpError(404, "judging is off")
        return self._page

    def _queue(self, entry: LibraryEntry) -> JudgingQueue:
        return self._queues.get_or_create((entry.id, results_stamp(entry)), lambda: self._make_queue(entry))

    def _make_queue(self, entry: LibraryEntry) -> JudgingQueue:
        results, options = self._library.results(entry), self._options
        if options.questions is None or self._page is None:
            return build_queue(results, self._texts, options)
        log = self._page.log
        log.check_collection(results.fingerprint)
        draw = continued_draw(log.path, new_draw(results, options.seed))
        log.use_draw(draw)
        return build_draw_queue(results, self._texts, draw, options.questions)

    def drawn_queue(self, entry: LibraryEntry) -> JudgingQueue:
        """The documents of the drawn questions; an error if they cannot be labelled into the file."""
        return self._queue(entry)


def _judging_off() -> PageResponse:
    title, message = "Judging is off", "Start `rankproof serve` with --judge."
    return html_page("error.html.j2", status=404, title=title, message=message)

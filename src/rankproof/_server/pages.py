"""The routes of the server, and the comparison of two experiments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rankproof._analysis.changes.changes import compare_before_after
from rankproof._analysis.compare.comparison import Comparison, compare_inputs
from rankproof._analysis.compare.overview import Overview
from rankproof._analysis.inputs import AnalysisInput, input_from_results, join_inputs
from rankproof._report.changes_page import render_changes
from rankproof._report.context import ReportContext
from rankproof._report.elements import Section
from rankproof._report.live_page import render_live_report
from rankproof._report.page import build_sections, render_report
from rankproof._report.sections import OPEN_SECTIONS
from rankproof._report.sections.decision import comparison_decision, comparison_pairs, comparison_warnings
from rankproof._report.sections.systems import comparison_systems
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.label_tasks import continued_draw
from rankproof._results.live_results import is_live_folder, load_live_results
from rankproof._server.agreement_page import MERGE_RULE, AgreementPage, open_disagreements
from rankproof._server.api import ID_PATTERN, Api, Feature, Route, StaticModules, View
from rankproof._server.home import MOST_TRENDS, home_rows
from rankproof._server.judging_page import JudgingPage
from rankproof._server.judging_queue import DocumentTexts, JudgingQueue, QueueOptions, build_draw_queue, build_queue, new_draw
from rankproof._server.labelling import LabellingPages
from rankproof._server.library import (
    LibraryEntry,
    LruCache,
    ResultsLibrary,
    comparable_rows,
    labels_stamp,
    library_rows,
    results_stamp,
)
from rankproof._server.nuggets_page import NuggetsPage
from rankproof._server.responses import HTML, HttpError, PageResponse, html_page, module_page, text_response
from rankproof.errors import RankproofError

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

    @property
    def judging_page(self) -> JudgingPage | None:
        """The people and their log, None if judging is off."""
        return self._page

    @property
    def texts(self) -> DocumentTexts:
        """The texts of documents."""
        return self._texts

    @property
    def is_drawn(self) -> bool:
        """Whether the grades are of questions that are drawn at random: no other grade may come between them."""
        return self._options.questions is not None

    def judging(self, entry: LibraryEntry, *, chosen: str | None) -> PageResponse:
        """The judging page, or the choice of a person before it."""
        if self._page is None:
            return _judging_off()
        results = self._library.results(entry)
        assessor = self._page.assessor(chosen)
        if assessor is None:
            return self._page.choice(entry.id, results.name, chosen)
        self._page.check(results)
        return self._page.page(entry.id, results.name, self.queue_of(entry, assessor), assessor)

    def judge(self, entry: LibraryEntry, body: dict[str, Any], *, chosen: str | None) -> PageResponse:
        """Saves a grade."""
        page = self._required()
        assessor = page.required(chosen)
        return page.judge(self.queue_of(entry, assessor), body, assessor)

    def undo(self, entry: LibraryEntry, body: dict[str, Any], *, chosen: str | None) -> PageResponse:
        """Takes a grade back."""
        page = self._required()
        assessor = page.required(chosen)
        return page.undo(self.queue_of(entry, assessor), body, assessor)

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

    def queue_of(self, entry: LibraryEntry, assessor: str) -> JudgingQueue:
        """The queue of a person."""
        people = () if self._page is None else self._page.assessors
        return self._queue(entry).share_of(assessor, people, self._options.overlap)

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


@dataclass(frozen=True, slots=True)
class ExperimentPair:
    """Two experiments as one comparison: their names, and its sections."""

    names: tuple[str, str]
    comparison: Comparison
    sections: tuple[Section, ...]


def compare_experiments(before: ExperimentResult, after: ExperimentResult, labels: tuple[str, str]) -> ExperimentPair:
    """Compare all systems of two experiments; raises an error if their data differ."""
    inputs = [input_from_results(results) for results in (before, after)]
    names = _experiment_names(inputs, labels)
    both = join_inputs([replace(experiment, name=name) for experiment, name in zip(inputs, names, strict=True)])
    comparison = compare_inputs(both)
    warnings = comparison_warnings(both.result)
    sections = (
        comparison_decision(comparison),
        comparison_systems(comparison),
        *([warnings] if warnings else []),
        *comparison_pairs(comparison),
    )
    return ExperimentPair(names, comparison, sections)


def _experiment_names(inputs: Sequence[AnalysisInput], labels: tuple[str, str]) -> tuple[str, str]:
    """The names of the experiments; the names of their folders if equal, else numbered."""
    first, second = (experiment.name for experiment in inputs)
    if first != second:
        return first, second
    return labels if labels[0] != labels[1] else (f"{first} (1)", f"{second} (2)")


_MAX_REPORTS = 4
_MAX_COMPARISONS = 32
_CLAIM_PATTERN = "(?P<claim>[0-9a-f]{1,64})"
_REPORT_POLICY = "base-uri 'none'; form-action 'none'"
"""A report contains its own policy with the hashes of its script and style; this one adds to it."""

PairView = Callable[[LibraryEntry, LibraryEntry], PageResponse]


class Router:
    """Responds to all requests: `judging` has the pages for documents, `labelling` those for claims, `api` the JSON routes.

    `nuggets` is None without a file of nuggets. The pages of `features` come first.
    """

    def __init__(
        self,
        library: ResultsLibrary,
        judging: JudgingViews,
        labelling: LabellingPages,
        nuggets: NuggetsPage | None = None,
        api: Api | None = None,
        features: Sequence[Feature] = (),
    ) -> None:
        self._features = features
        self._api = api or Api(library, (), ())
        self._library, self._labelling, self._nuggets_page = library, labelling, nuggets
        self._judging = judging
        self._reports: LruCache[bytes] = LruCache(_MAX_REPORTS)
        self._comparisons: LruCache[PageResponse] = LruCache(_MAX_COMPARISONS)
        self._routes = (
            *(route for feature in (*features, StaticModules()) for route in feature.pages()),
            Route(re.compile("/"), {"GET": self._list}),
            Route(re.compile(f"/r/{ID_PATTERN}"), {"GET": self._report}),
            Route(re.compile(f"/r/{ID_PATTERN}/compare"), {"GET": self._comparison_choices}),
            Route(re.compile(f"/r/{ID_PATTERN}/compare/{ID_PATTERN}"), {"GET": self._comparison}),
            Route(re.compile(f"/r/{ID_PATTERN}/changes/{ID_PATTERN}"), {"GET": self._changes}),
            Route(re.compile(f"/r/{ID_PATTERN}/label"), {"GET": labelling.page, "POST": labelling.label}),
            Route(re.compile(f"/r/{ID_PATTERN}/unlabel"), {"POST": labelling.undo}),
            Route(re.compile(f"/r/{ID_PATTERN}/claim/{_CLAIM_PATTERN}"), {"GET": labelling.claim}),
            Route(re.compile(f"/r/{ID_PATTERN}/nuggets"), {"GET": self._nuggets, "POST": self._save_nuggets}),
            *_judging_routes(judging),
        )

    def answer(self, target: str, body: dict[str, Any] | None, assessor: str | None = None) -> PageResponse:
        """The response to a path; with a body it is a POST request. `assessor` is the name that the browser chose."""
        path, _, query = target.partition("?")
        if f"{path}/".startswith("/api/"):
            return self._api.answer(path, query, body, assessor)
        for pattern, views, by_person in self._routes:
            if match := pattern.fullmatch(path):
                view = views.get("GET" if body is None else "POST")
                if view is None:
                    return PageResponse(405, "text/plain", b"", headers={"Allow": ", ".join(views)})
                return self._call_view(partial(view, chosen=assessor) if by_person else view, match, body)
        return self._error_page(404, "Page not found", "The list of results links to all pages.")

    def _call_view(self, view: View, match: re.Match[str], body: dict[str, Any] | None) -> PageResponse:
        named = tuple(match.groupdict().values())
        entries = [self._library.entry(group) for group in match.groups()[: len(match.groups()) - len(named)]]
        if None in entries:
            return self._error_page(404, "Results not found", "The list of results shows all folders.")
        try:
            return view(*entries, *named) if body is None else view(*entries, body)
        except RankproofError as error:
            return (
                self._error_page(422, "This page cannot be shown", str(error)) if body is None else text_response(422, str(error))
            )

    def _list(self) -> PageResponse:
        rows = library_rows(self._library)
        homes = home_rows(rows)
        entries = {entry.id: entry for entry in self._library.entries()}
        labels = {home.row.id: self._labelling.counts(entries[home.row.id]) for home in homes}
        return module_page(
            "home.html.j2",
            "home.js",
            styles=["home.css"],
            title="Results",
            count=len(rows),
            rows=homes,
            unreadable=[row for row in rows if row.summary is None],
            trends=list({home.trend: home for home in homes if home.trend}.values())[:MOST_TRENDS],
            labels=labels,
            judge=self._judging.is_on,
            nuggets=None if self._nuggets_page is None else self._nuggets_page.counts(),
            actions={home.row.id: [] if home.summary.is_live else self._actions(home.row.id) for home in homes},
        )

    def _actions(self, id: str) -> list[tuple[str, str]]:
        return [link for feature in self._features for link in feature.actions(id)]

    def _report(self, entry: LibraryEntry) -> PageResponse:
        key = (entry.id, results_stamp(entry), labels_stamp(entry))
        body = self._reports.get_or_create(key, lambda: self._render_report(entry))
        return PageResponse(200, HTML, body, policy=_REPORT_POLICY)

    def _render_report(self, entry: LibraryEntry) -> bytes:
        if is_live_folder(entry.path):
            return render_live_report(load_live_results(entry.path), [("/", "All results")]).encode(errors="backslashreplace")
        links = [("/", "All results"), (f"/r/{entry.id}/compare", "Compare")]
        if self._judging.is_on:
            links.append((f"/r/{entry.id}/judge", "Judge"))
        if self._labelling.has_claims(entry):
            links.append((f"/r/{entry.id}/label", "Label claims"))
        actions = self._actions(entry.id)
        bench = next((path for path, words in actions if words == "Bench"), None)
        served = None if bench is None else {"bench": bench, "documents": f"/api/r/{entry.id}/bench/document"}
        page = render_report(self._library.results(entry), [*links, *actions], served=served)
        return page.encode(errors="backslashreplace")

    def _comparison_choices(self, entry: LibraryEntry) -> PageResponse:
        summary = self._readable_summary(entry)
        rows = comparable_rows(self._library, entry)
        return html_page("comparable.html.j2", title=f"Compare {summary.name}", id=entry.id, summary=summary, comparable=rows)

    def _comparison(self, first: LibraryEntry, second: LibraryEntry) -> PageResponse:
        return self._cached_pair(first, second, "compare", self._compare)

    def _changes(self, first: LibraryEntry, second: LibraryEntry) -> PageResponse:
        return self._cached_pair(first, second, "changes", self._render_changes)

    def _cached_pair(self, first: LibraryEntry, second: LibraryEntry, page: str, make: PairView) -> PageResponse:
        """A page on two different results, the older ones first."""
        if first.id == second.id:
            return self._error_page(409, "The two results are the same", "Choose two different results folders.")
        older, newer = sorted((first, second), key=self._made)
        key = (page, older.id, newer.id, results_stamp(older), results_stamp(newer))
        return self._comparisons.get_or_create(key, lambda: make(older, newer))

    def _made(self, entry: LibraryEntry) -> str:
        """When the experiment was run; empty if that is unknown."""
        return self._readable_summary(entry).made

    def _render_changes(self, before: LibraryEntry, after: LibraryEntry) -> PageResponse:
        try:
            changes = compare_before_after(self._library.results(before), self._library.results(after))
        except RankproofError as error:
            return self._error_page(409, "These experiments cannot be compared", str(error))
        links = [("/", "All results"), (f"/r/{before.id}/compare/{after.id}", "Compare")]
        return PageResponse(200, HTML, render_changes(changes, links).encode(errors="backslashreplace"), policy=_REPORT_POLICY)

    def _compare(self, before: LibraryEntry, after: LibraryEntry) -> PageResponse:
        results = self._library.results(before), self._library.results(after)
        try:
            experiments = compare_experiments(*results, (before.label, after.label))
        except RankproofError as error:
            return self._error_page(409, "These experiments cannot be compared", str(error))
        pair = [{"id": entry.id, "summary": self._readable_summary(entry), "label": entry.label} for entry in (before, after)]
        return html_page("comparison.html.j2", title=" and ".join(experiments.names), pair=pair, experiments=experiments)

    def _nuggets(self, entry: LibraryEntry) -> PageResponse:
        if self._nuggets_page is None:
            return self._error_page(404, "There is no file of nuggets", "Start `rankproof serve` with --nuggets FILE.")
        return self._nuggets_page.page(entry)

    def _save_nuggets(self, entry: LibraryEntry, body: dict[str, Any]) -> PageResponse:
        if self._nuggets_page is None:
            raise HttpError(404, "there is no file of nuggets")
        return self._nuggets_page.save(entry, body)

    def _readable_summary(self, entry: LibraryEntry) -> Overview:
        summary = self._library.summary(entry)
        if isinstance(summary, RankproofError):
            raise summary
        return summary

    def _error_page(self, status: int, title: str, message: str) -> PageResponse:
        return html_page("error.html.j2", status=status, title=title, message=message)


def _judging_routes(views: JudgingViews) -> Iterator[Route]:
    paths: dict[str, dict[str, View]] = {
        "judge": {"GET": views.judging, "POST": views.judge},
        "undo": {"POST": views.undo},
        "assessor": {"GET": views.choice, "POST": views.choose},
        "agreement": {"GET": views.agreement},
        "agreement/all": {"GET": views.every_disagreement},
        "adjudicate": {"POST": views.adjudicate},
        "unadjudicate": {"POST": views.undo_adjudication},
        "decision": {"GET": views.decision},
    }
    return (Route(re.compile(f"/r/{ID_PATTERN}/{path}"), path_views, by_person=True) for path, path_views in paths.items())

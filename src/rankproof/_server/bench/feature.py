"""The bench as a part of the server: its page and its routes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated

from markupsafe import Markup

from rankproof._analysis.compare.overview import Overview
from rankproof._analysis.explain.score import explain_pair
from rankproof._analysis.inputs import AnalysisInput, input_from_results
from rankproof._data.corpus import TextRecord
from rankproof._registry import Option
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.snippets import short_fields
from rankproof._server.api import ApiCall, ApiRoute, Feature, NoRequest, Route
from rankproof._server.bench.port import BenchPair, BenchView, DocumentPart
from rankproof._server.bench.queries import (
    SideRanking,
    bench_measure,
    bench_view,
    document_part,
    sides_of,
    stored_ranking,
)
from rankproof._server.home import home_rows
from rankproof._server.library import LibraryEntry, LruCache, ResultsLibrary, library_rows, results_stamp
from rankproof._server.responses import HttpError, PageResponse, module_page
from rankproof.errors import RankproofError, for_message

_MOST_OPEN = 3
MOST_CARDS = 100


@dataclass(frozen=True, slots=True)
class PairRequest:
    """Two systems on a query of the results."""

    query: Annotated[str, Option("the id of the query")]
    a: Annotated[str, Option("system A")]
    b: Annotated[str, Option("system B")]
    depth: Annotated[int, Option("how many documents of each ranking", least=1, most=MOST_CARDS)] = 10


@dataclass(frozen=True, slots=True)
class DocumentRequest:
    """A part of a document."""

    doc: Annotated[str, Option("the id of the document")]
    start: Annotated[int, Option("the first character of the part", least=0)] = 0


FindInResults = Callable[[LibraryEntry, ExperimentResult, str], TextRecord | None]
"""The document of results with an id, None if their dataset is not known here."""


@dataclass(frozen=True, eq=False, slots=True)
class BenchResults:
    """Results as the bench uses them, loaded once."""

    results: ExperimentResult
    overview: Overview
    inputs: AnalysisInput
    view: BenchView


class Bench(Feature):
    """The page /bench and its routes; `find` gives documents of the datasets."""

    def __init__(self, library: ResultsLibrary, find: FindInResults) -> None:
        self._library, self._find = library, find
        self._open: LruCache[BenchResults] = LruCache(_MOST_OPEN)

    def pages(self) -> Iterable[Route]:
        """The page; its address names the results, the query, the systems and the changes."""
        yield Route(re.compile("/bench"), {"GET": self._page})

    def actions(self, id: str) -> Iterable[tuple[str, str]]:
        """The link to the bench with these results."""
        yield f"/bench?r={id}", "Bench"

    def routes(self) -> Iterator[ApiRoute]:
        """The queries, two rankings side by side, and documents."""
        about = "the queries of the results in groups, and the systems"
        yield ApiRoute("GET", "/api/r/{id}/bench", about, NoRequest, BenchView, self._view)
        about = "two systems side by side on a query of the results"
        yield ApiRoute("GET", "/api/r/{id}/bench/pair", about, PairRequest, BenchPair, self._pair)
        about = "a part of the text of a document"
        yield ApiRoute("GET", "/api/r/{id}/bench/document", about, DocumentRequest, DocumentPart, self._document)

    def _page(self) -> PageResponse:
        rows = [home.row for home in home_rows(library_rows(self._library))]
        listed = [{"id": row.id, "name": row.summary.name if row.summary else "", "folder": row.label} for row in rows]
        # In a block of JSON, `<` could end the block.
        data = Markup(json.dumps(listed).replace("<", "\\u003c"))
        return module_page(
            "bench.html.j2", "bench.js", styles=["bench.css", "bench_people.css"], title="Bench", data=data, rows=rows
        )

    def bench_results(self, entry: LibraryEntry) -> BenchResults:
        """The results, loaded once for each state of their folder."""
        return self._open.get_or_create((entry.id, results_stamp(entry)), lambda: self._load(entry))

    def _load(self, entry: LibraryEntry) -> BenchResults:
        overview, results = self._library.summary(entry), self._library.results(entry)
        if isinstance(overview, RankproofError):
            raise overview
        inputs = input_from_results(results, needs_judgements=False)
        return BenchResults(results, overview, inputs, bench_view(entry.id, results, overview, self._before(entry)))

    def _before(self, entry: LibraryEntry) -> ExperimentResult | None:
        """The results before these on the same queries and judgements."""
        home = next((home for home in home_rows(library_rows(self._library)) if home.row.id == entry.id), None)
        if home is None or home.before is None or not home.can_compare:
            return None
        before = self._library.entry(home.before.id)
        return None if before is None else self._library.results(before)

    def _view(self, call: ApiCall, request: NoRequest) -> BenchView:
        return self.bench_results(call.entry).view

    def _pair(self, call: ApiCall, request: PairRequest) -> BenchPair:
        opened = self.bench_results(call.entry)
        results, query = opened.results, _known_query(opened.results, request.query)
        runs = [results.system_run(name) for name in (request.a, request.b)]
        rankings = [self.stored(opened, run.name, query) for run in runs]
        sides = sides_of(results, self.finder(call.entry, results), query, rankings, request.depth)
        text = results.texts.get(query)
        return BenchPair(
            query,
            "" if text is None else text.text,
            {} if text is None else short_fields(text),
            tuple(sides),
            self._why(opened, request),
        )

    def stored(self, opened: BenchResults, system: str, query: str) -> SideRanking:
        """The stored ranking of a system."""
        return stored_ranking(opened.inputs, opened.results.system_run(system), query, opened.view.measure)

    def _why(self, opened: BenchResults, request: PairRequest) -> tuple[str, ...]:
        measure = bench_measure(opened.results, opened.overview)
        is_judged = measure is not None and request.query in opened.results.result.queries
        if not is_judged or request.a == request.b:
            return ()
        return explain_pair(opened.inputs, request.a, request.b, str(measure), request.query)

    def finder(self, entry: LibraryEntry, results: ExperimentResult) -> Callable[[str], TextRecord | None]:
        """What gives the documents of these results."""
        return lambda doc: self._find(entry, results, doc)

    def _document(self, call: ApiCall, request: DocumentRequest) -> DocumentPart:
        record = self._find(call.entry, self._library.results(call.entry), request.doc)
        if record is None:
            raise HttpError(404, "the whole text is not known here: start `rankproof serve` with --dataset")
        return document_part(record, request.start)


def _known_query(results: ExperimentResult, query: str) -> str:
    if query not in results.queries:
        raise HttpError(404, f"the results have no query {for_message(query)}")
    return query

"""A results server on a real socket, and a client that sends exactly what a test sets."""

from __future__ import annotations

import http.client
import json
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rankproof._data.dataset import Dataset
from rankproof._data.qrels import Judgement, Qrels
from rankproof._evaluation.result import Result
from rankproof._io.paths import cache_home
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.folder import save_results
from rankproof._server.answers.feature import AnswerBench
from rankproof._server.api import Api, ApiRoute, Feature, Permission
from rankproof._server.bench.feature import Bench, FindInResults
from rankproof._server.bench.live import LiveBench
from rankproof._server.bench.queries import LibraryDocuments
from rankproof._server.cases.feature import CasesAndNotes
from rankproof._server.grading import Grading
from rankproof._server.home import HomeTrends
from rankproof._server.judgement_log import JudgementLog
from rankproof._server.judging_page import JudgingPage
from rankproof._server.judging_queue import DocumentTexts, QueueOptions
from rankproof._server.labelling import LabellingPages, LabelOptions
from rankproof._server.library import ResultsLibrary
from rankproof._server.nuggets_page import NuggetsPage
from rankproof._server.pages import JudgingViews, Router
from rankproof._server.server import Server
from rankproof._workbench.workbench import SystemsWorkbench
from support.small_results import small_results

MEASURES = ["nDCG@10", "RR@10"]
MOMENT = re.compile(r"@\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S* ")
BEFORE_STOP: list[Callable[[str], None]] = []
"""Called with the address of a server before it stops, as a page that asks a stopped server fails."""


def judged_in(path: Path) -> str:
    """The qrels that a person made, each line's moment taken out; a line without one is refused."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    assert all(MOMENT.search(line) for line in lines), lines
    return "".join(MOMENT.sub(" ", line) for line in lines)


@dataclass(frozen=True, slots=True)
class Response:
    """The response of the server."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


@dataclass(slots=True)
class Visitor:
    """Sends requests to one server; keeps the cookie that it is given."""

    url: str
    cookie: str = ""
    port: int = field(init=False)

    def __post_init__(self) -> None:
        self.port = urlsplit(self.url).port or 80

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def enter(self) -> Visitor:
        seen = self.request("GET", self.url.partition(self.host)[2])
        assert (seen.status, seen.headers["Location"]) == (303, "/")
        self.cookie = seen.headers["Set-Cookie"].partition(";")[0]
        return self

    def get(self, path: str, headers: Mapping[str, str | None] = {}) -> Response:
        return self.request("GET", path, headers=headers)

    def post(self, path: str, value: Any, headers: Mapping[str, str | None] = {}) -> Response:
        usual = {"Content-Type": "application/json", "Origin": f"http://{self.host}"}
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        return self.request("POST", path, body, {**usual, **headers})

    def request(self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str | None] = {}) -> Response:
        """A header of None is left out."""
        given = {"Host": self.host, **({"Cookie": self.cookie} if self.cookie else {}), **headers}
        if body is not None:
            given.setdefault("Content-Length", str(len(body)))
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                if value is not None:
                    connection.putheader(name, value)
            connection.endheaders(body)
            reply = connection.getresponse()
            return Response(reply.status, dict(reply.headers), reply.read().decode())
        finally:
            connection.close()


def usual_features(
    library: ResultsLibrary,
    views: JudgingViews,
    people: Sequence[str],
    permissions: Collection[Permission],
    documents: FindInResults | None = None,
) -> list[Feature]:
    """The features of `rankproof serve`."""
    writes = "edit" in permissions
    notes, answers = (kind(library, tuple(people), writes=writes) for kind in (CasesAndNotes, AnswerBench))
    bench = Bench(library, documents or LibraryDocuments(views.texts.dataset))
    live = LiveBench(bench, SystemsWorkbench(library, cache_home(), edit=writes))
    return [HomeTrends(library), bench, live, Grading(library, views), notes, answers]


@contextmanager
def serving(
    paths: Sequence[Path],
    judge: Path | None = None,
    dataset: Dataset | None = None,
    given: Mapping[str, ExperimentResult] | None = None,
    labels: LabelOptions | None = None,
    nuggets: Path | None = None,
    assessors: Sequence[str] = ("ann",),
    queue: QueueOptions | None = None,
    permissions: Collection[Permission] = (),
    routes: Callable[[ResultsLibrary], Iterable[ApiRoute]] = lambda library: (),
    features: Callable[[ResultsLibrary, JudgementLog | None], Sequence[Feature]] | None = None,
    documents: FindInResults | None = None,
) -> Iterator[Visitor]:
    """A server in a thread, and a visitor who has the address; an error inside fails the test."""
    log = None if judge is None else JudgementLog(str(judge))
    library = ResultsLibrary([str(path) for path in paths], given)
    labelling = LabellingPages(library, labels or LabelOptions("ann"))
    nuggets_page = None if nuggets is None else NuggetsPage(library, str(nuggets))
    judging = None if log is None else JudgingPage(log, *assessors)
    views = JudgingViews(library, judging, DocumentTexts(dataset), queue)
    parts = usual_features(library, views, assessors, permissions, documents) if features is None else features(library, log)
    allowed: set[Permission] = {*permissions}
    if log is not None and not views.is_drawn:
        allowed.add("judge")
    api = Api(library, allowed, (*routes(library), *(route for feature in parts for route in feature.routes())))
    router = Router(library, views, labelling, nuggets_page, api, parts)
    inside: list[Exception] = []
    with Server(0, router.answer, inside.append) as service:
        thread = threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            try:
                yield Visitor(service.auth.url)
            finally:
                for call in BEFORE_STOP:
                    call(service.auth.url)
        finally:
            service.shutdown()
            thread.join()
            labelling.close()
            for feature in parts:
                feature.close()
            if nuggets_page is not None:
                nuggets_page.close()
            if log is not None:
                log.close()
    assert not inside


def saved(folder: Path, results: ExperimentResult | None = None, **changes: Any) -> Path:
    """A results folder of small results."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    save_results(replace(results or small_results(highest=3), **changes), str(folder))
    return folder


def unjudged(results: ExperimentResult) -> ExperimentResult:
    """The results without their judgements."""
    systems = tuple(replace(system, measures={}, notes=()) for system in results.result.systems)
    return replace(results, qrels=Qrels({}), result=Result((), systems))


def judged_by_machine(results: ExperimentResult) -> ExperimentResult:
    """The results with their judgements as those of a language model."""
    rows = [Judgement(row.query, row.doc, row.grade, judge_label="llm:m:1") for row in results.qrels.rows()]
    return replace(results, qrels=Qrels(rows))


def many_pairs(queries: int = 40, docs: int = 8) -> ExperimentResult:
    """Results with some hundred unjudged pairs."""
    names = [f"q{at}" for at in range(queries)]
    return small_results(("one", "two"), names, [f"d{at}" for at in range(docs)], measures=MEASURES, highest=3)


def data_of(visitor: Visitor, path: str = "/r/1/judge") -> dict[str, Any]:
    """The data of the judging page."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', visitor.get(path).text)
    assert found
    return dict(json.loads(found[1]))

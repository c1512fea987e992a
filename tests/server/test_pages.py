"""The list, the reports and the comparison: what is there is found, what is hostile is inert."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from rankproof._analysis.changes.changes import compare_before_after
from rankproof._analysis.compare.comparison import compare_inputs
from rankproof._analysis.compare.overview import overview_of
from rankproof._analysis.inputs import input_from_results, join_inputs
from rankproof._report.changes_page import render_changes
from rankproof._report.page import render_report
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.folder import load_results, save_results
from rankproof._server.library import LruCache, ResultsLibrary
from rankproof._server.pages import compare_experiments
from rankproof._server.responses import html_page
from rankproof.errors import RankproofError, UsageError
from support.before_after import before_after
from support.examples import sampled
from support.hostile_strings import STRINGS
from support.plot_results import wide_results
from support.results_server import Visitor, saved, serving
from support.small_results import small_results


class Elements(HTMLParser):
    """The elements, attributes and texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def links(self) -> list[str]:
        return [str(given["href"]) for tag, given in self.found if tag == "a"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two experiments on the same data, one on other data, one that is damaged, one of another program, and no results."""
    home = tmp_path_factory.mktemp("home")
    saved(home / "old", small_results(("bm25", "dense")), provenance={"created": "2026-01-01T00:00:00Z", "dataset": "tiny"})
    saved(home / "new", small_results(("bm25", "late", "rerank")), name="newer", provenance={"created": "2026-02-01T00:00:00Z"})
    saved(home / "other", small_results(queries=("a", "b")), name="elsewhere", fingerprint="e" * 64)
    (saved(home / "damaged") / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n")
    (home / "foreign").mkdir()
    (home / "foreign" / "result.json").write_text("{}")
    (home / "empty").mkdir()
    return home


@pytest.fixture
def guest(home: Path) -> Iterator[Visitor]:
    with serving([home]) as visitor:
        yield visitor.enter()


def ids(visitor: Visitor) -> dict[str, str]:
    """The name of each experiment in the list with its id."""
    return dict(map(reversed, re.findall(r'<a class="name" href="/r/(\d+)">([^<]*)</a>', visitor.get("/").text)))


def test_the_list_shows_each_experiment_newest_first(guest: Visitor) -> None:
    page = guest.get("/").text
    assert list(ids(guest)) == ["newer", "small", "elsewhere"]
    for words in (
        "tiny",
        "2026-01-01 00:00:00 UTC",
        "bm25, late, rerank",
        "Not decided: a decision needs at least 30 queries",
        "ffffffffffff",
        "folder old",
    ):
        assert words in page


def test_unreadable_folders_are_listed_with_the_reason(guest: Visitor) -> None:
    page = guest.get("/").text
    assert "qrels.tsv: the file was changed after the results were written" in page
    assert "foreign/result.json: not a result of rankproof" in page
    assert "5 experiments" in page


def test_the_list_shows_no_value_of_a_folder_without_its_rankings(tmp_path: Path) -> None:
    folder = saved(tmp_path / "results", small_results(("bm25", "dense")))
    (folder / "runs" / "dense.trec.gz").unlink()
    with serving([folder]) as visitor:
        assert not ids(visitor.enter())
        assert "dense.trec.gz: file not found" in visitor.get("/").text
        saved(folder, small_results(("bm25", "dense")))
        assert list(ids(visitor)) == ["small"]


def test_the_error_of_an_unreadable_folder_is_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = saved(tmp_path / "results")
    (folder / "qrels.tsv").write_bytes(b"")
    library = ResultsLibrary([str(folder)])
    (entry,) = library.entries()
    first = library.summary(entry)
    monkeypatch.setattr("rankproof._server.library.overview_of", lambda _: pytest.fail("read again"))
    assert isinstance(first, RankproofError)
    assert library.summary(entry) is first


def test_the_summary_equals_that_of_the_loaded_results(home: Path) -> None:
    for name in ("old", "new", "other"):
        results, found = load_results(home / name), overview_of(load_results(home / name))
        assert found.systems == tuple(system_run.name for system_run in results.system_runs)
        assert (found.name, found.queries) == (results.name, len(results.result.queries))
        assert found.decision == compare_inputs(input_from_results(results)).decision.sentences[0]
        assert found.data == (results.qrels.fingerprint(), results.fingerprint)


def test_a_folder_that_cannot_be_decided_is_listed_without_a_decision(tmp_path: Path) -> None:
    folder = saved(tmp_path / "results", small_results(measures=["NumRet"]))
    assert overview_of(load_results(folder)).decision == ""
    with serving([folder]) as visitor:
        assert "Not decided" not in visitor.enter().get("/").text


def test_a_repaired_folder_is_read_again(tmp_path: Path) -> None:
    folder = saved(tmp_path / "results")
    whole = (folder / "qrels.tsv").read_bytes()
    (folder / "qrels.tsv").write_bytes(b"")
    with serving([folder]) as visitor:
        assert "This results folder cannot be read" in visitor.enter().get("/").text
        (folder / "qrels.tsv").write_bytes(whole)
        assert list(ids(visitor)) == ["small"]


def test_a_broken_folder_does_not_hide_the_others(tmp_path: Path) -> None:
    saved(tmp_path / "good", name="good")
    strange = saved(tmp_path / "strange", small_results(measures=["nDCG@10"])) / "result.json"
    document = json.loads(strange.read_text())
    for system in document["systems"]:
        system["measures"] = {}
    strange.write_text(json.dumps(document))
    with serving([tmp_path]) as visitor:
        assert list(ids(visitor.enter())) == ["good"]
        assert "strange/result.json: the systems have no measures" in visitor.get("/").text


def test_an_unreadable_folder_has_an_error_page(guest: Visitor) -> None:
    known = set(ids(guest).values())
    for unread in {str(each) for each in range(1, 6)} - known:
        seen = guest.get(f"/r/{unread}")
        assert seen.status == 422
        assert "This page cannot be shown" in seen.text


def test_the_report_is_that_of_the_report_command_with_links(guest: Visitor, home: Path) -> None:
    seen = guest.get(f"/r/{ids(guest)['newer']}")
    results = ResultsLibrary([str(home / "new")]).results(ResultsLibrary([str(home / "new")]).entries()[0])
    newer = ids(guest)["newer"]
    served = {"bench": f"/bench?r={newer}", "documents": f"/api/r/{newer}/bench/document"}
    whole = render_report(results, served=served)
    assert seen.status == 200
    assert re.sub(r' <span class="beside"><a href="/">.*?</span>', "", seen.text, count=1) == whole
    assert "&lt;a href" not in seen.text
    assert "/" in Elements(seen.text).links()


def test_a_report_is_rendered_again_when_the_results_change(tmp_path: Path) -> None:
    folder = saved(tmp_path / "results")
    with serving([folder]) as visitor:
        visitor.enter()
        first = visitor.get("/r/1").text
        assert visitor.get("/r/1").text == first
        saved(folder, small_results(("one", "two")), name="renamed")
        assert "renamed" in visitor.get("/r/1").text
        assert "renamed" in visitor.get("/").text


def test_a_new_experiment_appears_in_the_list_and_no_id_changes(tmp_path: Path) -> None:
    saved(tmp_path / "b", name="first")
    with serving([tmp_path]) as visitor:
        visitor.enter()
        before = ids(visitor)
        saved(tmp_path / "a", name="second")
        assert ids(visitor) == {**before, "second": "2"}


def test_two_experiments_on_the_same_data_are_compared(guest: Visitor) -> None:
    known = ids(guest)
    offered = guest.get(f"/r/{known['newer']}/compare").text
    path = f"/r/{known['newer']}/compare/{known['small']}"
    assert path in Elements(offered).links()
    assert f"/compare/{known['elsewhere']}" not in offered
    assert "Different data: fingerprints of judgements" in offered
    seen = guest.get(path)
    assert seen.status == 200
    assert "small/bm25" in seen.text
    assert "newer/bm25" in seen.text
    assert "dense vs late" in seen.text


def test_what_changed_goes_from_the_older_experiment_to_the_newer(guest: Visitor) -> None:
    known = ids(guest)
    old, new = known["small"], known["newer"]
    for one, other in ((old, new), (new, old)):
        compared = guest.get(f"/r/{one}/compare/{other}").text
        assert "What changed from old to new, query by query" in compared
        assert f"/r/{old}/changes/{new}" in Elements(compared).links()
        facts = " ".join(guest.get(f"/r/{one}/changes/{other}").text.split())
        assert facts.index("2026-01-01") < facts.index("2026-02-01")


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_winner_does_not_depend_on_the_order_of_the_experiments(order: tuple[int, int]) -> None:
    queries = [f"q{at}" for at in range(40)]
    results = wide_results(["poor", "fair", "good", "strong"], queries, measures=["nDCG@10", "RR@10"])
    parts = [_only(results, ("poor", "good"), "old"), _only(results, ("fair", "strong"), "new")]
    found = compare_experiments(parts[order[0]], parts[order[1]], ("one", "two")).comparison
    assert found.decision.leader == "strong"
    whole = compare_inputs(input_from_results(results)).decision
    assert {one.name: one.value for one in found.decision.by_system} == {one.name: one.value for one in whole.by_system}


def test_the_page_of_two_experiments_shows_the_decision_of_compare(tmp_path: Path) -> None:
    queries = [f"q{at}" for at in range(40)]
    results = wide_results(["poor", "fair", "good", "strong"], queries, measures=["nDCG@10", "RR@10"])
    parts = [_only(results, ("poor", "good"), "old"), _only(results, ("fair", "strong"), "new")]
    paths = [Path(save_results(part, tmp_path / part.name)) for part in parts]
    found = compare_inputs(join_inputs([input_from_results(part) for part in parts]))
    with serving(paths) as visitor:
        visitor.enter()
        text = unescape(visitor.get("/r/1/compare/2").text).replace("\u00a0", " ")
    assert all(sentence in text for sentence in found.decision.sentences)
    assert "RR@10, exploratory: every pair of systems" in text


def _only(results: ExperimentResult, names: tuple[str, ...], name: str) -> ExperimentResult:
    """The results with these systems only."""
    system_runs = tuple(replace(system_run, builds_on=None) for system_run in results.system_runs if system_run.name in names)
    systems = tuple(system for system in results.result.systems if system.name in names)
    return replace(results, name=name, system_runs=system_runs, result=replace(results.result, systems=systems))


def test_different_data_are_not_compared(guest: Visitor) -> None:
    known = ids(guest)
    seen = guest.get(f"/r/{known['small']}/compare/{known['elsewhere']}")
    assert seen.status == 409
    assert "are about different data" in seen.text
    assert guest.get(f"/r/{known['small']}/compare/{known['small']}").status == 409


def test_experiments_with_equal_names_are_named_by_their_folders(tmp_path: Path) -> None:
    paths = [saved(tmp_path / "one"), saved(tmp_path / "two"), saved(tmp_path / "deep" / "one")]
    with serving(paths) as visitor:
        visitor.enter()
        assert "one/late vs two/bm25" in visitor.get("/r/1/compare/2").text
        assert "small (1)/late vs small (2)/bm25" in visitor.get("/r/1/compare/3").text


def test_without_judging_there_is_no_judging_page(guest: Visitor) -> None:
    first = next(iter(ids(guest).values()))
    assert guest.get(f"/r/{first}/judge").status == 404
    assert guest.post(f"/r/{first}/judge", {"query": "q1", "doc": "d2", "grade": 1}).status == 404
    assert not [link for link in Elements(guest.get("/").text).links() if "judge" in link]


@pytest.mark.parametrize("text", sampled(STRINGS, 8))
def test_hostile_text_is_text_on_every_page(text: str, tmp_path: Path) -> None:
    results = replace(
        small_results((text, f"{text}2"), queries=("q1", "q2")),
        name=text,
        provenance={"dataset": text, "created": text},
        snippets={f"d{at}": text for at in range(1, 5)},
        fingerprint=text,
        notes=(text,),
    )
    paths = [saved(tmp_path / "one", results), saved(tmp_path / "two", results)]
    with serving(paths, judge=tmp_path / "my.qrels") as visitor:
        visitor.enter()
        for path in ("/", "/r/1/compare", "/r/1/compare/2", "/r/1/judge"):
            seen = visitor.get(path)
            assert seen.status == 200
            assert_inert(seen.text, path)


def assert_inert(page: str, path: str) -> None:
    """Nothing in the page runs, loads or hides that is not ours."""
    found = Elements(page).found
    tags = [tag for tag, _ in found]
    assert tags.count("script") == {"judge": 2, "": 1}.get(path.rpartition("/")[2], 0)
    assert (tags.count("style"), tags.count("title"), tags.count("link")) == (1, 1, 1)
    assert not {"img", "svg", "base", "iframe", "object", "form"} & set(tags)
    sources = [given["src"] for _, given in found if "src" in given]
    assert sources == {"/": ["/static/home.js"], "/r/1/judge": ["/static/judge.js"]}.get(path, [])
    assert not [name for _, given in found for name in given if name.startswith("on") or name == "style"]
    assert all(link.startswith(("/", "#")) for link in Elements(page).links())
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2028\u2029]", page)


def test_a_folder_without_results_is_rejected_at_the_start(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere", Path(__file__)):
        with pytest.raises(UsageError, match="is not a results folder and contains none"):
            ResultsLibrary([str(path)])


def test_a_folder_given_twice_is_listed_once(tmp_path: Path) -> None:
    saved(tmp_path / "one")
    library = ResultsLibrary([str(tmp_path), str(tmp_path / "one"), f"{tmp_path}/./one"])
    assert [entry.label for entry in library.entries()] == ["one"]


def test_the_least_recently_used_value_is_evicted_first() -> None:
    made: list[str] = []
    kept: LruCache[str] = LruCache(2)
    for key in "abacb":
        kept.get_or_create(key, lambda key=key: made.append(key) or key)  # type: ignore[misc,func-returns-value]
    assert made == ["a", "b", "c", "b"]


def test_a_failed_value_is_not_cached_and_is_tried_again() -> None:
    kept: LruCache[str] = LruCache(2)
    for key in range(5):
        with pytest.raises(ZeroDivisionError):
            kept.get_or_create(key, lambda: str(1 // 0))
    assert not kept._making
    assert kept.get_or_create(1, lambda: "made") == "made"


def test_a_template_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    html_page("error.html.j2", title="a", message="b")
    monkeypatch.setattr("rankproof._server.responses._text", lambda *_: pytest.fail("read again"))
    assert b"second" in html_page("error.html.j2", title="a", message="second").body


def test_the_page_on_what_changed_is_that_of_the_report(tmp_path: Path) -> None:
    paths = [tmp_path / "one", tmp_path / "two"]
    for path, results in zip(paths, before_after(), strict=True):
        save_results(results, path)
    expected = render_changes(compare_before_after(*map(load_results, paths)))
    with serving(paths) as visitor:
        visitor.enter()
        assert "/r/1/changes/2" in visitor.get("/r/1/compare/2").text
        page = visitor.get("/r/1/changes/2")
        assert page.status == 200
        assert page.text.partition("<main")[2] == expected.partition("<main")[2]
        assert visitor.get("/r/1/changes/1").status == 409

"""Judging by a person: what is asked, what is kept, and that nothing is lost between tabs."""

import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from rankproof._data.corpus import Corpus, Document
from rankproof._data.dataset import Dataset
from rankproof._formats.read import read_qrels
from rankproof._results.experiment_result import ExperimentResult
from rankproof._server.judging_queue import MAX_PASSAGE_LENGTH, DocumentTexts, QueueOptions, build_queue
from support.results_server import Visitor, data_of, judged_by_machine, judged_in, many_pairs, saved, serving, unjudged
from support.small_results import small_results

PAIR = {"query": "q1", "doc": "d2"}


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    return tmp_path / "my.qrels"


@pytest.fixture
def guest(tmp_path: Path, judged: Path) -> Iterator[Visitor]:
    with serving([saved(tmp_path / "results")], judge=judged) as visitor:
        yield visitor.enter()


def test_the_page_has_every_unjudged_pair_with_its_texts_and_without_its_ranks(guest: Visitor) -> None:
    data = data_of(guest)
    assert sorted((query, doc) for query, doc, *_ in data["pairs"]) == [(f"q{at}", f"d{n}") for at in (1, 2, 3) for n in (2, 3)]
    assert ["q1", "d2", "q1", "d2", "what is 0?", "the text of 1 · \\u202e"] in data["pairs"]
    assert (data["grades"], data["last"]) == ({}, None)
    assert not re.search("bm25|hybrid", guest.get("/r/1/judge").text)


def test_a_grade_is_saved_at_once_and_only_then_are_the_ranks_shown(guest: Visitor, judged: Path) -> None:
    seen = guest.post("/r/1/judge", {**PAIR, "grade": 2})
    assert seen.status == 200
    assert judged_in(judged) == "q1 human:ann d2 2\n"
    assert (seen.json["grade"], seen.json["system_ranks"]) == (2, "bm25 2, dense 1, hybrid 4, late 3")
    data = data_of(guest)
    place = [pair[:2] for pair in data["pairs"]].index(["q1", "d2"])
    assert (data["grades"], data["last"]) == ({str(place): 2}, place)


def test_undo_removes_the_grade(guest: Visitor, judged: Path) -> None:
    guest.post("/r/1/judge", {**PAIR, "grade": 2})
    guest.post("/r/1/judge", {**PAIR, "grade": 0})
    assert guest.post("/r/1/undo", PAIR).json["grade"] == 2
    assert judged_in(judged) == "q1 human:ann d2 2\n"
    assert guest.post("/r/1/undo", PAIR).json == {"grade": None, "system_ranks": "", "grades": {}}
    assert guest.post("/r/1/undo", PAIR).status == 409


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({**PAIR, "grade": 4}, "the grade must be one of 0, 1, 2, 3"),
        ({**PAIR, "grade": -1}, "the grade must be"),
        ({**PAIR, "grade": "2"}, "the grade must be"),
        ({**PAIR, "grade": True}, "the grade must be"),
        ({**PAIR, "grade": 1.0}, "the grade must be"),
        ({**PAIR, "grade": None}, "the grade must be"),
        (PAIR, "the grade must be"),
        ({"query": "q1", "doc": "d1", "grade": 1}, "this pair is not in the list"),
        ({"query": "q1", "doc": "../d2", "grade": 1}, "this pair is not in the list"),
        ({"query": ["q1"], "doc": "d2", "grade": 1}, "query and doc must be strings"),
        ({"grade": 1}, "query and doc must be strings"),
    ],
)
def test_an_invalid_judgement_is_rejected(guest: Visitor, judged: Path, body: dict[str, object], words: str) -> None:
    seen = guest.post("/r/1/judge", body)
    assert (seen.status, words in seen.text) == (400, True)
    assert not judged.exists()


def test_two_tabs_that_judge_at_the_same_time_lose_no_judgement(tmp_path: Path, judged: Path) -> None:
    with serving([saved(tmp_path / "results", many_pairs(12, 6))], judge=judged) as visitor:
        visitor.enter()
        pairs = [(query, doc) for query, doc, *_ in data_of(visitor)["pairs"]]
        wanted = {pair: at % 4 for at, pair in enumerate(pairs)}

        def judge(pair: tuple[str, str]) -> int:
            return visitor.post("/r/1/judge", {"query": pair[0], "doc": pair[1], "grade": wanted[pair]}).status

        with ThreadPoolExecutor(4) as tabs:
            assert set(tabs.map(judge, pairs)) == {200}
        assert len(data_of(visitor)["grades"]) == len(pairs)
    found = read_qrels(judged)
    assert {(query, doc): grade for query, docs in found.items() for doc, grade in docs.items()} == wanted
    assert len(Path(f"{judged}.log.jsonl").read_text().splitlines()) == len(pairs) + 1


def test_a_pair_judged_in_two_tabs_has_the_grade_of_one_of_them(guest: Visitor, judged: Path) -> None:
    with ThreadPoolExecutor(4) as tabs:
        seen = list(tabs.map(lambda grade: guest.post("/r/1/judge", {**PAIR, "grade": grade % 4}), range(16)))
    assert {each.status for each in seen} == {200}
    assert len(judged.read_text().splitlines()) == 1


def test_a_later_server_has_the_earlier_judgements(tmp_path: Path, judged: Path) -> None:
    folder = saved(tmp_path / "results")
    with serving([folder], judge=judged) as visitor:
        visitor.enter().post("/r/1/judge", {**PAIR, "grade": 3})
    with serving([folder], judge=judged) as visitor:
        assert list(data_of(visitor.enter())["grades"].values()) == [3]


def test_results_of_two_datasets_are_not_judged_into_one_file(tmp_path: Path, judged: Path) -> None:
    paths = [saved(tmp_path / "one"), saved(tmp_path / "two", fingerprint="e" * 64)]
    with serving(paths, judge=judged) as visitor:
        visitor.enter().post("/r/1/judge", {**PAIR, "grade": 3})
        assert visitor.get("/r/2/judge").status == 422
        assert visitor.post("/r/2/judge", {**PAIR, "grade": 1}).status == 409
    assert judged_in(judged) == "q1 human:ann d2 3\n"


def test_pairs_without_text_or_with_invalid_ids_are_left_out_and_counted(tmp_path: Path, judged: Path) -> None:
    results = small_results(queries=("q1", "q 2"), docs=("d1", "d2", "d3", "d4"))
    shown = {doc: text for doc, text in results.snippets.items() if doc != "d3"}
    with serving([saved(tmp_path / "results", replace(results, snippets=shown))], judge=judged) as visitor:
        visitor.enter()
        assert [pair[:2] for pair in data_of(visitor)["pairs"]] == [["q1", "d2"]]
        assert "3 more pairs cannot be judged here" in visitor.get("/r/1/judge").text


def test_a_file_changed_by_another_program_is_not_overwritten(guest: Visitor, judged: Path) -> None:
    guest.post("/r/1/judge", {**PAIR, "grade": 3})
    judged.write_text("mine\n")
    seen = guest.post("/r/1/judge", {**PAIR, "grade": 1})
    assert (seen.status, "was changed by another program" in seen.text) == (409, True)
    assert judged.read_text() == "mine\n"


def test_a_fully_judged_experiment_has_an_empty_queue(tmp_path: Path, judged: Path) -> None:
    with serving([saved(tmp_path / "results", small_results(docs=("d1", "d2")))], judge=judged) as visitor:
        page = visitor.enter().get("/r/1/judge").text
    assert "There are no pairs to judge" in page
    assert "Nothing is left" not in page


def test_of_too_many_pairs_those_that_systems_rank_most_differently_are_queued(monkeypatch: pytest.MonkeyPatch) -> None:
    results = many_pairs()
    every = build_queue(results, DocumentTexts())
    monkeypatch.setattr("rankproof._server.judging_queue.MAX_CANDIDATES", 50)
    some = build_queue(results, DocumentTexts())
    assert (every.is_sampled, some.is_sampled) == (False, True)
    assert len(some.items) == 50 < len(every.items)
    assert set(some.items) <= set(every.items)
    asked = list(some.items)
    assert [pair for pair in every.items if pair in some.items] == asked
    assert set(list(every.items)[:40]) <= set(asked)


def test_a_sampled_queue_is_noted_on_the_page(guest: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankproof._server.judging_queue.MAX_CANDIDATES", 3)
    assert "too many unjudged pairs to rank all" in guest.get("/r/1/judge").text
    assert len(data_of(guest)["pairs"]) == 3


def dataset_of(results: ExperimentResult) -> Dataset:
    """A dataset of the results; one document is long, another too long for a page."""
    texts = {"d1": "short", "d2": "long words " * 100, "d3": "w" * (MAX_PASSAGE_LENGTH + 1), "d4": "short"}
    return Dataset("tiny", Corpus([Document(doc, text, title="") for doc, text in texts.items()]), results.texts, results.qrels)


def test_a_truncated_passage_is_marked(tmp_path: Path, judged: Path) -> None:
    snippets = {**small_results().snippets, "d2": f"{'x' * 300}…"}
    with serving([saved(tmp_path / "results", snippets=snippets)], judge=judged) as visitor:
        data, page = data_of(visitor.enter()), visitor.get("/r/1/judge").text
    assert {data["pairs"][at][1] for at in data["beginnings"]} == {"d2"}
    assert len(data["beginnings"]) == 3
    assert "Only the beginning of the document is shown" in page
    assert "with <code>--dataset</code> to show full documents" in page


def test_with_the_dataset_passages_are_complete(tmp_path: Path, judged: Path) -> None:
    results = small_results()
    dataset = dataset_of(results)
    fitting = saved(tmp_path / "results", results, fingerprint=dataset.fingerprint(), snippets={"d2": f"{'x' * 300}…"})
    with serving([fitting], judge=judged, dataset=dataset) as visitor:
        data = data_of(visitor.enter())
    passages = {pair[1]: pair[5] for pair in data["pairs"]}
    assert passages == {"d2": ("long words " * 100).strip(), "d3": f"{'w' * MAX_PASSAGE_LENGTH}…"}
    assert {data["pairs"][at][1] for at in data["beginnings"]} == {"d3"}


def test_the_texts_of_another_dataset_are_not_shown(tmp_path: Path, judged: Path) -> None:
    results = small_results()
    with serving([saved(tmp_path / "results", results)], judge=judged, dataset=dataset_of(results)) as visitor:
        assert not any("long words" in pair[5] for pair in data_of(visitor.enter())["pairs"])


@pytest.mark.parametrize(("grade", "offered"), [(4, 5), (3, 4), (2, 3), (1, 2)])
def test_the_grades_on_offer_are_those_of_the_judgements_of_the_results(
    grade: int, offered: int, tmp_path: Path, judged: Path
) -> None:
    with serving([saved(tmp_path / "results", small_results(highest=grade))], judge=judged) as visitor:
        page = visitor.enter().get("/r/1/judge").text
        query, doc, *_ = data_of(visitor)["pairs"][0]
        refused = visitor.post("/r/1/judge", {"query": query, "doc": doc, "grade": offered})
    assert page.count("data-grade=") == offered
    assert ("<b>an answer</b>" in page) is (grade == 3)
    assert (refused.status, "the grade must be one of" in refused.text) == (400, True)


def test_grades_of_another_scale_are_not_continued(tmp_path: Path, judged: Path) -> None:
    folders = [saved(tmp_path / f"{highest}", small_results(highest=highest)) for highest in (3, 1)]
    with serving(folders, judge=judged) as visitor:
        query, doc, *_ = data_of(visitor.enter())["pairs"][0]
        assert visitor.post("/r/1/judge", {"query": query, "doc": doc, "grade": 3}).status == 200
        page = visitor.get("/r/2/judge")
    assert page.status == 422
    assert "has the grade 3, and the judgements of the results are from 0 to 1; restart with another file" in page.text


def test_judgements_of_a_language_model_have_the_scale_of_its_rubric(tmp_path: Path, judged: Path) -> None:
    with serving([saved(tmp_path / "results", judged_by_machine(small_results(highest=2)))], judge=judged) as visitor:
        assert visitor.enter().get("/r/1/judge").text.count("data-grade=") == 4


@pytest.mark.parametrize(("overlap", "shared"), [(0.0, 0), (0.25, 10), (0.5, 20), (1.0, 40)])
def test_queries_are_shared_out_with_the_chosen_overlap(overlap: float, shared: int) -> None:
    queue = build_queue(unjudged(many_pairs(queries=40)), DocumentTexts(), QueueOptions(10))
    people = ("ann", "bob", "cem")
    parts = [set(queue.share_of(person, people, overlap).queries) for person in people]
    assert set().union(*parts) == set(queue.queries)
    assert len(set.intersection(*parts)) == shared
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    counts = Counter(query for part in parts for query in part)
    assert set(counts.values()) <= {1, 3}

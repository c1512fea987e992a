"""The live routes of the bench: typed queries, settings of B with their effect, jobs, and what they refuse."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankproof import compare, load_results
from support.bench_systems import bench_serving, saved_systems
from support.results_server import Visitor

CHANGED = {"a": "bm25", "b": "fused", "changes": {"weights": [0.2, 0.8]}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_systems(tmp_path_factory.mktemp("live") / "first")


@pytest.fixture(scope="module")
def guest(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    with bench_serving(folder, cache=tmp_path_factory.mktemp("cache")) as visitor:
        yield visitor.enter()


def ask(guest: Visitor, route: str, body: Any, status: int = 200) -> Any:
    reply = guest.post(f"/api/r/1/bench/{route}", body)
    assert reply.status == status, reply.text
    return reply.json if status == 200 else reply.text


def ended(guest: Visitor, job: Any) -> Any:
    state = job
    until = time.monotonic() + 60
    while state["status"] == "running" and time.monotonic() < until:
        time.sleep(0.05)
        state = guest.get(f"/api/job?job={job['job']}").json
    return state


def test_a_typed_query_is_answered_with_texts_and_without_grades(guest: Visitor) -> None:
    side = ask(guest, "search", {"system": "bm25", "text": "  jelly without gelatine "})
    assert side["system"] == "bm25"
    assert len(side["cards"]) == 10
    assert all(card["grade"] is None and card["text"] for card in side["cards"])


@pytest.mark.parametrize(
    ("body", "status", "what"),
    [
        ({"system": "bm25", "text": "   "}, 400, "1 to 4,000 characters"),
        ({"system": "bm25", "text": "x" * 4001}, 400, "1 to 4,000 characters"),
        ({"system": "nobody", "text": "x"}, 422, "no system is called nobody"),
        ({"system": "bm25"}, 400, "text is missing"),
        ({"system": "bm25", "text": "x", "changes": []}, 400, "changes"),
        ({"system": "bm25", "text": "x", "changes": {"k9": 1}}, 422, "the system has no setting k9"),
    ],
)
def test_a_query_that_cannot_be_asked_is_refused(guest: Visitor, body: Any, status: int, what: str) -> None:
    assert what in ask(guest, "search", body, status)


def test_the_effect_without_changes_is_the_difference_that_compare_has(guest: Visitor, folder: Path) -> None:
    effect = ask(guest, "effect", {**CHANGED, "changes": {"k": 60}})
    pairs = compare(load_results(folder), measures=["nDCG@10"]).pairs
    pair = next(pair for pair in pairs if {pair.system, pair.other} == {"bm25", "fused"})
    sign = 1 if pair.system == "fused" else -1
    assert effect["difference"] == pytest.approx(sign * pair.difference)
    assert pair.ci is not None
    assert effect["ci"] == pytest.approx(sorted(sign * end for end in pair.ci))
    assert (effect["change"], effect.get("change_ci")) == (0, None)


def test_the_effect_of_a_change_has_the_value_of_each_query(guest: Visitor) -> None:
    effect = ask(guest, "effect", CHANGED)
    queries = guest.get("/api/r/1/bench").json["queries"]
    names = [system["name"] for system in guest.get("/api/r/1/bench").json["systems"]]
    mine = np.array([query["values"][names.index("bm25")] for query in queries])
    apart = np.array(effect["values"]) - mine
    assert effect["difference"] == pytest.approx(apart.mean())
    counted = [int((apart > 1e-12).sum()), int((abs(apart) <= 1e-12).sum()), int((apart < -1e-12).sum())]
    assert [effect["better"], effect["same"], effect["worse"]] == counted
    pair = ask(guest, "changed", {**CHANGED, "query": queries[0]["id"]})
    assert pair["sides"][1]["value"] == pytest.approx(effect["values"][0])
    assert pair["sides"][0]["value"] == pytest.approx(mine[0])


def test_the_change_of_b_is_its_value_now_minus_its_stored_value_whatever_a_is(guest: Visitor) -> None:
    stored = {system["name"]: system["value"] for system in guest.get("/api/r/1/bench").json["systems"]}
    replies = {name: ask(guest, "effect", {**CHANGED, "a": name}) for name in ("bm25", "title", "fused")}
    for name, effect in replies.items():
        assert (effect["mean_before"], effect["mean_a"]) == pytest.approx((stored["fused"], stored[name]))
        assert effect["change"] == pytest.approx(effect["mean"] - stored["fused"])
        assert effect["change_ci"] == replies["fused"]["ci"]
        assert effect["difference"] == pytest.approx(effect["mean"] - stored[name])
    assert replies["bm25"]["change"] != pytest.approx(replies["bm25"]["difference"])


def test_a_setting_that_needs_a_run_is_run_as_a_job_and_known_afterwards(guest: Visitor) -> None:
    body = {**CHANGED, "changes": {"bm25.b": 0.4}}
    assert ask(guest, "effect", body) == {
        "needs_rebuild": True,
        **dict.fromkeys(("better", "same", "worse"), 0),
        "values": [],
    }
    job = ask(guest, "rebuild", body)
    assert ended(guest, job)["status"] == "done"
    assert ask(guest, "effect", body)["needs_rebuild"] is False


@pytest.mark.slow
def test_a_proof_is_a_job_whose_results_open_in_the_bench(guest: Visitor) -> None:
    state = ended(guest, ask(guest, "prove", {"a": "title", "b": "fused", "changes": {"method": "combsum"}}))
    assert (state["status"], state["result"]["proven"]) == ("done", True)
    view = guest.get(f"/api/r/{state['result']['results']}/bench").json
    assert [system["name"] for system in view["systems"]] == ["title", "fused", "fused-tuned"]
    assert guest.get(f"/r/{state['result']['results']}").status == 200


def test_a_job_that_fails_says_why_and_a_job_that_is_unknown_is_refused(guest: Visitor) -> None:
    state = ended(guest, ask(guest, "rebuild", {"a": "bm25", "b": "title", "changes": {"b": 9}}))
    assert state["status"] == "failed"
    assert "b is 9" in state["message"]
    assert guest.get("/api/job?job=99").status == 404
    assert guest.post("/api/job/stop", {"job": state["job"]}).json["status"] == "failed"


def test_jobs_run_one_at_a_time_and_can_be_stopped(guest: Visitor) -> None:
    body = {"a": "bm25", "b": "reranked", "changes": {"weight": 0.3, "top": 30, "bm25.k1": 1.0, "bm25.b": 0.5}}
    job = ask(guest, "prove", body)
    assert "another job is running" in ask(guest, "rebuild", body, 409)
    guest.post("/api/job/stop", {"job": job["job"]})
    assert ended(guest, job)["status"] == "stopped"


def test_a_server_for_reading_computes_changes_and_runs_nothing(folder: Path, tmp_path: Path) -> None:
    with bench_serving(folder, cache=tmp_path / "cache", edit=False) as visitor:
        guest = visitor.enter()
        assert ask(guest, "effect", CHANGED)["difference"] is not None
        assert ask(guest, "search", {"system": "fused", "text": "jelly"})["cards"]
        for route in ("rebuild", "prove"):
            assert "read-only" in ask(guest, route, CHANGED, 403)
        assert "--edit" in ask(guest, "knobs", {"b": "title"})["why_not_rebuild"]
        assert "--edit" in ask(guest, "knobs", {"b": "fused"})["why_not_prove"]

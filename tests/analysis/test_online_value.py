"""The clicks of a ranking that users did not see: what is recovered, what cannot be told, and inputs that are wrong."""

from __future__ import annotations

from functools import cache
from typing import Any

import pandas
import pytest

import rankproof as rp
from support.simulated_log import SimulatedLog, simulated_log


@cache
def _log(shown: tuple[str, ...], *, swap: bool = True, sessions: int = 2000) -> SimulatedLog:
    return simulated_log(sessions, shown, 1, swap=swap)


def _row(log: SimulatedLog, name: str, **options: Any) -> dict[str, Any]:
    result = rp.online(pandas.DataFrame(log.table), value={name: log.rankings[name]}, **options)
    return {**result.tables[0].records()[0], "sentence": result.sentences[0], "notes": result.notes}


@pytest.mark.parametrize("estimator", ["ips", "snips", "clipped", "dr"])
def test_a_ranking_whose_documents_were_all_shown_gets_its_true_clicks(estimator: str) -> None:
    log = _log(("a", "b"))
    row = _row(log, "b", estimator=estimator)
    assert row["support"] == pytest.approx(1)
    assert row["clicks"] == pytest.approx(log.clicks["b"], rel=0.1)
    low, high = row["95% CI"]
    assert low < log.clicks["b"] < high


def test_documents_that_were_never_shown_make_bounds_that_hold_the_truth() -> None:
    log = _log(("a",))
    row = _row(log, "c")
    low, high = row["bounds"]
    assert row["support"] < 0.9
    assert low < log.clicks["c"] < high
    assert row["answer"] == "cannot tell"
    missing = f"{100 * (1 - row['support']):.0f}%"
    assert row["sentence"].startswith(
        f"Cannot tell: users would spend {missing} of their attention on documents that were never shown"
    )
    assert row["sentence"].endswith("Interleave c instead.")


def test_a_better_ranking_that_was_shown_gets_more_clicks() -> None:
    log = _log(("a", "b", "c"))
    row = _row(log, "c")
    assert row["answer"] == "more"
    assert row["sentence"].startswith("c would get more clicks: between")
    assert _row(log, "a")["difference"][0] < 0


def test_the_ranking_that_was_shown_gets_as_many_clicks_as_its_lists_with_swaps() -> None:
    row = _row(_log(("a",)), "a")
    assert row["answer"] == "the same"
    assert row["sentence"].startswith("a would get as many clicks, within 2.0%: 1.")


def test_where_ranks_never_varied_nothing_can_be_told() -> None:
    log = _log(("a",), swap=False, sessions=500)
    result = rp.online(pandas.DataFrame(log.table), value={"c": log.rankings["c"]})
    assert result.sentences[0].startswith("Cannot tell: no clicked document was shown at two neighbouring ranks")


def test_a_short_log_is_too_small_for_an_answer() -> None:
    log = _log(("a", "b"), sessions=90)
    row = _row(log, "b")
    assert row["answer"] == "cannot tell"
    assert "lists of b, and 100 are needed" in row["sentence"]


def test_users_and_not_sessions_make_the_interval() -> None:
    log = _log(("a", "b"))
    one_user = {**log.table, "user": [f"u{int(str(name)[1:]) % 120}" for name in log.table["session"]]}
    by_user = rp.online(pandas.DataFrame(one_user), value={"b": log.rankings["b"]}, most_sessions=10_000)
    wide: dict[str, Any] = dict(by_user.tables[0].records()[0])
    narrow = _row(log, "b")
    assert wide["95% CI"][1] - wide["95% CI"][0] > narrow["95% CI"][1] - narrow["95% CI"][0]


def test_texts_of_a_dataset_link_ids_to_the_queries_of_the_log() -> None:
    log = _log(("a", "b"))
    queries = {f"id{at}": rp.types.Query(f"id{at}", text) for at, text in enumerate(log.rankings["b"])}
    dataset = rp.Dataset("d", rp.Corpus(()), rp.Queries(queries.values()), rp.Qrels({}))
    by_id = {f"id{at}": docs for at, docs in enumerate(log.rankings["b"].values())}
    linked = rp.online(pandas.DataFrame(log.table), value={"b": by_id}, dataset=dataset).tables[0].records()
    assert linked == rp.online(pandas.DataFrame(log.table), value={"b": log.rankings["b"]}).tables[0].records()


def test_queries_that_a_ranking_lacks_are_left_out_and_counted() -> None:
    log = _log(("a", "b"))
    part = {query: docs for query, docs in log.rankings["b"].items() if query != "query 3"}
    result = rp.online(pandas.DataFrame(log.table), value={"b": part})
    assert any("of queries that b does not rank are left out" in note for note in result.notes)


def test_a_ranking_of_other_queries_is_an_error_that_names_some() -> None:
    log = _log(("a",))
    with pytest.raises(rp.errors.InputError, match=r"b ranks no query of the log: its queries are q1; use texts of queries"):
        rp.online(pandas.DataFrame(log.table), value={"b": {"q1": ["d1"]}})


def test_a_log_without_queries_is_an_error() -> None:
    log = _log(("a",))
    table = {name: cells for name, cells in log.table.items() if name != "query"}
    with pytest.raises(rp.errors.InputError, match="the log has no texts of queries"):
        rp.online(pandas.DataFrame(table), value={"b": log.rankings["b"]})


def test_a_log_and_a_history_are_two_questions() -> None:
    with pytest.raises(rp.errors.UsageError, match="a log and past experiments are two questions"):
        rp.online("log.csv", history="experiments.csv")
    with pytest.raises(rp.errors.UsageError, match="no log; pass the files of a log"):
        rp.online()

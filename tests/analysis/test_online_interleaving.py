"""Decisions from interleaved lists."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankproof as rp
from rankproof._analysis.online.checks import contradicting_ranks
from rankproof._analysis.online.decide_live import LiveCase, decide_live
from rankproof._analysis.online.evidence import LiveEvidence
from rankproof._analysis.online.interleaved import Preferences
from rankproof._analysis.online.result import OnlineResult
from rankproof._importers.search_log.log import Events
from rankproof.errors import InputError, UsageError
from support.live_traffic import RELEVANT, START, Row, event_row, interleaved_rows, query_row, variant_rows, written
from support.paths import GOLDEN

_CLEAR = {"bm25": 0.1, "hybrid": 0.9}
_EQUAL = {"bm25": 0.5, "hybrid": 0.5}


def _online(path: Path, rows: list[Row], **options: Any) -> OnlineResult:
    return rp.online(written(path, rows), **options)


def _pair(result: OnlineResult) -> tuple[str, str, float]:
    assert result.decision is not None
    pair = result.decision.against[0]
    return pair.system, pair.other, pair.difference


def _numbers(result: OnlineResult) -> tuple[Any, ...]:
    """All cells of the tables to 9 digits: sums over users in another order differ in the last bits."""
    rows = [[table.name, *row] for table in result.tables for row in table.rows]
    return (result.sentences, [[_rounded(cell) for cell in row] for row in rows])


def _rounded(cell: Any) -> Any:
    if isinstance(cell, tuple):
        return [_rounded(end) for end in cell]
    return round(cell, 9) + 0.0 if isinstance(cell, float) else cell


def test_a_system_that_users_prefer_is_shipped(tmp_path: Path) -> None:
    result = _online(tmp_path, interleaved_rows(_CLEAR))
    assert result.decision is not None
    assert (result.kind, result.decision.outcome, result.decision.systems) == ("interleaving", "ship", ("hybrid",))
    (sentence,) = result.sentences
    assert sentence.startswith("Ship hybrid: preferred in ")
    assert sentence.endswith("valid at every look; n = 900 sessions of 287 users).")


def test_the_baseline_is_kept_if_users_prefer_it(tmp_path: Path) -> None:
    result = _online(tmp_path, interleaved_rows(_CLEAR), baseline="hybrid")
    assert result.decision is not None
    assert (result.decision.outcome, result.decision.kind) == ("keep", "better")
    assert result.sentences[0].startswith("Keep hybrid: preferred in ")


def test_an_interval_that_includes_0_decides_nothing_and_says_how_many_sessions_would(tmp_path: Path) -> None:
    result = _online(tmp_path, interleaved_rows({"bm25": 0.45, "hybrid": 0.55}))
    decision = result.decision
    assert decision is not None
    assert decision.live is not None
    needed = decision.live.needed
    assert needed is not None
    assert (decision.outcome, decision.reason) == ("not_decided", "interval")
    assert 900 < (needed.same or 0) < (needed.likely or 0)
    assert needed.per_day == pytest.approx(100, rel=0.02)
    assert "With the same preference, about " in result.sentences[1]
    assert "with a chance of 80%" in result.sentences[1]


def test_fewer_than_100_users_with_a_click_decide_nothing(tmp_path: Path) -> None:
    result = _online(tmp_path, interleaved_rows(_CLEAR, users=80))
    assert result.decision is not None
    assert (result.decision.outcome, result.decision.reason) == ("not_decided", "few_users")
    assert result.sentences[0].startswith("Not decided: a decision needs at least 100 users with a click")
    assert result.decision.against[0].ci is not None
    assert result.decision.against[0].ci[0] > 0
    assert result.decision.live is not None
    assert result.decision.live.needed is not None
    assert 1000 < (result.decision.live.needed.same or 0) < 2000


@pytest.mark.parametrize("method", ["team-draft", "team-draft-plain", "pairwise", "probabilistic"])
def test_every_method_sees_a_clear_preference(tmp_path: Path, method: str) -> None:
    result = _online(tmp_path, interleaved_rows(_CLEAR, method=method))
    assert result.decision is not None
    assert (result.decision.outcome, result.decision.systems, result.facts["method"]) == ("ship", ("hybrid",), method)
    words = (
        r"in \d\d\.\d% of the \d+ sessions" if method.startswith("team") else r"by \d\d\.\d% of the credit in the \d+ sessions"
    )
    assert re.search(f"preferred {words} with a preference; net preference", result.sentences[0])


@pytest.mark.parametrize("method", ["pairwise", "team-draft-multileaving"])
def test_the_best_of_three_systems_is_shipped(tmp_path: Path, method: str) -> None:
    rows = interleaved_rows({"bm25": 0.1, "dense": 0.1, "hybrid": 0.95}, method=method, sessions=1500)
    result = _online(tmp_path, rows)
    assert result.decision is not None
    assert (result.decision.outcome, result.decision.systems) == ("ship", ("hybrid",))
    assert "preferred to every other system (next: " in result.sentences[0]


def test_two_systems_that_both_beat_the_baseline_are_named_although_nothing_is_decided(tmp_path: Path) -> None:
    rows = interleaved_rows({"bm25": 0.0, "dense": 0.9, "hybrid": 0.9}, sessions=1500)
    result = _online(tmp_path, rows)
    assert result.decision is not None
    assert {pair.system for pair in result.decision.better} == {"dense", "hybrid"}
    assert [sentence.partition(":")[0] for sentence in result.sentences[1:3]] == [
        "dense is better than bm25",
        "hybrid is better than bm25",
    ]


def test_the_order_of_lines_within_a_second_changes_nothing(tmp_path: Path) -> None:
    rows = interleaved_rows(_CLEAR, sessions=300, days=3)
    expected = _numbers(_online(tmp_path, rows))
    for seed in range(3):
        random.Random(seed).shuffle(rows)
        assert _numbers(_online(tmp_path, rows)) == expected


def test_other_names_of_systems_give_the_same_numbers(tmp_path: Path) -> None:
    renamed = interleaved_rows({"zebra": 0.4, "ant": 0.7}, sessions=400)
    first = _online(tmp_path, interleaved_rows({"bm25": 0.4, "hybrid": 0.7}, sessions=400)).to_dict()
    second = _online(tmp_path, renamed).to_dict()
    text = str(second).replace("'zebra'", "'bm25'").replace("'ant'", "'hybrid'").replace("ant leads", "hybrid leads")
    assert text.replace("Ship ant", "Ship hybrid").replace("zebra", "bm25") == str(first)


def test_exchanged_systems_give_the_opposite_difference(tmp_path: Path) -> None:
    rows = interleaved_rows({"bm25": 0.4, "hybrid": 0.7}, sessions=400)
    first = _pair(_online(tmp_path, rows))
    for row in rows:
        record = row.get("query_attributes", {}).get("rankproof")
        if record:
            record["systems"] = record["systems"][::-1]
    assert _pair(_online(tmp_path, rows)) == (first[1], first[0], first[2])


def test_equal_rankings_are_ties_and_decide_nothing_by_few_sessions(tmp_path: Path) -> None:
    rows = list[Row]()
    for number in range(200):
        docs = [f"d{at}" for at in range(5)]
        shown = rp.interleave({"A": docs, "B": docs}, seed=number)
        rows += [
            query_row(f"q{number}", f"u{number}", shown.docs, **shown.to_dict()),
            event_row(f"q{number}", f"u{number}", "d0"),
        ]
    result = _online(tmp_path, rows)
    assert result.decision is not None
    assert result.decision.outcome == "not_decided"
    assert any("200 sessions (100.0%) had the same list from all systems: each is a tie" in note for note in result.notes)


def _preferences(signs: list[int], margin: float = 0.01, **options: Any) -> Any:
    """The decision on one session per user, each preferring the second system (1), the first (-1) or none (0)."""
    credit = np.array([[float(sign < 0), float(sign > 0)] for sign in signs])
    count = len(signs)
    users = np.arange(count, dtype=np.int32)
    values = Preferences(("A", "B"), users, np.full(count, np.nan), users, credit, np.ones(count, dtype=np.int32))
    return decide_live(LiveCase(values, margin, LiveEvidence("interleaving", count), **options))


def test_an_interval_within_the_margin_is_either_and_the_cheaper_one_with_costs() -> None:
    from rankproof._analysis.decision.record import Costs

    signs = [1, -1, *[0] * 38] * 250
    assert _preferences(signs).outcome == "either"
    assert _preferences(signs, baseline="A").outcome == "keep"
    cheaper = _preferences(signs, costs=Costs("given", {"A": 5.0, "B": 1.0}))
    assert (cheaper.outcome, cheaper.kind, cheaper.systems) == ("ship", "cheaper", ("B",))
    assert cheaper.sentences[0].startswith("Ship B: 5 times cheaper than A and no difference that matters")


def test_a_measurably_worse_system_is_kept_only_to_save_cost() -> None:
    from rankproof._analysis.decision.record import Costs

    signs = [1] * 60 + [0] * 9940
    assert _preferences(signs).systems == ("B",)
    cheaper = _preferences(signs, costs=Costs("given", {"A": 1.0, "B": 3.0}), has_baseline=True)
    assert (cheaper.outcome, cheaper.kind, cheaper.systems) == ("keep", "cheaper_and_worse", ("A",))
    assert "only to save cost: it is 3 times cheaper, and B is measurably better by" in cheaper.sentences[0]


def test_users_that_agree_with_themselves_count_once() -> None:
    def width(repeats: int) -> float:
        credit = np.repeat([[0.0, 1.0], [1.0, 0.0]] * 100, repeats, axis=0)
        users = np.repeat(np.arange(200, dtype=np.int32), repeats)
        rows = np.arange(len(users), dtype=np.int32)
        values = Preferences(("A", "B"), users, np.zeros(len(users)), rows, credit, np.ones(len(users), dtype=np.int32))
        return float(np.diff(values.compare(1, 0).ci)[0])

    assert width(5) == pytest.approx(width(1))


def _with_record(change: Callable[[dict[str, Any]], None], first: int = 450) -> list[Row]:
    """The rows with another record in the second half of the sessions."""
    rows = interleaved_rows(_CLEAR)
    for row in rows:
        if "query_attributes" in row and int(row["query_id"][1:]) >= first:
            change(row["query_attributes"]["rankproof"])
    return rows


@pytest.mark.parametrize(
    "change",
    [lambda record: record.update(systems=["bm25", "dense"]), lambda record: record.update(method="team-draft-plain")],
    ids=["systems", "method"],
)
def test_a_change_of_systems_or_method_decides_nothing_and_its_fix_works(tmp_path: Path, change: Callable[[Any], None]) -> None:
    rows = _with_record(change)
    result = _online(tmp_path, rows)
    assert result.decision is not None
    assert (result.decision.outcome, result.decision.reason) == ("not_decided", "log")
    assert "log.jsonl:1; " in result.sentences[0]
    since = result.sentences[0].partition("--since ")[2].rstrip(".")
    assert _online(tmp_path, rows, since=since).decision.outcome == "ship"  # type: ignore[union-attr]


def test_teams_that_are_logged_wrongly_decide_nothing(tmp_path: Path) -> None:
    rows = _with_record(lambda record: record.update(teams=[0 if team >= 0 else team for team in record["teams"]]), first=0)
    result = _online(tmp_path, rows)
    assert result.decision is not None
    assert result.decision.reason == "log"
    assert "the teams are logged wrongly" in result.sentences[0]


def test_clicks_that_are_logged_for_one_system_alone_decide_nothing(tmp_path: Path) -> None:
    rows = interleaved_rows(_CLEAR)
    own: dict[str, set[str]] = {}
    for row in rows:
        if "query_response_hit_ids" in row:
            record = row["query_attributes"]["rankproof"]
            listed = zip(row["query_response_hit_ids"], record["teams"], strict=True)
            own[row["query_id"]] = {doc for doc, team in listed if team == 1}
    rows = [
        row for row in rows if "action_name" not in row or row["event_attributes"]["object"]["object_id"] in own[row["query_id"]]
    ]
    result = _online(tmp_path, rows)
    assert result.decision is not None
    assert result.decision.reason == "log"
    assert "clicks are missing from the log" in result.sentences[0]


def _with_ranks(rows: list[Row], first: int, *, docs: bool) -> list[Row]:
    """The clicks with the rank of their document from `first` on, with or without the document."""
    shown = {row["query_id"]: row["query_response_hit_ids"] for row in rows if "query_response_hit_ids" in row}
    for row in rows:
        if "action_name" in row:
            about = row["event_attributes"]
            about["position"] = {"ordinal": shown[row["query_id"]].index(about["object"]["object_id"]) + first}
            row["event_attributes"] = about if docs else {"position": about["position"]}
    return rows


@pytest.mark.parametrize("docs", [True, False])
@pytest.mark.parametrize("first", [0, 1])
def test_clicks_may_name_ranks_from_0_or_1(tmp_path: Path, first: int, docs: bool) -> None:
    usual = _online(tmp_path, interleaved_rows(_CLEAR))
    named = _online(tmp_path, _with_ranks(interleaved_rows(_CLEAR), first, docs=docs))
    assert named.tables[0].records() == usual.tables[0].records()
    assert named.notes == usual.notes


def test_ranks_that_begin_nowhere_are_an_error_and_a_few_zeros_a_note(tmp_path: Path) -> None:
    rows = _with_ranks(interleaved_rows(_CLEAR), 1, docs=False)
    clicks = [row for row in rows if "action_name" in row]
    last = {**clicks[0], "event_attributes": {"position": {"ordinal": 6}}}
    zeros = [{**row, "event_attributes": {"position": {"ordinal": 0}}} for row in clicks[:40]]
    with pytest.raises(InputError, match="rank 6 in a list of 6, and other events have rank 0"):
        _online(tmp_path, [*rows, last, *zeros])
    result = _online(tmp_path, [*rows, last, *zeros[:2]])
    assert result.decision.outcome == "ship"  # type: ignore[union-attr]
    assert "2 events name rank 0, and ranks begin at 1: they have no rank" in result.notes


def test_documents_that_are_logged_in_another_order_decide_nothing(tmp_path: Path) -> None:
    rows = _with_ranks(interleaved_rows(_CLEAR), 1, docs=True)
    for row in rows:
        if "query_response_hit_ids" in row:
            row["query_response_hit_ids"] = row["query_response_hit_ids"][::-1]
    result = _online(tmp_path, rows)
    assert result.decision is not None
    assert result.decision.reason == "log"
    assert "name a rank above the place of their document in its list: log the documents in the order" in result.decision.detail


def test_ranks_below_advertisements_get_a_note(tmp_path: Path) -> None:
    result = _online(tmp_path, _with_ranks(interleaved_rows(_CLEAR), 3, docs=True))
    assert result.decision.outcome == "ship"  # type: ignore[union-attr]
    assert any("another rank than the place of their document in its list: the place counts" in note for note in result.notes)


@pytest.mark.parametrize(("page", "contradicts"), [(5, False), (4, True)])
def test_ranks_that_begin_again_on_each_page_contradict_nothing(page: int, contradicts: bool) -> None:
    place = np.repeat(np.arange(1, 11), 10).astype(np.int32)
    nothing, number = np.full(100, -1, np.int32), np.zeros(100)
    named = ((place - 1) % page + 1).astype(np.int32)
    clicks = Events(nothing, place, place, named, nothing, nothing, nothing, number, number, nothing.astype(np.int64))
    assert bool(list(contradicting_ranks(clicks))) == contradicts


def test_a_log_whose_lists_are_all_empty_decides_nothing(tmp_path: Path) -> None:
    rows = _with_ranks(interleaved_rows(_CLEAR), 1, docs=False)
    for row in rows:
        if "query_response_hit_ids" in row:
            row["query_response_hit_ids"] = row["query_attributes"]["rankproof"]["teams"] = []
    decision = _online(tmp_path, rows).decision
    assert decision is not None
    assert decision.detail == "no list of the log shows a document"


def test_a_user_with_many_clicks_gets_a_note(tmp_path: Path) -> None:
    rows = interleaved_rows(_CLEAR)
    for row in rows:
        if int(row["query_id"][1:]) < 100:
            row["client_id"] = "busy"
    notes = _online(tmp_path, rows).notes
    assert any(note.startswith("user busy has 1") and "--bot WORD" in note for note in notes)


def test_several_experiments_need_a_name(tmp_path: Path) -> None:
    rows = _with_record(lambda record: record.update(experiment="other"))
    with pytest.raises(InputError, match="several experiments: test, other; choose one with experiment=NAME"):
        _online(tmp_path, rows)
    result = _online(tmp_path, rows, experiment="other")
    assert (result.facts["sessions"], result.facts["experiment"]) == (450, "other")
    with pytest.raises(UsageError, match="did you mean other"):
        _online(tmp_path, rows, experiment="othr")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"baseline": "hybird"}, "did you mean hybrid"),
        ({"costs": {"dense": 1.0}}, "no system is called dense"),
        ({"primary": "CTR@3"}, "primary= is for A/B tests"),
        ({"guardrails": "CTR>0"}, "guardrail"),
        ({"since": "2030-01-01"}, "no session is from 2030-01-01T00:00:00 on"),
    ],
)
def test_an_option_that_does_not_fit_is_named(tmp_path: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        _online(tmp_path, interleaved_rows(_EQUAL, sessions=50), **options)


def test_clicks_of_no_known_action_are_an_error_that_names_the_actions(tmp_path: Path) -> None:
    rows = interleaved_rows(_CLEAR, sessions=50)
    for row in rows:
        if "action_name" in row:
            row["action_name"] = "tap"
    with pytest.raises(
        InputError, match="no clicks on documents that were shown, in 50 sessions; its actions are tap: clicks=ACTION"
    ):
        _online(tmp_path, rows)
    assert _online(tmp_path, rows, clicks="tap").facts["clicks"] > 0  # type: ignore[operator]


def test_clicks_on_unknown_documents_only_are_an_error(tmp_path: Path) -> None:
    rows = [
        query_row("q1", "u1", ["a", "b"], variant="A"),
        event_row("q1", "u1", "zzz"),
        query_row("q2", "u2", ["a"], variant="B"),
    ]
    with pytest.raises(
        InputError, match=r"1 of a document that was not shown.*no event is left: correct the rows that were dropped"
    ):
        _online(tmp_path, rows)


def test_a_log_of_one_ranking_has_nothing_to_compare(tmp_path: Path) -> None:
    rows = [query_row("q1", "u1", ["a", "b"]), event_row("q1", "u1", "a")]
    with pytest.raises(InputError, match="the log holds one ranking system, so there is nothing to compare"):
        _online(tmp_path, rows)


def _plain_table(tmp_path: Path, rows: list[Row], names: Mapping[str, str]) -> str:
    """The log as a CSV table, with other names of the systems."""
    lines = ["session,user,time,system,rank,doc,action"]
    for row in rows:
        if "query_attributes" in row:
            teams = row["query_attributes"]["rankproof"]["teams"]
            for rank, (doc, team) in enumerate(zip(row["query_response_hit_ids"], teams, strict=True), 1):
                system = "" if team < 0 else names[("bm25", "hybrid")[team]]
                lines.append(f"{row['query_id']},{row['client_id']},{row['timestamp']},{system},{rank},{doc},impression")
        else:
            doc = row["event_attributes"]["object"]["object_id"]
            lines.append(f"{row['query_id']},{row['client_id']},{row['timestamp']},,,{doc},click")
    file = tmp_path / "log.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(file)


def test_a_plain_table_says_the_same_as_the_records(tmp_path: Path) -> None:
    rows = interleaved_rows(_CLEAR, sessions=300)
    plain = rp.online(_plain_table(tmp_path, rows, {"bm25": "bm25", "hybrid": "hybrid"}))
    assert _pair(plain) == _pair(_online(tmp_path, rows))
    assert any("no baseline is named, so none is kept" in note for note in plain.notes)


@pytest.mark.parametrize("names", [{"bm25": "a", "hybrid": "b"}, {"bm25": "b", "hybrid": "a"}])
def test_the_better_system_of_a_plain_table_is_shipped_whatever_its_name(tmp_path: Path, names: dict[str, str]) -> None:
    table = _plain_table(tmp_path, interleaved_rows(_CLEAR, sessions=900), names)
    decision = rp.online(table).decision
    assert decision is not None
    assert (decision.outcome, decision.systems) == ("ship", (names["hybrid"],))
    assert decision.sentences[0].startswith(f"Ship {names['hybrid']}: ")
    kept = rp.online(table, baseline=names["hybrid"]).decision
    assert kept is not None
    assert kept.outcome == "keep"


def test_clicks_on_documents_of_no_known_system_decide_nothing(tmp_path: Path) -> None:
    lines = ["session,user,system,rank,doc,action"]
    for at in range(2000):
        lines += [f"s{at},u{at},bm25,,,impression", f"s{at},u{at},hybrid,,,impression", f"s{at},u{at},,1,d1,click"]
    (tmp_path / "log.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    result = rp.online(str(tmp_path / "log.csv"))
    assert result.sentences[0].startswith("Not decided: 2,000 of 2,000 clicks are on documents of no known system: log the list")


def test_the_trend_has_the_look_of_each_day(tmp_path: Path) -> None:
    result = _online(tmp_path, interleaved_rows(_CLEAR, days=5))
    trend = result.table("trend")
    assert trend is not None
    assert [row[0] for row in trend.rows] == [f"2025-11-0{day}" for day in range(3, 8)]
    assert result.decision is not None
    assert trend.rows[-1][4] == pytest.approx(result.decision.against[0].difference)


def test_segments_add_up(tmp_path: Path) -> None:
    rows = interleaved_rows(_CLEAR, attributes=lambda number: {"device": "phone" if number % 3 else "desktop"})
    table = _online(tmp_path, rows, by="device").table("segments")
    assert table is not None
    assert {row[1]: row[3] for row in table.rows} == {"phone": 600, "desktop": 300}


def test_sessions_before_the_start_do_not_count(tmp_path: Path) -> None:
    rows = interleaved_rows(_CLEAR, days=9)
    assert _online(tmp_path, rows, since=START + 3 * 86_400).facts["sessions"] == 600


def test_a_shown_document_that_is_clicked_counts_for_its_team(tmp_path: Path) -> None:
    record = {"version": 1, "experiment": "e", "method": "team-draft", "systems": ["A", "B"], "teams": [0, 1, -1]}
    rows = [
        query_row(f"q{at}", f"u{at}", [RELEVANT, "x", "y"], rankproof={**record, "teams": [at % 2, 1 - at % 2, -1]})
        for at in range(200)
    ]
    rows += [event_row(f"q{at}", f"u{at}", RELEVANT if at % 2 else "x") for at in range(150)]
    rows += [event_row(f"q{at}", f"u{at}", "y") for at in range(150, 200)]
    result = _online(tmp_path, rows)
    assert _pair(result) == ("B", "A", 150 / 200)
    assert result.decision is not None
    assert result.decision.against[0].differing == 150


def test_a_log_whose_systems_are_all_empty_has_nothing_to_compare(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("session,user,system,rank,doc,action\ns1,u1,,1,a,\ns1,u1,,1,a,click\n", encoding="utf-8")
    with pytest.raises(InputError, match="the log holds one ranking system, so there is nothing to compare"):
        rp.online(str(file))


def test_a_field_of_segments_that_no_session_has_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no session has a value of device"):
        _online(tmp_path, interleaved_rows(_CLEAR, sessions=50), by="device")


def test_a_few_users_get_no_interval_and_need_more_users(tmp_path: Path) -> None:
    result = _online(tmp_path, interleaved_rows(_CLEAR, sessions=200, users=5))
    text = json.dumps(result.to_dict(), allow_nan=False)
    assert '"ci": null' in text
    assert "95% CI" not in " ".join(result.sentences)
    assert "and 5 have one: log more users, as more sessions of the same ones do not help." in result.sentences[0]
    assert not any("sessions would decide" in sentence for sentence in result.sentences)


@pytest.mark.parametrize(("low", "high", "shown"), [(-0.0002, 0.078, "[-0.02, 7.80]"), (0.0, 0.078, "[0.0, 7.8]")])
def test_an_interval_that_includes_0_by_little_is_shown_below_0(low: float, high: float, shown: str) -> None:
    decision = replace(_preferences([1] * 60 + [-1] * 40), outcome="not_decided", reason="interval")
    pair = replace(decision.against[0], ci=(low, high), is_significant=False)
    assert f"includes 0 (95% CI {shown}," in replace(decision, against=(pair,)).sentences[0]


def test_the_margin_is_read_as_by_compare(tmp_path: Path) -> None:
    rows, variants = interleaved_rows(_CLEAR, sessions=50), variant_rows({"A": 0.5, "B": 0.5}, sessions=400)
    for margin in (50, 1, 0, "x", "0", "150%"):
        with pytest.raises(UsageError, match=f"margin is {margin}"):
            _online(tmp_path, rows, margin=margin)
    with pytest.raises(UsageError, match="margin is 5%, and a net preference has no mean"):
        _online(tmp_path, rows, margin="5%")
    shared, fixed = (_online(tmp_path, variants, margin=margin).decision for margin in ("5%", 0.03))
    assert shared is not None
    assert fixed is not None
    assert shared.margin == pytest.approx(0.05 * max(system.value or 0 for system in shared.by_system))
    assert fixed.margin == 0.03


def _net_preference(credit: list[tuple[int, int]]) -> float:
    """That of the first system."""
    rows = np.arange(len(credit), dtype=np.int32)
    values = Preferences(("A", "B"), rows, np.zeros(len(credit)), rows, np.array(credit, dtype=np.float64), rows)
    return values.compare(0, 1).difference


def test_the_net_preference_is_twice_the_preference_of_chapelle_and_others() -> None:
    peer = json.loads((GOLDEN / "online/statistics.json").read_text())["preference"]
    credit = [(own.count("A"), own.count("B")) for own in peer["clicks_by_search"]]
    assert _net_preference(credit) / 2 == pytest.approx(peer["preference"])
    large = peer["large"]
    many = [(1, 0)] * large["A"] + [(0, 1)] * large["B"] + [(1, 1)] * large["Draw"]
    assert _net_preference(many) / 2 == pytest.approx(large["preference"])


def test_lists_of_one_system_each_are_an_ab_test_and_the_fix_works(tmp_path: Path) -> None:
    lines = ["session,user,system,rank,doc,action"]
    for at in range(400):
        system = ("bm25", "hybrid")[at % 2]
        lines += [f"s{at},u{at},{system},{rank},d{rank},shown" for rank in (1, 2)]
        lines += [f"s{at},u{at},{system},1,d1,click"] * (at % 2 or at % 3 > 0)
    file = tmp_path / "log.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="each list is of one system, bm25 or hybrid: this is no interleaving"):
        rp.online(str(file))
    for options in ({"columns": {"variant": "system"}}, {"variant": "system"}):
        result = rp.online(str(file), **options)
        assert result.kind == "ab"
        assert result.decision.systems == ("hybrid",)  # type: ignore[union-attr]

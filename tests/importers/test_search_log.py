"""Logs of live search as sessions and events."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankproof as rp
from rankproof._importers.base import ImportSource
from rankproof._importers.registry import opened_source
from rankproof._importers.search_log.log import SearchLog
from rankproof._importers.search_log.options import LogOptions
from rankproof._importers.search_log.read import read_search_log
from rankproof._importers.search_log.times import seconds_since_1970
from rankproof.errors import InputError

_START = "2026-11-03T10:00:00Z"
_RECORD = {"version": 1, "experiment": "e", "method": "team-draft", "systems": ["A", "B"], "teams": [-1, 0, 1]}


def _query(key: str, **fields: Any) -> dict[str, Any]:
    usual = {"query_id": key, "client_id": f"u-{key}", "user_query": "red shoes", "timestamp": _START}
    return {**usual, "query_response_hit_ids": ["a", "b", "c"], **fields}


def _click(key: str, doc: str, **fields: Any) -> dict[str, Any]:
    attributes = {"object": {"object_id": doc}}
    return {
        "action_name": "click",
        "query_id": key,
        "client_id": f"u-{key}",
        "timestamp": _START,
        "event_attributes": attributes,
        **fields,
    }


def _read(path: Path, rows: Sequence[Mapping[str, Any]], **options: Any) -> SearchLog:
    file = path / "log.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return read_search_log(ImportSource((str(file),)), LogOptions(now=2e9, **options))


def _reasons(log: SearchLog) -> dict[str, int]:
    return {dropped.reason: dropped.count for count in log.counts for dropped in count.dropped}


def test_an_event_counts_once_for_its_session_document_and_action(tmp_path: Path) -> None:
    rows = [_query("q1"), _click("q1", "b"), _click("q1", "b"), _click("q1", "b", action_name="cart"), _click("q1", "c")]
    log = _read(tmp_path, rows)
    assert sorted(zip(log.events.slot.tolist(), (log.actions[code] for code in log.events.action), strict=True)) == [
        (2, "cart"),
        (2, "click"),
        (3, "click"),
    ]
    assert _reasons(log) == {"that repeat one of the same session, document and action": 1}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (_click("unknown", "a"), "of an unknown session"),
        (_click("", "a"), "without a query_id"),
        (_click("q1", "other"), "of a document that was not shown"),
        (_click("q1", "a", timestamp="2026-11-03T09:00:00Z"), "before their query"),
        (_click("q1", "a", timestamp="2026-11-04T10:00:01Z"), "more than 24 hours after their query"),
        (_query("q1"), "with the query_id of an earlier one"),
        (_query("q2", client_id="Googlebot/2.1"), "of bots, by the id of the user"),
        (_query("q2", timestamp="2040-01-01T00:00:00Z"), "with a time before 1970 or in the future"),
        (_query("q2", timestamp=-5), "with a time before 1970 or in the future"),
        (_query("q2", timestamp="soon"), "without a time, or with one that cannot be read"),
        ({"query_id": "q2", "message": "hello"}, "that are neither queries nor events"),
    ],
)
def test_a_row_that_cannot_count_is_dropped_with_its_reason(tmp_path: Path, row: dict[str, Any], reason: str) -> None:
    log = _read(tmp_path, [_query("q1"), row, _click("q1", "a")])
    assert _reasons(log) == {reason: 1}
    assert len(log.sessions) == len(log.events) == 1


def test_users_with_more_sessions_in_a_day_than_people_have_are_dropped(tmp_path: Path) -> None:
    rows = [_query(f"q{at}", client_id="busy") for at in range(5)] + [_query("other")]
    assert _reasons(_read(tmp_path, rows, most_sessions=4)) == {"of users with over 4 sessions in a day": 5}
    assert not _reasons(_read(tmp_path, rows, most_sessions=5))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": 2}, "version 2"),
        ({"systems": ["A", "A"]}, "two or more different names"),
        ({"method": "balanced"}, "method"),
        ({"method": ["team-draft"]}, "method"),
        ({"teams": [0, 1]}, "2 teams for 3 documents"),
        ({"teams": [0, 1, 2]}, "team 2 is not from -1 to 1"),
        ({"teams": "0,1,1"}, "teams of the interleaving are a str, not a list"),
        ({"teams": ["0", "1", "1"]}, "teams of the interleaving contain a str, not a list"),
        ({"method": "pairwise", "rankings": [["a"]]}, "ranking of each"),
    ],
)
def test_a_record_of_an_interleaving_that_does_not_fit_its_list_is_an_error(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    rows = [_query("q1"), _query("q2", query_attributes={"rankproof": {**_RECORD, **change}})]
    with pytest.raises(InputError, match=words) as caught:
        _read(tmp_path, rows)
    assert caught.value.line == 2


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"rankproof": 5}, "the interleaving cannot be an int"),
        ({"rankproof": []}, "the interleaving cannot be a list"),
        ('{"rankproof": {"ver', "query_attributes is not JSON"),
    ],
)
def test_an_interleaving_that_cannot_be_read_is_an_error(tmp_path: Path, attributes: Any, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        _read(tmp_path, [_query("q1"), _query("q2", query_attributes=attributes)])
    assert caught.value.line == 2


def test_two_interleavings_of_one_query_are_an_error(tmp_path: Path) -> None:
    first = _query("q1", query_attributes={"rankproof": _RECORD})
    other = _query("q1", query_attributes={"rankproof": {**_RECORD, "teams": [-1, 1, 0]}})
    assert len(_read(tmp_path, [first, first]).sessions) == 1
    with pytest.raises(InputError, match="another interleaving"):
        _read(tmp_path, [first, other])


def test_many_sessions_of_several_users_are_an_error_and_few_are_dropped(tmp_path: Path) -> None:
    rows = [_query(f"q{at}") for at in range(100)]
    log = _read(tmp_path, [*rows, _click("q1", "a", client_id="another")])
    assert _reasons(log) == {"with an id that several users have": 1, "of sessions with an id that several users have": 1}
    with pytest.raises(InputError, match="2 of 100 sessions belong to several users"):
        _read(tmp_path, [*rows, *(_click(key, "a", client_id="another") for key in ("q1", "q2"))])


def test_a_plain_table_gives_the_sessions_of_the_same_ubi_log(tmp_path: Path) -> None:
    record = {**_RECORD, "teams": [0, 1, -1]}
    ubi = _read(tmp_path, [_query("q1", query_attributes={"rankproof": record}), _click("q1", "b")])
    table = tmp_path / "log.csv"
    table.write_text(
        "session,user,time,system,rank,doc,action\n"
        f"q1,u-q1,{_START},A,1,a,shown\nq1,u-q1,{_START},B,2,b,shown\nq1,u-q1,{_START},,3,c,shown\nq1,u-q1,{_START},,,b,click\n",
        encoding="utf-8",
    )
    plain = read_search_log(ImportSource((str(table),)), LogOptions(now=2e9))
    for log in (ubi, plain):
        assert [log.docs[doc] for doc in log.sessions.docs] == ["a", "b", "c"]
        assert [log.systems[team] if team >= 0 else "" for team in log.sessions.teams] == ["A", "B", ""]
        assert log.clicks().rank.tolist() == [2]
        assert log.users[log.sessions.user[0]] == "u-q1"


@pytest.mark.parametrize("as_frame", [True, False])
def test_queries_and_events_may_be_in_one_table(tmp_path: Path, as_frame: bool) -> None:
    rows = [_query("q1", action_name=None, event_attributes=None), _click("q1", "b"), _query("q2"), _click("q2", "c")]
    if as_frame:
        frame = pytest.importorskip("pandas").DataFrame(rows)
        assert frame["action_name"].isna().tolist() == [True, False, True, False]
        log = read_search_log(opened_source(frame), LogOptions(now=2e9))
    else:
        file = tmp_path / "log.csv"
        names = list(dict.fromkeys(name for row in rows for name in row))
        with file.open("w", encoding="utf-8", newline="") as out:
            writer = csv.writer(out)
            cells = [[row.get(name, "") for name in names] for row in rows]
            writer.writerows([names, *([cell if isinstance(cell, str) else json.dumps(cell) for cell in row] for row in cells)])
        file.write_text(file.read_text(encoding="utf-8").replace("null", ""), encoding="utf-8")
        log = read_search_log(ImportSource((str(file),)), LogOptions(now=2e9))
    assert (len(log.sessions), log.clicks().slot.tolist()) == (2, [2, 3])


def test_the_order_of_lines_does_not_matter(tmp_path: Path) -> None:
    rows = [_query(f"q{at}", client_id=f"u{at % 7}") for at in range(40)]
    rows += [_click(f"q{at}", doc, client_id=f"u{at % 7}") for at in range(0, 40, 3) for doc in "ac"]
    shuffled = random.Random(2).sample(rows, len(rows))

    def facts(log: SearchLog) -> list[tuple[str, int]]:
        users = log.sessions.user[log.events.session].tolist()
        return sorted(zip((log.users[user] for user in users), log.events.rank.tolist(), strict=True))

    first, second = _read(tmp_path, rows), _read(tmp_path, shuffled)
    assert facts(first) == facts(second)
    assert np.array_equal(np.sort(first.sessions.time), np.sort(second.sessions.time))


def test_impressions_in_any_order_make_the_list_of_a_query_without_one(tmp_path: Path) -> None:
    def shown(doc: str, rank: int) -> dict[str, Any]:
        attributes = {"object": {"object_id": doc}, "position": {"ordinal": rank}}
        return _click("q1", doc, action_name="impression", event_attributes=attributes)

    log = _read(tmp_path, [shown("b", 1), _query("q1", query_response_hit_ids=[]), shown("a", 0), _click("q1", "b")])
    assert [log.docs[doc] for doc in log.sessions.docs] == ["a", "b"]
    assert log.sessions.ranks.tolist() == [1, 2]
    assert log.events.rank.tolist() == [2]


@pytest.mark.parametrize("ids", [{"object_id": "sku-7", "internal_id": "b"}, {"object_id": "b", "internal_id": "7"}])
def test_an_event_may_name_its_document_by_either_id(tmp_path: Path, ids: dict[str, str]) -> None:
    log = _read(tmp_path, [_query("q1"), _click("q1", "b", event_attributes={"object": ids})])
    assert (log.clicks().rank.tolist(), [log.docs[doc] for doc in log.clicks().doc]) == ([2], ["b"])


@pytest.mark.parametrize(
    "place", [{"position": 2}, {"position": {"ordinal": 2}}, {"position": {"ordinal": {"index": 2}}}, {"rank": 2}]
)
def test_the_rank_of_an_event_has_any_form_of_ubi(tmp_path: Path, place: dict[str, Any]) -> None:
    log = _read(tmp_path, [_query("q1"), _click("q1", "b", event_attributes={"object": {"object_id": "b"}, **place})])
    assert log.events.named_rank.tolist() == [2]


def test_a_rank_that_no_list_can_have_is_counted(tmp_path: Path) -> None:
    place = {"position": {"ordinal": {"index": 1 << 40}}}
    log = _read(tmp_path, [_query("q1"), _click("q1", "b", event_attributes={"object": {"object_id": "b"}, **place})])
    assert log.clicks().rank.tolist() == [2]
    assert log.notes[-1].startswith("1 row has a rank that is no whole number from 0")


def test_columns_of_a_plain_table_can_be_named(tmp_path: Path) -> None:
    table = tmp_path / "log.csv"
    table.write_text("visit no,what,item\n1,shown,a\n1,click,a\n", encoding="utf-8")
    columns = {"session": "visit no", "action": "what", "doc": "item"}
    log = read_search_log(ImportSource((str(table),)), LogOptions(columns=columns))
    assert log.clicks().rank.tolist() == [1]
    with pytest.raises(
        InputError, match=r'no column for the session and the action of a row; .*"session": "COLUMN", "action": "COLUMN"'
    ):
        read_search_log(ImportSource((str(table),)), LogOptions())
    wrong = {"session": "visit", "action": "waht", "doc": "item"}
    with pytest.raises(
        InputError, match=r'called visit or waht; .*; name them with columns=\{"session": "visit no", "action": "what"\}'
    ):
        read_search_log(ImportSource((str(table),)), LogOptions(columns=wrong))


@pytest.mark.parametrize(("path", "values"), [("eur", [9.0]), ("value", [2.0]), ("event_attributes.price", [2.0])])
def test_the_number_of_a_metric_is_the_column_of_its_name_or_that_of_the_role(
    path: str, values: list[float], tmp_path: Path
) -> None:
    table = tmp_path / "log.csv"
    table.write_text("session,action,doc,value,eur\n1,shown,a,,\n1,click,a,2,9\n", encoding="utf-8")
    log = read_search_log(ImportSource((str(table),)), LogOptions(value=path))
    assert log.events.value.tolist() == values
    with pytest.raises(InputError, match="no column is called nonsense; columns: session, action, doc, value, eur; name the"):
        read_search_log(ImportSource((str(table),)), LogOptions(value="nonsense"))


@pytest.mark.parametrize("time", [-5, 4_000_000_000])
def test_a_log_whose_sessions_are_all_dropped_is_an_error_with_the_reasons(tmp_path: Path, time: int) -> None:
    table = tmp_path / "log.csv"
    table.write_text(f"session,action,doc,time,variant\n1,shown,a,{time},A\n2,shown,a,{time},B\n", encoding="utf-8")
    for read in (rp.online, rp.sample_queries):
        with pytest.raises(InputError, match=r"no session is left: sessions: 2 with a time before 1970 or in the future"):
            read(str(table))


def test_a_log_of_events_alone_is_an_error(tmp_path: Path) -> None:
    table = tmp_path / "log.csv"
    table.write_text("session,action,doc\n1,click,a\n1,click,b\n", encoding="utf-8")
    with pytest.raises(InputError, match="2 events, and no row of a query or of a document that was shown") as error:
        read_search_log(ImportSource((str(table),)), LogOptions())
    assert "its actions are click; add the log of queries, or rows with the action search or impression" in str(error.value)


def test_names_of_columns_and_actions_may_be_those_of_web_analytics(tmp_path: Path) -> None:
    table = tmp_path / "log.csv"
    rows = "q1,7,1762128000000,B,view_search_results,\nq1,7,1762128005000,B,select_item,2\n"
    table.write_text("searchId,visitorId,hitTimestamp,abGroup,eventName,listPosition\n" + rows, encoding="utf-8")
    log = read_search_log(ImportSource((str(table),)), LogOptions(now=2e9))
    assert (len(log.sessions), log.clicks(("select_item",)).rank.tolist(), list(log.variants)) == (1, [2], ["B"])
    assert log.sessions.time.tolist() == [1_762_128_000]


def _read_table(path: Path, *lines: str) -> SearchLog:
    table = path / "log.csv"
    table.write_text("".join(line + "\n" for line in ("session,user,time,variant,rank,action", *lines)), encoding="utf-8")
    return read_search_log(ImportSource((str(table),)), LogOptions(now=2e9))


def test_clicks_at_two_ranks_of_a_session_without_a_list_are_two(tmp_path: Path) -> None:
    log = _read_table(tmp_path, "s1,u1,5,A,,search", "s1,u1,7,A,3,click", "s1,u1,8,A,1,click", "s1,u1,9,A,1,click")
    assert sorted(log.clicks().rank.tolist()) == [1, 3]
    assert _reasons(log) == {"that repeat one of the same session, document and action": 1}


def test_a_variant_may_be_true_or_false_or_a_number(tmp_path: Path) -> None:
    rows = [_query(f"q{at}", query_attributes={"variant": variant}) for at, variant in enumerate((True, False, 3))]
    assert list(_read(tmp_path, rows).variants) == ["true", "false", "3"]


def test_a_few_sessions_of_several_variants_are_dropped_and_many_are_an_error(tmp_path: Path) -> None:
    lines = [f"s{at},u{at},5,{'AB'[at % 2]},,search" for at in range(200)]
    log = _read_table(tmp_path, *lines, "s0,u0,7,B,1,click", "s2,u2,7,A,1,click")
    assert _reasons(log)["that name several variants"] == 1
    assert len(log.clicks()) == 1
    wrong = [f"s{at},u{at},7,{'BA'[at % 2]},1,click" for at in range(3)]
    with pytest.raises(InputError, match="3 of 200 sessions name several variants"):
        _read_table(tmp_path, *lines, *wrong)


def test_an_event_whose_time_cannot_be_read_is_dropped_where_others_have_one(tmp_path: Path) -> None:
    query = "s1,u1,5,A,,search"
    log = _read_table(tmp_path, query, "s1,u1,soon,A,1,click", "s1,u1,7,A,2,click")
    assert _reasons(log) == {"without a time, or with one that cannot be read": 1}
    assert len(_read_table(tmp_path, query, "s1,u1,,A,1,click").clicks()) == 1


def test_ranks_that_are_no_whole_numbers_are_counted(tmp_path: Path) -> None:
    log = _read_table(tmp_path, "s1,u1,5,A,,search", "s1,u1,6,A,-2,click", "s1,u1,7,A,x,click", "s1,u1,8,A,1,click")
    assert log.notes[-1].startswith("2 rows have a rank that is no whole number from 0: documents count in the order of rows")


@pytest.mark.parametrize(
    "time",
    [
        "1762128000",
        "1762128000000",
        "1762128000000000",
        "1762128000.0",
        "2025-11-03",
        "20251103",
        "2025-11-03 00:00:00 UTC",
        "2025-11-03T05:30:00+05:30",
    ],
)
def test_a_time_may_have_any_usual_form(time: str) -> None:
    assert seconds_since_1970(time) == 1_762_128_000


def test_no_digits_alone_are_a_date_of_another_century() -> None:
    """13 digits are milliseconds, although ISO 8601 reads some of them as a date, an hour and minutes."""
    times = [seconds_since_1970(str(1000 * second)) for second in range(1_762_128_000, 1_762_228_000, 7)]
    assert times == list(range(1_762_128_000, 1_762_228_000, 7))


def test_times_that_cannot_be_read_are_named_and_not_called_missing(tmp_path: Path) -> None:
    log = _read_table(tmp_path, "s1,u1,11/03/2025 10:00 AM,A,,search", "s1,u1,11/03/2025 10:01 AM,A,1,click")
    assert log.notes[0].startswith("no time of the log can be read, such as 11/03/2025 10:00 AM, so its rows count")
    assert _read_table(tmp_path, "s1,u1,,A,,search").notes[0].startswith("the log has no times")
    assert _read_table(tmp_path, "s1,u1,45964.5,A,,search").notes[0].startswith("all times are in the first years after 1970")


@pytest.mark.parametrize(
    ("logged", "ranks"),
    [
        (range(128), range(1, 129)),
        (range(1, 129), range(1, 129)),
        (["1", *[""] * 299], range(1, 301)),
        ([*range(1, 128), *[""] * 10], range(1, 138)),
    ],
)
def test_ranks_at_the_end_of_a_number_type_stay_right(tmp_path: Path, logged: Sequence[Any], ranks: range) -> None:
    table = tmp_path / "log.csv"
    rows = [f"s1,u1,5,{rank},d{at},shown" for at, rank in enumerate(logged)]
    clicks = [f"s1,u1,6,{logged[at]},d{at},click" for at in (0, len(logged) - 1)]
    table.write_text("\n".join(["session,user,time,rank,doc,action", *rows, *clicks, ""]), encoding="utf-8")
    log = read_search_log(ImportSource((str(table),)), LogOptions())
    assert log.sessions.ranks.tolist() == list(ranks)
    assert log.clicks().rank.tolist() == [1, len(logged)]


@pytest.mark.parametrize("seed", range(4))
def test_documents_shown_are_by_session_and_rank_each_once_whatever_the_order_of_rows(tmp_path: Path, seed: int) -> None:
    rows = [f"s{at},u{at},5,{rank},d{rank},shown" for at in range(5) for rank in (1, 2, 3)]
    rows += [] if seed == 0 else ["s3,u3,5,4,d2,shown", "s1,u1,5,4,,shown"]
    if seed > 1:
        random.Random(seed).shuffle(rows)
    table = tmp_path / "log.csv"
    table.write_text("session,user,time,rank,doc,action\n" + "".join(row + "\n" for row in rows), encoding="utf-8")
    log = read_search_log(ImportSource((str(table),)), LogOptions(now=2e9))
    shown = {}
    for session in range(len(log.sessions)):
        part = slice(log.sessions.offsets[session], log.sessions.offsets[session + 1])
        docs = [log.docs[doc] if doc >= 0 else "" for doc in log.sessions.docs[part]]
        shown[log.users[log.sessions.user[session]]] = (docs, log.sessions.ranks[part].tolist())
    usual = (["d1", "d2", "d3"], [1, 2, 3])
    assert shown == {f"u{at}": usual for at in range(5)} | ({"u1": (["d1", "d2", "d3", ""], [1, 2, 3, 4])} if seed else {})
    assert _reasons(log) == ({"that repeat a document of their session": 1} if seed else {})

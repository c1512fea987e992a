"""User Behavior Insights: clicks become judgements of a stated model; what cannot be used is counted."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import rankproof as rp
from rankproof._cli.main import main
from rankproof._data.validation import made_id
from rankproof._importers.base import Imported, ImportOptions
from rankproof._importers.folder import next_commands
from rankproof._importers.registry import import_source
from rankproof.errors import InputError, UsageError

# The fields of the UBI 1.3 schemas (o19s/ubi) and of the mappings of opensearch-project/user-behavior-insights.
HITS = ["d1", "d2", "d3"]


def query(key: str, text: str = "red shoes", hits: list[str] | None = None, **more: Any) -> dict[str, Any]:
    listed = {"query_response_hit_ids": HITS if hits is None else hits}
    return {"query_id": key, "user_query": text, "client_id": "c1", "timestamp": "2025-01-01T00:00:00Z", **listed, **more}


def event(key: str, doc: str, action: str = "click", **more: Any) -> dict[str, Any]:
    position = {"ordinal": HITS.index(doc) + 1} if doc in HITS else {}
    attributes = {"object": {"object_id": doc, "object_id_field": "sku"}, "position": position}
    return {"action_name": action, "query_id": key, "client_id": "c1", "event_attributes": attributes, **more}


def ndjson(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def imported_of(tmp_path: Path, queries: list[Any], events: list[Any], **settings: str) -> Imported:
    paths = [ndjson(tmp_path / "ubi_queries.ndjson", queries), ndjson(tmp_path / "ubi_events.ndjson", events)]
    stated = {"min-impressions": "1", "model": "coec", **{k.replace("_", "-"): v for k, v in settings.items()}}
    return import_source(paths, ImportOptions(settings=stated))


def dropped(imported: Imported, part: str) -> dict[str, int]:
    return {why.reason: why.count for one in imported.report.counts if one.part == part for why in one.dropped}


def grades(imported: Imported, text: str = "red shoes") -> dict[str, int]:
    return dict(imported.dataset.qrels[made_id("query", [text])])


def test_users_with_more_sessions_in_a_day_than_the_setting_are_left_out(tmp_path: Path) -> None:
    assert dropped(imported_of(tmp_path, TWENTY, CLICKS, most_sessions="20"), "sessions") == {}
    others = [query(f"v{at}", client_id="c2") for at in range(5)]
    fewer = imported_of(tmp_path, TWENTY + others, [*CLICKS, event("v1", "d1", client_id="c2")], most_sessions="19")
    assert dropped(fewer, "sessions") == {"of users with over 19 sessions in a day": 20}


def test_judged_clicks_are_compared_with_a_run_next(tmp_path: Path) -> None:
    judged, open_ = imported_of(tmp_path, TWENTY, CLICKS), imported_of(tmp_path, TWENTY, CLICKS, min_impressions="50")
    assert next_commands(judged, "set") == ["rankproof compare set/qrels/test.tsv set/runs/production.run RUN"]
    assert next_commands(open_, "set") == []


TWENTY = [query(f"u{at}") for at in range(20)]
CLICKS = [event(f"u{at}", "d2") for at in range(12)] + [event(f"u{at}", "d1") for at in range(4)]


def test_clicks_become_grades_by_clicks_over_expected_clicks(tmp_path: Path) -> None:
    imported = imported_of(tmp_path, TWENTY, CLICKS, model="ctr")
    assert imported.report.importer == "ubi"
    # 16 clicks on 60 impressions: 5.33 are expected of each document, and 1 is added: 13/6.33, 5/6.33, 1/6.33.
    assert grades(imported) == {"d1": 2, "d2": 3, "d3": 0}
    assert [*imported.runs["production"].docs] == HITS


def test_position_bias_that_no_list_tells_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"shown at two neighbouring ranks.*coec"):
        imported_of(tmp_path, TWENTY, CLICKS, model="position")


@pytest.mark.parametrize("model", ["coec", "cascade", "ctr"])
def test_every_model_says_what_it_assumes_and_labels_its_judgements(tmp_path: Path, model: str) -> None:
    imported = imported_of(tmp_path, TWENTY, CLICKS, model=model)
    (label,) = set(imported.dataset.qrels.judge_labels.values())
    assert label.startswith(f"clicks:{model}:")
    assert len(imported.dataset.qrels.judge_labels) == sum(map(len, imported.dataset.qrels.values()))
    notes = " ".join(imported.report.notes)
    assert f"judgements are made from clicks, not by people ({label})" in notes
    assert "it assumes that" in notes
    assert "clicks per impression by rank: 1: 0.200 of 20, 2: 0.600 of 20, 3: 0.000 of 20" in notes
    assert "clicks are biased by rank" in notes
    assert "0 of 3 pairs were shown at more than one rank" in notes


def test_a_document_that_was_never_shown_gets_no_judgement(tmp_path: Path) -> None:
    imported = imported_of(tmp_path, TWENTY, [*CLICKS, event("u1", "d9")])
    assert set(grades(imported)) == set(HITS)
    assert dropped(imported, "events") == {"of a document that was not shown": 1}


def test_queries_of_the_same_text_are_one_query(tmp_path: Path) -> None:
    queries = [query("a", "Red  Shoes"), query("b", "red shoes "), query("c", "ＲＥＤ SHOES"), query("d", "blue shoes")]
    imported = imported_of(tmp_path, queries, [event("a", "d1")])
    assert [one.text for one in imported.dataset.queries.values()] == ["Red  Shoes", "blue shoes"]
    assert list(imported.dataset.queries) == [made_id("query", [text]) for text in ("red shoes", "blue shoes")]


def test_what_cannot_be_used_is_counted_with_its_reason(tmp_path: Path) -> None:
    queries = [query("a"), query("a"), query("", "x"), query("b", ""), query("c", hits=[]), query("z", client_id="nightly-bot")]
    events = [
        *(event("a", "d1"), event("a", "d1"), event("nobody", "d1"), event("", "d1"), event("b", "d1")),
        *(event("c", "d1"), event("a", "", event_attributes={}), event("a", "d1", "hover"), event("a", "d9")),
        event("z", "d1", client_id="nightly-bot"),
    ]
    imported = imported_of(tmp_path, queries, events)
    assert dropped(imported, "sessions") == {
        "with the query_id of an earlier one": 1,
        "without a query_id": 1,
        "without a user_query": 1,
        "of bots, by the id of the user": 1,
    }
    assert dropped(imported, "events") == {
        "that repeat one of the same session, document and action": 1,
        "of an unknown session": 1,
        "without a query_id": 1,
        "of sessions of bots, by the id of the user": 1,
        "of sessions without a user_query": 1,
        "of a query without a list of documents shown": 1,
        "of a document that was not shown": 1,
        "without an object_id": 1,
        "of other actions": 1,
    }
    assert "other actions: hover 1; count them with --set actions=NAME=WEIGHT,…" in imported.report.notes


def test_events_far_from_their_query_in_time_do_not_count(tmp_path: Path) -> None:
    times = ("2025-01-01T00:00:09Z", "2024-12-31T23:00:00Z", "2025-01-02T01:00:00Z")
    events = [event("a", doc, timestamp=time) for doc, time in zip(HITS, times, strict=True)]
    imported = imported_of(tmp_path, [query("a")], events)
    assert dropped(imported, "events") == {"before their query": 1, "more than 24 hours after their query": 1}
    longer = imported_of(tmp_path, [query("a")], events, window="48")
    assert dropped(longer, "events") == {"before their query": 1}


def test_a_query_id_of_several_users_is_dropped_and_many_of_them_are_an_error(tmp_path: Path) -> None:
    queries = [query(f"u{at}") for at in range(100)]
    several = [event("u1", "d1"), event("u2", "d1", client_id="c2"), event("u3", "d1", client_id="c2")]
    imported = imported_of(tmp_path, queries, several[:2])
    assert dropped(imported, "sessions") == {"with an id that several users have": 1}
    with pytest.raises(
        InputError, match=r"2 of 100 sessions belong to several users; .*user-field.* names the field of the user"
    ):
        imported_of(tmp_path, queries, several)
    owned = [{**row, "owner": "o"} for row in (*queries, *several)]
    assert dropped(imported_of(tmp_path, owned[:100], owned[100:], user_field="owner"), "sessions") == {}


def test_a_log_of_bots_alone_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no session is left: sessions: 1 of bots, by the id of the user"):
        imported_of(tmp_path, [query("a", client_id="nightly-bot")], [event("a", "d1", client_id="nightly-bot")])


def test_the_ranking_that_was_shown_last_is_that_of_the_latest_time(tmp_path: Path) -> None:
    later = query("late", hits=HITS[::-1], timestamp="2025-01-03T00:00:00Z")
    imported = imported_of(tmp_path, [later, query("early")], [event("late", "d1"), event("early", "d1")])
    assert [*imported.runs["production"].docs] == HITS[::-1]


def test_of_several_actions_on_a_document_the_highest_weight_counts(tmp_path: Path) -> None:
    events = [event(f"u{at}", "d2", action) for at in range(12) for action in ("add_to_cart", "click")]
    both = imported_of(tmp_path, TWENTY, events, actions="click,add_to_cart=3")
    carts = imported_of(tmp_path, TWENTY, events[::2], actions="click,add_to_cart=3")
    assert both.dataset.qrels.judge_labels == carts.dataset.qrels.judge_labels


def test_a_document_far_below_what_users_look_at_is_dropped(tmp_path: Path) -> None:
    deep = [event("a", "d1", "impression"), event("a", "d9", "impression", event_attributes=_at("d9", 2_000_000_000))]
    imported = imported_of(tmp_path, [query("a", hits=[])], [*deep, event("a", "d1")])
    assert dropped(imported, "documents shown") == {"at a rank above 10,000": 1}
    assert set(grades(imported)) == {"d1"}


def _at(doc: str, rank: int) -> dict[str, Any]:
    return {"object": {"object_id": doc}, "position": {"ordinal": {"index": rank}}}


def test_letters_inside_a_client_id_are_no_bot(tmp_path: Path) -> None:
    imported = imported_of(tmp_path, [query("a", client_id="abbott")], [event("a", "d1", client_id="abbott")])
    assert dropped(imported, "logged queries") == {}


def test_repeated_clicks_of_one_query_id_count_once(tmp_path: Path) -> None:
    once = imported_of(tmp_path, TWENTY, CLICKS)
    often = imported_of(tmp_path, TWENTY, [one for one in CLICKS for _ in range(5)])
    assert once.dataset.qrels.judge_labels == often.dataset.qrels.judge_labels


def test_pairs_that_were_shown_rarely_get_no_judgement(tmp_path: Path) -> None:
    imported = imported_of(tmp_path, [*TWENTY, query("rare", "hat")], CLICKS, min_impressions="20")
    assert list(imported.dataset.qrels) == [made_id("query", ["red shoes"])]
    assert dropped(imported, "judgements") == {"of pairs shown less than 20 times": 3}


def test_other_actions_count_with_their_weight(tmp_path: Path) -> None:
    events = [event(f"u{at}", "d3", "add_to_cart") for at in range(6)]
    plain = imported_of(tmp_path, TWENTY, [*CLICKS, *events], model="ctr")
    weighted = imported_of(tmp_path, TWENTY, [*CLICKS, *events], model="ctr", actions="click,add_to_cart=3")
    assert (grades(plain)["d3"], grades(weighted)["d3"]) == (0, 3)
    assert any("clicks are: click, add_to_cart = 3" in note for note in weighted.report.notes)


def test_the_internal_id_is_used_where_hits_have_it(tmp_path: Path) -> None:
    one = event("a", "sku-7")
    one["event_attributes"]["object"]["internal_id"] = "d1"
    imported = imported_of(tmp_path, [query("a")], [one])
    assert dropped(imported, "events") == {}


def test_positions_that_contradict_the_list_are_noted(tmp_path: Path) -> None:
    one = event("a", "d1")
    one["event_attributes"]["position"] = {"ordinal": {"index": 17}}
    imported = imported_of(tmp_path, [query("a")], [one])
    assert any(note.startswith("1 of 1 click name another rank") for note in imported.report.notes)


def test_the_lists_of_the_specification_are_read(tmp_path: Path) -> None:
    queries = [{"query_id": "a", "user_query": "hat", "query_response_objects_ids": ["d1", 7]}]
    imported = imported_of(tmp_path, queries, [event("a", "d1")])
    assert set(grades(imported, "hat")) == {"d1", "7"}


def generated(first_rank: int) -> list[dict[str, Any]]:
    """Impressions and clicks as events, as the data generator of the plugin writes them."""
    found = []
    for at in range(12):
        for rank, doc in enumerate(HITS):
            attributes = {"object": {"object_id": doc, "object_id_field": "product_id"}, "rank": rank + first_rank}
            found.append({"action_name": "impression", "query_id": f"u{at}", "event_attributes": attributes})
    return [*found, event("u1", "d3")]


@pytest.mark.parametrize("first_rank", [0, 1])
def test_impressions_that_are_events_make_the_lists(tmp_path: Path, first_rank: int) -> None:
    queries = [{"query_id": f"u{at}", "user_query": "hat"} for at in range(12)]
    imported = imported_of(tmp_path, queries, generated(first_rank), min_impressions="12")
    assert set(grades(imported, "hat")) == set(HITS)
    assert any("by rank: 1: 0.000 of 12, 2: 0.000 of 12, 3: 0.083 of 12" in note for note in imported.report.notes)


def test_bulk_lines_dumps_and_search_responses_are_read_alike(tmp_path: Path) -> None:
    queries, events = [query("a"), query("b")], [event("a", "d1"), event("b", "d2")]
    plain = imported_of(tmp_path, queries, events)
    bulk = [line for row in (*queries, *events) for line in ({"index": {"_index": "ubi", "_id": "1"}}, row)]
    (tmp_path / "responses").mkdir()
    both = [{"_index": "ubi", "_id": "1", "_source": row} for row in (*queries, *events)]
    response = tmp_path / "response.json"
    response.write_text(json.dumps({"took": 1, "hits": {"hits": both}}, indent=1))
    options = ImportOptions(settings={"min-impressions": "1", "model": "coec"})
    for path in (ndjson(tmp_path / "bulk.ndjson", bulk), ndjson(tmp_path / "dump.jsonl", both), str(response)):
        found = import_source(path, options)
        assert found.report.importer == "ubi"
        assert found.dataset.qrels.fingerprint() == plain.dataset.qrels.fingerprint()


def test_tables_with_flat_columns_are_read(tmp_path: Path) -> None:
    with (tmp_path / "q.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["query_id", "user_query", "query_response_hit_ids"], ["a", "=1+1", '["d1", "d2"]']])
    with (tmp_path / "e.csv").open("w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file).writerows([["action_name", "query_id", "object_id", "rank"], ["click", "a", "d2", "1"]])
    options = ImportOptions(settings={"min-impressions": "1", "model": "ctr"})
    imported = import_source([str(tmp_path / "q.csv"), str(tmp_path / "e.csv")], options)
    assert [one.text for one in imported.dataset.queries.values()] == ["=1+1"]
    assert dropped(imported, "events") == {}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "magic"}, "model is magic; choose from: coec, cascade, position, ctr"),
        ({"prior": "0"}, "prior is 0; write a positive number"),
        ({"prior": "nan"}, "prior is nan; write a positive number"),
        ({"actions": "click=x"}, "actions is click=x; write names with weights"),
        ({"actions": ""}, "actions is ; write names with weights"),
        ({"thresholds": "2,1"}, "thresholds is 2,1; write numbers in ascending order"),
        ({"thresholds": "1,inf"}, "thresholds is 1,inf; write numbers in ascending order"),
    ],
)
def test_wrong_settings_are_refused(tmp_path: Path, settings: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        imported_of(tmp_path, TWENTY, CLICKS, **settings)


def test_a_log_without_lists_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no query lists the documents that were shown; pass the file of queries"):
        imported_of(tmp_path, [query("a", hits=[])], [event("a", "d1")])


def test_a_wrong_value_is_an_error_with_file_and_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"ubi_queries\.ndjson:2: query_response_hit_ids is a number, not a list"):
        imported_of(tmp_path, [query("a"), {**query("b"), "query_response_hit_ids": 1.5}], [event("a", "d1")])
    path = tmp_path / "ubi_events.ndjson"
    path.write_text(json.dumps(event("a", "d1")) + '\n{"action_name": "cl')
    with pytest.raises(InputError, match=r"ubi_events\.ndjson:2:17: not JSON"):
        import_source([ndjson(tmp_path / "ubi_queries.ndjson", TWENTY), str(path)])


def test_a_decision_says_that_clicks_made_the_judgements(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queries, events = [], []
    for topic in range(30):
        for at in range(12):
            letters = ("xyz", "yxz", "zxy")[at // 3 % 3]
            queries.append(query(f"t{topic}u{at}", f"topic {topic}", [f"{letter}{topic}" for letter in letters]))
            events += [event(f"t{topic}u{at}", f"y{topic}")] * (at % 3 == 0)
    paths = [ndjson(tmp_path / "queries.ndjson", queries), ndjson(tmp_path / "events.ndjson", events)]
    folder = tmp_path / "clicks"
    assert main(["import", *paths, "-o", str(folder)]) == 0
    shown = capsys.readouterr()
    assert "clicks are biased by rank" in shown.out + shown.err
    qrels = folder / "qrels" / "test.tsv"
    assert "clicks:position:" in qrels.read_text(encoding="utf-8")
    runs = []
    for name, order in (("old", "xyz"), ("new", "yxz")):
        rows = (
            f"{made_id('query', [f'topic {topic}'])} Q0 {letter}{topic} 1 {3 - rank} {name}\n"
            for topic in range(30)
            for rank, letter in enumerate(order)
        )
        (tmp_path / f"{name}.run").write_text("".join(rows))
        runs.append(str(tmp_path / f"{name}.run"))
    assert main(["compare", str(qrels), *runs]) == 0
    decision = capsys.readouterr()
    assert decision.out.startswith("By clicks (not checked by people), new leads: ")
    said = " ".join((decision.out + decision.err).split())
    assert "90 of 90 judgements were made by clicks:position:" in said
    assert "none by people" in said


def test_labels_of_clicks_survive_trec_qrels(tmp_path: Path) -> None:
    path = tmp_path / "qrels.txt"
    path.write_text("q clicks:coec:12345678 d 2\nq 0 e 1\n")
    assert dict(rp.read_qrels(path).judge_labels) == {("q", "d"): "clicks:coec:12345678"}


@pytest.mark.parametrize(
    ("hits", "clicked"),
    [([" d1 ", "d2"], "d1"), (["d1", "d2"], " d1 "), ("d1, d2", "d1"), ([1, 2], 1), (["1", "2"], 1), (["a,b", "a"], "a,b")],
)
def test_ids_are_the_same_as_numbers_and_with_white_space_around_them(tmp_path: Path, hits: Any, clicked: Any) -> None:
    imported = imported_of(tmp_path, [query("a", hits=hits)], [event("a", clicked)])
    assert dropped(imported, "events") == {}
    # One click on the first of two documents: one half is expected of each, and 1 is added: 2/1.5 and 1/1.5.
    assert list(grades_by_ctr(tmp_path, hits, clicked).values()) == [3, 1]


def grades_by_ctr(tmp_path: Path, hits: Any, clicked: Any) -> dict[str, int]:
    return grades(imported_of(tmp_path, [query("a", hits=hits)], [event("a", clicked)], model="ctr"))


@pytest.mark.parametrize(
    ("events", "settings", "fix"),
    [
        (
            [event("a", "d1", "hover")],
            {},
            'the other actions are hover: name those .* settings={"actions": "click,add_to_cart=3"}',
        ),
        ([event("a", "d1")], {"actions": "clik"}, "the other actions are click: name those"),
        ([event("a", "D1"), event("a", "d1", "hover")], {}, "with the query_id and the object_id that the queries list"),
        ([event("A", "d1")], {}, "with the query_id and the object_id that the queries list"),
    ],
)
def test_a_log_without_a_click_that_counts_gives_no_judgements(
    tmp_path: Path, events: list[Any], settings: dict[str, str], fix: str
) -> None:
    with pytest.raises(InputError, match=f"no event is a click on a document that was shown; .*{fix}"):
        imported_of(tmp_path, [query("a")], events, **settings)


def test_pairs_that_were_all_shown_too_rarely_are_noted_with_the_number_that_would_do(tmp_path: Path) -> None:
    imported = imported_of(tmp_path, TWENTY, CLICKS, min_impressions="21")
    assert not imported.dataset.is_judged
    note = imported.report.notes[0]
    assert note.startswith("no judgements: pairs need 21 impressions, and none has more than 20; ")
    lowered = imported_of(tmp_path, TWENTY, CLICKS, min_impressions=note.rpartition("=")[2])
    assert lowered.dataset.is_judged


def test_an_action_that_is_named_twice_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="actions names click twice; name each action once"):
        imported_of(tmp_path, TWENTY, CLICKS, actions="click,click=3")


def test_a_blank_id_of_a_document_is_an_error_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"ubi_queries\.ndjson:2: empty document id"):
        imported_of(tmp_path, [query("a"), query("b", hits=["d1", " "])], [event("a", "d1")])
    with pytest.raises(InputError, match=r"ubi_events\.ndjson:1: empty document id"):
        imported_of(tmp_path, [query("a")], [event("a", " ")])

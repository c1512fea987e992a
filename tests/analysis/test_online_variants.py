"""Decisions from A/B tests."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankproof as rp
from rankproof._analysis.online.metrics import FirstClickRR, parse_guardrail, parse_live_metric
from rankproof._analysis.online.result import OnlineResult
from rankproof._analysis.online.variants import Assignment, VariantValues
from rankproof.errors import InputError, UsageError
from support.live_traffic import START, Row, event_row, query_row, variant_rows, written
from support.paths import GOLDEN

_CLEAR = {"A": 0.0, "B": 0.9}
_EQUAL = {"A": 0.5, "B": 0.5}


def _online(path: Path, rows: list[Row], **options: Any) -> OnlineResult:
    return rp.online(written(path, rows), **options)


def _golden() -> dict[str, Any]:
    test: dict[str, Any] = json.loads((GOLDEN / "online/statistics.json").read_text())["ab"]
    return test


def _values(users: Any, variants: Any, values: Any, covariates: Any = None) -> VariantValues:
    rows = np.arange(len(users), dtype=np.int32)
    nobody = np.empty(0, dtype=np.int32)
    assignment = Assignment(("A", "B"), rows, users.astype(np.int32), variants.astype(np.int32), nobody, nobody, 0, 0, 0)
    return VariantValues(FirstClickRR(), assignment, np.zeros(len(users)), values, values > 0, covariates)


def test_the_error_of_a_ratio_is_that_of_statsmodels_with_clusters() -> None:
    test = _golden()
    users, arms, _, clicks = np.array(test["rows (user, arm, pre, click)"]).T
    of_user = np.array([arms[users == user][0] for user in range(60)])
    pair = _values(users, of_user, clicks).compare(1, 0)
    assert (pair.difference, pair.error) == pytest.approx(test["delta_method"])
    assert pair.error == pytest.approx(test["se_cluster"])
    naive = _values(np.arange(len(users)), arms, clicks).compare(1, 0)
    assert (naive.difference, naive.error) == pytest.approx((test["difference"], test["se_naive_sessions"]), rel=0.01)


def test_the_earlier_sessions_reduce_the_noise_as_an_analysis_of_covariance_does() -> None:
    test = _golden()
    users, arms, before, clicks = np.array(test["rows (user, arm, pre, click)"]).T
    own = [users == user for user in range(60)]
    means, earlier, of_user = (np.array([column[rows].mean() for rows in own]) for column in (clicks, before, arms))
    pair = _values(np.arange(60), of_user, means, earlier[:, None]).compare(1, 0)
    assert pair.difference == pytest.approx(test["ancova (per-user mean on arm and pre)"][0])
    assert pair.error == pytest.approx(test["ancova (per-user mean on arm and pre)"][1], rel=0.005)
    assert pair.difference == pytest.approx(test["cuped difference"], rel=0.005)


def test_a_better_variant_is_shipped(tmp_path: Path) -> None:
    result = _online(tmp_path, variant_rows(_CLEAR))
    assert result.decision is not None
    assert (result.kind, result.decision.outcome, result.decision.systems) == ("ab", "ship", ("B",))
    assert " FirstClickRR, better than A (+" in result.sentences[0]
    assert "pp, 95% CI " in result.sentences[0]


def test_the_better_baseline_is_kept_and_equal_variants_decide_nothing(tmp_path: Path) -> None:
    rows = variant_rows(_CLEAR)
    decision = _online(tmp_path, rows, baseline="B").decision
    assert decision is not None
    assert (decision.outcome, decision.systems) == ("keep", ("B",))
    equal = _online(tmp_path, variant_rows(_EQUAL)).decision
    assert equal is not None
    assert (equal.outcome, equal.reason) == ("not_decided", "interval")


def test_the_best_of_three_variants_is_shipped(tmp_path: Path) -> None:
    decision = _online(tmp_path, variant_rows({"A": 0.0, "B": 0.0, "C": 0.95}, users=900, sessions=2500)).decision
    assert decision is not None
    assert (decision.outcome, decision.systems) == ("ship", ("C",))


def _one_session_each(events: list[list[Row]]) -> list[Row]:
    """One session for each list of events, of variants A and B in turn, with three documents."""
    rows = list[Row]()
    for at, own in enumerate(events):
        rows.append(query_row(f"q{at}", f"u{at}", ["a", "b", "c"], variant="AB"[at % 2]))
        rows += [{**event, "query_id": f"q{at}", "client_id": f"u{at}"} for event in own]
    return rows


def _click(doc: str, after: float = 5, action: str = "click", **attributes: Any) -> Row:
    return event_row("", "", doc, time=START + after, action=action, **attributes)


_SESSIONS = [
    [_click("c", 3), _click("a", 50)],
    [_click("b", 40)],
    [_click("b", 2), _click("a", 2), _click("a", 9, "purchase", price=10.0)],
    [],
]


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("FirstClickRR", [1 / 3, 1 / 2, 1, 0]),
        ("CTR", [1, 1, 1, 0]),
        ("CTR@1", [1, 0, 1, 0]),
        ("CTR@2", [1, 1, 1, 0]),
        ("Abandonment", [0, 0, 0, 1]),
        ("Conversion(purchase)", [0, 0, 1, 0]),
        ("ClickWithin(30s)", [1, 0, 1, 0]),
        ("Revenue(event_attributes.price)", [0, 0, 10, 0]),
        ("ClicksPerSession", [2, 1, 2, 0]),
    ],
)
def test_a_metric_has_its_worked_values(tmp_path: Path, metric: str, expected: list[float]) -> None:
    table = _online(tmp_path, _one_session_each(_SESSIONS), metrics=metric).table("metrics")
    assert table is not None
    means = {row[1]: row[2] for row in table.rows}
    assert means == {"A": pytest.approx((expected[0] + expected[2]) / 2), "B": pytest.approx((expected[1] + expected[3]) / 2)}


def test_the_first_click_of_a_log_without_times_is_the_first_line(tmp_path: Path) -> None:
    rows = [
        {name: cell for name, cell in row.items() if name != "timestamp"}
        for row in _one_session_each([[_click("c"), _click("a")], []])
    ]
    result = _online(tmp_path, rows)
    systems = result.table("systems")
    assert systems is not None
    assert systems.rows[0][1] == pytest.approx(1 / 3)
    assert any("its rows count in the order of the file" in note for note in result.notes)


def test_the_order_of_lines_changes_nothing(tmp_path: Path) -> None:
    rows = variant_rows(_CLEAR, sessions=400, users=300)
    expected = _online(tmp_path, rows).decision
    random.Random(3).shuffle(rows)
    decision = _online(tmp_path, rows).decision
    assert expected is not None
    assert decision is not None
    assert decision.sentences == expected.sentences
    assert [system.value for system in decision.by_system] == pytest.approx([system.value for system in expected.by_system])


def test_the_name_of_an_action_decides_by_its_conversion_rate(tmp_path: Path) -> None:
    decision = _online(tmp_path, variant_rows(_CLEAR, buys=0.9), primary="purchase").decision
    assert decision is not None
    assert (str(decision.measure), decision.outcome) == ("Conversion(purchase)", "ship")


def test_fewer_than_100_users_with_the_action_decide_nothing(tmp_path: Path) -> None:
    result = _online(tmp_path, variant_rows(_CLEAR, buys=0.1), primary="Conversion(purchase)")
    assert result.decision is not None
    assert result.decision.reason == "few_users"
    assert "at least 100 users with this action of each variant" in result.sentences[0]


def test_fewer_abandoned_searches_are_better(tmp_path: Path) -> None:
    result = _online(tmp_path, variant_rows(_CLEAR), primary="Abandonment")
    assert result.decision is not None
    assert (result.decision.outcome, result.decision.systems) == ("ship", ("B",))
    assert result.decision.against[0].difference < 0
    assert "Abandonment (lower is better), better than A (-" in result.sentences[0]


def test_clicks_per_session_never_decide() -> None:
    with pytest.raises(UsageError, match="ClicksPerSession cannot decide: users of better lists stop sooner"):
        rp.online("log.jsonl", primary="ClicksPerSession")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("CTRR", "did you mean CTR@10"),
        ("Conversion", r"write Conversion\(purchase\)"),
        ("CTR@0", "the cutoff of CTR@0 is 0"),
        ("ClickWithin(soon)", r"write ClickWithin\(30s\)"),
        ("FirstClickRR@3", "write FirstClickRR"),
        ("Dwell(30s)", "known metrics: FirstClickRR"),
    ],
)
def test_a_metric_that_is_not_known_is_named(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_live_metric(text)


@pytest.mark.parametrize("text", ["latency_ms", "<20", "latency_ms<fast", "latency_ms=20"])
def test_a_guardrail_that_cannot_be_read_is_named(text: str) -> None:
    with pytest.raises(UsageError, match=r"is not a guardrail; write a metric or field"):
        parse_guardrail(text)


def _with_latency(limit: float, noise: float = 5.0) -> list[Row]:
    rng = random.Random(2)
    return variant_rows(_CLEAR, attributes=lambda number, variant: {"ms": rng.gauss(100 + limit * (variant == "B"), noise)})


def test_a_guardrail_that_is_not_clear_of_its_limit_decides_nothing(tmp_path: Path) -> None:
    rows = _with_latency(10)
    holds = _online(tmp_path, rows, guardrails="ms<+20", baseline="A")
    assert holds.decision is not None
    assert holds.decision.outcome == "ship"
    assert holds.sentences[1].startswith("The guardrail ms<+20 holds for B: +9.98")
    for guardrail, words in (("ms<+10", "is not clear"), ("ms<+5", "is broken")):
        result = _online(tmp_path, rows, guardrails=guardrail, baseline="A")
        assert result.decision is not None
        assert (result.decision.outcome, result.decision.reason) == ("not_decided", "guardrail")
        assert f"{guardrail} {words} for B" in result.sentences[0]
    kept = _online(tmp_path, rows, guardrails="ms<+5", baseline="B").decision
    assert kept is not None
    assert kept.outcome == "keep"


def test_a_field_that_no_query_has_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no query of the log has a number latency"):
        _online(tmp_path, variant_rows(_CLEAR, sessions=200), guardrails="latency<+5", baseline="A")
    with pytest.raises(UsageError, match="a guardrail is about the change from a baseline, and none is named"):
        _online(tmp_path, variant_rows(_CLEAR, sessions=200), guardrails="latency<+5")


@pytest.mark.parametrize(("worse", "better"), [("A", "B"), ("B", "A")])
def test_the_better_variant_is_shipped_whatever_its_name(tmp_path: Path, worse: str, better: str) -> None:
    decision = _online(tmp_path, variant_rows({worse: 0.2, better: 0.9})).decision
    assert decision is not None
    assert (decision.outcome, decision.systems) == ("ship", (better,))


def test_users_in_two_variants_are_left_out_and_many_of_them_decide_nothing(tmp_path: Path) -> None:
    rows = variant_rows(_CLEAR, users=400)
    moved = {"user-1", "user-2", "user-3"}
    seen = set[str]()
    for row in rows:
        if row["client_id"] in moved - seen and "query_attributes" in row:
            seen.add(row["client_id"])
            row["query_attributes"]["variant"] = "A" if row["query_attributes"]["variant"] == "B" else "B"
    result = _online(tmp_path, rows)
    assert result.decision is not None
    assert result.decision.outcome == "ship"
    assert "3 users in several variants, left out with 12 sessions" in result.notes
    rng = random.Random(1)
    for row in rows:
        if "query_attributes" in row:
            row["query_attributes"]["variant"] = (
                rng.choice("AB") if int(row["client_id"][5:]) < 40 else row["query_attributes"]["variant"]
            )
    broken = _online(tmp_path, rows)
    assert broken.decision is not None
    assert broken.decision.reason == "log"
    assert " users were in several variants: give each user one variant" in broken.sentences[0]


def test_a_mismatch_of_the_sample_ratio_decides_nothing(tmp_path: Path) -> None:
    rows = variant_rows({"A": 0.0, "B": 0.9, "C": 0.9}, users=900, sessions=2500)
    for row in rows:
        if row.get("query_attributes", {}).get("variant") == "C":
            row["query_attributes"]["variant"] = "B"
    result = _online(tmp_path, rows)
    assert result.decision is not None
    assert result.decision.reason == "log"
    assert "sample-ratio mismatch: users by variant are A " in result.sentences[0]
    as_planned = _online(tmp_path, rows, shares={"A": 1, "B": 2}).decision
    assert as_planned is not None
    assert as_planned.outcome == "ship"


def test_a_variant_that_appears_later_decides_nothing_and_its_fix_works(tmp_path: Path) -> None:
    rows = [
        row
        for row in variant_rows(_CLEAR, sessions=3000)
        if not (int(row["query_id"][1:]) < 1000 and row.get("query_attributes", {}).get("variant") == "B")
    ]
    result = _online(tmp_path, rows)
    assert result.decision is not None
    assert result.decision.reason == "log"
    assert "B starts later than the other variants" in result.sentences[0]
    since = result.sentences[0].partition("--since ")[2].rstrip(".")
    later = _online(tmp_path, rows, since=since).decision
    assert later is not None
    assert later.outcome == "ship"


def _width(result: OnlineResult) -> float:
    assert result.decision is not None
    ci = result.decision.against[0].ci
    assert ci is not None
    return ci[1] - ci[0]


def test_the_period_before_the_start_narrows_the_interval(tmp_path: Path) -> None:
    rows = variant_rows(_EQUAL, sessions=6000, users=400, before=0.5)
    start = START + 4.5 * 86_400
    adjusted = _online(tmp_path, rows, since=start)
    alone = _online(tmp_path, [row for row in rows if row["timestamp"] >= start], since=start)
    assert any("(CUPED)" in note for note in adjusted.notes)
    widths = [_width(result) for result in (adjusted, alone)]
    assert widths[0] < 0.95 * widths[1]


def test_a_period_before_the_start_with_users_of_one_variant_alone_does_not_adjust(tmp_path: Path) -> None:
    rows = variant_rows(_EQUAL, sessions=6000, users=400, before=0.5)
    start = START + 4.5 * 86_400
    variants = {
        row["client_id"]: row["query_attributes"]["variant"] for row in rows if row["timestamp"] >= start and "user_query" in row
    }
    late = [row for row in rows if row["timestamp"] >= start or variants.get(row["client_id"]) == "A"]
    result = _online(tmp_path, late, since=start)
    assert any("so these do not reduce the noise" in note for note in result.notes)
    alone = _online(tmp_path, [row for row in late if row["timestamp"] >= start], since=start)
    assert _width(result) == _width(alone)


def _without_sessions(rows: list[Row], lost: Callable[[str, bool], bool]) -> list[Row]:
    """The rows without the sessions of B that are lost, by the key and whether they have a click."""
    clicked = {row["query_id"] for row in rows if "action_name" in row}
    of_b = {row["query_id"] for row in rows if row.get("query_attributes", {}).get("variant") == "B"}
    gone = {key for key in of_b if lost(key, key in clicked)}
    return [row for row in rows if row["query_id"] not in gone]


def test_sessions_without_a_click_that_one_variant_does_not_log_decide_nothing(tmp_path: Path) -> None:
    rows = variant_rows({"A": 0.5, "B": 0.5}, users=700, sessions=4000)
    assert _online(tmp_path, rows).decision.outcome == "not_decided"  # type: ignore[union-attr]
    kept = _without_sessions(rows, lambda key, clicked: not clicked and int(key[1:]) % 10 < 7)
    for primary in ("FirstClickRR", "Abandonment"):
        decision = _online(tmp_path, kept, primary=primary).decision
        assert decision is not None
        assert decision.reason == "log"
        assert "sessions per user differ (B " in decision.detail
    better = _without_sessions(variant_rows(_CLEAR, users=700, sessions=4000), lambda key, clicked: int(key[1:]) % 4 == 0)
    assert _online(tmp_path, better).decision.outcome == "ship"  # type: ignore[union-attr]


def test_a_log_of_clicked_sessions_alone_decides_nothing_by_clicks(tmp_path: Path) -> None:
    rows = variant_rows(_CLEAR)
    clicked = {row["query_id"] for row in rows if "action_name" in row}
    decision = _online(tmp_path, [row for row in rows if row["query_id"] in clicked]).decision
    assert decision is not None
    assert (decision.reason, decision.detail[:29]) == ("log", "every session has a click: lo")


def test_an_id_that_many_people_share_decides_nothing(tmp_path: Path) -> None:
    rows = variant_rows(_CLEAR)
    for row in rows:
        if int(row["query_id"][1:]) % 5 == 0:
            row["client_id"] = "anonymous"
    decision = _online(tmp_path, rows).decision
    assert decision is not None
    assert decision.detail.startswith("280 sessions of 1 user in several variants: give each user an id of their own")


def test_placeholders_of_programs_are_no_users_and_no_variants(tmp_path: Path) -> None:
    rows = variant_rows(_CLEAR)
    for row in rows:
        key = int(row["query_id"][1:])
        row["client_id"] = "null" if key % 5 == 0 else row["client_id"]
        if key % 7 == 0 and "query_attributes" in row:
            row["query_attributes"]["variant"] = "NaN"
    result = _online(tmp_path, rows)
    assert [table["system"] for table in result.tables[0].records()] == ["A", "B"]
    assert "280 sessions without a user: each counts as a user of its own" in " ".join(result.notes)
    assert "200 sessions without a variant, left out" in result.notes


@pytest.mark.parametrize("field", ["user", "variant"])
def test_a_field_that_no_row_has_is_an_error(tmp_path: Path, field: str) -> None:
    with pytest.raises(UsageError, match="no row of the log has a value of clientid"):
        _online(tmp_path, variant_rows(_CLEAR), **{field: "clientid"})


def test_one_variant_and_a_variant_without_users_of_its_own_are_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the log holds one variant, A, so there is nothing to compare"):
        _online(tmp_path, [query_row("q1", "u1", ["a"], variant="A"), event_row("q1", "u1", "a")])
    both = [query_row(f"q{at}", "u1", ["a"], variant="AB"[at % 2]) for at in range(4)]
    with pytest.raises(InputError, match="has no user of its own"):
        _online(tmp_path, [*both, event_row("q1", "u1", "a")])


def test_sessions_without_a_variant_are_left_out_with_a_note(tmp_path: Path) -> None:
    rows = variant_rows(_CLEAR)
    rows += [query_row(f"other{at}", "guest", ["a"]) for at in range(3)]
    assert "3 sessions without a variant, left out" in _online(tmp_path, rows).notes


def test_interleaved_lists_and_variants_need_a_choice(tmp_path: Path) -> None:
    rows = variant_rows(_CLEAR, sessions=300)
    record = {"version": 1, "experiment": "e", "method": "team-draft", "systems": ["x", "y"], "teams": [0, 1]}
    for at in range(150):
        own = {**record, "teams": [at % 2, 1 - at % 2]}
        rows += [query_row(f"i{at}", f"i{at}", ["a", "b"], rankproof=own), event_row(f"i{at}", f"i{at}", "ab"[at % 2])]
    with pytest.raises(InputError, match="the log holds interleaved lists and the variants A and B; name the interleaving"):
        _online(tmp_path, rows)
    result = _online(tmp_path, rows, experiment="e")
    assert (result.kind, result.facts["sessions"]) == ("interleaving", 150)


def test_the_shares_must_name_every_variant(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="give the share of each: A, B"):
        _online(tmp_path, variant_rows(_CLEAR, sessions=200), shares={"A": 0.5})


def _purchases(path: Path, head: str, *, action: str) -> str:
    """An A/B test whose second variant has more events of an action."""
    lines = [f"session,user,{head}"]
    for at in range(400):
        lines.append(f"s{at},u{at},{'AB'[at % 2]},search")
        lines += [f"s{at},u{at},{'AB'[at % 2]},{action}"] * (at % 20 < (12 if at % 2 == 0 else 20))
    file = path / "log.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(file)


def test_an_action_decides_without_any_click(tmp_path: Path) -> None:
    file = _purchases(tmp_path, "variant,action", action="purchase")
    decision = rp.online(file, primary="purchase").decision
    assert decision is not None
    assert (decision.outcome, decision.systems) == ("ship", ("B",))
    with pytest.raises(InputError, match="its actions are purchase: clicks=ACTION names the one that counts"):
        rp.online(file)


def test_clicks_without_a_rank_and_a_document_are_an_error_whose_fix_works(tmp_path: Path) -> None:
    file = _purchases(tmp_path, "variant,action", action="click")
    with pytest.raises(InputError, match=r"320 clicks name neither a rank nor a document that was shown.*primary=ACTION"):
        rp.online(file)
    assert rp.online(file, primary="click").decision.outcome == "ship"  # type: ignore[union-attr]

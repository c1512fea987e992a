"""A/B tests and interleavings of equal systems whose logs are not what they seem: nothing may be decided from them."""

from __future__ import annotations

import csv
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import rankproof as rp
from rankproof._analysis.online.result import OnlineResult
from rankproof.errors import InputError, UsageError
from support.live_traffic import DAY, START, Row, event_row, query_row, written

_DAYS = 10
Change = Callable[[list[Any], random.Random], list[list[Any]]]
Chance = Callable[[int], float]
"""A chance by the day or the hour of a session."""


def _never(variant: str) -> float:
    return 0.0


def _rows(
    seed: int = 1,
    *,
    sessions: int = 3000,
    users: int = 1500,
    share: Chance = lambda when: 0.5,
    clicks: Chance = lambda when: 0.5,
    gain: float = 0.0,
    by_hour: bool = False,
    lost: Callable[[str], float] = _never,
    late: Callable[[str], float] = _never,
    repeated: Callable[[str], float] = _never,
) -> list[Row]:
    """Two variants that differ by `gain` in their click-through rate; users have the variant of their first session."""
    rng, rows, variant_of = random.Random(seed), list[Row](), dict[int, str]()
    for number in range(sessions):
        time = START + number * _DAYS * DAY / sessions
        when = int(time % DAY // 3600) if by_hour else int((time - START) // DAY)
        user = rng.randrange(users)
        variant = variant_of.setdefault(user, "B" if rng.random() < share(when) else "A")
        key, docs = f"q{number}", [f"d{place}" for place in range(10)]
        rows.append(query_row(key, f"u{user}", docs[:5] if rng.random() < lost(variant) else docs, time=time, variant=variant))
        if rng.random() < clicks(when) + (gain if variant == "B" else 0.0):
            doc, after = docs[min(int(rng.expovariate(0.4)), 9)], 2 * DAY if rng.random() < late(variant) else 5
            rows.append(event_row(key, f"u{user}", doc, time=time + after))
            if rng.random() < repeated(variant):
                rows.append(event_row(key, f"u{user}", doc, time=time + after + 1))
    return rows


def _online(path: Path, rows: list[Row], **options: Any) -> OnlineResult:
    return rp.online(written(path, rows), **options)


def _reason(result: OnlineResult) -> str:
    """Why nothing is decided, by the log itself."""
    assert result.decision is not None
    assert (result.decision.outcome, result.decision.reason) == ("not_decided", "log")
    return result.sentences[0]


def _is_late(when: int) -> bool:
    return when >= _DAYS // 2


def test_a_staged_rollout_decides_nothing_even_if_the_shares_are_equal_in_total(tmp_path: Path) -> None:
    rows = _rows(users=3000, share=lambda day: 0.8 if _is_late(day) else 0.2, clicks=lambda day: 0.7 if _is_late(day) else 0.3)
    reason = _reason(_online(tmp_path, rows))
    assert reason.startswith("Not decided: the share of A among new users changes: 8")
    assert "users of different times differ, so nothing is decided" in reason


def test_a_staged_rollout_decides_nothing_with_its_stated_shares(tmp_path: Path) -> None:
    rows = _rows(users=3000, share=lambda day: 0.5 if _is_late(day) else 0.1, clicks=lambda day: 0.7 if _is_late(day) else 0.3)
    reason = _reason(_online(tmp_path, rows, shares={"A": 0.73, "B": 0.27}))
    assert "the share of A among new users changes" in reason


def test_shares_that_change_by_the_hour_decide_nothing(tmp_path: Path) -> None:
    rows = _rows(
        users=3000,
        by_hour=True,
        share=lambda hour: 0.8 if hour >= 12 else 0.2,
        clicks=lambda hour: 0.7 if hour >= 12 else 0.3,
    )
    assert ":00 UTC; users of different times differ" in _reason(_online(tmp_path, rows))


def test_after_a_rollout_the_days_of_equal_shares_decide(tmp_path: Path) -> None:
    first = _rows(1, sessions=600, users=20_000, share=lambda day: 0.1)
    second = [
        {
            **row,
            "timestamp": row["timestamp"] + _DAYS * DAY,
            "query_id": f"second-{row['query_id']}",
            "client_id": row["client_id"] + "x",
        }
        for row in _rows(2, gain=0.3)
    ]
    reason = _reason(_online(tmp_path, first + second))
    since = reason.partition("--since ")[2].rstrip(".")
    assert since == "2025-11-13"
    decision = _online(tmp_path, first + second, since=since).decision
    assert decision is not None
    assert (decision.outcome, decision.systems) == ("ship", ("B",))


def test_three_users_with_most_of_the_sessions_decide_nothing(tmp_path: Path) -> None:
    rng, rows = random.Random(1), list[Row]()
    variant_of, taste = dict[str, str](), dict[str, float]()
    for number in range(4000):
        user = f"heavy-{rng.randrange(3)}" if rng.random() < 0.6 else f"u{rng.randrange(1000)}"
        variant = variant_of.setdefault(user, rng.choice("AB"))
        time = START + number * 100
        rows.append(query_row(f"q{number}", user, ["a", "b", "c"], time=time, variant=variant))
        if rng.random() < taste.setdefault(user, rng.random()):
            rows.append(event_row(f"q{number}", user, rng.choice("abc"), time=time + 5))
    reason = _reason(_online(tmp_path, rows))
    assert reason.startswith("Not decided: user heavy-")
    assert "and a decision needs 20" in reason


def test_a_monitor_that_never_clicks_decides_nothing(tmp_path: Path) -> None:
    monitor = [query_row(f"m{at}", "monitor", ["a"], time=START + at * 300, variant="B") for at in range(1500)]
    reason = _reason(_online(tmp_path, monitor + _rows()))
    assert reason.startswith("Not decided: user monitor has ")
    assert "leave out bots and monitors" in reason
    ignored = _online(tmp_path, monitor + _rows(), bots="monitor").decision
    assert ignored is not None
    assert ignored.reason == "interval"


def _of_b(share: float) -> Callable[[str], float]:
    return lambda variant: share if variant == "B" else 0.0


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        ({"lost": _of_b(1.0)}, "events of a document that was not shown differ by variant (A 0.0%, B 1"),
        ({"late": _of_b(0.1)}, "events more than 24 hours after their query differ by variant (A 0.0%, B "),
        ({"repeated": _of_b(0.5)}, "that repeat one of the same session, document and action differ by variant (A 0.0%, B 3"),
    ],
    ids=["documents lost", "late events", "repeats"],
)
def test_events_that_one_variant_alone_loses_decide_nothing(tmp_path: Path, faults: dict[str, Any], words: str) -> None:
    reason = _reason(_online(tmp_path, _rows(**faults)))
    assert words in reason
    assert reason.endswith("and were dropped: find out why, and start again.")


def _in_both(variant: str) -> float:
    return 0.3


def test_events_that_both_variants_lose_alike_are_a_note(tmp_path: Path) -> None:
    result = _online(tmp_path, _rows(gain=0.4, lost=_in_both, late=_in_both, repeated=_in_both))
    assert result.decision is not None
    assert (result.decision.outcome, result.decision.systems) == ("ship", ("B",))
    assert any("more than 24 hours after their query" in note for note in result.notes)


def test_sound_logs_are_not_refused(tmp_path: Path) -> None:
    reasons = []
    for seed in range(8):
        rows = _rows(seed, clicks=lambda day: 0.3 + 0.03 * day, gain=0.02 * seed, late=lambda variant: 0.03)
        decision = _online(tmp_path, rows).decision
        assert decision is not None
        reasons.append(decision.reason)
    assert "log" not in reasons
    assert None in reasons


Teams = Callable[[list[int], random.Random], list[int]]


def _interleaved(teams: Teams, sessions: int = 1500) -> list[Row]:
    """Lists of two systems that share no document, users who click at random, and a record with these teams."""
    rng, rows = random.Random(4), list[Row]()
    rankings = {name: [f"{name}{place}" for place in range(10)] for name in ("A", "B")}
    for number in range(sessions):
        key, user, time = f"q{number}", f"u{rng.randrange(600)}", START + number * 300
        shown = rp.interleave(rankings, experiment="test", seed=key, k=8)
        record = shown.to_dict()
        record["rankproof"]["teams"] = teams(record["rankproof"]["teams"], rng)
        rows.append(query_row(key, user, shown.docs, time=time, **record))
        rows += [event_row(key, user, doc, time=time + 5) for doc in shown.docs if rng.random() < 0.3]
    return rows


@pytest.mark.parametrize(
    ("teams", "words"),
    [
        (lambda teams, rng: [teams[0]] + [1] * 7, "place 2 of those that systems compete for goes to A 0, B 1,500 lists"),
        (lambda teams, rng: teams[:4] + [1] * 4, "place 5 of those that systems compete for goes to A 0, B 1,500 lists"),
        (lambda teams, rng: [1] * 8, "the first place that systems compete for goes to A 0, B 1,500 lists"),
        (
            lambda teams, rng: [teams[0], *(1 - team for team in teams[1:])],
            "places 1 and 2 that systems compete for are of the same system in 1,500 of 1,500 lists, and systems take turns",
        ),
    ],
    ids=["all after the first", "the lower half", "all", "swapped after the first"],
)
def test_a_record_that_names_the_wrong_owners_decides_nothing(tmp_path: Path, teams: Teams, words: str) -> None:
    reason = _reason(_online(tmp_path, _interleaved(teams)))
    assert words in reason
    assert "the teams are logged wrongly" in reason


@pytest.mark.parametrize("teams", [lambda teams, rng: teams, lambda teams, rng: rng.choices((0, 1), k=len(teams))])
def test_turns_and_coins_are_sound_owners(tmp_path: Path, teams: Teams) -> None:
    decision = _online(tmp_path, _interleaved(teams)).decision
    assert decision is not None
    assert decision.reason == "interval"


def _bought(price: Any, every: int) -> list[Row]:
    """Sessions of two variants with purchases, of which every so-many-th has this price."""
    rows = _rows(sessions=600, users=300)
    clicks = [row for row in rows if "action_name" in row]
    for number, row in enumerate(clicks):
        about = {**row["event_attributes"], "price": price if number % every == 0 else 10.0}
        rows.append({**row, "action_name": "purchase", "event_attributes": about})
    return rows


_REVENUE = "Revenue(event_attributes.price)"


@pytest.mark.parametrize("price", [float("nan"), float("inf"), "inf", "5,50", [1], True])
def test_purchases_without_a_finite_number_decide_no_revenue(tmp_path: Path, price: Any) -> None:
    reason = _reason(_online(tmp_path, _bought(price, 5), primary=_REVENUE))
    assert "events of purchase have no finite number for Revenue(event_attributes.price)" in reason
    few = _online(tmp_path, _bought(price, 150), primary=_REVENUE)
    assert few.decision is not None
    assert few.decision.reason != "log"


def test_prices_with_a_comma_are_named_and_not_their_path(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        _online(tmp_path, _bought("5,50", 1), primary=_REVENUE)
    assert "the first is 5,50; write numbers such as 5.50" in str(error.value)


@pytest.mark.parametrize("variant", [{"name": "A"}, ["A"]])
def test_a_structure_is_no_variant(tmp_path: Path, variant: Any) -> None:
    rows = [{**row, "query_attributes": {"variant": variant}} if "user_query" in row else row for row in _rows(sessions=20)]
    with pytest.raises(InputError, match=r"log\.jsonl:1: the variant cannot be a (dict|list)"):
        _online(tmp_path, rows)
    plain = [{"session": f"s{at}", "user": f"u{at}", "action": "search", "doc": "a", "variant": variant} for at in range(9)]
    with pytest.raises(InputError, match=r"plain\.jsonl:1: the variant cannot be a (dict|list)"):
        rp.online(written(tmp_path, plain, "plain.jsonl"))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("time", [1e300, -1e300, "1e300", 1e21])
def test_a_time_that_no_unit_explains_is_no_time(tmp_path: Path, time: Any) -> None:
    rows = _rows(sessions=200)
    rows[0]["timestamp"] = time
    result = _online(tmp_path, rows)
    assert any("1 without a time, or with one that cannot be read" in note for note in result.notes)


@pytest.mark.parametrize("shares", [{"A": -1, "B": 1}, {"A": 0, "B": 1}, {"A": float("nan"), "B": 1}, {"A": "x"}, [1]])
def test_a_share_is_a_number_above_0(tmp_path: Path, shares: Any) -> None:
    with pytest.raises(UsageError, match=r"shares are .*; pass numbers above 0"):
        _online(tmp_path, _rows(sessions=20), shares=shares)


def test_an_empty_word_of_bots_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="bots= has an empty text; leave it out"):
        _online(tmp_path, _rows(sessions=20), bots="")


def test_a_ranking_needs_lists_of_what_was_shown(tmp_path: Path) -> None:
    rows = _rows(sessions=20)
    for row in rows:
        row.pop("query_response_hit_ids", None)
    with pytest.raises(InputError, match="the log lists no documents that were shown for a known query"):
        _online(tmp_path, rows, value={"red shoes": {"d1": 1.0}})
    with pytest.raises(InputError, match="; add the log of events"):
        _online(tmp_path, [row for row in _rows(sessions=20) if "action_name" not in row], value={"red shoes": {"d1": 1.0}})


_PLAIN = ("session", "user", "time", "variant", "rank", "doc", "action", "value")


def _plain_log(path: Path, seed: int = 1, *, names: Sequence[str] = _PLAIN, change: Change = lambda row, rng: [row]) -> str:
    """Two variants of 1,200 users, of which B has more clicks and purchases; `change` gives the logged rows of a row."""
    rng, file, searches = random.Random(seed), path / "log.csv", 0
    with file.open("w", newline="", encoding="utf-8") as out:
        table = csv.writer(out)
        table.writerow(names)
        for user in range(1200):
            variant = rng.choice("AB")
            for _ in range(2):
                searches, time = searches + 1, START + rng.randrange(_DAYS * DAY)
                rows: list[list[Any]] = [[rank, f"d{rank}", "impression", ""] for rank in range(1, 6)]
                if rng.random() < (0.6 if variant == "B" else 0.4):
                    rank = rng.choice((1, 1, 2, 3))
                    rows += [[rank, f"d{rank}", "click", ""], [rank, f"d{rank}", "purchase", round(rng.gammavariate(2, 20), 2)]]
                for row in rows:
                    table.writerows(change([f"s{searches}", f"u{user}", time, variant, *row], rng))
    return str(file)


def test_a_guardrail_of_clicks_does_not_hold_without_any_rank(tmp_path: Path) -> None:
    names = [{"rank": "pos", "doc": "thing"}.get(name, name) for name in _PLAIN]
    file = _plain_log(tmp_path, names=names)
    words = r'CTR@3 needs clicks: .* neither a rank nor a document.*"rank": "COLUMN".*columns without a role: pos, thing\)'
    options: list[dict[str, Any]] = [{"guardrails": "CTR@3>-0.05"}, {"metrics": "CTR@3"}]
    for metric in options:
        with pytest.raises(InputError, match=words):
            rp.online(file, primary="purchase", baseline="A", **metric)
    result = rp.online(file, primary="purchase", baseline="A", guardrails="CTR@3>-0.05", columns={"rank": "pos"})
    assert any("The guardrail CTR@3>-0.05 holds" in sentence for sentence in result.sentences)


def test_a_log_without_a_column_of_systems_names_the_columns_that_could_be_it(tmp_path: Path) -> None:
    file = _plain_log(tmp_path, names=["came_from" if name == "variant" else name for name in _PLAIN])
    with pytest.raises(InputError, match=r'"system": "COLUMN".*"variant": "COLUMN".*columns without a role: came_from'):
        rp.online(file)
    assert rp.online(file, columns={"variant": "came_from"}, baseline="A").decision is not None


def test_advice_on_a_variant_that_ends_earlier_leads_to_no_other_rejection(tmp_path: Path) -> None:
    rows = _rows(users=3000, share=lambda day: 0.2 + 0.07 * day)
    late = _rows(2, sessions=300, users=600, share=lambda day: 1.0)
    later = [
        {
            **row,
            "query_id": f"l-{row['query_id']}",
            "client_id": f"l-{row['client_id']}",
            "timestamp": row["timestamp"] + _DAYS * DAY,
        }
        for row in late
    ]
    reason = _reason(_online(tmp_path, rows + later))
    assert "A ends earlier than the other variants" in reason
    assert "give the variants the same shares at all times" in reason


def _from_0(share: float) -> Change:
    """Ranks of a share of the searches of B from 0."""

    def change(row: list[Any], rng: random.Random) -> list[list[Any]]:
        is_moved = row[3] == "B" and random.Random(row[0]).random() < share
        return [[*row[:4], row[4] - 1, *row[5:]] if is_moved else row]

    return change


def _times(factor: float, share: float, variant: str = "B") -> Change:
    """A share of the numbers of a variant times a factor."""

    def change(row: list[Any], rng: random.Random) -> list[list[Any]]:
        is_changed = row[3] == variant and row[7] != "" and rng.random() < share
        return [[*row[:7], round(row[7] * factor, 2)] if is_changed else row]

    return change


@pytest.mark.parametrize("share", [1.0, 0.3])
def test_ranks_from_0_in_one_variant_and_from_1_in_the_other_decide_nothing(tmp_path: Path, share: float) -> None:
    file = _plain_log(tmp_path, change=_from_0(share))
    words = "lists of A begin at a later rank than those of B, as if one counted from 0"
    assert words in _reason(rp.online(file, baseline="A"))
    assert words in _reason(rp.online(file, primary="purchase", baseline="A", guardrails="CTR@1>-0.05"))
    assert rp.online(file, primary="purchase", baseline="A").decision.outcome == "ship"  # type: ignore[union-attr]


def test_clicks_without_lists_whose_ranks_begin_at_0_in_one_variant_decide_nothing(tmp_path: Path) -> None:
    def change(row: list[Any], rng: random.Random) -> list[list[Any]]:
        is_search = row[6] == "impression"
        if is_search and row[4] > 1:
            return []
        return [[*row[:4], "" if is_search else row[4] - (row[3] == "B"), "", *row[6:]]]

    reason = _reason(rp.online(_plain_log(tmp_path, change=change), baseline="A"))
    assert "ranks of clicks of A begin at a later rank than those of B" in reason


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_times(100, 1), "the median number of an event is"),
        (_times(100, 0.3), "of the numbers of events in B are over 20 times as large as 99% of those in A"),
        (_times(0.01, 0.3, "A"), "of the numbers of events in A are under 1/20 of 99% of those in B"),
    ],
)
def test_revenue_in_different_units_decides_nothing(tmp_path: Path, change: Change, words: str) -> None:
    file = _plain_log(tmp_path, change=change)
    assert words in _reason(rp.online(file, primary="Revenue(value)", baseline="A"))
    assert words in _reason(rp.online(file, primary="purchase", baseline="A", guardrails="Revenue(value)>-1"))


def test_the_same_units_and_first_ranks_in_both_variants_decide(tmp_path: Path) -> None:
    for change in (_times(1, 0), lambda row, rng: [[*row[:4], row[4] - 1, *row[5:]]]):
        file = _plain_log(tmp_path, change=change)
        for primary in ("FirstClickRR", "Revenue(value)"):
            assert rp.online(file, primary=primary, baseline="A").decision.outcome == "ship"  # type: ignore[union-attr]


def _logged_again(row: list[Any], rng: random.Random) -> list[list[Any]]:
    """Half of the searches of B are logged again under a new id."""
    is_repeated = row[3] == "B" and random.Random(row[0]).random() < 0.5
    return [row, [f"{row[0]}-again", *row[1:]]] if is_repeated else [row]


def test_searches_that_are_logged_again_under_a_new_id_count_once(tmp_path: Path) -> None:
    once = rp.online(_plain_log(tmp_path), baseline="A")
    again = rp.online(_plain_log(tmp_path, change=_logged_again), baseline="A")
    assert again.sentences == once.sentences
    assert any("with the user, time and documents of another one" in note for note in again.notes)


def test_a_click_on_the_second_log_of_a_search_counts(tmp_path: Path) -> None:
    def change(row: list[Any], rng: random.Random) -> list[list[Any]]:
        rows = _logged_again(row, rng)
        return rows if row[6] == "impression" else rows[-1:]

    once, again = rp.online(_plain_log(tmp_path), baseline="A"), rp.online(_plain_log(tmp_path, change=change), baseline="A")
    assert again.sentences == once.sentences


def test_searches_at_the_same_minute_or_with_other_documents_are_two(tmp_path: Path) -> None:
    def change(row: list[Any], rng: random.Random) -> list[list[Any]]:
        again = [f"{row[0]}-again", *row[1:]]
        if int(row[1][1:]) % 2:
            again[5] = f"other-{row[5]}"
        else:
            row[2] = again[2] = int(row[2]) // 60 * 60
        return [row, again]

    def in_minutes(row: list[Any], rng: random.Random) -> list[list[Any]]:
        return [[row[0], row[1], int(row[2]) // 60 * 60, *row[3:]], [f"{row[0]}-again", row[1], int(row[2]) // 60 * 60, *row[3:]]]

    for logged, kept in ((in_minutes, 4800), (change, 3600)):
        decision = rp.online(_plain_log(tmp_path, change=logged), baseline="A").decision
        assert decision is not None
        assert decision.n == pytest.approx(kept, abs=30)


def test_clicks_whose_rank_one_variant_alone_logs_decide_nothing(tmp_path: Path) -> None:
    def change(row: list[Any], rng: random.Random) -> list[list[Any]]:
        return [[*row[:4], "", "", *row[6:]] if row[3] == "A" or row[6] == "impression" else row]

    file = _plain_log(tmp_path, change=change)
    words = "A has 0 clicks with a rank or a document that was shown, and B "
    assert words in _reason(rp.online(file, primary="purchase", baseline="A", guardrails="CTR@3>-0.05"))
    assert rp.online(file, primary="purchase", baseline="A").decision.outcome == "ship"  # type: ignore[union-attr]

"""Distributions and credit of interleaving: golden values, exact expectations, and cases that biased methods fail."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

import rankproof as rp
from rankproof._analysis.online.interleaved import Preferences
from rankproof._data.arrays import FloatArray
from rankproof._interleaving.methods import pairwise_credit, probabilistic_credit
from support.interleavings import DraftedList, all_lists
from support.paths import GOLDEN, TESTS

_GOLDEN = json.loads((GOLDEN / "online" / "interleaving.json").read_text(encoding="utf-8"))
_NAMES = {
    "team-draft": "team-draft-plain",
    "team-draft, shared picks neutral (-1)": "team-draft",
    "pairwise preference": "pairwise",
    "probabilistic, tau 3, systems drawn with replacement (the 8 most probable lists)": "probabilistic",
}
_BLIND = (["a", "b", "c", "d"], ["b", "c", "a", "d"])


def _method(case: dict[str, Any]) -> str:
    name = _NAMES[case["method"]]
    return "team-draft-multileaving" if len(case["lists"]) > 2 and name == "team-draft-plain" else name


def _cases() -> Iterator[Any]:
    for case in _GOLDEN["cases"]:
        # The reference has only the most probable lists of this case, which go on where one system has nothing left.
        if (case["case"], _method(case)) != ("shorter", "probabilistic"):
            yield pytest.param(case, id=f"{case['case']}-{_method(case)}")


@pytest.mark.parametrize("case", list(_cases()))
def test_lists_have_the_chances_of_the_reference(case: dict[str, Any]) -> None:
    method = _method(case)
    lists = all_lists(method, case["lists"], case["k"])
    assert sum(drafted.chance for drafted in lists) == 1
    own = {(drafted.docs, drafted.teams): float(drafted.chance) for drafted in lists}
    wanted = {(tuple(row["docs"]), tuple(row.get("teams", ()))): _number(row["p"]) for row in case["distribution"]}
    if case["case"] == "shorter":
        # Where a system has nothing left to draft, the rest of the other one is shared here, and drafted by the reference.
        own, wanted = (_beginnings(chances) for chances in (own, wanted))
    assert {key: own.get(key) for key in wanted} == pytest.approx(wanted, abs=1e-12)


def _number(text: str | float) -> float:
    if isinstance(text, float | int):
        return float(text)
    above, _, below = text.partition("/")
    return int(above) / int(below or 1)


def _beginnings(chances: dict[Any, float]) -> dict[Any, float]:
    sums: dict[Any, float] = {}
    for (docs, _), chance in chances.items():
        sums[docs[:2]] = sums.get(docs[:2], 0.0) + chance
    return sums


@pytest.mark.parametrize("method", ["team-draft", "team-draft-plain", "pairwise", "probabilistic"])
def test_seeds_draw_lists_with_these_chances(method: Any) -> None:
    rankings = {"A": ["a", "b", "c", "d"], "B": ["b", "c", "d", "a"]}
    chances: dict[tuple[str, ...], float] = {}
    for drafted in all_lists(method, list(rankings.values()), 4):
        chances[drafted.docs] = chances.get(drafted.docs, 0.0) + float(drafted.chance)
    draws = 100_000 if method == "team-draft" else 20_000
    drawn = Counter(rp.interleave(rankings, seed=seed, method=method, k=4).docs for seed in range(draws))
    assert set(drawn) <= set(chances)
    docs = list(chances)
    assert chisquare([drawn[doc] for doc in docs], [chances[doc] * draws for doc in docs]).pvalue > 1e-6


@pytest.mark.parametrize("row", [row for row in _GOLDEN["credit"] if row["method"] == "pairwise preference"], ids=str)
def test_pairwise_credit_is_that_of_the_reference(row: dict[str, Any]) -> None:
    assert pairwise_credit(row["lists"], row["docs"], set(row["clicks"])) == pytest.approx(row["scores"], abs=1e-12)


def test_probabilistic_credit_is_the_posterior_of_the_reference() -> None:
    rows = [
        (case["lists"], row)
        for case in _GOLDEN["cases"]
        for row in case["distribution"]
        if "posterior" in row and case["case"] != "shorter"
    ]
    assert len(rows) > 30
    for lists, row in rows:
        credit = [probabilistic_credit(lists, row["docs"], {place}) for place in range(len(row["posterior"]))]
        assert credit == [pytest.approx(posterior, abs=1e-12) for posterior in row["posterior"]]


Credit = Callable[[Sequence[Sequence[str]], DraftedList, Collection[int]], float]


def _of_teams(_: Sequence[Sequence[str]], drafted: DraftedList, clicked: Collection[int]) -> float:
    """The sign of the clicks on the second team less those on the first."""
    clicks = Counter(drafted.teams[place] for place in clicked)
    return float((clicks[1] > clicks[0]) - (clicks[1] < clicks[0]))


def _of_pairs(lists: Sequence[Sequence[str]], drafted: DraftedList, clicked: Collection[int]) -> float:
    first, second = pairwise_credit(lists, drafted.docs, clicked)
    return second - first


def _of_posteriors(lists: Sequence[Sequence[str]], drafted: DraftedList, clicked: Collection[int]) -> float:
    first, second = probabilistic_credit(lists, drafted.docs, clicked)
    return second - first


_CREDIT: dict[str, Credit] = {
    "team-draft": _of_teams,
    "team-draft-plain": _of_teams,
    "pairwise": _of_pairs,
    "probabilistic": _of_posteriors,
}


@pytest.mark.parametrize("method", _CREDIT)
def test_clicks_that_do_not_depend_on_documents_prefer_no_system(method: str) -> None:
    """For all orders of four documents and every set of ranks that is clicked, the expected credit is exactly 0."""
    clicks = [set(ranks) for count in range(1, 5) for ranks in combinations(range(4), count)]
    for order in permutations("abcd"):
        lists = ["abcd", order]
        drafted = all_lists(method, lists, 4)
        for clicked in clicks:
            credit = sum(float(one.chance) * _CREDIT[method](lists, one, clicked) for one in drafted)
            assert credit == pytest.approx(0, abs=1e-12), (order, clicked)


def _preferences(method: str, lists: Sequence[str], clicks: Sequence[set[int]]) -> tuple[Preferences, FloatArray]:
    """A session for each list that may be drafted and each set of clicked ranks, with the chances of the lists."""
    drafted = [(one, clicked) for one in all_lists(method, lists, 4) for clicked in clicks]
    credit_of = {"pairwise": pairwise_credit, "probabilistic": probabilistic_credit}.get(method)
    credit = [
        [sum(one.teams[place] == team for place in clicked) for team in range(len(lists))]
        if credit_of is None
        else credit_of(lists, one.docs, clicked)
        for one, clicked in drafted
    ]
    rows = np.arange(len(drafted), dtype=np.int32)
    names = tuple(f"system {at}" for at in range(len(lists)))
    sessions = Preferences(names, rows, np.zeros(len(rows)), rows, np.array(credit, dtype=np.float64), rows, credit_of is None)
    return sessions, np.array([float(one.chance) for one, _ in drafted])


@pytest.mark.parametrize("method", [*_CREDIT, "team-draft-multileaving"])
@pytest.mark.parametrize("other", ["bcda", "acdb", "bcad", "cdba"])
def test_sessions_with_random_clicks_prefer_no_system_in_all(method: str, other: str) -> None:
    """The sign of the credit alone prefers a system by up to a third of the sessions with pairwise and probabilistic lists."""
    clicks = [set(ranks) for count in range(1, 5) for ranks in combinations(range(4), count)]
    lists = ["abcd", other] if method in _CREDIT else ["abcd", other, "dbca"]
    sessions, chances = _preferences(method, lists, clicks)
    for pair in combinations(range(len(lists)), 2):
        assert chances @ sessions.preference(*pair) == pytest.approx(0, abs=1e-9)
    if method in ("pairwise", "probabilistic"):
        alone = [_preferences(method, lists, [clicked]) for clicked in clicks]
        assert max(abs(own @ np.sign(one.preference(1, 0))) for one, own in alone) > 0.1


@pytest.mark.parametrize(
    ("method", "most_blind"), [("team-draft", 0.3), ("team-draft-plain", 0.3), ("pairwise", 0), ("probabilistic", 0)]
)
def test_the_system_with_the_only_relevant_document_higher_is_never_worse(method: str, most_blind: float) -> None:
    signs = Counter(_sign_of_better(method, lists, doc) for lists, doc in _one_relevant())
    assert signs[-1] == 0
    assert signs[0] <= most_blind * signs.total()
    assert signs.total() >= 72


def _one_relevant() -> Iterator[tuple[list[str], str]]:
    """Pairs of orders with a document that is higher in the second one."""
    for order in permutations("abcd"):
        yield from ((["abcd", "".join(order)], doc) for doc in "abcd" if order.index(doc) < "abcd".index(doc))
        yield from (([*("".join(order), "abcd")], doc) for doc in "abcd" if order.index(doc) > "abcd".index(doc))


def _sign_of_better(method: str, lists: Sequence[str], relevant: str) -> int:
    credit = _expected(all_lists(method, lists, 4), lists, _CREDIT[method], relevant)
    return 0 if abs(credit) < 1e-9 else 1 if credit > 0 else -1


def _expected(drafted: Sequence[DraftedList], lists: Sequence[Sequence[str]], credit: Credit, relevant: str) -> float:
    """The expected credit if users click the relevant document with .8, others with .1."""
    total = 0.0
    for one in drafted:
        for pattern in product((False, True), repeat=len(one.docs)):
            chances = (0.8 if doc == relevant else 0.1 for doc in one.docs)
            chance = float(one.chance)
            for is_clicked, click in zip(pattern, chances, strict=True):
                chance *= click if is_clicked else 1 - click
            total += chance * credit(lists, one, {place for place, is_clicked in enumerate(pattern) if is_clicked})
    return total


def test_team_draft_is_blind_where_only_a_third_document_moves_and_pairwise_is_not() -> None:
    lists, case = list(map("".join, _BLIND)), json.loads((GOLDEN / "online" / "fidelity.json").read_text())["cases"][0]
    assert case["lists"] == lists
    blind = _expected(all_lists("team-draft", lists, 4), lists, _of_teams, "c")
    assert blind == pytest.approx(case["expected_credit"], abs=1e-12)
    assert _expected(all_lists("pairwise", lists, 4), lists, _of_pairs, "c") > 0.1


def _balanced(lists: Sequence[str]) -> list[DraftedList]:
    """Balanced interleaving (Joachims 2002), which is biased: both lists are read from the top, a coin says whose is first."""
    from fractions import Fraction

    drafted = []
    for first in (0, 1):
        docs, read = list[str](), [0, 0]
        while len(docs) < len(lists[0]):
            own = first if read[first] <= read[1 - first] else 1 - first
            doc = lists[own][read[own]]
            docs += [] if doc in docs else [doc]
            read[own] += 1
        drafted.append(DraftedList(tuple(docs), (), Fraction(1, 2)))
    return drafted


def _of_balanced(lists: Sequence[Sequence[str]], drafted: DraftedList, clicked: Collection[int]) -> float:
    """The sign of clicks in the tops of both lists that reach the lowest click."""
    if not clicked:
        return 0.0
    lowest = drafted.docs[max(clicked)]
    depth = min(own.index(lowest) for own in lists if lowest in own) + 1
    first, second = (sum(drafted.docs[place] in own[:depth] for place in clicked) for own in lists)
    return float((second > first) - (second < first))


@pytest.mark.parametrize("row", [row for row in _GOLDEN["credit"] if row["method"] == "balanced"], ids=str)
def test_the_credit_of_the_balanced_case_is_that_of_the_reference(row: dict[str, Any]) -> None:
    from fractions import Fraction

    own = _of_balanced(row["lists"], DraftedList(tuple(row["docs"]), (), Fraction(1, 2)), set(row["clicks"]))
    first, second = row["scores"]
    assert own == (second > first) - (second < first)


@pytest.mark.parametrize("case", json.loads((GOLDEN / "online" / "fidelity.json").read_text())["cases"][1:3], ids=str)
def test_random_clicks_prefer_a_system_by_balanced_interleaving_and_none_by_the_default(case: dict[str, Any]) -> None:
    lists = case["lists"]

    def expected(drafted: Sequence[DraftedList], credit: Credit) -> float:
        return sum(
            chance * float(one.chance) * credit(lists, one, clicked)
            for one in drafted
            for clicked, chance in _random_clicks(case)
        )

    assert expected(_balanced(lists), _of_balanced) == pytest.approx(case["expected_sign"], abs=5e-4)
    assert expected(all_lists("team-draft", lists, 4), _of_teams) == 0


def test_clicks_on_the_first_slot_prefer_a_system_by_sample_scored_interleaving_and_none_by_the_default() -> None:
    """Sample-scored credit (Brost et al. 2016) is 1 / rank in each ranking of the documents shown; it is biased."""
    case = json.loads((GOLDEN / "online" / "fidelity.json").read_text())["cases"][3]
    assert case["clicks"] == "only the first slot"
    first, second = lists = case["lists"]
    scored = [1 / (second.index(own[0]) + 1) - 1 / (first.index(own[0]) + 1) for own in lists]
    assert sum(scored) / 2 == case["expected_credit"]
    for method, credit in _CREDIT.items():
        drafted = all_lists(method, lists, 4)
        assert sum(float(one.chance) * credit(lists, one, {0}) for one in drafted) == pytest.approx(0, abs=1e-12)


def _random_clicks(case: dict[str, Any]) -> Iterator[tuple[set[int], float]]:
    """The ranks that are clicked, with their chances: a cascade with .3 for every document, or the last slot only."""
    if case["clicks"] == "only the last slot":
        yield {3}, 1.0
    else:
        yield from (({place}, 0.3 * 0.7**place) for place in range(4))


def test_published_lists_are_drafted_again() -> None:
    """Twenty vectors for ports to other languages."""
    rows = [json.loads(line) for line in (TESTS / "data" / "interleaved_lists.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 20
    for row in rows:
        shown = rp.interleave(row["rankings"], experiment=row["experiment"], seed=row["seed"], method=row["method"], k=row["k"])
        assert [list(shown.docs), shown.teams and list(shown.teams)] == [row["docs"], row["teams"]]

"""`interleave`: what may be in a list, who drafted it, and that the same seed gives the same list everywhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankproof as rp
from rankproof._interleaving.methods import METHODS, Coins
from rankproof.errors import UsageError
from support.interleavings import all_lists
from support.paths import SOURCE

_TWO = {"bm25": [f"d{at}" for at in range(10)], "hybrid": [f"d{at * 3 % 13}" for at in range(10)]}
_THREE = {**_TWO, "minilm": [f"d{at * 5 % 17}" for at in range(10)]}
_METHODS = sorted(METHODS)


def _systems(method: str) -> dict[str, list[str]]:
    return _THREE if method in ("pairwise", "team-draft-multileaving") else _TWO


rankings_of_two = st.lists(
    st.permutations("abcdefgh").flatmap(lambda docs: st.integers(0, 8).map(lambda n: docs[:n])), min_size=2, max_size=2
)


@given(rankings_of_two, st.integers(0, 10**9), st.integers(1, 12), st.sampled_from(_METHODS))
def test_a_list_holds_only_documents_of_the_systems_each_once(lists: list[list[str]], seed: int, k: int, method: Any) -> None:
    shown = rp.interleave({"A": lists[0], "B": lists[1]}, seed=seed, method=method, k=k)
    assert set(shown.docs) <= {*lists[0], *lists[1]}
    assert len(set(shown.docs)) == len(shown.docs)
    assert len(shown.docs) == min(k, len({*lists[0], *lists[1]})) or method == "pairwise"
    assert shown.teams is None or len(shown.teams) == len(shown.docs)


@given(rankings_of_two, st.integers(0, 10**9), st.integers(1, 6), st.sampled_from(_METHODS))
def test_page_two_continues_page_one(lists: list[list[str]], seed: int, k: int, method: Any) -> None:
    rankings = {"A": lists[0], "B": lists[1]}
    first, both = (rp.interleave(rankings, seed=seed, method=method, k=depth) for depth in (k, 2 * k))
    assert both.docs[:k] == first.docs
    assert both.teams is None or both.teams[:k] == first.teams


@given(rankings_of_two, st.integers(0, 10**9), st.integers(1, 12))
def test_both_systems_draft_equally_often_until_one_has_nothing_left(lists: list[list[str]], seed: int, k: int) -> None:
    shown = rp.interleave({"A": lists[0], "B": lists[1]}, seed=seed, k=k)
    assert shown.teams is not None
    assert abs(shown.teams.count(0) - shown.teams.count(1)) <= 1


@given(
    st.lists(st.permutations("abcdefgh"), min_size=2, max_size=4),
    st.integers(0, 10**9),
    st.integers(1, 8),
)
def test_systems_of_rounds_draft_equally_often(lists: list[list[str]], seed: int, k: int) -> None:
    rankings = {str(at): docs for at, docs in enumerate(lists)}
    method: Any = "team-draft-plain" if len(lists) == 2 else "team-draft-multileaving"
    teams = rp.interleave(rankings, seed=seed, method=method, k=k).teams
    assert teams is not None
    shares = [teams.count(team) for team in range(len(lists))]
    assert max(shares) - min(shares) <= 1


@given(rankings_of_two, st.integers(0, 10**9))
def test_a_system_that_drafts_a_document_has_it_above_every_document_that_is_left(lists: list[list[str]], seed: int) -> None:
    shown = rp.interleave({"A": lists[0], "B": lists[1]}, seed=seed, k=8)
    for place, (doc, team) in enumerate(zip(shown.docs, shown.teams or (), strict=True)):
        if team >= 0:
            assert doc == next(left for left in lists[team] if left not in shown.docs[:place])


@given(rankings_of_two, st.integers(0, 10**9), st.sampled_from(_METHODS))
def test_names_of_systems_do_not_change_the_list(lists: list[list[str]], seed: int, method: Any) -> None:
    first = rp.interleave({"A": lists[0], "B": lists[1]}, seed=seed, method=method)
    other = rp.interleave({"Y": lists[0], "X": lists[1]}, seed=seed, method=method)
    assert (first.docs, first.teams) == (other.docs, other.teams)


@pytest.mark.parametrize("method", _METHODS)
@pytest.mark.parametrize("other", ["bcda", "dcba", "abdc", "abef"])
def test_lists_of_swapped_systems_are_as_likely_with_swapped_teams(method: str, other: str) -> None:
    own, swapped = (all_lists(method, lists, 4) for lists in (["abcd", other], [other, "abcd"]))
    chances = {(drafted.docs, drafted.teams): drafted.chance for drafted in own}
    mirrored = {(one.docs, tuple(team if team < 0 else 1 - team for team in one.teams)): one.chance for one in swapped}
    assert mirrored == chances


def test_swapped_systems_have_the_same_chances() -> None:
    """Over many seeds each of the two systems drafts the first slot that both want half of the time."""
    for rankings in (_TWO, dict(reversed(_TWO.items()))):
        teams = [rp.interleave(rankings, seed=seed).teams or () for seed in range(4000)]
        firsts = [next(team for team in drafted if team >= 0) for drafted in teams]
        assert abs(sum(firsts) - 2000) < 5 * 32


@pytest.mark.parametrize("method", _METHODS)
def test_the_same_seed_gives_the_same_list_in_every_process(method: str) -> None:
    program = (
        "import json, rankproof as rp\n"
        f"shown = [rp.interleave({_systems(method)!r}, seed=seed, experiment='é', method={method!r}) for seed in range(20)]\n"
        "print(json.dumps([list(one.docs) for one in shown]))"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent), "PYTHONHASHSEED": "77"}
    other = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, env=environment)
    own = [list(rp.interleave(_systems(method), seed=seed, experiment="é", method=method).docs) for seed in range(20)]  # type: ignore[arg-type]
    assert json.loads(other.stdout) == own


_WORDS = [3155568374, 2467398938, 3972993477, 3595838520, 4107435545, 1339809970, 1652213982, 1730617495, 4218779786, 2487084086]


def test_coins_are_the_words_of_sha_256() -> None:
    """Vectors for ports to other languages: experiment NUL seed NUL counter, 32-bit words, big end first."""
    coins = Coins("2026-11-hybrid", "query-1")
    assert [coins.word() for _ in range(10)] == _WORDS
    assert Coins("2026-11-hybrid", "query-1").choice(3) == _WORDS[0] % 3


def test_a_whole_number_is_the_seed_of_its_decimal_text() -> None:
    assert rp.interleave(_TWO, seed=17) == rp.interleave(_TWO, seed="17")
    assert rp.interleave(_TWO, seed=17).docs != rp.interleave(_TWO, seed=19).docs


def test_the_record_goes_through_json_and_holds_no_name_of_a_document_of_team_draft() -> None:
    shown = rp.interleave(_TWO, seed="q", experiment="e")
    record = json.loads(json.dumps(shown.to_dict()))["rankproof"]
    assert record == {
        "version": 1,
        "experiment": "e",
        "method": "team-draft",
        "systems": ["bm25", "hybrid"],
        "teams": list(shown.teams or ()),
    }


def test_pairwise_is_the_default_for_three_systems_and_logs_what_its_credit_needs() -> None:
    shown = rp.interleave(_THREE, seed="q", k=5)
    record = shown.to_dict()["rankproof"]
    assert (record["method"], shown.teams, "teams" in record) == ("pairwise", None, False)
    assert record["rankings"] == [ranking[:5] for ranking in _THREE.values()]


def test_a_system_without_results_leaves_the_list_to_the_other() -> None:
    shown = rp.interleave({"bm25": ["a", "b"], "hybrid": []}, seed="q")
    assert (shown.docs, shown.teams) == (("a", "b"), (-1, -1))
    assert shown.notes == ("hybrid returned nothing; the documents of the others are shown, and the session is a tie",)


def test_equal_rankings_are_shared() -> None:
    shown = rp.interleave({"bm25": ["a", "b"], "hybrid": ["a", "b"]}, seed="q")
    assert (shown.docs, shown.teams) == (("a", "b"), (-1, -1))
    assert shown.notes == ("the systems return the same list, so the session is a tie",)


@pytest.mark.parametrize(
    ("rankings", "options", "words"),
    [
        ({"A": ["a"]}, {}, "1 ranking to interleave"),
        ([("A", ["a"]), ("A", ["b"])], {}, "two systems are called A"),
        ({"A": ["a", "a"], "B": ["b"]}, {}, "document a is twice in the ranking of A"),
        ({"A": ["a"], "B": ["b"]}, {"k": 0}, "k is 0"),
        ({"A": ["a"], "B": ["b"]}, {"seed": ""}, "the seed is empty"),
        ({"A": ["a"], "B": ["b"]}, {"seed": 1.5}, "seed cannot be"),
        ({"A": ["a"], "B": ["b"]}, {"method": "team-drafts"}, "did you mean team-draft"),
        ({"A": ["a"], "B": ["b"], "C": ["c"]}, {"method": "team-draft"}, "team-draft is for two systems, not 3"),
        ({"A": "abc", "B": ["b"]}, {}, "the ranking of A cannot be"),
        ({"A": [1], "B": ["b"]}, {}, "the ranking of A contains"),
        (3, {}, "rankings cannot be"),
    ],
)
def test_a_wrong_argument_is_named(rankings: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        rp.interleave(rankings, **{"seed": "q", **options})


def test_two_lists_of_ten_take_at_most_30_microseconds() -> None:
    def seconds() -> float:
        start = time.process_time()
        for seed in range(1000):
            rp.interleave(_TWO, seed=seed)
        return time.process_time() - start

    assert min(seconds() for _ in range(20)) / 1000 <= 30e-6


def test_it_imports_neither_numpy_nor_what_reads_and_writes() -> None:
    program = "import sys, rankproof as rp; rp.interleave; print(sorted({'numpy', 'json', 'pyarrow'} & {*sys.modules}))"
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent)}
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, env=environment)
    assert done.stdout.strip() == "[]"

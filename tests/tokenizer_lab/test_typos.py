"""Typing errors: few, the same for everybody, and never none."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._data.dataset import Queries, Query
from rankproof._tokenizer_lab.compare import MAX_EDITS, apply_typos, typo_letters, with_typos
from rankproof.errors import UsageError
from support.examples import examples

TEXTS = {
    "english": "How many points did the Panthers defense surrender?",
    "thai": "ทีมรับของแพนเธอร์สยอมแพ้ที่คะแนนเท่าไร",
    "chinese": "黑豹队的防守丢了多少分？",
    "emoji": "🙂🙃 🎉",
    "one letter": "a",
    "one ideograph": "分",
    "one sign": "?",
    "digits": "1987",
    "arabic": "كم عدد النقاط",
}


def distance(one: str, other: str) -> int:
    """The edits between two texts, a swap of neighbours being one (Damerau 1964, each place edited once)."""
    rows = [[max(i, j) if 0 in (i, j) else 0 for j in range(len(other) + 1)] for i in range(len(one) + 1)]
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            rows[i][j] = min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (one[i - 1] != other[j - 1]))
            if i > 1 and j > 1 and one[i - 1] == other[j - 2] and one[i - 2] == other[j - 1]:
                rows[i][j] = min(rows[i][j], rows[i - 2][j - 2] + 1)
    return rows[-1][-1]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_one_edit_is_one_edit(text: str) -> None:
    for key in range(30):
        assert distance(text, apply_typos(text, 1, str(key))) == 1


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_edits_are_cumulative(text: str) -> None:
    for key in range(30):
        once, twice = apply_typos(text, 1, str(key)), apply_typos(text, 2, str(key))
        assert distance(once, twice) == 1
        assert twice != text


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), st.integers(0, 3), st.text(max_size=4))
@examples(200)
def test_any_text_takes_edits_and_stays_a_text(text: str, edits: int, key: str) -> None:
    found = apply_typos(text, edits, key)
    found.encode()
    assert bool(found.strip()) == bool(text.strip())
    assert found == apply_typos(text, edits, key)
    assert abs(len(found) - len(text)) <= edits


def test_edits_differ_by_query_and_by_seed_and_keep_all_else() -> None:
    queries = Queries([Query(f"q{at}", TEXTS["english"], "title", {"kind": at}) for at in range(20)])
    found = with_typos(queries, 1, seed=3)
    assert len({query.text for query in found.values()}) > 10
    assert [(one.id, one.title, one.fields) for one in found.values()] == [
        (one.id, one.title, one.fields) for one in queries.values()
    ]
    again = {query: one.text for query, one in with_typos(queries, 1, seed=4).items()}
    assert again != {query: one.text for query, one in found.items()}


def test_the_edits_of_a_query_do_not_depend_on_other_queries() -> None:
    alone = with_typos(Queries([Query("q7", "a longer query")]), 2)
    among = with_typos(Queries([Query("q1", "another"), Query("q7", "a longer query")]), 2)
    assert alone["q7"].text == among["q7"].text


def test_no_edit_leaves_the_queries_as_they_are() -> None:
    queries = Queries([Query("q", "x")])
    assert with_typos(queries, 0) is queries


@pytest.mark.parametrize("name", ["thai", "chinese", "arabic"])
def test_new_letters_are_of_the_script_of_the_query(name: str) -> None:
    scripts = {unicodedata.name(char).split()[0] for char in typo_letters(TEXTS[name])}
    assert scripts <= {unicodedata.name(char).split()[0] for char in TEXTS[name] if not char.isspace()}


def test_a_digit_becomes_a_digit() -> None:
    same_length = [text for key in range(60) if len(text := apply_typos("1987", 1, str(key))) == 4]
    assert same_length
    assert all(text.isdecimal() for text in same_length)


@pytest.mark.parametrize(
    ("text", "edits", "key", "found"),
    [
        ("How many points did the Panthers surrender?", 1, "1\nq1", "ow many points did the Panthers surrender?"),
        ("How many points did the Panthers surrender?", 2, "1\nq1", "ow many points did the Panthers surrender"),
        ("ทีมรับของแพนเธอร์ส", 2, "1\nq2", "ทีรับของแนพเธอร์ส"),
        ("黑豹队的防守丢了多少分？", 3, "1\nq3", "它黑豹队的防守丢亊多少？"),
        ("Super Bowl 1987", 3, "0\nq4", "Suepr Bowl 0987"),
        ("a", 2, "1", "an"),
        ("a", 2, "7", "d"),
    ],
)
def test_the_edits_of_a_key_are_fixed(text: str, edits: int, key: str, found: str) -> None:
    assert apply_typos(text, edits, key) == found


@pytest.mark.parametrize("edits", [-1, MAX_EDITS + 1, 1.5, True])
def test_an_invalid_number_of_edits_is_an_error(edits: object) -> None:
    with pytest.raises(UsageError, match="edits is"):
        with_typos(Queries([Query("q", "x")]), edits)  # type: ignore[arg-type]

"""Quoted text can neither end its quote nor hide, and truncation is marked."""

from __future__ import annotations

import re
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._llm.prompts import (
    TRUNCATION_MARK,
    check_prompt,
    count_truncated,
    fill_prompt,
    is_truncated,
    quote_untrusted,
    sanitise_line,
    sanitise_text,
)
from rankproof.errors import UsageError

FENCE = re.compile(r"<<<(end of )?passage (\d+)>>>")
nasty = st.text(st.sampled_from("<>\u200b\u202e\x00\r\n\u2028 endofpassage123ab\ud800")) | st.text()


def test_a_passage_is_quoted_between_two_lines_with_its_label() -> None:
    assert quote_untrusted(["one", "two"]) == (
        "<<<passage 1>>>\none\n<<<end of passage 1>>>\n<<<passage 2>>>\ntwo\n<<<end of passage 2>>>"
    )
    assert quote_untrusted(["who?"], labels=["query"]) == "<<<query>>>\nwho?\n<<<end of query>>>"


@given(st.lists(nasty, max_size=5))
def test_no_text_starts_or_ends_a_quote(texts: list[str]) -> None:
    marks = [(bool(end), int(number)) for end, number in FENCE.findall(quote_untrusted(texts))]
    assert marks == [(end, number) for number in range(1, len(texts) + 1) for end in (False, True)]
    assert quote_untrusted(texts).count("<<<") == quote_untrusted(texts).count(">>>") == 2 * len(texts)


@given(nasty)
def test_nothing_hidden_is_left_but_line_ends_tabs_and_joiners(text: str) -> None:
    safe = sanitise_text(text)
    assert not [
        char for char in safe if category(char) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") and char not in "\n\t\u200c\u200d"
    ]
    safe.encode()


def test_hidden_characters_cannot_split_a_quote_mark() -> None:
    assert sanitise_text("<\u200b<\u202e<end of passage 1>\x00>>") == "< < <end of passage 1> > >"


@pytest.mark.parametrize(
    "text", ["a << b", "Map<String, List<Int>>", "naïve café", "مى\u200cخواهم", "line\nline\tcell", "1 < 2 > 0"]
)
def test_plain_text_and_code_stay_as_they_are(text: str) -> None:
    assert sanitise_text(text) == text


def test_labels_are_sanitised() -> None:
    assert quote_untrusted(["x"], labels=["a>>>\nb"]).splitlines()[0] == "<<<a> > > b>>>"


def test_a_truncated_passage_is_marked_and_counted() -> None:
    assert sanitise_text("abcdef", characters=4) == f"abcd{TRUNCATION_MARK}"
    assert sanitise_text(" abcd ", characters=4) == "abcd"
    assert [is_truncated("abcde", 4), is_truncated("abcd", 4), is_truncated("abcde", None)] == [True, False, False]
    assert count_truncated(["a", "abcde", "abcdef"], 4) == 2


@given(nasty, st.integers(1, 20))
def test_the_truncation_mark_appears_exactly_for_truncated_text(text: str, characters: int) -> None:
    assert sanitise_text(text, characters=characters).endswith(TRUNCATION_MARK) == (len(text.strip()) > characters)


def test_one_line_has_no_line_ends() -> None:
    assert sanitise_line("who\r\nis \u2029 it ") == "who is it"


def test_a_placeholder_in_a_filled_text_is_not_replaced() -> None:
    assert (
        fill_prompt("{query} | {passages} | {other}", query="{passages}", passages="{query}") == "{passages} | {query} | {other}"
    )


def test_a_prompt_without_its_placeholder_is_refused() -> None:
    with pytest.raises(UsageError, match=r"prompt is Hello; put the placeholder \{query\} in it"):
        check_prompt("prompt", "Hello", ("query",))

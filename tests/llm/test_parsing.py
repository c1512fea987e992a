"""Replies are parsed strictly: they have the requested form or are errors."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._llm.client import ReplyParseError
from rankproof._llm.prompts import (
    parse_choice,
    parse_int,
    parse_json,
    parse_order,
    parse_yes,
    reply_first_line,
    reply_text,
    yes_no_score,
)
from support.examples import sampled
from support.scripted_chat import reply

HUGE = 10**6


@pytest.mark.parametrize(
    "text",
    [
        '{"grade": 2}',
        'Sure!\n```json\n{"grade": 2}\n```\nDone.',
        '<think>{"grade": 1}</think>{"grade": 2}',
        'thoughts without a beginning {"grade": 0}</think> {"grade": 2}',
        'In the form {grade}: {"grade": 2}',
        '{"grade": 2} and once more { "grade":2 }',
    ],
)
def test_one_object_is_found_in_code_blocks_in_prose_and_after_reasoning(text: str) -> None:
    assert parse_json(text) == {"grade": 2}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "grade 2",
        "[2]",
        '{"grade": 2',
        '{"grade": {"value": 2}',
        '{"a": {"grade": 2}, oops',
        '{"grade": 1} {"grade": 2}',
        '{"grade": 1} {"grade": true}',
        '{"grade": 1, "grade": 2}',
        '{"grade": NaN}',
        '{"grade": -Infinity}',
        '{"grade": 1e999}',
        '{{"grade": 2}}',
        "{'grade': 2}",
        '<think>{"grade": 2}',
        '{"grade": ' + "9" * 5000 + "}",
        '{"a":' * 100_000,
        "<html><body>Bad gateway</body></html>",
        "I'm sorry, I cannot do that.",
    ],
)
def test_broken_ambiguous_or_missing_json_is_unusable(text: str) -> None:
    with pytest.raises(ReplyParseError):
        parse_json(text)


@given(st.dictionaries(st.text(), st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text() | st.lists(st.text())))
def test_every_object_is_read_as_it_was_written(value: dict[str, Any]) -> None:
    written = json.dumps(value, ensure_ascii=False)
    if "</think>" not in written and "<think>" not in written:
        assert parse_json(f"Here: {written}.") == value


@pytest.mark.parametrize("value", [True, 4, -1, 2.0, "2", None, [2], math.nan])
def test_only_an_integer_within_bounds_is_accepted(value: object) -> None:
    assert parse_int(3, 0, 3) == 3
    with pytest.raises(ReplyParseError):
        parse_int(value, 0, 3)


@pytest.mark.parametrize(
    "text",
    [
        "[2] > [3] > [1]",
        "2 > 3 > 1",
        "[2, 3, 1]",
        "The order is [2]>[3]>[1].",
        '{"order": [2,3,1]}',
        "[2] is best: [2] > [3] > [1]",
    ],
)
def test_an_order_is_read_from_either_form(text: str) -> None:
    assert parse_order(text, 3) == [2, 3, 1]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[2] > [3]",
        "[2] > [3] > [3]",
        "[2] > [3] > [1] > [2]",
        "[2] > [3] > [4]",
        "[0] > [1] > [2]",
        "[2] > [3] > [1] > [",
        "[2] > [3] > [1] >",
        "[2] > [3] = [1]",
        "[2], [3], [1]",
        "[1, 2, 3] or [3, 2, 1]",
        "[2] > [3] > [1], not [1] > [2] > [3]",
        "[9] [2] > [3] > [1]",
        "[-2, 3, 1]",
        "[2.5, 3, 1]",
        "I cannot rank these passages.",
        "<think>[2] > [3] > [1]",
        "[" + "1" * 5000 + "] > [2] > [3]",
    ],
)
def test_an_incomplete_repeated_or_ambiguous_order_is_unusable(text: str) -> None:
    with pytest.raises(ReplyParseError):
        parse_order(text, 3)


@given(st.permutations(range(1, 12)), st.sampled_from(["[{}]", "{}"]))
def test_every_permutation_is_read_as_it_was_written(order: list[int], form: str) -> None:
    assert parse_order(" > ".join(form.format(number) for number in order), 11) == order
    assert parse_order(json.dumps(order), 11) == order


@given(st.text(st.sampled_from("[]>,0123456789 \n")), st.integers(1, 4))
def test_every_parsed_order_is_a_permutation(text: str, count: int) -> None:
    try:
        order = parse_order(text, count)
    except ReplyParseError:
        return
    assert sorted(order) == list(range(1, count + 1))


@pytest.mark.parametrize(
    "piece", sampled(["[1] > ", "1 > ", "[1, ", "{", "{x", "<think>", "</think>", "[1] ", " ", "!", "passage "], 4)
)
def test_a_reply_without_an_end_is_unusable(piece: str) -> None:
    text = piece * (HUGE // len(piece))
    with pytest.raises(ReplyParseError):
        parse_json(text)
    with pytest.raises(ReplyParseError):
        parse_order(text, 3)
    with pytest.raises(ReplyParseError):
        parse_choice(text, ("A", "B"), before="passage")


def test_a_truncated_reply_and_a_refusal_are_unusable() -> None:
    assert reply_text(reply(" [1] > [2] ")) == "[1] > [2]"
    for finish in ("length", "refusal"):
        with pytest.raises(ReplyParseError):
            reply_text(reply("[1] > [2]", finish=finish))


def test_a_first_line_is_complete_although_the_text_after_it_is_truncated() -> None:
    assert reply_first_line(reply("Passage A\n\nBecause it", finish="length")) == "Passage A"
    assert reply_first_line(reply("A\nBecause it does.")) == "A"
    for cut in (reply("A", finish="length"), reply("A\nNo.", finish="refusal"), reply("\n", finish="stop")):
        with pytest.raises(ReplyParseError):
            reply_first_line(cut)


def first(**tokens: float) -> Any:
    return reply("?", first=tuple((token.replace("_", " "), math.log(chance)) for token, chance in tokens.items()))


def test_yes_and_no_are_summed_over_spellings() -> None:
    assert yes_no_score(first(Yes=0.4, _yes=0.1, NO=0.2, _No=0.05, Maybe=0.1))[0] == pytest.approx(math.log(0.5 / 0.25))
    marked = reply("?", first=(("▁Yes", -1.0), ("ĠNo", -3.0)))
    assert yes_no_score(marked) == (2.0, False)


def test_the_unlisted_word_gets_the_smallest_listed_probability() -> None:
    assert yes_no_score(first(Yes=0.6, Well=0.3, So=0.01))[0] == pytest.approx(math.log(0.6 / 0.01))
    assert yes_no_score(first(No=0.6, Well=0.3, So=0.01))[0] == pytest.approx(math.log(0.01 / 0.6))


def test_a_word_that_is_listed_alone_leaves_the_rest_to_the_other() -> None:
    assert yes_no_score(first(Yes=0.9))[0] == pytest.approx(math.log(0.9 / 0.1))
    assert math.isfinite(yes_no_score(first(Yes=1.0))[0])


@pytest.mark.parametrize(
    ("text", "worth"),
    [("Yes", 1.0), ("no.", 0.0), ("**Yes**", 1.0), ("No, it does not", 0.0), ("<think>No</think>\nYES", 1.0), ("No - why", 0)],
)
def test_without_log_probabilities_the_start_of_the_text_decides(text: str, worth: float) -> None:
    assert yes_no_score(reply(text)) == (worth, True)
    assert yes_no_score(reply(text, first=(("Well", -0.1), ("So", math.nan)))) == (worth, True)


@pytest.mark.parametrize(
    "text", ["", "Maybe", "Not at all", "Yes and no", "no idea", "The answer is Yes", "Yesterday", "I cannot say"]
)
def test_a_text_with_neither_yes_nor_no_is_unusable(text: str) -> None:
    for read in (yes_no_score, parse_yes):
        with pytest.raises(ReplyParseError):
            read(reply(text))


def test_a_refusal_is_neither_yes_nor_no_whatever_its_tokens() -> None:
    for read in (yes_no_score, parse_yes):
        with pytest.raises(ReplyParseError):
            read(reply("Yes", finish="refusal", first=(("Yes", -0.1),)))


def test_one_of_the_choices_stands_alone_or_behind_its_word() -> None:
    assert [
        parse_choice(text, ("A", "B"), before="passage") for text in ("A", "b.", "Passage B", '"A"', "**Passage A**")
    ] == list("ABBAA")


@pytest.mark.parametrize(
    "text", ["", "C", "A B", "A or B", "not A", "Passage A is better", "AB", "A passage", '{"a": [{}]}', "-A"]
)
def test_more_than_a_choice_is_unusable(text: str) -> None:
    with pytest.raises(ReplyParseError):
        parse_choice(text, ("A", "B"), before="passage")

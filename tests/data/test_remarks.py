"""Sentences that state nothing: a list of lines with their kinds in fifteen languages, lead-ins of list items, and laws."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._data.claims import checkable_claims, claims_of
from rankproof._data.text import without_markup
from rankproof._data.wording.languages import LANGUAGES
from rankproof._data.wording.remarks import Remark, declines_to_answer, text_units, thinking_spans, without_opening
from rankproof._judge.claims.base import claim_text
from support.examples import examples

LINES = Path(__file__).parent / "answer_lines.tsv"
CLAIM = "claim"
LEAST_PRECISION, LEAST_RECALL = 0.97, 0.95


def labelled_lines() -> list[tuple[str, str, str]]:
    """The kind of the first sentence, the language, and the text."""
    rows = [line.split("\t") for line in LINES.read_text(encoding="utf-8").splitlines()]
    return [(kind, language, text.replace("\\n", "\n")) for kind, language, text in rows]


def first_kind(text: str) -> str:
    return text_units(text)[0].remark or CLAIM


def test_every_kind_is_found_with_few_errors_and_no_claim_is_lost() -> None:
    rows = labelled_lines()
    right, found, expected = Counter[str](), Counter[str](), Counter[str]()
    for kind, _, text in rows:
        given = first_kind(text)
        right[kind] += given == kind
        found[given] += 1
        expected[kind] += 1
    assert len(rows) >= 200
    assert set(expected) == {*get_args(Remark), CLAIM}
    for kind, number in expected.items():
        assert right[kind] / found[kind] >= LEAST_PRECISION, kind
        assert right[kind] / number >= LEAST_RECALL, kind
    assert right[CLAIM] == expected[CLAIM]


def test_the_lines_have_abstentions_and_claims_in_every_language() -> None:
    kinds = {(kind, language) for kind, language, _ in labelled_lines()}
    for kind in ("abstention", CLAIM):
        assert sum((kind, language) in kinds for language in {one for _, one in kinds}) == len(LANGUAGES)


@pytest.mark.parametrize("text", [text for kind, _, text in labelled_lines() if kind == "abstention"])
def test_an_abstention_in_any_language_abstains(text: str) -> None:
    assert declines_to_answer(text)
    assert declines_to_answer(f"{text} Let me know if you need more!")
    assert not declines_to_answer(f"{text}\n\nOslo has 700,000 inhabitants.")


@pytest.mark.parametrize("text", [text for kind, _, text in labelled_lines() if kind == CLAIM])
def test_a_claim_is_no_abstention(text: str) -> None:
    assert not declines_to_answer(text)


def claims_with_lead_ins(text: str) -> list[tuple[str, str]]:
    return [(one.lead_in, one.text) for one in checkable_claims(text)]


def test_a_list_item_keeps_its_lead_in() -> None:
    text = "The causes of the flood are:\n- rain\n- wind:\n  - from the north\n- snow\n\nIt lasted three days."
    assert claims_with_lead_ins(text) == [
        ("The causes of the flood are:", "rain"),
        ("The causes of the flood are: wind:", "from the north"),
        ("The causes of the flood are:", "snow"),
        ("", "It lasted three days."),
    ]


def test_a_heading_introduces_items_and_a_label_the_next_line() -> None:
    assert claims_with_lead_ins("## Symptoms\n- fever\n\nWinner:\nOslo") == [("Symptoms:", "fever"), ("Winner:", "Oslo")]


def test_a_lead_in_about_the_text_itself_adds_nothing() -> None:
    assert claims_with_lead_ins("Here is a summary:\n- Oslo is the capital.") == [("", "Oslo is the capital.")]


def test_a_block_of_thinking_is_one_unit_wherever_it_stands() -> None:
    text = "Sure!\n<think>It may be 1923. Or 1932?</think>\nIt was 1932."
    assert [(one.text, one.remark) for one in claims_of(text, "answer")] == [
        ("Sure!", "greeting"),
        ("<think>It may be 1923. Or 1932?</think>", "thinking"),
        ("It was 1932.", None),
    ]
    assert thinking_spans("```\n<think>\n```\nThe tag is shown.") == ()


OSLO, BANANAS = "Oslo is the capital.", "Bananas grow on the moon."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"{BANANAS} <think>Let me check.</think> {OSLO}",
            [(BANANAS, None), ("<think>Let me check.</think>", "thinking"), (OSLO, None)],
        ),
        (
            f"<think>a</think><think>b</think>{OSLO}",
            [("<think>a</think>", "thinking"), ("<think>b</think>", "thinking"), (OSLO, None)],
        ),
        ("<think>a</think> <think>b. c", [("<think>a</think>", "thinking"), ("<think>b. c", "thinking")]),
        (
            f"{BANANAS} <think>a</think> {OSLO}\n</think>\n",
            [(BANANAS, None), ("<think>a</think>", "thinking"), (f"{OSLO}", None)],
        ),
        (
            f"Hm.\n</think>\n{OSLO} <think>a</think>",
            [("Hm.\n</think>", "thinking"), (OSLO, None), ("<think>a</think>", "thinking")],
        ),
        ("The tags `<think>` and `</think>` enclose it.", [("The tags `<think>` and `</think>` enclose it.", None)]),
        ("The tag <think> opens it.", [("The tag <think> opens it.", None)]),
    ],
)
def test_only_the_text_between_two_tags_of_thinking_is_thinking(text: str, expected: list[tuple[str, str | None]]) -> None:
    assert [(one.text, one.remark) for one in claims_of(text, "answer")][: len(expected)] == expected


def test_thinking_within_a_sentence_is_no_word_of_it() -> None:
    (claim,) = claims_of("Oslo is <think>or Bergen?\nNo.</think> the capital.", "answer")
    assert claim.remark is None
    assert claim_text(claim).split() == OSLO.split()


def test_marks_of_channels_are_markup() -> None:
    final = "<|start|>assistant<|channel|>final<|message|>"
    units = claims_of(f"<|channel|>analysis<|message|>Bergen?<|end|>{final}{OSLO}<|return|>", "answer")
    assert [one.remark for one in units] == ["thinking", None]
    assert without_markup(units[1].text).strip() == OSLO
    assert without_markup(f"{final}{OSLO}").strip() == OSLO


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Yes, the bridge is open.", "the bridge is open."),
        ("Based on the provided context, it opened in 1932.", "it opened in 1932."),
        ("**Answer:** Oslo", "Oslo"),
        ("Yes.", ""),
        ("Да.", ""),
        ("In 1932, it opened.", "In 1932, it opened."),
        ("Oslo: the capital", "Oslo: the capital"),
    ],
)
def test_an_opening_is_left_out_before_words_are_compared(text: str, expected: str) -> None:
    assert without_opening(text) == expected


_PIECES = [
    "Oslo ",
    "is. ",
    "Sure! ",
    "\n",
    "\n\n",
    "- ",
    "## ",
    "Causes:",
    "**",
    "? ",
    "<think>",
    "</think>",
    "1. ",
    "[1] ",
    "茶。",
    ": ",
    "| a |",
]
TEXTS = st.lists(st.sampled_from(_PIECES), max_size=14).map("".join)


@examples(200)
@given(TEXTS)
def test_units_are_in_order_apart_and_cover_every_word(text: str) -> None:
    units = text_units(text)
    assert all(one.start < one.end for one in units)
    assert all(one.end <= other.start for one, other in pairwise(units))
    covered = {at for one in units for at in range(one.start, one.end)}
    assert all(at in covered for at, letter in enumerate(text) if letter.isalpha() and not text.startswith("1. ", at - 1))


@examples(200)
@given(TEXTS)
def test_only_a_claim_has_a_lead_in(text: str) -> None:
    assert all(not one.lead_in or one.remark is None for one in text_units(text))

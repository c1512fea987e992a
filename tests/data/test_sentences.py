"""Sentences: tables of texts, and laws that hold for any text."""

from __future__ import annotations

import pytest

from rankproof._data.sentences import sentences


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Dr. Smith paid $3.50. He left.", ["Dr. Smith paid $3.50.", "He left."]),
        ('"Why?" she asked. "Go!" He went.', ['"Why?" she asked.', '"Go!"', "He went."]),
        ("The U.S. Army came. J. R. Tolkien saw it.", ["The U.S. Army came.", "J. R. Tolkien saw it."]),
        ("See No. 5 and Fig. 3. He said no. Then he left.", ["See No. 5 and Fig. 3.", "He said no.", "Then he left."]),
        ("It grew (a record). Then... nothing. Wait… What?!", ["It grew (a record).", "Then... nothing.", "Wait…", "What?!"]),
        ("他说：“好！”然后走了。真的吗？是", ["他说：“好！”", "然后走了。", "真的吗？", "是"]),
        ("यह है। वह था।", ["यह है।", "वह था।"]),
        ("a heading\n\nand text. more\nlines", ["a heading", "and text. more\nlines"]),
        ("  \n ", []),
        ("no mark at all", ["no mark at all"]),
    ],
)
def test_sentences_end_where_expected(text: str, wanted: list[str]) -> None:
    assert sentences(text) == wanted


@pytest.mark.parametrize("text", ["." * 200_000, " " * 200_000 + "x", "\n " * 100_000 + "x", '."' * 100_000, "A." * 100_000])
def test_a_text_that_is_all_marks_or_blanks_is_one_sentence(text: str) -> None:
    assert len(sentences(text)) == 1

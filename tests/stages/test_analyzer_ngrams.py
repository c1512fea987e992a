"""Tokenization into character and byte n-grams and BPE tokens."""

from __future__ import annotations

from functools import lru_cache

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rankproof.stages import BM25
from rankproof.stages._analyzer import BpeAnalyzer, ByteNgrams, CharNgrams, train_bpe, words_with_blanks
from support.examples import examples
from support.stage_building import context_of, corpus_of, ranking_of


@pytest.mark.parametrize(
    ("size", "text", "grams"),
    [
        (3, "Hot  pie!", [" ho", "hot", "ot ", "t p", " pi", "pie", "ie "]),
        (4, "at", [" at "]),
        (5, "at", [" at "]),
        (1, "at", [" ", "a", "t", " "]),
        (4, "ﬁle", [" fil", "file", "ile "]),
        (3, "汉字，书写", [" 汉字", "汉字 ", "字 书", " 书写", "书写 "]),
        (4, "", []),
        (4, "…!", []),
    ],
)
def test_character_n_grams_run_over_words_between_single_blanks(size: int, text: str, grams: list[str]) -> None:
    assert CharNgrams(size).tokenize(text) == grams


def test_byte_n_grams_cut_characters_of_several_bytes_and_show_the_rest_as_escapes() -> None:
    grams = ByteNgrams(2)
    assert [token.encode("latin-1") for token in grams.tokenize("né")] == [b" n", b"n\xc3", b"\xc3\xa9", b"\xa9 "]
    assert [grams.display(token) for token in grams.tokenize("né")] == ["␣n", "n\\xc3", "é", "\\xa9␣"]


def test_thai_without_spaces_is_split_into_n_grams() -> None:
    found = ranking_of(
        BM25(tokens="characters-3"), context_of(corpus_of({"d1": "ฉันชอบภาษาไทยมาก", "d2": "กรุงเทพมหานคร"})), "ภาษาไทย"
    )
    assert found[0] == ["d1"]
    assert ranking_of(BM25(), context_of(corpus_of({"d1": "ฉันชอบภาษาไทยมาก"})), "ภาษาไทย")[0] == []


def test_bpe_tokens_are_learned_from_the_documents_and_lie_within_words() -> None:
    pieces = BpeAnalyzer(train_bpe("bpe-300", ["low lower lowest"] * 9 + ["été"]))
    shown = [pieces.display(token) for token in pieces.tokenize("Lowest low Été q")]
    assert shown[-1] == "q"
    assert shown[:3] == ["␣lowest", "␣low", "␣été"]
    assert "".join(shown) == "␣lowest␣low␣été␣q"
    assert [pieces.display(token) for token in pieces.tokenize("字")] == ["␣", "\\xe5", "\\xad", "\\x97"]


def test_the_same_documents_give_the_same_bpe_tokens() -> None:
    texts = ["alpha beta gamma", "beta gamma delta", "epsilon zeta"] * 5
    one, two = (BpeAnalyzer(train_bpe("bpe-320", texts)) for _ in range(2))
    two.tokenize("zeta epsilon")
    assert one.tokenize("alphabet gammas zeta") == two.tokenize("alphabet gammas zeta")


@lru_cache(maxsize=1)
def learnt() -> BpeAnalyzer:
    return BpeAnalyzer(train_bpe("bpe-400", ["the theory of things that thaw", "been bean beam", "été étude"] * 3))


@examples(60)
@given(first=st.text(max_size=30), second=st.text(max_size=30))
@example(first="It's 3.5 a_b", second="x²  y")
def test_the_bpe_tokens_of_a_text_are_those_of_its_words(first: str, second: str) -> None:
    """The library reads a whole text as it reads its words one by one, so that words may be kept."""
    pieces = learnt()
    text = words_with_blanks(f"{first} {second}").strip()
    whole = [pieces._names[at] for at in pieces._tokenizer.ids([text])[0].tolist()] if text else []
    assert pieces.tokenize(f"{first} {second}") == whole

"""The WordPiece tokens of the extension are those of the library tokenizers, for every text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, normalizers

from rankproof.models._tokenizer import CODE_POINTS, BatchTokenizer, TokenBatch, TokenizerFile, word_pieces
from support.tiny_bert import TEXTS, write_tokenizer

_wordpiece = pytest.importorskip("rankproof._native.wordpiece", exc_type=ImportError)

LIMIT = 16
PARTS = ["pan", "baking", " ", "[SEP]", "[", "##ing", "é", "A\u0301", "\u00ad", "\u2014", "ß", "İ", "x" * 101, "\n", "\0", "鍋"]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> TokenizerFile:
    folder = tmp_path_factory.mktemp("tokenizer")
    write_tokenizer(folder)
    return TokenizerFile(folder / "tokenizer.json", max_tokens=LIMIT)


@pytest.fixture(scope="module")
def batches(tokenizer: TokenizerFile) -> BatchTokenizer:
    return BatchTokenizer(tokenizer, threads=2)


def as_lists(found: TokenBatch) -> list[tuple[list[int], bool]]:
    """The ids of each text, and whether it was truncated."""
    rows = [found.ids[start:end].tolist() for start, end in zip(found.offsets, found.offsets[1:], strict=False)]
    return list(zip(rows, found.cut.tolist(), strict=True))


def expected(tokenizer: TokenizerFile, texts: list[str]) -> list[tuple[list[int], bool]]:
    return [(one.ids, one.cut) for one in map(tokenizer.of, texts)]


@given(
    st.lists(
        st.one_of(st.text(), st.text(st.characters(max_codepoint=CODE_POINTS)), st.lists(st.sampled_from(PARTS)).map("".join))
    )
)
def test_a_batch_has_the_tokens_of_the_library(tokenizer: TokenizerFile, batches: BatchTokenizer, texts: list[str]) -> None:
    assert as_lists(batches.texts(texts)) == expected(tokenizer, texts)


def test_every_code_point_of_the_table_is_read_as_by_the_library(tokenizer: TokenizerFile, batches: BatchTokenizer) -> None:
    texts = [f"pan{chr(point)}Pot {chr(point)}" for point in range(CODE_POINTS)]
    assert as_lists(batches.texts(texts)) == expected(tokenizer, texts)


def test_a_cased_tokenizer_keeps_letters_and_accents(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    cased = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    cased.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    cased.add_tokens([])
    cased.save(str(tmp_path / "cased.json"))
    tokenizer = TokenizerFile(tmp_path / "cased.json", max_tokens=LIMIT)
    assert as_lists(BatchTokenizer(tokenizer, threads=1).texts(TEXTS)) == expected(tokenizer, TEXTS)


def test_lone_surrogates_and_special_tokens_are_read_by_the_library(tokenizer: TokenizerFile, batches: BatchTokenizer) -> None:
    texts = ["a pan \ud800 pot", "salt [SEP] pot", "a pan"]
    pieces = word_pieces(tokenizer)
    assert pieces is not None
    assert (pieces.tokens(texts)[1] < 0).tolist() == [True, True, False]
    assert as_lists(batches.texts(texts)) == expected(tokenizer, texts)


def test_another_normalizer_has_no_tables(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    other = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    other.normalizer = normalizers.Lowercase()
    other.save(str(tmp_path / "other.json"))
    tokenizer = TokenizerFile(tmp_path / "other.json", max_tokens=LIMIT)
    assert word_pieces(tokenizer) is None
    assert as_lists(BatchTokenizer(tokenizer, threads=1).texts(TEXTS)) == expected(tokenizer, TEXTS)


def test_batches_ahead_are_all_texts_in_order(
    tokenizer: TokenizerFile, batches: BatchTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankproof.models._tokenizer.TEXTS_PER_CALL", 3)
    found = list(batches.ahead(TEXTS))
    assert [len(one.lengths) for one in found] == [3, 3, 1]
    assert as_lists(TokenBatch.joined(found)) == expected(tokenizer, TEXTS)
    assert list(batches.ahead([])) == []


def test_pairs_have_the_tokens_and_types_of_the_library(tokenizer: TokenizerFile, batches: BatchTokenizer) -> None:
    found = batches.pairs("how to bake", TEXTS)
    pairs = [tokenizer.of_pair("how to bake", text) for text in TEXTS]
    assert as_lists(found) == [(one.ids, one.cut) for one in pairs]
    assert found.types.tolist() == [kind for one in pairs for kind in one.types]


def _vocabulary(**changed: object) -> object:
    """The smallest vocabulary: `a` is a part of a word, and a piece."""
    ints = {name: np.array(values, dtype=np.int32).tobytes() for name, values in {"starts": [0, 1], "bounds": [0, 1]}.items()}
    parts = {
        "kinds": b"\4",
        "starts": ints["starts"],
        "mapped": b"a",
        "pieces": b"a",
        "bounds": ints["bounds"],
        "ids": b"\7\0\0\0",
    }
    more = {"continues": b"\0", "special": b"", "affixes": b"", "before": 0, "unknown": 1, "most_chars": 100}
    return _wordpiece.prepare(*({**parts, **more, **changed}).values())


@pytest.mark.parametrize(
    "changed",
    [
        {"kinds": b"\4\4"},
        {"mapped": b""},
        {"starts": np.array([0, 9], dtype=np.int32).tobytes()},
        {"bounds": np.array([1, 1], dtype=np.int32).tobytes()},
        {"pieces": b"ab"},
        {"ids": b"\7"},
        {"affixes": b"\0"},
        {"before": 1},
        {"special": b"[X]"},
        {"most_chars": 257},
    ],
)
def test_parts_that_do_not_fit_are_rejected(changed: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        _vocabulary(**changed)


def test_wrong_arguments_are_rejected() -> None:
    vocabulary = _vocabulary(affixes=b"\1\0\0\0")
    assert _wordpiece.tokenize(vocabulary, ("\0", "\0\0", ""), 2) == (
        np.array([7, 1, 1, 1, 1], dtype=np.int32).tobytes(),
        np.array([2, 2, 1], dtype=np.int32).tobytes(),
        b"\0\0\0",
    )
    with pytest.raises(ValueError, match="no room"):
        _wordpiece.tokenize(vocabulary, (), 0)
    with pytest.raises(TypeError):
        _wordpiece.tokenize(vocabulary, ("a", 1), 9)
    with pytest.raises(TypeError):
        _wordpiece.tokenize(vocabulary, ["a"], 9)
    with pytest.raises(ValueError):
        _wordpiece.tokenize(object(), (), 9)

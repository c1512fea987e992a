"""What a tokenizer makes of texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from rankproof._tokenizer_lab.splits import OWN_LANGUAGE
from rankproof._tokenizer_lab.systems import encoder_system, lexical_system
from rankproof._tokenizer_lab.token_counts import document_counts, model_counter
from rankproof.models._transformers import ByT5, Canine
from rankproof.stores._memory import Memory
from support.small_datasets import small_dataset
from support.tokenizer_comparisons import save_tiny_checkpoint


@pytest.mark.torch
@pytest.mark.parametrize(("kind", "tokens", "read"), [("bytes", 12, 12), ("bytes-4", 12, 3), ("characters", 12, 3)])
def test_tokens_are_counted_as_the_layers_see_them(tmp_path: Path, kind: str, tokens: float, read: float) -> None:
    folder = save_tiny_checkpoint(tmp_path / "one", kind, 1)
    stage = encoder_system(str(folder), Memory()).stages(OWN_LANGUAGE)["one"]
    counts = document_counts(stage, small_dataset().corpus).with_queries(["the hob hums"], {})
    assert counts.query_tokens is not None
    assert counts.query_read is not None
    assert (counts.query_tokens.mean, counts.query_read.mean, counts.unknown) == (tokens, read, 0.0)
    assert counts.parameters


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["bytes", "bpe-300", "wordpiece-300"])
def test_capitals_are_counted_in_lower_case(tmp_path: Path, kind: str) -> None:
    folder = save_tiny_checkpoint(tmp_path / "one", kind, 1)
    stage = encoder_system(str(folder), Memory()).stages(OWN_LANGUAGE)["one"]
    counts = document_counts(stage, small_dataset().corpus)
    small, capital = counts.with_queries(["the hob hums"], {}), counts.with_queries(["The HOB hums"], {})
    assert small == capital
    assert small.query_tokens is not None
    assert small.query_tokens.mean < (13 if kind == "bytes" else 9)


def test_the_deep_layers_have_a_position_per_4_characters_for_canine_and_per_byte_for_byt5() -> None:
    for model, read in ((Canine("./none", max_tokens=8), [1, 2, 2]), (ByT5("./none", max_tokens=8), [2, 7, 8])):
        counter = model_counter(model)
        found = counter.read(["a", "abcdéf"[:5], "abcdefghijkl"])
        assert found is not None
        assert found.tolist() == read
        assert counter.unknown(["abc"]) == 0.0
    tokens = model_counter(Canine("./none", max_tokens=8)).tokens(["a", "abcdefghijkl"])
    assert tokens is not None
    assert tokens.tolist() == [3, 14]


class CutsAtFour:
    """An encoder that tells of four tokens at most, as those do that cut texts before they count."""

    def load(self, *, threads: int = 1) -> CutsAtFour:
        return self

    def cut(self, texts: Sequence[str]) -> int:
        return sum(len(text.split()) > 4 for text in texts)

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return [min(len(text.split()), 4) for text in texts]

    def facts(self) -> dict[str, object]:
        return {}


def test_token_counts_of_truncated_texts_are_unknown() -> None:
    counter = model_counter(CutsAtFour())  # type: ignore[arg-type]
    whole, read = counter.tokens(["one two", "one two three four"]), counter.read(["one two three four five"])
    assert whole is not None
    assert read is not None
    assert (whole.tolist(), read.tolist()) == ([2, 4], [4])
    assert counter.tokens(["one two", "one two three four five"]) is None


def test_terms_in_no_document_are_unknown() -> None:
    stage = lexical_system("words").stages(OWN_LANGUAGE)["BM25 words"]
    counts = document_counts(stage, small_dataset().corpus).with_queries(["the dough the xyzzy"], {})
    assert counts.unknown == 0.25
    assert counts.query_tokens is not None
    assert counts.query_tokens.mean == 4

"""A tokenizer file: texts are read in lower case where the vocabulary has no other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rankproof.models._tokenizer import TokenizerFile

PIECES = ("pan", "pot", "soup", "##\u03c3", "##\u03c2")
WORDS = ("SOUP", "Pan pot", "pan")


def written(folder: Path, pieces: Sequence[str], normalizer: Any = None) -> Path:
    """A WordPiece tokenizer with these pieces that splits at spaces."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    vocabulary = {piece: at for at, piece in enumerate(["[UNK]", "[CLS]", *pieces])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.add_special_tokens(["[UNK]", "[CLS]"])
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder / "tokenizer.json"


@pytest.mark.parametrize("more", [(), ("<0x0A>", "<0xFF>")])
def test_a_vocabulary_in_lower_case_reads_texts_in_lower_case(more: Sequence[str], tmp_path: Path) -> None:
    tokenizer = TokenizerFile(written(tmp_path, (*PIECES, *more)), max_tokens=None)
    assert [tokenizer.bare(text) for text in WORDS] == [tokenizer.bare(text.lower()) for text in WORDS]
    assert tokenizer.unknown(WORDS) == (0, 4)
    assert tokenizer.of("SOUP") == tokenizer.of("soup")


def test_a_vocabulary_with_upper_case_keeps_the_case_of_a_text(tmp_path: Path) -> None:
    tokenizer = TokenizerFile(written(tmp_path, (*PIECES, "SOUP")), max_tokens=None)
    assert tokenizer.bare("SOUP") != tokenizer.bare("soup")
    assert tokenizer.unknown(WORDS) == (1, 4)


def test_a_tokenizer_that_lowers_texts_itself_does_it_in_its_own_way(tmp_path: Path) -> None:
    from tokenizers import normalizers

    own = TokenizerFile(written(tmp_path, PIECES, normalizers.Lowercase()), max_tokens=None)
    assert own.bare("PAN") == own.bare("pan")
    assert own.bare("pan\u03a3") == own.bare("pan\u03c3") != own.bare("pan\u03a3".lower())

"""WordLlama: the vectors of the package wordllama in any batch, and the download of its files."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from rankproof._data.arrays import normalise_rows
from rankproof._data.identity import identity_key
from rankproof.errors import ExternalError, UsageError
from rankproof.models._onnx.folder import TOKENIZER, WEIGHTS
from rankproof.models._tokenizer import TokenizerFile, WordTokenizerFile
from rankproof.models._wordllama import (
    PINNED,
    WHEEL,
    LoadedWordLlama,
    WordLlama,
    download_wordllama,
    token_starts,
    wordllama_folder,
)
from support.examples import examples
from support.tiny_bert import TEXTS

FROZEN = {
    "The quick brown fox jumps over the lazy dog.": [1022774599, 3161524956, 996857595, 1032047140, 1027265620, 3165199873],
    "crème brûlée 東京 🙂": [3181876797, 1025147136, 3167181080, 3145924664, 1004650399, 1027744906],
}
"""The bits of the first six of 256 numbers, as from the files of the package wordllama 0.4.0.post1."""


def test_the_vectors_with_case_equal_those_of_the_package() -> None:
    rows = WordLlama(lowercase=False).load().encode(list(FROZEN))
    assert rows[:, :6].view(np.uint32).tolist() == list(FROZEN.values())


def test_case_makes_no_difference() -> None:
    text = "Measurement of the dielectric constant of liquids"
    lower, as_written, upper = WordLlama().load().encode([text.lower(), text, text.upper()])
    assert (lower == as_written).all()
    assert (lower == upper).all()
    with_case = WordLlama(lowercase=False)
    assert with_case.load().encode([text.upper()])[0] @ upper < 0.6
    assert identity_key(with_case) != identity_key(WordLlama())


def test_the_mean_of_the_tokens_decides_a_text() -> None:
    encoder = WordLlama().load()
    both, once = encoder.encode(["soup soup", "soup"])
    assert encoder.lengths(["soup soup", "soup"]) == [2, 1]
    assert both @ once > 0.8


def test_rows_are_of_length_1_and_an_empty_text_gives_zeros() -> None:
    rows = WordLlama().load().encode(TEXTS)
    assert rows.dtype == np.float32
    assert not rows.flags.writeable
    assert np.linalg.norm(rows, axis=1) == pytest.approx([0.0, *[1.0] * (len(TEXTS) - 1)], abs=1e-6)


def test_no_other_text_changes_a_bit() -> None:
    encoder = WordLlama().load()
    together = encoder.encode(TEXTS)
    assert all((encoder.encode([text])[0] == row).all() for text, row in zip(TEXTS, together, strict=True))
    assert (encoder.encode(TEXTS[::-1])[::-1] == together).all()


def test_the_number_of_threads_changes_no_bit() -> None:
    texts = [f"{text} {number}" for number in range(20) for text in TEXTS]
    assert (WordLlama().load(threads=3).encode(texts) == WordLlama().load().encode(texts)).all()


SPACES = st.text(st.sampled_from(" \u2581\u00a0\n\tab<s>/unk.A\u00e9\u6771\U0001f642\ud800"), max_size=40)
NAMES = ("<s>", "</s>", "<unk>", " ", "  ", "", "soup ", " soup")


@examples(300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(SPACES, st.text(max_size=60), st.lists(st.sampled_from([*NAMES, *TEXTS]), max_size=6).map("".join)))
def test_the_tokens_are_those_of_the_tokenizer_library(text: str) -> None:
    path = wordllama_folder() / TOKENIZER
    for lowers in (True, False):
        library, by_words = _tokenizers(path, lowers=lowers)
        assert by_words.bare(text) == library.bare(text)


@examples(200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.one_of(SPACES, st.text(max_size=60), st.sampled_from([*NAMES, *TEXTS, "x" * 300, "a\u00e9" * 200])), max_size=4)
)
def test_the_kernel_gives_the_bits_of_numpy(texts: list[str]) -> None:
    encoder = _encoder()
    found = encoder.encode(texts)
    for text, row in zip(texts, found, strict=True):
        np.testing.assert_array_equal(row, normalise_rows(encoder._mean(text)))


def test_the_kernel_reads_all_but_texts_with_very_long_words_and_special_tokens() -> None:
    pytest.importorskip("rankproof._native.word_vectors", reason="needs the C extension")
    encoder = _encoder()
    assert encoder._kernel is not None
    counts, sums = encoder._kernel([b" a pot of soup", b"", b" " + b"x" * 300, b"\xff \xc3 \xe6\x9d"], encoder._table)
    assert counts.tolist() == [4, 0, -1, 6]
    assert (sums[1] == 0).all()


@lru_cache
def _encoder() -> LoadedWordLlama:
    return WordLlama(lowercase=False).load()


@lru_cache
def _tokenizers(path: Path, *, lowers: bool) -> tuple[TokenizerFile, WordTokenizerFile]:
    return TokenizerFile(path, max_tokens=None, lowers=lowers), WordTokenizerFile(path, lowers=lowers)


def test_fewer_dimensions_are_the_first_ones_again_of_length_1() -> None:
    whole, cut = (WordLlama(size).load().encode(["a pot of soup"])[0] for size in (256, 64))
    np.testing.assert_allclose(cut, whole[:64] / np.linalg.norm(whole[:64]), atol=1e-6)


@pytest.mark.parametrize("wrong", [0, 100, 256.0, "256", None, True])
def test_dimensions_that_were_not_trained_are_refused(wrong: object) -> None:
    with pytest.raises(UsageError, match=r"choose one of \(64, 128, 256\)"):
        WordLlama(wrong)  # type: ignore[arg-type]


def test_a_lone_surrogate_is_read_as_the_replacement_character() -> None:
    encoder = WordLlama().load()
    assert (encoder.encode(["pan \ud800"]) == encoder.encode(["pan \ufffd"])).all()


def test_its_facts_name_library_and_weights() -> None:
    model = WordLlama(128)
    facts = model.load().facts()
    assert model.load().cut(["pan " * 10_000]) == 0
    assert facts["dimensions"] == 128
    assert facts["revision"] == model.revision()
    assert facts["library"] in model.revision()
    assert PINNED[WEIGHTS][:16] in model.revision()


def test_missing_weights_are_reported_with_the_command_that_gets_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path))
    assert not WordLlama().is_ready()
    with pytest.raises(ExternalError, match=r"wordllama is not in .*; run: rankproof models get wordllama"):
        WordLlama().load()
    with pytest.raises(ExternalError, match="rankproof models get wordllama"):
        token_starts("a text")


def test_damaged_weights_are_refused(wordllama_weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path))
    shutil.copytree(wordllama_weights, wordllama_folder())
    with open(wordllama_folder() / WEIGHTS, "r+b") as file:
        file.seek(1_000_000)
        file.write(b"damaged")
    with pytest.raises(ExternalError, match="the file does not match its checksum"):
        WordLlama().load()


def wheel(folder: Path, content: bytes) -> Path:
    """A wheel of PyPI's name for one platform, with `content` for the vectors."""
    path = folder / "wordllama-0.4.0.post1-cp312-cp312-manylinux2014_x86_64.whl"
    files = {"weights/l2_supercat_256.safetensors": content, "tokenizers/l2_supercat_tokenizer_config.json": b"{}"}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(f"wordllama/{name}", data)
        archive.writestr(
            "wordllama-0.4.0.post1.dist-info/METADATA", "Metadata-Version: 2.1\nName: wordllama\nVersion: 0.4.0.post1\n"
        )
        archive.writestr("wordllama-0.4.0.post1.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: cp312-cp312-manylinux2014_x86_64\n")
        archive.writestr("wordllama-0.4.0.post1.dist-info/RECORD", "")
    return path


@pytest.mark.slow
def test_one_wheel_serves_every_python_and_machine_and_files_that_are_not_pinned_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = tmp_path / "index"
    index.mkdir()
    wheel(index, b"vectors")
    for name, value in {"NO_INDEX": "1", "FIND_LINKS": str(index), "EXTRA_INDEX_URL": ""}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    target = tmp_path / "target"
    target.mkdir()
    WHEEL.from_index(target, lambda done, total: None)
    assert (target / WEIGHTS).read_bytes() == b"vectors"
    assert (target / TOKENIZER).read_bytes() == b"{}"
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(
        "rankproof.models._download.cached_folder.find_spec", lambda name: None if name == "wordllama" else find_spec(name)
    )
    said: list[str] = []
    with pytest.raises(
        ExternalError, match="wordllama could not be downloaded from the installed package wordllama or from PyPI"
    ):
        download_wordllama(said.append, lambda done, total: None)
    assert any("model.safetensors does not have the pinned checksum (sha256 64b47a2d" in line for line in said)
    assert not WordLlama().is_ready()


@pytest.mark.slow
def test_loading_it_imports_no_package_of_its_name_and_sets_no_logging_handler() -> None:
    code = (
        "import sys, logging; from rankproof.models._wordllama import WordLlama; WordLlama().load().encode(['x']);"
        "sys.exit('wordllama' in sys.modules or bool(logging.root.handlers))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

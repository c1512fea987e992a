"""The networks in torch give the numbers of the ONNX graphs, whatever texts are beside a text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankproof.models._bert import Bert, CrossEncoder, open_bert_tokenizer
from rankproof.models._device import Placement
from rankproof.models._onnx.folder import open_model_folder
from support.bert_family import KINDS, PAIRS, saved
from support.tiny_bert import TEXTS, write_bert
from support.torch_oracle import oracle

pytestmark = pytest.mark.torch
LIMIT = 32


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    oracle("torch")
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))


def torch_encoder(path: Path, precision: str = "fp32", **settings: Any) -> Any:
    from rankproof.models._torch_bert import TorchBertEncoder

    folder = open_model_folder(path)
    settings = {"pooling": "mean", "tokens_per_batch": 64, "facts": {}, **settings}
    return TorchBertEncoder(folder, open_bert_tokenizer(folder, LIMIT), Placement("cpu", precision), max_tokens=LIMIT, **settings)


def torch_cross_encoder(path: Path) -> Any:
    from rankproof.models._torch_bert import TorchBertCrossEncoder

    folder = open_model_folder(path)
    tokenizer = open_bert_tokenizer(folder, LIMIT)
    return TorchBertCrossEncoder(folder, tokenizer, Placement("cpu", "fp32"), max_tokens=LIMIT, tokens_per_batch=64, facts={})


@pytest.mark.parametrize("kind", KINDS)
def test_an_encoder_gives_the_vectors_of_the_onnx_graph(kind: str, tmp_path: Path) -> None:
    saved(kind, "Model", tmp_path / "m")
    ours, theirs = torch_encoder(tmp_path / "m"), Bert(str(tmp_path / "m"), precision="fp32", max_tokens=LIMIT).load()
    np.testing.assert_allclose(ours.encode(TEXTS), theirs.encode(TEXTS), atol=1e-5)
    for mine, other in zip(ours.tokens(TEXTS), theirs.tokens(TEXTS), strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-5)
    assert (ours.cut(TEXTS), ours.lengths(TEXTS)) == (theirs.cut(TEXTS), theirs.lengths(TEXTS))


@pytest.mark.parametrize("labels", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_a_cross_encoder_gives_the_scores_of_the_onnx_graph(kind: str, labels: int, tmp_path: Path) -> None:
    saved(kind, "ForSequenceClassification", tmp_path / "m", num_labels=labels)
    ours, theirs = torch_cross_encoder(tmp_path / "m"), CrossEncoder(str(tmp_path / "m"), "fp32", max_tokens=LIMIT).load()
    for query in {query for query, _ in PAIRS}:
        passages = [passage for first, passage in PAIRS if first == query]
        np.testing.assert_allclose(ours.scores(query, passages), theirs.scores(query, passages), atol=1e-4)
        assert ours.cut(query, passages) == theirs.cut(query, passages)
    assert ours.scores("a pan", []).shape == (0,)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_neither_other_texts_nor_their_order_change_a_bit(precision: str, tmp_path: Path) -> None:
    encoder = torch_encoder(write_bert(tmp_path / "m"), precision)
    texts = [*TEXTS, *(f"{'pan ' * count}pot" for count in range(40))]
    whole = encoder.encode(texts)
    np.testing.assert_array_equal(encoder.encode(texts[::-1]), whole[::-1])
    np.testing.assert_array_equal(np.concatenate([encoder.encode([text]) for text in texts]), whole)


def test_the_size_of_batches_changes_the_last_bits_only(tmp_path: Path) -> None:
    write_bert(tmp_path / "m")
    few, many = (torch_encoder(tmp_path / "m", tokens_per_batch=size).encode(TEXTS) for size in (32, 4096))
    np.testing.assert_allclose(few, many, atol=1e-6)


def test_half_precision_is_near_fp32(tmp_path: Path) -> None:
    write_bert(tmp_path / "m")
    exact, *rounded = (torch_encoder(tmp_path / "m", precision).encode(TEXTS) for precision in ("fp32", "bf16", "fp16"))
    for rows in rounded:
        assert (rows != exact).any()
        assert (rows * exact).sum(axis=1).min() > 0.995


def test_facts_name_device_precision_and_library(tmp_path: Path) -> None:
    facts = torch_encoder(write_bert(tmp_path / "m"), "bf16", pooling="cls", facts={"source": "m"}).facts()
    assert facts["library"].startswith("torch ")
    assert {**facts, "library": ""} == {
        "library": "", "dimensions": 32, "pooling": "cls", "precision": "bf16", "device": "cpu", "source": "m",
    }  # fmt: skip

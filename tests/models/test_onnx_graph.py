"""The ONNX graph gives the hidden states and logits of transformers for every model type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankproof.models._bert import Bert, CrossEncoder
from rankproof.models._onnx.config import FAMILIES
from support.bert_family import KINDS, PAIRS, saved
from support.tiny_bert import TEXTS, write_modules
from support.torch_oracle import oracle


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))


def tokenizer_of(folder: Path) -> Any:
    return oracle("transformers").PreTrainedTokenizerFast.from_pretrained(folder)


def given(model: Any, tokens: Any) -> Any:
    with oracle("torch").no_grad():
        return model(**tokens)


def test_every_model_type_of_the_family_is_tested() -> None:
    assert {name.partition(" ")[0] for name in KINDS} == set(FAMILIES)


@pytest.mark.torch
@pytest.mark.parametrize("kind", KINDS)
def test_an_encoder_gives_the_hidden_states_of_transformers(kind: str, tmp_path: Path) -> None:
    model, tokenizer = saved(kind, "Model", tmp_path / "m"), tokenizer_of(tmp_path / "m")
    encoder = Bert(str(tmp_path / "m"), precision="fp32").load()
    for text, ours in zip(TEXTS, encoder.tokens(TEXTS), strict=True):
        tokens = tokenizer(text, truncation=True, max_length=32, return_tensors="pt", return_token_type_ids=False)
        states = given(model, tokens).last_hidden_state[0].numpy()
        np.testing.assert_allclose(ours, states / np.linalg.norm(states, axis=1, keepdims=True), atol=1e-4)
    assert encoder.cut(TEXTS) == 1


@pytest.mark.torch
@pytest.mark.parametrize("labels", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_a_cross_encoder_gives_the_logits_of_transformers(kind: str, labels: int, tmp_path: Path) -> None:
    model = saved(kind, "ForSequenceClassification", tmp_path / "m", num_labels=labels)
    tokenizer = tokenizer_of(tmp_path / "m")
    typed = getattr(model.config, "type_vocab_size", 0) > 1
    scorer = CrossEncoder(str(tmp_path / "m"), max_tokens=32).load()
    for query, passage in PAIRS:
        tokens = tokenizer([query], [passage], truncation=True, max_length=32, return_tensors="pt", return_token_type_ids=typed)
        logits = given(model, tokens).logits[0].numpy()
        (ours,) = scorer.scores(query, [passage])
        assert ours == pytest.approx(logits[0] if labels == 1 else logits[1] - logits[0], abs=1e-4)


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["half", "bfloat16"])
def test_weights_in_half_precision_are_read(kind: str, tmp_path: Path) -> None:
    model = getattr(saved("bert", "Model", tmp_path / "m"), kind)()
    model.save_pretrained(tmp_path / "m")
    tokens = tokenizer_of(tmp_path / "m")(TEXTS[1], return_tensors="pt")
    states = given(model.float(), tokens).last_hidden_state[0].numpy()
    (ours,) = Bert(str(tmp_path / "m"), precision="fp32").load().tokens([TEXTS[1]])
    np.testing.assert_allclose(ours, states / np.linalg.norm(states, axis=1, keepdims=True), atol=1e-4)


@pytest.mark.torch
@pytest.mark.parametrize(("mode", "pooling"), [("mean", None), ("cls", None), ("mean", "cls")])
def test_pooling_equals_that_of_sentence_transformers(mode: str, pooling: Any, tmp_path: Path) -> None:
    st = oracle("sentence_transformers")
    saved("bert", "Model", tmp_path / "m")
    modes = {"pooling_mode_cls_token": mode == "cls", "pooling_mode_mean_tokens": mode == "mean"}
    write_modules(tmp_path / "m", pooling={"word_embedding_dimension": 32, **modes})
    ours = Bert(str(tmp_path / "m"), precision="fp32", pooling=pooling).load().encode(TEXTS)
    write_modules(
        tmp_path / "m",
        pooling={"word_embedding_dimension": 32, **modes}
        | ({"pooling_mode_cls_token": pooling == "cls", "pooling_mode_mean_tokens": pooling == "mean"} if pooling else {}),
    )
    theirs = st.SentenceTransformer(str(tmp_path / "m"), device="cpu").encode(TEXTS, normalize_embeddings=True)
    np.testing.assert_allclose(ours, theirs, atol=1e-4)


@pytest.mark.torch
def test_a_cross_encoder_agrees_with_sentence_transformers(tmp_path: Path) -> None:
    st, torch = oracle("sentence_transformers"), oracle("torch")
    saved("bert", "ForSequenceClassification", tmp_path / "m", num_labels=1)
    theirs = st.CrossEncoder(str(tmp_path / "m"), device="cpu", max_length=32)
    expected = theirs.predict([("bake bread", text) for text in TEXTS], activation_fn=torch.nn.Identity())
    np.testing.assert_allclose(
        CrossEncoder(str(tmp_path / "m"), max_tokens=32).load().scores("bake bread", TEXTS), expected, atol=1e-4
    )

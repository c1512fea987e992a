"""Errors for folders without a supported model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankproof._data.identity import identity, identity_key
from rankproof.errors import ExternalError, RankproofError, UsageError
from rankproof.models._bert import Bert, CrossEncoder
from support.tiny_bert import TEXTS, bert_tensors, write_bert, write_modules


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_an_encoder_that_uses_only_numpy_works(tmp_path: Path) -> None:
    encoder = Bert(str(write_bert(tmp_path / "m"))).load()
    rows = encoder.encode(TEXTS)
    assert rows.shape == (len(TEXTS), 32)
    assert not rows.flags.writeable
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-5)
    assert {**encoder.facts(), "library": "", "revision": ""} == {
        "library": "", "revision": "", "dimensions": 32, "pooling": "mean", "max_tokens": 32,
        "precision": "int8", "device": "cpu", "source": str(tmp_path / "m"),
    }  # fmt: skip
    assert (encoder.cut(TEXTS), encoder.cut([])) == (1, 0)


def test_two_threads_give_the_same_bits(tmp_path: Path) -> None:
    source = str(write_bert(tmp_path / "m", labels=1))
    one, two = (CrossEncoder(source, max_tokens=32).load(threads=threads) for threads in (1, 2))
    assert (one.scores("a pan", TEXTS) == two.scores("a pan", TEXTS)).all()
    assert one.scores("a pan", []).shape == (0,)
    assert (one.cut("a pan", TEXTS), one.cut("a pan", [])) == (1, 0)


def test_names_with_and_without_the_prefix_and_the_oldest_ones_are_the_same(tmp_path: Path) -> None:
    plain = bert_tensors()
    prefixed = {f"bert.{name}": tensor for name, tensor in plain.items()}
    oldest = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor
        for name, tensor in prefixed.items()
    }
    folders = [write_bert(tmp_path / str(at), tensors=tensors) for at, tensors in enumerate((plain, prefixed, oldest))]
    first, *others = (Bert(str(folder), precision="fp32").load().encode(TEXTS) for folder in folders)
    assert all((first == other).all() for other in others)


def test_a_tokenizer_that_leaves_types_out_gives_all_texts_the_first_type(tmp_path: Path) -> None:
    write_bert(tmp_path / "m", labels=1)
    typed = CrossEncoder(str(tmp_path / "m"), max_tokens=32).load().scores("a pan", ["steel"])
    settings = json.loads((tmp_path / "m" / "tokenizer_config.json").read_text())
    (tmp_path / "m" / "tokenizer_config.json").write_text(
        json.dumps({**settings, "model_input_names": ["input_ids", "attention_mask"]})
    )
    untyped = CrossEncoder(str(tmp_path / "m"), max_tokens=32).load().scores("a pan", ["steel"])
    assert typed != untyped


def without(*names: str) -> Callable[[Path], Any]:
    def change(folder: Path) -> None:
        for name in names:
            (folder / name).unlink()

    return change


def changed_tensors(change: Callable[[dict[str, Any]], Any], **config: Any) -> Callable[[Path], Any]:
    def write(folder: Path) -> None:
        tensors = bert_tensors()
        change(tensors)
        write_bert(folder, tensors=tensors, **config)

    return write


def with_bytes(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], Any]:
    return lambda folder: (folder / name).write_bytes(change((folder / name).read_bytes()))


def pickled(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def in_parts(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "model.safetensors.index.json")


def with_modules(*kinds: str, **pooling: Any) -> Callable[[Path], Any]:
    return lambda folder: write_modules(folder, pooling=pooling, kinds=("Transformer", "Pooling", *kinds))


PARTS = r"config\.json, model\.safetensors and tokenizer\.json"
EMBEDDED = "embeddings.word_embeddings.weight"
QUERY = "encoder.layer.1.attention.self.query.weight"
BROKEN: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no config": (without("config.json"), rf"no config\.json; a model's folder has {PARTS}"),
    "no weights": (without("model.safetensors"), r"no model\.safetensors; a model's folder has"),
    "no tokenizer": (without("tokenizer.json"), r"no tokenizer\.json; a model's folder has"),
    "a pickle": (pickled, r"\.bin files are pickles, which can run code, and are not read: convert them to safetensors"),
    "several parts": (
        in_parts,
        r"the weights are split into several files: install rankproof\[torch\] and prefix the name with torch:",
    ),
    "cut weights": (
        with_bytes("model.safetensors", lambda old: old[:-9]),
        r"model\.safetensors: not a complete safetensors file",
    ),
    "empty weights": (with_bytes("model.safetensors", lambda old: b""), r"model\.safetensors: not a complete safetensors file"),
    "weights of another kind": (with_bytes("model.safetensors", lambda old: b"PK\3\4" * 99), r"not a complete safetensors file"),
    "no tensor at all": (changed_tensors(lambda tensors: tensors.clear()), r"model\.safetensors: (not a complete|no tensor)"),
    "a missing tensor": (
        changed_tensors(lambda tensors: tensors.pop(QUERY)),
        rf"no tensor {QUERY}; use complete weights of the model in config",
    ),
    "a tensor of another shape": (
        changed_tensors(lambda tensors: tensors.update({QUERY: np.zeros((4, 32), np.float32)})),
        rf"{QUERY} is 4 x 32, but config\.json gives 32 x 32; use weights and settings of the same model",
    ),
    "a tensor of whole numbers": (
        changed_tensors(lambda tensors: tensors.update({QUERY: np.zeros((32, 32), np.int64)})),
        rf"tensor {QUERY} has type I64; convert it to F32 or F16 or BF16",
    ),
    "no finite numbers": (
        changed_tensors(lambda tensors: tensors.update({QUERY: np.full((32, 32), np.nan, np.float32)})),
        rf"tensor {QUERY} has NaN or infinite values; download the file again",
    ),
    "config that is no JSON": (with_bytes("config.json", lambda old: old[:-2]), r"config\.json: not JSON"),
    "config that is no object": (with_bytes("config.json", lambda old: b"[]"), r"config\.json: not a JSON object"),
    "config of endless depth": (with_bytes("config.json", lambda old: b"[" * 100_000), r"config\.json: not JSON"),
    "another model type": (
        lambda folder: write_bert(folder, model_type="t5"),
        r"model_type t5 is not of the BERT family .*install rankproof\[torch\] and prefix the name with torch:",
    ),
    "no model type": (lambda folder: write_bert(folder, model_type=None), "model_type None is not of the BERT family"),
    "relative positions": (
        lambda folder: write_bert(folder, position_embedding_type="relative_key"),
        "relative positions are not supported",
    ),
    "an unknown activation": (
        lambda folder: write_bert(folder, hidden_act="swish"),
        "activation swish is not supported; choose gelu",
    ),
    "sizes that are no numbers": (
        lambda folder: write_bert(folder, hidden_size="x"),
        "hidden, embedding of the model cannot be read",
    ),
    "heads that do not divide": (
        lambda folder: write_bert(folder, num_attention_heads=5),
        "hidden or heads of the model cannot be read",
    ),
    "no heads": (lambda folder: write_bert(folder, num_attention_heads=0), "hidden or heads of the model cannot be read"),
    "a smaller vocabulary": (
        changed_tensors(lambda tensors: tensors.update({EMBEDDED: np.ones((9, 32), np.float32)}), vocab_size=9),
        r"tokenizer\.json: \d+ tokens, but config\.json gives 9; use files of the same model",
    ),
    "a tokenizer that is none": (with_bytes("tokenizer.json", lambda old: b"{}"), r"tokenizer\.json: not a tokenizer"),
    "another module": (
        with_modules("Dense", pooling_mode_mean_tokens=True),
        "module Dense is not one of Transformer, Pooling, Normalize",
    ),
    "another pooling": (with_modules(pooling_mode_max_tokens=True), "pooling pooling_mode_max_tokens is not one of mean, cls"),
    "two poolings": (with_modules(pooling_mode_mean_tokens=True, pooling_mode_cls_token=True), "pooling mean, cls is not one of"),
    "modules that are no list": (
        lambda folder: (folder / "modules.json").write_text("3"),
        r"modules\.json: not a list of modules",
    ),
    "a module outside": (
        lambda folder: (folder / "modules.json").write_text('[{"type": "a.Pooling", "path": "../x"}]'),
        "module path ../x leads out of the folder",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_folder_without_a_model_is_refused_and_leaves_no_graph(case: str, tmp_path: Path, cache: Path) -> None:
    change, words = BROKEN[case]
    folder = write_bert(tmp_path / "m")
    change(folder)
    with pytest.raises(ExternalError, match=words) as refusal:
        Bert(str(folder)).load().encode(["a pan"])
    assert refusal.value.exit_code == 1
    assert not list(cache.glob("models/.*"))


def test_values_that_overflow_are_refused(tmp_path: Path) -> None:
    tensors = bert_tensors()
    tensors["encoder.layer.1.output.LayerNorm.weight"][:] = 3e38
    with pytest.raises(ExternalError, match="the model returns NaN or infinite values; its weights are damaged"):
        Bert(str(write_bert(tmp_path / "m", tensors=tensors)), precision="fp32").load().encode(["a pan"])


def test_a_classifier_without_its_head_is_refused(tmp_path: Path) -> None:
    folder = write_bert(tmp_path / "m", tensors=bert_tensors())
    with pytest.raises(ExternalError, match=r"no tensor pooler\.dense\.weight"):
        CrossEncoder(str(folder), max_tokens=32).load()


def test_a_classifier_with_three_labels_is_not_a_cross_encoder(tmp_path: Path) -> None:
    folder = write_bert(tmp_path / "m", labels=3)
    with pytest.raises(ExternalError, match="a classifier with 3 labels; use a cross-encoder with one or two"):
        CrossEncoder(str(folder)).load()


@pytest.mark.parametrize("source", ["nowhere", "./nowhere", "a/b/c", "-a/b", "a/../b", "a b/c", "~nobody/x", "x" * 5000])
def test_a_source_that_is_neither_folder_nor_name_is_refused(source: str) -> None:
    with pytest.raises(UsageError, match="neither a model's folder nor a name on the hub"):
        Bert(source).load()


WRONG: list[dict[str, Any]] = [
    {"precision": "int4"},
    {"max_tokens": 0},
    {"max_tokens": 2.5},
    {"max_tokens": True},
    {"pooling": "max"},
    {"source": ""},
    {"source": 3},
    {"source": "a\0b"},
]


@pytest.mark.parametrize("settings", WRONG, ids=str)
def test_settings_that_no_model_has_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Bert(**{"source": "a/b", **settings})


def test_more_tokens_than_positions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has positions for 40 tokens, not 41"):
        Bert(str(write_bert(tmp_path / "m")), max_tokens=41).load()


def test_the_revision_follows_the_content_and_not_the_place(tmp_path: Path) -> None:
    here, there = (Bert(str(write_bert(tmp_path / name))) for name in ("here", "there"))
    other = Bert(str(write_bert(tmp_path / "other", tensors=bert_tensors(seed=8))))
    lowered = Bert(str(write_bert(tmp_path / "lowered")))
    (tmp_path / "lowered" / "sentence_bert_config.json").write_text('{"max_seq_length": 16, "do_lower_case": true}')
    assert here.revision() == there.revision()
    assert identity_key(here) == identity_key(there)
    assert len({here.revision(), other.revision(), lowered.revision()}) == 3
    assert "source" not in identity(here)
    assert lowered.load().facts()["max_tokens"] == 16


def test_the_prompts_of_the_model_are_shown(tmp_path: Path) -> None:
    folder = write_bert(tmp_path / "m")
    (folder / "config_sentence_transformers.json").write_text('{"prompts": {"query": "query: ", "passage": "passage: "}}')
    assert Bert(str(folder)).load().facts()["prompts"] == {"query": "query: ", "passage": "passage: "}


def test_a_settings_file_that_never_ends_is_rejected(tmp_path: Path) -> None:
    folder = write_bert(tmp_path / "m")
    write_modules(folder, pooling={})
    (folder / "1_Pooling" / "config.json").unlink()
    (folder / "1_Pooling" / "config.json").symlink_to("/dev/zero")
    with pytest.raises(RankproofError, match=r"1_Pooling/config.json: is a device"):
        Bert(str(folder)).load()

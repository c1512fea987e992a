"""BERT models of the smallest size, with random weights and a small tokenizer, in the files of transformers."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any

import numpy as np

from rankproof._data.arrays import Matrix

SENTENCE = "the a of pan pot steel oven bread soup how to bake clean sharp knife butter and salt ##s ##ing ##ed ##er"
WORDS = SENTENCE.split()
PIECES = [*string.ascii_lowercase, *(f"##{letter}" for letter in string.ascii_lowercase), *string.digits, *"!?.,'-", *WORDS]
VOCABULARY = {token: at for at, token in enumerate(dict.fromkeys(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *PIECES]))}
TEXTS = [
    "",
    "how to clean a steel pan",
    "The OVEN, and the bread!",
    "köttbullar 鍋 🍲 \u200b x",
    "butter " * 60,
    "[MASK] salt [SEP] pot",
    "   baking soups   ",
]
SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 40,
}


def write_tokenizer(folder: Path, *, cls: str = "[CLS]", sep: str = "[SEP]", pad: str = "[PAD]", pad_first: bool = True) -> None:
    """A WordPiece tokenizer that, like MiniLM's own, says that it cuts and pads at a length that is not the model's."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    names = {"[CLS]": cls, "[SEP]": sep, "[PAD]": pad}
    vocabulary = {names.get(token, token): at for token, at in VOCABULARY.items()}
    if not pad_first:
        vocabulary[pad], vocabulary["[UNK]"] = 1, 0
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{cls} $A {sep}",
        pair=f"{cls} $A {sep} $B:1 {sep}:1",
        special_tokens=[(cls, vocabulary[cls]), (sep, vocabulary[sep])],
    )
    tokenizer.add_special_tokens([pad, "[UNK]", cls, sep, "[MASK]"])
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(length=8, pad_id=vocabulary[pad], pad_token=pad)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    special = {"pad_token": pad, "unk_token": "[UNK]", "cls_token": cls, "sep_token": sep, "mask_token": "[MASK]"}
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 32, "model_input_names": inputs, **special}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))


def bert_tensors(*, labels: int = 0, seed: int = 7) -> dict[str, Matrix]:
    """The tensors of a small BERT, with the head of a classifier where labels are asked for."""
    wide, size = SIZES["intermediate_size"], SIZES["hidden_size"]
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(VOCABULARY), size),
        "embeddings.position_embeddings.weight": (SIZES["max_position_embeddings"], size),
        "embeddings.token_type_embeddings.weight": (2, size),
        **_norm("embeddings.LayerNorm", size),
    }
    for layer in range(SIZES["num_hidden_layers"]):
        stem = f"encoder.layer.{layer}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            shapes |= _linear(f"{stem}.attention.{part}", size, size)
        shapes |= {**_norm(f"{stem}.attention.output.LayerNorm", size), **_norm(f"{stem}.output.LayerNorm", size)}
        shapes |= {**_linear(f"{stem}.intermediate.dense", size, wide), **_linear(f"{stem}.output.dense", wide, size)}
    if labels:
        shapes |= {**_linear("pooler.dense", size, size), **_linear("classifier", size, labels)}
    random = np.random.default_rng(seed)
    return {name: random.normal(scale=0.3, size=shape).astype(np.float32) for name, shape in shapes.items()}


def write_bert(folder: Path, *, labels: int = 0, tensors: dict[str, Any] | None = None, **config: Any) -> Path:
    """A folder with that BERT, its config changed where asked."""
    from safetensors.numpy import save_file

    write_tokenizer(folder)
    heads = {"id2label": {str(at): f"L{at}" for at in range(labels)}, "architectures": ["BertForSequenceClassification"]}
    named = heads if labels else {}
    settings = {"model_type": "bert", "vocab_size": len(VOCABULARY), **SIZES, **named, **config}
    (folder / "config.json").write_text(json.dumps(settings))
    save_file(bert_tensors(labels=labels) if tensors is None else tensors, folder / "model.safetensors")
    return folder


def write_modules(folder: Path, *, pooling: dict[str, Any], kinds: tuple[str, ...] = ("Transformer", "Pooling")) -> None:
    """What sentence-transformers adds to a folder."""
    paths = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize", "Dense": "2_Dense"}
    modules = [
        {"idx": at, "name": str(at), "type": f"sentence_transformers.models.{kind}", "path": paths[kind]}
        for at, kind in enumerate(kinds)
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))


def _linear(name: str, inputs: int, outputs: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def _norm(name: str, size: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (size,), f"{name}.bias": (size,)}

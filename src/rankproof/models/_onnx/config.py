"""Reads config.json of the BERT family of models, and tensors from safetensors files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rankproof._data.arrays import Matrix
from rankproof._extras import extra
from rankproof._io.files import unreadable_file_error
from rankproof.errors import ExternalError, escape_invisible, for_message

_BERT_LAYER = {
    "query": "encoder.layer.{}.attention.self.query",
    "key": "encoder.layer.{}.attention.self.key",
    "value": "encoder.layer.{}.attention.self.value",
    "attended": "encoder.layer.{}.attention.output.dense",
    "attended_norm": "encoder.layer.{}.attention.output.LayerNorm",
    "widen": "encoder.layer.{}.intermediate.dense",
    "narrow": "encoder.layer.{}.output.dense",
    "norm": "encoder.layer.{}.output.LayerNorm",
}
_DISTIL_LAYER = {
    "query": "transformer.layer.{}.attention.q_lin",
    "key": "transformer.layer.{}.attention.k_lin",
    "value": "transformer.layer.{}.attention.v_lin",
    "attended": "transformer.layer.{}.attention.out_lin",
    "attended_norm": "transformer.layer.{}.sa_layer_norm",
    "widen": "transformer.layer.{}.ffn.lin1",
    "narrow": "transformer.layer.{}.ffn.lin2",
    "norm": "transformer.layer.{}.output_layer_norm",
}
_CONFIG_KEYS = {
    "hidden": "hidden_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "intermediate_size": "intermediate_size",
    "positions": "max_position_embeddings",
    "vocabulary": "vocab_size",
    "activation": "hidden_act",
}
_DISTIL_CONFIG_KEYS = {
    **_CONFIG_KEYS,
    "hidden": "dim",
    "layers": "n_layers",
    "heads": "n_heads",
    "intermediate_size": "hidden_dim",
    "activation": "activation",
}


@dataclass(frozen=True, eq=False, slots=True)
class BertFamily:
    """The names in the files of one model type; `head` has the two layers of the classifier and the activation between them."""

    prefix: str
    head: tuple[str, str, str]
    layer: Mapping[str, str]
    config: Mapping[str, str]
    counts_positions: bool = False
    has_types: bool = True

    def spellings(self, name: str) -> tuple[str, ...]:
        """The names of a tensor in files: with and without the prefix of the model type, and in the original BERT spelling."""
        old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        return tuple(dict.fromkeys((name, f"{self.prefix}.{name}", old, f"{self.prefix}.{old}")))


_ROBERTA = BertFamily(
    "roberta", ("classifier.dense", "tanh", "classifier.out_proj"), _BERT_LAYER, _CONFIG_KEYS, counts_positions=True
)
FAMILIES: Mapping[str, BertFamily] = {
    "bert": BertFamily("bert", ("pooler.dense", "tanh", "classifier"), _BERT_LAYER, _CONFIG_KEYS),
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
    "camembert": _ROBERTA,
    "electra": BertFamily("electra", ("classifier.dense", "gelu", "classifier.out_proj"), _BERT_LAYER, _CONFIG_KEYS),
    "distilbert": BertFamily(
        "distilbert", ("pre_classifier", "relu", "classifier"), _DISTIL_LAYER, _DISTIL_CONFIG_KEYS, has_types=False
    ),
}


ACTIVATIONS = {
    "gelu": "none",
    "gelu_python": "none",
    "gelu_new": "tanh",
    "gelu_fast": "tanh",
    "gelu_pytorch_tanh": "tanh",
    "relu": "",
}
_DEFAULTS = {"activation": "gelu", "positions": 512}


@dataclass(frozen=True, eq=False, slots=True)
class BertConfig:
    """The sizes and settings of one model."""

    family: BertFamily
    hidden: int
    layers: int
    heads: int
    intermediate_size: int
    positions: int
    vocabulary: int
    types: int
    embedding: int
    activation: str
    epsilon: float
    padding: int
    labels: int

    @property
    def max_positions(self) -> int:
        """The maximum number of tokens."""
        return self.positions - (self.padding + 1 if self.family.counts_positions else 0)


def bert_config(config: Mapping[str, Any], source: str) -> BertConfig:
    """The settings in config.json; an unsupported model is an error."""
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in FAMILIES:
        raise ExternalError(
            escape_invisible(
                f"{source}: model_type {for_message(str(kind))} is not of the BERT family ({', '.join(FAMILIES)}); "
                "to use it anyway, install rankproof[torch] and prefix the name with torch:"
            )
        )
    family = FAMILIES[kind]
    sizes = {ours: config.get(theirs, _DEFAULTS.get(ours)) for ours, theirs in family.config.items()}
    sizes |= {"types": config.get("type_vocab_size", 2) if family.has_types else 0, "padding": config.get("pad_token_id") or 0}
    sizes |= {"embedding": config.get("embedding_size", sizes["hidden"]) if kind == "electra" else sizes["hidden"]}
    sizes |= {"epsilon": config.get("layer_norm_eps", 1e-12), "labels": _label_count(config)}
    _check_supported(sizes, config, source)
    return BertConfig(family=family, **sizes)


def _label_count(config: Mapping[str, Any]) -> int:
    names = config.get("id2label")
    return len(names) if isinstance(names, Mapping) else config.get("num_labels", 2)


def _check_supported(sizes: Mapping[str, Any], config: Mapping[str, Any], source: str) -> None:
    wrong = [
        name for name, size in sizes.items() if name not in ("activation", "epsilon") and not (type(size) is int and size >= 0)
    ]
    if wrong or not isinstance(sizes["epsilon"], float) or sizes["hidden"] % max(sizes["heads"], 1) or not sizes["heads"]:
        raise ExternalError(
            escape_invisible(
                f"{source}: {', '.join(wrong) or 'epsilon, hidden or heads'} of the model cannot be read; download it again"
            )
        )
    if sizes["activation"] not in ACTIVATIONS:
        raise ExternalError(
            escape_invisible(
                f"{source}: activation {for_message(str(sizes['activation']))} is not supported; choose {', '.join(ACTIVATIONS)}"
            )
        )
    if config.get("position_embedding_type", "absolute") != "absolute":
        raise ExternalError(
            escape_invisible(
                f"{source}: relative positions are not supported; install rankproof[torch] and prefix the name with torch:"
            )
        )


_NUMPY_TYPES: dict[str, type[np.generic]] = {"F32": np.float32, "F16": np.float16, "BF16": np.uint16}


@dataclass(frozen=True, eq=False, slots=True)
class Weights:
    """The tensors of one file, by name."""

    path: Path
    header: Mapping[str, Any]
    data: np.memmap[Any, np.dtype[np.uint8]]

    def __contains__(self, name: str) -> bool:
        return name in self.header

    def tensor(self, name: str) -> Matrix:
        """The tensor as float32, whatever its type in the file."""
        entry = self.header[name]
        kind, (start, end) = entry["dtype"], entry["data_offsets"]
        if kind not in _NUMPY_TYPES:
            raise ExternalError(
                escape_invisible(
                    f"{self.path}: tensor {for_message(name)} has type {kind}; convert it to {' or '.join(_NUMPY_TYPES)}"
                )
            )
        values = np.asarray(self.data[start:end]).view(_NUMPY_TYPES[kind]).reshape(entry["shape"])
        if kind == "BF16":
            return (values.astype(np.uint32) << 16).view(np.float32)
        return values.astype(np.float32, copy=False)


def open_weights(path: Path) -> Weights:
    """The file, checked by the safetensors library."""
    with extra("retrieval"):
        from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np"):
            pass
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length))
        data = np.memmap(path, dtype=np.uint8, mode="r", offset=8 + length)
    except (SafetensorError, ValueError) as error:
        raise ExternalError(escape_invisible(f"{path}: not a complete safetensors file ({error}); download it again")) from None
    except OSError as error:
        raise unreadable_file_error(path, error) from None
    header.pop("__metadata__", None)
    return Weights(path, header, data)


Spelling = Callable[[str], tuple[str, ...]]


@dataclass(frozen=True, eq=False, slots=True)
class TensorReader:
    """Reads tensors by their names in this code, under any spelling that the file uses, and checks their shapes."""

    weights: Weights
    spellings: Spelling
    config_file: str = "config.json"

    def has(self, name: str) -> bool:
        """Whether the file has the tensor under any spelling."""
        return any(spelling in self.weights for spelling in self.spellings(name))

    def take(self, name: str, *shape: int | None) -> Matrix:
        """The tensor, checked; None in the shape allows any size."""
        tensor = self.weights.tensor(self._found(name))
        fits = len(tensor.shape) == len(shape) and all(want in (None, got) for want, got in zip(shape, tensor.shape, strict=True))
        if not fits:
            wanted = " x ".join("any" if size is None else str(size) for size in shape)
            got = " x ".join(map(str, tensor.shape))
            raise ExternalError(
                escape_invisible(
                    f"{self.weights.path}: tensor {name} is {got}, but {self.config_file} gives {wanted}; "
                    "use weights and settings of the same model"
                )
            )
        if not np.isfinite(tensor).all():
            raise ExternalError(
                escape_invisible(f"{self.weights.path}: tensor {name} has NaN or infinite values; download the file again")
            )
        return tensor

    def _found(self, name: str) -> str:
        spellings = self.spellings(name)
        for spelling in spellings:
            if spelling in self.weights:
                return spelling
        raise ExternalError(
            escape_invisible(
                f"{self.weights.path}: no tensor {spellings[0]}; use complete weights of the model in {self.config_file}"
            )
        )

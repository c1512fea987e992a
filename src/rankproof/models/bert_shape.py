"""The sizes and choices of one model of the BERT family, as its config.json tells them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import WorldError, shown, visible
from .bert_family import FAMILIES, Family

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
class Shape:
    """The sizes and choices of one model."""

    family: Family
    hidden: int
    layers: int
    heads: int
    wide: int
    positions: int
    vocabulary: int
    types: int
    embedding: int
    activation: str
    epsilon: float
    padding: int
    labels: int

    @property
    def longest(self) -> int:
        """How many tokens there are positions for."""
        return self.positions - (self.padding + 1 if self.family.counts_positions else 0)


def shape_of(config: Mapping[str, Any], source: str) -> Shape:
    """The shape that config.json tells; refused where the graph here cannot be that model."""
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in FAMILIES:
        raise WorldError(
            visible(
                f"{source}: model_type {shown(str(kind))} is not of the BERT family ({', '.join(FAMILIES)}); "
                "for others run: pip install 'rankproof[torch]' and name the model as torch:NAME"
            )
        )
    family = FAMILIES[kind]
    sizes = {ours: config.get(theirs, _DEFAULTS.get(ours)) for ours, theirs in family.config.items()}
    sizes |= {"types": config.get("type_vocab_size", 2) if family.has_types else 0, "padding": config.get("pad_token_id") or 0}
    sizes |= {"embedding": config.get("embedding_size", sizes["hidden"]) if kind == "electra" else sizes["hidden"]}
    sizes |= {"epsilon": config.get("layer_norm_eps", 1e-12), "labels": _labels(config)}
    _check(sizes, config, source)
    return Shape(family=family, **sizes)


def _labels(config: Mapping[str, Any]) -> int:
    names = config.get("id2label")
    return len(names) if isinstance(names, Mapping) else config.get("num_labels", 2)


def _check(sizes: Mapping[str, Any], config: Mapping[str, Any], source: str) -> None:
    wrong = [
        name for name, size in sizes.items() if name not in ("activation", "epsilon") and not (type(size) is int and size >= 0)
    ]
    if wrong or not isinstance(sizes["epsilon"], float) or sizes["hidden"] % max(sizes["heads"], 1) or not sizes["heads"]:
        raise WorldError(
            visible(f"{source}: {', '.join(wrong) or 'epsilon, hidden or heads'} of the model cannot be read; is it whole?")
        )
    if sizes["activation"] not in ACTIVATIONS:
        raise WorldError(
            visible(f"{source}: activation {shown(str(sizes['activation']))} is not known; known: {', '.join(ACTIVATIONS)}")
        )
    if config.get("position_embedding_type", "absolute") != "absolute":
        raise WorldError(
            visible(f"{source}: relative positions are not known; name the model as torch:NAME, with the extra torch")
        )

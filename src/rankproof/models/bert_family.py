"""What the members of the BERT family call their parts: a table of names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
_CONFIG = {
    "hidden": "hidden_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "wide": "intermediate_size",
    "positions": "max_position_embeddings",
    "vocabulary": "vocab_size",
    "activation": "hidden_act",
}
_DISTIL_CONFIG = {
    **_CONFIG,
    "hidden": "dim",
    "layers": "n_layers",
    "heads": "n_heads",
    "wide": "hidden_dim",
    "activation": "activation",
}


@dataclass(frozen=True, eq=False, slots=True)
class Family:
    """How one model type is spelt; `head` names the layers from the first token's state to the logits, and what lies between."""

    prefix: str
    head: tuple[str, str, str]
    layer: Mapping[str, str]
    config: Mapping[str, str]
    counts_positions: bool = False
    has_types: bool = True

    def spellings(self, name: str) -> tuple[str, ...]:
        """The names that a file may give a tensor: with the prefix of a model with a head, and as the first BERT wrote it."""
        old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        return tuple(dict.fromkeys((name, f"{self.prefix}.{name}", old, f"{self.prefix}.{old}")))


_ROBERTA = Family("roberta", ("classifier.dense", "tanh", "classifier.out_proj"), _BERT_LAYER, _CONFIG, counts_positions=True)
FAMILIES: Mapping[str, Family] = {
    "bert": Family("bert", ("pooler.dense", "tanh", "classifier"), _BERT_LAYER, _CONFIG),
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
    "camembert": _ROBERTA,
    "electra": Family("electra", ("classifier.dense", "gelu", "classifier.out_proj"), _BERT_LAYER, _CONFIG),
    "distilbert": Family("distilbert", ("pre_classifier", "relu", "classifier"), _DISTIL_LAYER, _DISTIL_CONFIG, has_types=False),
}

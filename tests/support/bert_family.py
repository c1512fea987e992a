"""Models of every type of the BERT family, made by transformers with random weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.tiny_bert import SIZES, TEXTS, VOCABULARY, write_tokenizer
from support.torch_oracle import oracle

WORDS = len(VOCABULARY)
DISTIL = {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, "max_position_embeddings": 40}
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("Bert", SIZES),
    "bert of one type": ("Bert", {**SIZES, "type_vocab_size": 1}),
    "bert with gelu by tanh": ("Bert", {**SIZES, "hidden_act": "gelu_new"}),
    "bert with relu": ("Bert", {**SIZES, "hidden_act": "relu"}),
    "roberta": ("Roberta", {**SIZES, "type_vocab_size": 1, "layer_norm_eps": 1e-5}),
    "xlm-roberta": ("XLMRoberta", {**SIZES, "type_vocab_size": 1}),
    "camembert": ("Camembert", {**SIZES, "type_vocab_size": 1}),
    "distilbert": ("DistilBert", DISTIL),
    "electra": ("Electra", {**SIZES, "embedding_size": 16}),
}
PAIRS = [("how to bake", passage) for passage in TEXTS] + [("pan " * 40, "pot " * 30), ("", ""), ("[SEP] a", "b")]


def saved(kind: str, task: str, folder: Path, **changed: Any) -> Any:
    """A model of transformers with lively random weights, in the folder and in memory."""
    transformers, torch = oracle("transformers"), oracle("torch")
    name, settings = KINDS[kind]
    pad_first = "oberta" not in name and name != "Camembert"
    torch.manual_seed(11)
    config = getattr(transformers, f"{name}Config")(vocab_size=WORDS, pad_token_id=0 if pad_first else 1, **settings, **changed)
    model = getattr(transformers, f"{name}{task}")(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.2)
    model.save_pretrained(folder)
    write_tokenizer(folder, pad_first=pad_first)
    return model

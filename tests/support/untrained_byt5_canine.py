"""ByT5 (the encoder) and CANINE with random weights, in the files of transformers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from support.torch_oracle import oracle

BYT5_SMALL = {
    "d_model": 1472,
    "d_ff": 3584,
    "d_kv": 64,
    "num_layers": 12,
    "num_decoder_layers": 4,
    "num_heads": 6,
    "vocab_size": 384,
    "feed_forward_proj": "gated-gelu",
    "tie_word_embeddings": False,
}
"""What google/byt5-small's config.json says; google/canine-s is what CanineConfig says by itself."""
TINY_BYT5 = {**BYT5_SMALL, "d_model": 32, "d_ff": 48, "d_kv": 8, "num_layers": 2, "num_decoder_layers": 1, "num_heads": 4}
TINY_CANINE = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "num_hash_buckets": 512,
    "max_position_embeddings": 512,
}
_SPREAD = 0.02
NETS = {"t5": "T5EncoderModel", "canine": "CanineModel", "whole t5": "T5ForConditionalGeneration"}


def write_net(folder: Path, kind: str, settings: dict[str, Any], *, seed: int = 7) -> Path:
    """A folder with config.json and model.safetensors alone: norms are 1, biases 0, the rest is drawn, in bfloat16."""
    torch, transformers = oracle("torch"), oracle("transformers")
    net = getattr(transformers, NETS[kind])
    config = net.config_class(**settings)
    with torch.device("meta"):
        shapes = {name: tuple(one.shape) for name, one in net(config).named_parameters()}
    random = np.random.default_rng(seed)
    tensors = {name: torch.from_numpy(_drawn(random, name, shape)).bfloat16() for name, shape in shapes.items()}
    folder.mkdir(parents=True, exist_ok=True)
    oracle("safetensors.torch").save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps({**config.to_diff_dict(), "architectures": [NETS[kind]]}))
    return folder


def change_config(folder: Path, **changed: Any) -> None:
    """The folder's config.json, changed."""
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))


def _drawn(random: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    if len(shape) == 1:
        return np.full(shape, float(name.endswith("weight")), dtype=np.float32)
    wide = 1.0 if "shared" in name else _SPREAD if "block" not in name else shape[-1] ** -0.5
    narrower = 8 if "SelfAttention.q" in name else 1  # T5 begins with queries that attend to everything alike
    return random.standard_normal(shape, dtype=np.float32) * np.float32(wide / narrower)

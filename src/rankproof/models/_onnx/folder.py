"""Reads model folders, and caches the ONNX graphs that are written from them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, get_args

from rankproof._io.files import file_sha256
from rankproof._io.strict_json import read_json, read_json_object
from rankproof.errors import ExternalError, escape_invisible, for_message
from rankproof.models._download.cached_folder import cached_folder, models_cache_folder
from rankproof.models._onnx.config import BertConfig, bert_config
from rankproof.models._onnx.graph import GRAPH_VERSION, write_graph

Pooling = Literal["mean", "cls"]
POOLINGS: tuple[Pooling, ...] = get_args(Pooling)
WEIGHTS, CONFIG, TOKENIZER = "model.safetensors", "config.json", "tokenizer.json"
_POOLING_MODES = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
_KNOWN_MODULES = ("Transformer", "Pooling", "Normalize")
_USE_TORCH = "install rankproof[torch] and prefix the name with torch:"


@dataclass(frozen=True, eq=False, slots=True)
class ModelFolder:
    """A model folder: the folder of the network, the modules and the settings."""

    path: Path
    network: Path
    modules: Mapping[str, str]
    shape: BertConfig

    @property
    def weights(self) -> Path:
        """The file with the weights."""
        return self.network / WEIGHTS

    @property
    def tokenizer(self) -> Path:
        """The file with the tokenizer."""
        return self.network / TOKENIZER

    def pooling(self) -> Pooling:
        """The pooling of the Pooling module, the mean if there is none."""
        return folder_pooling(self.path, self.modules)

    def max_tokens(self) -> int:
        """The maximum number of tokens in the model's settings."""
        length = read_json_object(self.network / "sentence_bert_config.json").get("max_seq_length")
        length = length or read_json_object(self.network / "tokenizer_config.json").get("model_max_length")
        return min(length, self.shape.max_positions) if isinstance(length, int) else self.shape.max_positions

    def uses_token_types(self) -> bool:
        """Whether the second text of a pair has its own token type."""
        names = read_json_object(self.network / "tokenizer_config.json").get("model_input_names")
        return self.shape.types > 1 and (not isinstance(names, list) or "token_type_ids" in names)

    def lowers(self) -> bool:
        """Whether texts are lowercased before tokenization."""
        return read_json_object(self.network / "sentence_bert_config.json").get("do_lower_case") is True

    def prompts(self) -> dict[str, str]:
        """The prompts in the model's settings."""
        prompts = read_json_object(self.path / "config_sentence_transformers.json").get("prompts")
        return {str(name): str(text) for name, text in prompts.items()} if isinstance(prompts, dict) else {}

    def revision(self) -> str:
        """A sha256 of all files that affect the vectors, and the version of the graph."""
        names = (WEIGHTS, TOKENIZER, CONFIG, "sentence_bert_config.json", "tokenizer_config.json")
        paths = [self.network / name for name in names] + [self.path / part / CONFIG for part in self.modules.values() if part]
        listed = "\n".join(f"{path.relative_to(self.path).as_posix()} {file_sha256(path)}" for path in paths if path.is_file())
        return f"{hashlib.sha256(listed.encode()).hexdigest()}.{GRAPH_VERSION}"


def open_model_folder(path: Path) -> ModelFolder:
    """The checked folder; a missing file is an error."""
    modules = module_folders(path)
    network = path / modules.get("Transformer", "")
    for name in (CONFIG, WEIGHTS, TOKENIZER):
        if not (network / name).is_file():
            raise _missing_part_error(network, name)
    config = read_json_object(network / CONFIG)
    return ModelFolder(path, network, modules, bert_config(config, str(network / CONFIG)))


def folder_pooling(path: Path, modules: Mapping[str, str]) -> Pooling:
    """The pooling of the Pooling module, the mean if there is none."""
    if "Pooling" not in modules:
        return "mean"
    settings = read_json_object(path / modules["Pooling"] / CONFIG)
    modes = [settings["pooling_mode"]] if "pooling_mode" in settings else [key for key, on in settings.items() if on is True]
    known = [_POOLING_MODES.get(mode, mode) for mode in modes if mode != "include_prompt"]
    if len(known) == 1 and known[0] in POOLINGS:
        return known[0]
    raise ExternalError(
        escape_invisible(
            f"{path}: pooling {for_message(', '.join(map(str, known)))} is not one of {', '.join(POOLINGS)}; {_USE_TORCH}"
        )
    )


def module_folders(path: Path) -> dict[str, str]:
    """The module folders by type; a plain transformers model has none."""
    file = path / "modules.json"
    if not file.is_file():
        return {}
    listed = read_json(file)
    try:
        folders = {str(module["type"]).rpartition(".")[2]: str(module["path"]) for module in listed}
    except (TypeError, KeyError):
        raise ExternalError(escape_invisible(f"{file}: not a list of modules; download the model again")) from None
    for kind, part in folders.items():
        if kind not in _KNOWN_MODULES:
            raise ExternalError(
                escape_invisible(f"{file}: module {for_message(kind)} is not one of {', '.join(_KNOWN_MODULES)}; {_USE_TORCH}")
            )
        if Path(part).is_absolute() or ".." in Path(part).parts:
            raise ExternalError(
                escape_invisible(f"{file}: module path {for_message(part)} leads out of the folder; download the model again")
            )
    return folders


def _missing_part_error(network: Path, name: str) -> ExternalError:
    missing = f"{network}: no {name}; a model's folder has {CONFIG}, {WEIGHTS} and {TOKENIZER}"
    if name == WEIGHTS and (network / f"{WEIGHTS}.index.json").is_file():
        return ExternalError(escape_invisible(f"{missing}, but here the weights are split into several files: {_USE_TORCH}"))
    if name == WEIGHTS and any(network.glob("*.bin")):
        return ExternalError(
            escape_invisible(
                f"{missing}; .bin files are pickles, which can run code, and are not read: convert them to safetensors"
            )
        )
    return ExternalError(escape_invisible(missing))


GRAPH_FILE = "model.onnx"


def cached_graph(folder: ModelFolder, revision: str, *, head: bool) -> Path:
    """The verified file with the float32 graph, written if it is not cached."""
    name = f"{revision[:20]}{revision[64:]}-{'cross-encoder' if head else 'encoder'}-fp32"
    return cached_folder(models_cache_folder() / name, _graph_writer(folder, revision, head=head)) / GRAPH_FILE


def _graph_writer(folder: ModelFolder, revision: str, *, head: bool) -> Callable[[Path], dict[str, Any]]:
    def make(target: Path) -> dict[str, Any]:
        typed = head and folder.uses_token_types()
        write_graph(folder.weights, folder.shape, target / GRAPH_FILE, head=head, typed=typed)
        facts = {"model": folder.path.name, "revision": revision, "precision": "fp32", "kind": "graph"}
        return {**facts, "onnx": version("onnx"), "onnxruntime": version("onnxruntime")}

    return make

"""A folder with a model of the BERT family as sentence-transformers and transformers write it, checked as far as names go."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from ..errors import WorldError, shown, visible
from .bert_graph import GRAPH_VERSION
from .bert_shape import Shape, shape_of
from .checksums import sha256_of
from .json_file import read_json, read_object

Pooling = Literal["mean", "cls"]
POOLINGS: tuple[Pooling, ...] = get_args(Pooling)
WEIGHTS, CONFIG, TOKENIZER = "model.safetensors", "config.json", "tokenizer.json"
_POOLED_BY = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
_KNOWN_MODULES = ("Transformer", "Pooling", "Normalize")
_TORCH = "name the model as torch:NAME, with the extra torch"


@dataclass(frozen=True, eq=False, slots=True)
class ModelFolder:
    """Where the parts lie, and what their settings say."""

    path: Path
    body: Path
    modules: Mapping[str, str]
    shape: Shape

    @property
    def weights(self) -> Path:
        """The file of the weights."""
        return self.body / WEIGHTS

    @property
    def tokenizer(self) -> Path:
        """The file of the tokenizer."""
        return self.body / TOKENIZER

    def pooling(self) -> Pooling:
        """How token vectors become one: as the Pooling module says, by the mean where there is none."""
        return pooling_of(self.path, self.modules)

    def max_tokens(self) -> int:
        """The most tokens of a text that the model's settings let it read."""
        told = read_object(self.body / "sentence_bert_config.json").get("max_seq_length")
        told = told or read_object(self.body / "tokenizer_config.json").get("model_max_length")
        return min(told, self.shape.longest) if isinstance(told, int) else self.shape.longest

    def tells_texts_apart(self) -> bool:
        """Whether the second text of a pair has a type of its own, and the tokenizer's settings do not leave types out."""
        told = read_object(self.body / "tokenizer_config.json").get("model_input_names")
        return self.shape.types > 1 and (not isinstance(told, list) or "token_type_ids" in told)

    def lowers(self) -> bool:
        """Whether texts are put in lower case before they are cut into tokens."""
        return read_object(self.body / "sentence_bert_config.json").get("do_lower_case") is True

    def prompts(self) -> dict[str, str]:
        """The prompts that the model's makers name, for a reader to see."""
        prompts = read_object(self.path / "config_sentence_transformers.json").get("prompts")
        return {str(name): str(text) for name, text in prompts.items()} if isinstance(prompts, dict) else {}

    def revision(self) -> str:
        """A sha256 over the weights and whatever else decides the numbers, and the version of the graph written from them."""
        names = (WEIGHTS, TOKENIZER, CONFIG, "sentence_bert_config.json", "tokenizer_config.json")
        paths = [self.body / name for name in names] + [self.path / part / CONFIG for part in self.modules.values() if part]
        listed = "\n".join(f"{path.relative_to(self.path).as_posix()} {sha256_of(path)}" for path in paths if path.is_file())
        return f"{hashlib.sha256(listed.encode()).hexdigest()}.{GRAPH_VERSION}"


def open_folder(path: Path) -> ModelFolder:
    """The folder, or an error that names what was looked for."""
    modules = modules_of(path)
    body = path / modules.get("Transformer", "")
    for name in (CONFIG, WEIGHTS, TOKENIZER):
        if not (body / name).is_file():
            raise _lacks(body, name)
    config = read_object(body / CONFIG)
    return ModelFolder(path, body, modules, shape_of(config, str(body / CONFIG)))


def pooling_of(path: Path, modules: Mapping[str, str]) -> Pooling:
    """How the folder's modules make one vector of many: by the mean where there is no Pooling module."""
    if "Pooling" not in modules:
        return "mean"
    settings = read_object(path / modules["Pooling"] / CONFIG)
    modes = [settings["pooling_mode"]] if "pooling_mode" in settings else [key for key, on in settings.items() if on is True]
    known = [_POOLED_BY.get(mode, mode) for mode in modes if mode != "include_prompt"]
    if len(known) == 1 and known[0] in POOLINGS:
        return known[0]
    raise WorldError(
        visible(f"{path}: pooling {shown(', '.join(map(str, known)))} is not one of {', '.join(POOLINGS)}; {_TORCH}")
    )


def modules_of(path: Path) -> dict[str, str]:
    """The module folders by the last part of their type; a model of transformers has none."""
    file = path / "modules.json"
    if not file.is_file():
        return {}
    listed = read_json(file)
    try:
        found = {str(one["type"]).rpartition(".")[2]: str(one["path"]) for one in listed}
    except (TypeError, KeyError):
        raise WorldError(visible(f"{file}: no list of modules; get the model anew")) from None
    for kind, part in found.items():
        if kind not in _KNOWN_MODULES:
            raise WorldError(visible(f"{file}: module {shown(kind)} is not one of {', '.join(_KNOWN_MODULES)}; {_TORCH}"))
        if Path(part).is_absolute() or ".." in Path(part).parts:
            raise WorldError(visible(f"{file}: module path {shown(part)} leads out of the folder; get the model anew"))
    return found


def _lacks(body: Path, name: str) -> WorldError:
    looked = f"{body}: no {name}; a model's folder has {CONFIG}, {WEIGHTS} and {TOKENIZER}"
    if name == WEIGHTS and (body / f"{WEIGHTS}.index.json").is_file():
        return WorldError(visible(f"{looked}, here the weights are in several parts: {_TORCH}"))
    if name == WEIGHTS and any(body.glob("*.bin")):
        return WorldError(
            visible(f"{looked}; .bin files are pickles, which can run any code, and are not read: convert them to safetensors")
        )
    return WorldError(visible(looked))

"""What ByT5 and CANINE have in common: a source of weights that needs no tokenizer's files."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from ..data.identity import NOT_PART
from ..errors import UsageError, WorldError, shown, visible
from .by_transformers import Alphabet, TransformersEncoder, is_untrained, library, opened_net
from .json_file import read_object
from .model_folder import CONFIG, modules_of, pooling_of
from .settings import Source, TokenLimit, check, check_source
from .torch_source import TRANSFORMERS, is_folder, torch_folder, weights_of


@dataclass(frozen=True, slots=True)
class TransformersModel:
    """A folder with config.json and weights, or a hub name; where the weights lie is no part of what the model is."""

    alphabet: ClassVar[Alphabet]
    source: Source = field(metadata=NOT_PART)
    max_tokens: TokenLimit

    def __post_init__(self) -> None:
        check_source(self.source)
        check(self)

    def load(self, *, threads: int = 1) -> TransformersEncoder:
        """The model on the processor."""
        folder = torch_folder(self.source, None, by=TRANSFORMERS)
        body = _body(folder)
        _check_config(body, self.alphabet)
        net = opened_net(body, self.alphabet, self.source)
        _check_room(self, net.config)
        trained = "none" if is_untrained(net) else "sentence-transformers" if modules_of(folder) else "language model"
        told = {"revision": self.weights(), "source": self.source, "training": trained}
        return TransformersEncoder(net, self.alphabet, max_tokens=self.max_tokens, threads=threads, told=told)

    def revision(self) -> str:
        """The weights' own, and the libraries that run them."""
        return f"{self.weights()}, {library()}"

    def weights(self) -> str:
        """The commit of the hub, or a sha256 over the folder's files."""
        return weights_of(self.source, None, by=TRANSFORMERS)

    def is_ready(self) -> bool:
        """Whether it can be loaded without a network."""
        return find_spec("transformers") is not None and is_folder(self.source)


def _body(folder: Path) -> Path:
    """The folder of the net; one that sentence-transformers wrote must make its vectors as this code does."""
    modules = modules_of(folder)
    if pooling_of(folder, modules) != "mean":
        raise WorldError(visible(f"{folder}: its vectors are no means; name the model as torch:NAME, with the extra torch"))
    return folder / modules.get("Transformer", "")


def _check_config(body: Path, alphabet: Alphabet) -> None:
    path = body / CONFIG
    if not path.is_file():
        raise WorldError(visible(f"{body}: no {CONFIG}; a model's folder has {CONFIG} and model.safetensors"))
    config = read_object(path)
    kind = config.get("model_type")
    if kind != alphabet.model_type:
        wanted = f"{alphabet.name} has {alphabet.model_type}"
        raise WorldError(visible(f"{path}: model_type {shown(str(kind))}, and {wanted}; name the model as torch:NAME"))
    if wrong := alphabet.check(config):
        raise WorldError(visible(f"{path}: {wrong}"))


def _check_room(model: TransformersModel, config: object) -> None:
    limits = [getattr(config, name, None) for name in ("max_position_embeddings", "num_hash_buckets")]
    places = min((limit for limit in limits if limit is not None), default=None)
    wanted = model.alphabet.room(model.max_tokens, config)
    if places is not None and wanted > places:
        fits = next((size for size in range(model.max_tokens, 0, -1) if model.alphabet.room(size, config) <= places), 0)
        what = f"{model.source} has {places} positions, and max_tokens {model.max_tokens} takes {wanted} of them"
        raise UsageError(what, fix=f"lower it to {fits}")

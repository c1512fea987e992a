"""ByT5, Canine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rankproof._data.arrays import Matrix, normalise_rows, read_only
from rankproof._data.identity import NOT_IN_IDENTITY, library_versions
from rankproof._data.validation import check_options
from rankproof._extras import extra, require
from rankproof._io.strict_json import read_json_object
from rankproof.errors import ExternalError, UsageError, escape_invisible, for_message
from rankproof.models._base import Source, TokenLimit, check_source
from rankproof.models._onnx.folder import CONFIG, folder_pooling, module_folders
from rankproof.models._onnx.runtime import map_threads
from rankproof.models._tokenizer import replace_surrogates
from rankproof.models._torch import TRANSFORMERS, is_folder, load_error, torch_folder, weights_revision

_UNUSED_WEIGHTS = {"decoder", "lm_head", "pooler", "classifier", "qa_outputs", "cls"}
"""Parts of a whole model that have no share in the last hidden states of its encoder."""


@dataclass(frozen=True, slots=True)
class InputUnits:
    """How one type of model reads texts.

    `name` and `unit` are what people call the model and its tokens. `model_type` is what its config.json must say, `net` the
    library's class that is loaded, with `options`. `ids` makes at most so many ids of a text, special tokens included; `count`
    says how many it would be without a limit. `room` is how many positions the net is shown for so many ids. `check` says what
    in a config.json is not of this kind, or None.
    """

    name: str
    unit: str
    model_type: str
    net: str
    options: tuple[tuple[str, Any], ...]
    ids: Callable[[str, int], list[int]]
    count: Callable[[str], int]
    padded_length: Callable[[int, Any], int]
    check: Callable[[Mapping[str, Any]], str | None]


class TransformersEncoder:
    """A loaded encoder that reads one text at a time: a text's bits depend on nothing but the text."""

    def __init__(self, net: Any, input_units: InputUnits, *, max_tokens: int, threads: int, facts: Mapping[str, Any]) -> None:
        self._net, self._input_units, self._max, self._threads, self._facts = net, input_units, max_tokens, threads, facts
        self._size = int(net.config.hidden_size)

    def encode(self, texts: Sequence[str]) -> Matrix:
        """One row a text: the mean of its tokens' hidden states, special tokens included."""
        rows = np.zeros((len(texts), self._size), dtype=np.float32)
        for row, states in zip(rows, map_threads(self._states, texts, threads=self._threads), strict=True):
            row[:] = normalise_rows(states.mean(axis=0, dtype=np.float64).astype(np.float32))
        return read_only(rows)

    def tokens(self, texts: Sequence[str]) -> list[Matrix]:
        """For each text one row a token, special tokens included."""
        return [read_only(normalise_rows(states)) for states in map_threads(self._states, texts, threads=self._threads)]

    def cut(self, texts: Sequence[str]) -> int:
        """How many of the texts are longer than is read."""
        return sum(self._input_units.count(text) > self._max for text in texts)

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """How many tokens of each text are read, special tokens included."""
        return [min(self._input_units.count(text), self._max) for text in texts]

    def unknown(self, texts: Sequence[str]) -> tuple[int, int]:
        """No token stands for something unknown; how many there are."""
        return 0, sum(self.lengths(texts))

    def facts(self) -> Mapping[str, Any]:
        """What was told of the model, and its size."""
        return {
            "library": transformers_versions(),
            "dimensions": self._size,
            "pooling": "mean",
            "max_tokens": self._max,
            "precision": "fp32",
            "tokenizer": self._input_units.unit,
            "parameters": sum(one.numel() for one in self._net.parameters()),
            **self._facts,
        }

    def _states(self, text: str) -> Matrix:
        """The last hidden states of a text's tokens, without the padding behind them."""
        with extra("torch"):
            import torch

        ids = self._input_units.ids(text, self._max)
        shown_to_net = torch.zeros((1, self._input_units.padded_length(len(ids), self._net.config)), dtype=torch.long)
        shown_to_net[0, : len(ids)] = torch.tensor(ids)
        mask = (torch.arange(shown_to_net.shape[1]) < len(ids)).long()[None]
        with torch.inference_mode():
            found = self._net(input_ids=shown_to_net, attention_mask=mask).last_hidden_state
        states: Matrix = found[0, : len(ids)].numpy()
        if not np.isfinite(states).all():
            raise ExternalError("the model gives numbers that are not finite; its weights are damaged")
        return states


def load_transformers_network(folder: Path, input_units: InputUnits, source: str) -> Any:
    """The net on the processor in float32; refused where the weights and config.json do not belong together."""
    require("torch", "torch", "transformers")
    with extra("torch"):
        import torch
        import transformers

    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    torch.set_num_threads(1)
    kind = getattr(transformers, input_units.net)
    try:
        net, info = kind.from_pretrained(
            str(folder), local_files_only=True, trust_remote_code=False, output_loading_info=True, **dict(input_units.options)
        )
    except Exception as error:  # the libraries below raise whatever they meet
        raise load_error(source, error, by=TRANSFORMERS) from None
    _check_loaded_weights(folder, info)
    return net.float().eval()


def is_untrained(net: Any) -> bool:
    """Whether every norm is 1 and every bias 0 to the last bit, as a net begins: no training leaves them so."""
    vectors = [one.detach() for one in net.parameters() if one.ndim == 1]
    return bool(vectors) and all(bool((one == one[0]).all()) and float(one[0]) in (0.0, 1.0) for one in vectors)


def transformers_versions() -> str:
    """Which versions made the numbers."""
    return library_versions("transformers", "torch")


def _check_loaded_weights(folder: Path, info: Mapping[str, Any]) -> None:
    """The library would draw missing weights at random and leave out those that it has no place for."""
    left_over = [name for name in info["unexpected_keys"] if not _UNUSED_WEIGHTS & set(name.split("."))]
    for what, names in (("lack", info["missing_keys"]), ("have besides", left_over)):
        if names:
            some = f"{len(names)} tensors, such as {for_message(min(map(str, names)))}"
            raise ExternalError(escape_invisible(f"{folder}: by config.json the weights {what} {some}; do they belong together?"))


@dataclass(frozen=True, slots=True)
class TransformersModel:
    """A folder with config.json and weights, or a hub name; where the weights lie is no part of what the model is."""

    input_units: ClassVar[InputUnits]
    source: Source = field(metadata=NOT_IN_IDENTITY)
    max_tokens: TokenLimit

    def __post_init__(self) -> None:
        check_source(self.source)
        check_options(self)

    def load(self, *, threads: int = 1) -> TransformersEncoder:
        """The model on the processor."""
        folder = torch_folder(self.source, None, by=TRANSFORMERS)
        body = _network_folder(folder)
        _check_config(body, self.input_units)
        net = load_transformers_network(body, self.input_units, self.source)
        _check_max_tokens(self, net.config)
        trained = "none" if is_untrained(net) else "sentence-transformers" if module_folders(folder) else "language model"
        told = {"revision": self.weights(), "source": self.source, "training": trained}
        return TransformersEncoder(net, self.input_units, max_tokens=self.max_tokens, threads=threads, facts=told)

    def revision(self) -> str:
        """The weights' own, and the libraries that run them."""
        return f"{self.weights()}, {transformers_versions()}"

    def weights(self) -> str:
        """The commit of the hub, or a sha256 over the folder's files."""
        return weights_revision(self.source, None, by=TRANSFORMERS)

    def is_ready(self) -> bool:
        """Whether it can be loaded without a network."""
        return find_spec("transformers") is not None and is_folder(self.source)


def _network_folder(folder: Path) -> Path:
    """The folder of the net; one that sentence-transformers wrote must make its vectors as this code does."""
    modules = module_folders(folder)
    if folder_pooling(folder, modules) != "mean":
        raise ExternalError(
            escape_invisible(f"{folder}: its vectors are no means; name the model as torch:NAME, with the extra torch")
        )
    return folder / modules.get("Transformer", "")


def _check_config(body: Path, input_units: InputUnits) -> None:
    path = body / CONFIG
    if not path.is_file():
        raise ExternalError(escape_invisible(f"{body}: no {CONFIG}; a model's folder has {CONFIG} and model.safetensors"))
    config = read_json_object(path)
    kind = config.get("model_type")
    if kind != input_units.model_type:
        wanted = f"{input_units.name} has {input_units.model_type}"
        raise ExternalError(
            escape_invisible(f"{path}: model_type {for_message(str(kind))}, and {wanted}; name the model as torch:NAME")
        )
    if wrong := input_units.check(config):
        raise ExternalError(escape_invisible(f"{path}: {wrong}"))


def _check_max_tokens(model: TransformersModel, config: object) -> None:
    limits = [getattr(config, name, None) for name in ("max_position_embeddings", "num_hash_buckets")]
    places = min((limit for limit in limits if limit is not None), default=None)
    wanted = model.input_units.padded_length(model.max_tokens, config)
    if places is not None and wanted > places:
        fits = next(
            (size for size in range(model.max_tokens, 0, -1) if model.input_units.padded_length(size, config) <= places), 0
        )
        what = f"{model.source} has {places} positions, and max_tokens {model.max_tokens} takes {wanted} of them"
        raise UsageError(what, fix=f"lower it to {fits}")


_BYTE_END, _BYTE_OFFSET = 1, 3
_MIN_VOCABULARY, _MAX_VOCABULARY = _BYTE_OFFSET + 256, 384
"""Ids: padding, end and unknown, 256 bytes, and the 125 marks of its training."""


def byte_ids(text: str, most: int) -> list[int]:
    """The bytes, each 3 above its own number, and the mark of the end; a mark's name in a text is read as its letters."""
    return [byte + _BYTE_OFFSET for byte in replace_surrogates(text[:most]).encode()[: most - 1]] + [_BYTE_END]


def _byte_count(text: str) -> int:
    return len(replace_surrogates(text).encode()) + 1


def _byte_config_error(config: Mapping[str, Any]) -> str | None:
    size = config.get("vocab_size")
    if isinstance(size, int) and _MIN_VOCABULARY <= size <= _MAX_VOCABULARY:
        return None
    return f"vocab_size {size}, and a ByT5 has {_MAX_VOCABULARY}: this T5 reads no bytes; name the model as torch:NAME"


@dataclass(frozen=True, slots=True)
class ByT5(TransformersModel):
    """1,472 dimensions in the small one, the mean of the bytes' vectors; its makers trained it on 1,024 bytes at a time."""

    input_units: ClassVar[InputUnits] = InputUnits(
        name="ByT5",
        unit="bytes",
        model_type="t5",
        net="T5EncoderModel",
        options=(),
        ids=byte_ids,
        count=_byte_count,
        padded_length=lambda count, config: count,
        check=_byte_config_error,
    )
    source: Source = field(default="google/byt5-small", metadata=NOT_IN_IDENTITY)
    max_tokens: TokenLimit = 1024


_CHARACTER_BEGIN, _CHARACTER_END = 0xE000, 0xE001


def character_ids(text: str, most: int) -> list[int]:
    """The code points between the marks of beginning and end."""
    return [_CHARACTER_BEGIN, *map(ord, replace_surrogates(text[: 2 * most])[: most - 2]), _CHARACTER_END]


def _character_count(text: str) -> int:
    return len(replace_surrogates(text)) + 2


def _padded_length(count: int, config: Any) -> int:
    """Whole windows, and two more of padding, as behind a text of its training: the net drops one and looks into the other."""
    rate = int(config.downsampling_rate)
    return rate * (-(-count // rate) + 2)


def _accept_config(config: Mapping[str, Any]) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class Canine(TransformersModel):
    """768 dimensions, the mean of the characters' vectors; its makers trained it on 2,048 characters at a time."""

    input_units: ClassVar[InputUnits] = InputUnits(
        name="CANINE",
        unit="characters",
        model_type="canine",
        net="CanineModel",
        options=(("add_pooling_layer", False),),
        ids=character_ids,
        count=_character_count,
        padded_length=_padded_length,
        check=_accept_config,
    )
    source: Source = field(default="google/canine-s", metadata=NOT_IN_IDENTITY)
    max_tokens: TokenLimit = 2048

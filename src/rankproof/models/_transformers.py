"""ByT5 and CANINE, which read bytes and characters, run by transformers."""

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
from rankproof.models._device import DeviceOption, Placement, TorchPrecisionOption, check_device, place, torch_dtype
from rankproof.models._onnx.folder import CONFIG, folder_pooling, module_folders
from rankproof.models._onnx.runtime import map_threads
from rankproof.models._tokenizer import replace_surrogates
from rankproof.models._torch import TRANSFORMERS, is_folder, load_error, torch_folder, weights_revision

_TOKENS_PER_BATCH = 16_384
_UNUSED_WEIGHTS = {"decoder", "lm_head", "pooler", "classifier", "qa_outputs", "cls"}
"""Parts of a model that do not affect the last hidden states of its encoder."""


@dataclass(frozen=True, slots=True)
class InputUnits:
    """How one type of model turns text into input ids.

    `name` and `unit` are the names of the model and its tokens, `model_type` is its type in config.json, `net` the class in
    transformers, loaded with `options`. `ids` gives at most that many ids of a text, special tokens included; `count` is their
    number without a limit. `padded_length` is the input length for a number of ids. `check` returns what is wrong in a
    config.json, or None.
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
    """A loaded encoder: on the CPU one text at a time, so that a vector depends on its text only, on a GPU in batches.

    A batch has texts of equal length.
    """

    def __init__(
        self,
        net: Any,
        input_units: InputUnits,
        placement: Placement,
        *,
        max_tokens: int,
        threads: int,
        facts: Mapping[str, Any],
    ) -> None:
        self._net = net.to(placement.device, torch_dtype(placement.precision))
        self._input_units, self._max, self._threads = input_units, max_tokens, threads
        self.batch_invariant = not placement.on_gpu
        self._tokens_per_batch = _TOKENS_PER_BATCH if placement.on_gpu else 1
        self._device, self._facts = placement.device, {**facts, **placement.facts()}
        self._size = int(net.config.hidden_size)

    def encode(self, texts: Sequence[str]) -> Matrix:
        """One row per text: the mean of the hidden states of its tokens, special tokens included."""
        rows = np.zeros((len(texts), self._size), dtype=np.float32)
        for row, states in zip(rows, self._states(texts), strict=True):
            row[:] = normalise_rows(states.mean(axis=0, dtype=np.float64).astype(np.float32))
        return read_only(rows)

    def tokens(self, texts: Sequence[str]) -> list[Matrix]:
        """For each text one row per token, special tokens included."""
        return [read_only(normalise_rows(states)) for states in self._states(texts)]

    def cut(self, texts: Sequence[str]) -> int:
        """The number of truncated texts."""
        return sum(self._input_units.count(text) > self._max for text in texts)

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens read of each text, special tokens included."""
        return [min(self._input_units.count(text), self._max) for text in texts]

    def unknown(self, texts: Sequence[str]) -> tuple[int, int]:
        """0 unknown tokens, and the number of all tokens."""
        return 0, sum(self.lengths(texts))

    def facts(self) -> Mapping[str, Any]:
        """Library versions, sizes, limits and source, as JSON."""
        return {
            "library": transformers_versions(),
            "dimensions": self._size,
            "pooling": "mean",
            "max_tokens": self._max,
            "tokenizer": self._input_units.unit,
            "parameters": sum(parameter.numel() for parameter in self._net.parameters()),
            **self._facts,
        }

    def _states(self, texts: Sequence[str]) -> list[Matrix]:
        """The last hidden states of the tokens of each text, without padding."""
        ids = [self._input_units.ids(text, self._max) for text in texts]
        lengths = [self._input_units.padded_length(len(id_), self._net.config) for id_ in ids]
        batches = _equal_lengths(lengths, self._tokens_per_batch)
        states_of_batches = map_threads(
            lambda batch: self._batch([ids[at] for at in batch], lengths[batch[0]]), batches, threads=self._threads
        )
        by_text = {
            at: states
            for batch, every in zip(batches, states_of_batches, strict=True)
            for at, states in zip(batch, every, strict=True)
        }
        return [by_text[at] for at in range(len(texts))]

    def _batch(self, ids: Sequence[list[int]], length: int) -> list[Matrix]:
        """The states of texts that have one length with padding."""
        with extra("torch"):
            import torch

        padded, mask = torch.zeros((len(ids), length), dtype=torch.long), torch.zeros((len(ids), length), dtype=torch.long)
        for row, id_ in enumerate(ids):
            padded[row, : len(id_)], mask[row, : len(id_)] = torch.tensor(id_), 1
        with torch.inference_mode():
            inputs = {"input_ids": padded.to(self._device), "attention_mask": mask.to(self._device)}
            states: Matrix = self._net(**inputs).last_hidden_state.float().cpu().numpy()
        if not np.isfinite(states).all():
            raise ExternalError("the model returns NaN or infinite values; its weights are damaged, download them again")
        return [state[: len(tokens)] for state, tokens in zip(states, ids, strict=True)]


def _equal_lengths(lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """The positions of equal lengths in batches of about so many tokens, at least one text each."""
    places: dict[int, list[int]] = {}
    for at, length in enumerate(lengths):
        places.setdefault(length, []).append(at)
    sizes = {length: max(1, tokens // max(1, length)) for length in places}
    return [every[at : at + sizes[padded]] for padded, every in places.items() for at in range(0, len(every), sizes[padded])]


def load_transformers_network(folder: Path, input_units: InputUnits, source: str) -> Any:
    """The network in float32; an error if the weights do not match config.json."""
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
    except Exception as error:  # the libraries raise many kinds of errors
        raise load_error(source, error, by=TRANSFORMERS) from None
    _check_loaded_weights(folder, info)
    return net.float().eval()


def is_untrained(net: Any) -> bool:
    """Whether every norm weight is exactly 1 and every bias exactly 0, as before training."""
    vectors = [parameter.detach() for parameter in net.parameters() if parameter.ndim == 1]
    return bool(vectors) and all(bool((vector == vector[0]).all()) and float(vector[0]) in (0.0, 1.0) for vector in vectors)


def transformers_versions() -> str:
    """The versions of the libraries."""
    return library_versions("transformers", "torch")


def _check_loaded_weights(folder: Path, info: Mapping[str, Any]) -> None:
    """Raises an error for missing or extra tensors, which the library would initialise at random or ignore."""
    left_over = [name for name in info["unexpected_keys"] if not _UNUSED_WEIGHTS & set(name.split("."))]
    for what, config, names in (("lack", "requires", info["missing_keys"]), ("have", "does not use", left_over)):
        if names:
            some = f"{len(names)} tensors that config.json {config}, such as {for_message(min(map(str, names)))}"
            fix = "use weights and config.json of the same model"
            raise ExternalError(escape_invisible(f"{folder}: the weights {what} {some}; {fix}"))


@dataclass(frozen=True, slots=True)
class TransformersModel:
    """A model from a folder or the Hugging Face Hub; the place of the weights is not part of its identity."""

    input_units: ClassVar[InputUnits]
    source: Source = field(metadata=NOT_IN_IDENTITY)
    max_tokens: TokenLimit
    precision: TorchPrecisionOption = field(default="auto", metadata=NOT_IN_IDENTITY, kw_only=True)
    device: DeviceOption = field(default="auto", metadata=NOT_IN_IDENTITY, kw_only=True)

    def __post_init__(self) -> None:
        check_source(self.source)
        check_options(self)
        check_device(self.device)

    def load(self, *, threads: int = 1) -> TransformersEncoder:
        """The loaded model, on its device."""
        folder = torch_folder(self.source, None, by=TRANSFORMERS)
        network_folder = _network_folder(folder)
        _check_config(network_folder, self.input_units)
        net = load_transformers_network(network_folder, self.input_units, self.source)
        _check_max_tokens(self, net.config)
        trained = "none" if is_untrained(net) else "sentence-transformers" if module_folders(folder) else "language model"
        facts = {"revision": self.weights(), "source": self.source, "training": trained}
        placement = self.placement()
        return TransformersEncoder(net, self.input_units, placement, max_tokens=self.max_tokens, threads=threads, facts=facts)

    def placement(self) -> Placement:
        """The device and the precision on this machine."""
        return place(self.device, self.precision, on_cpu="fp32")

    def revision(self) -> str:
        """The revision of the weights, the versions of the libraries that run them, device and precision."""
        return f"{self.weights()}, {transformers_versions()}, {self.placement().kind}"

    def weights(self) -> str:
        """The commit on the hub, or a sha256 of the files in the folder."""
        return weights_revision(self.source, None, by=TRANSFORMERS)

    def is_ready(self) -> bool:
        """Whether the model can be loaded without a network."""
        return find_spec("transformers") is not None and is_folder(self.source)


def _network_folder(folder: Path) -> Path:
    """The folder of the network; pooling other than the mean is an error."""
    modules = module_folders(folder)
    if folder_pooling(folder, modules) != "mean":
        raise ExternalError(
            escape_invisible(f"{folder}: its pooling is not the mean; install rankproof[torch] and prefix its name with torch:")
        )
    return folder / modules.get("Transformer", "")


def _check_config(folder: Path, input_units: InputUnits) -> None:
    path = folder / CONFIG
    if not path.is_file():
        raise ExternalError(escape_invisible(f"{folder}: no {CONFIG}; a model's folder has {CONFIG} and model.safetensors"))
    config = read_json_object(path)
    kind = config.get("model_type")
    if kind != input_units.model_type:
        wanted = f"{input_units.name} needs {input_units.model_type}"
        raise ExternalError(
            escape_invisible(
                f"{path}: model_type is {for_message(str(kind))}, but {wanted}; prefix the name of the model with torch:"
            )
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
        what = f"{model.source} has {places} positions, but max_tokens {model.max_tokens} takes {wanted}"
        raise UsageError(what, fix=f"lower it to {fits}")


_BYTE_END, _BYTE_OFFSET = 1, 3
_MIN_VOCABULARY, _MAX_VOCABULARY = _BYTE_OFFSET + 256, 384
"""Ids: padding, end and unknown, 256 bytes, and 125 special tokens of its training."""


def byte_ids(text: str, most: int) -> list[int]:
    """The bytes, each plus 3, and the end token; special tokens in a text are read as plain bytes."""
    return [byte + _BYTE_OFFSET for byte in replace_surrogates(text[:most]).encode()[: most - 1]] + [_BYTE_END]


def _byte_count(text: str) -> int:
    return len(replace_surrogates(text).encode()) + 1


def _byte_config_error(config: Mapping[str, Any]) -> str | None:
    size = config.get("vocab_size")
    if isinstance(size, int) and _MIN_VOCABULARY <= size <= _MAX_VOCABULARY:
        return None
    return f"vocab_size {size}, but ByT5 has {_MAX_VOCABULARY}: this T5 does not read bytes; prefix the name with torch:"


@dataclass(frozen=True, slots=True)
class ByT5(TransformersModel):
    """ByT5: the mean of the byte vectors; 1,472 dimensions in the small model, trained on 1,024 bytes."""

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
    """The code points between the start and end tokens."""
    return [_CHARACTER_BEGIN, *map(ord, replace_surrogates(text[: 2 * most])[: most - 2]), _CHARACTER_END]


def _character_count(text: str) -> int:
    return len(replace_surrogates(text)) + 2


def _padded_length(count: int, config: Any) -> int:
    """Whole windows and two more of padding, as in training: the network drops one and attends to the other."""
    rate = int(config.downsampling_rate)
    return rate * (-(-count // rate) + 2)


def _accept_config(config: Mapping[str, Any]) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class Canine(TransformersModel):
    """CANINE: the mean of the character vectors; 768 dimensions, trained on 2,048 characters."""

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

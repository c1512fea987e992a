"""Encoders by transformers: the mean of the last hidden states; code that comes with a model is never run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._extras import extra, require
from ..data.arrays import Matrix, frozen
from ..data.versions import behind
from ..errors import WorldError, shown, visible
from .onnx_session import each
from .torch_source import TRANSFORMERS, cannot_load
from .unit import unit

_NOT_NEEDED = {"decoder", "lm_head", "pooler", "classifier", "qa_outputs", "cls"}
"""Parts of a whole model that have no share in the last hidden states of its encoder."""


@dataclass(frozen=True, slots=True)
class Alphabet:
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
    room: Callable[[int, Any], int]
    check: Callable[[Mapping[str, Any]], str | None]


class TransformersEncoder:
    """A loaded encoder that reads one text at a time: a text's bits depend on nothing but the text."""

    def __init__(self, net: Any, alphabet: Alphabet, *, max_tokens: int, threads: int, told: Mapping[str, Any]) -> None:
        self._net, self._alphabet, self._max, self._threads, self._told = net, alphabet, max_tokens, threads, told
        self._size = int(net.config.hidden_size)

    def encode(self, texts: Sequence[str]) -> Matrix:
        """One row a text: the mean of its tokens' hidden states, special tokens included."""
        rows = np.zeros((len(texts), self._size), dtype=np.float32)
        for row, states in zip(rows, each(self._states, texts, threads=self._threads), strict=True):
            row[:] = unit(states.mean(axis=0, dtype=np.float64).astype(np.float32))
        return frozen(rows)

    def tokens(self, texts: Sequence[str]) -> list[Matrix]:
        """For each text one row a token, special tokens included."""
        return [frozen(unit(states)) for states in each(self._states, texts, threads=self._threads)]

    def cut(self, texts: Sequence[str]) -> int:
        """How many of the texts are longer than is read."""
        return sum(self._alphabet.count(text) > self._max for text in texts)

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """How many tokens of each text are read, special tokens included."""
        return [min(self._alphabet.count(text), self._max) for text in texts]

    def unknown(self, texts: Sequence[str]) -> tuple[int, int]:
        """No token stands for something unknown; how many there are."""
        return 0, sum(self.lengths(texts))

    def facts(self) -> Mapping[str, Any]:
        """What was told of the model, and its size."""
        return {
            "library": library(),
            "dimensions": self._size,
            "pooling": "mean",
            "max_tokens": self._max,
            "precision": "fp32",
            "tokenizer": self._alphabet.unit,
            "parameters": sum(one.numel() for one in self._net.parameters()),
            **self._told,
        }

    def _states(self, text: str) -> Matrix:
        """The last hidden states of a text's tokens, without the padding behind them."""
        with extra("torch"):
            import torch

        ids = self._alphabet.ids(text, self._max)
        shown_to_net = torch.zeros((1, self._alphabet.room(len(ids), self._net.config)), dtype=torch.long)
        shown_to_net[0, : len(ids)] = torch.tensor(ids)
        mask = (torch.arange(shown_to_net.shape[1]) < len(ids)).long()[None]
        with torch.inference_mode():
            found = self._net(input_ids=shown_to_net, attention_mask=mask).last_hidden_state
        states: Matrix = found[0, : len(ids)].numpy()
        if not np.isfinite(states).all():
            raise WorldError("the model gives numbers that are not finite; its weights are damaged")
        return states


def opened_net(folder: Path, alphabet: Alphabet, source: str) -> Any:
    """The net on the processor in float32; refused where the weights and config.json do not belong together."""
    require("torch", "torch", "transformers")
    with extra("torch"):
        import torch
        import transformers

    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    torch.set_num_threads(1)
    kind = getattr(transformers, alphabet.net)
    try:
        net, info = kind.from_pretrained(
            str(folder), local_files_only=True, trust_remote_code=False, output_loading_info=True, **dict(alphabet.options)
        )
    except Exception as error:  # the libraries below raise whatever they meet
        raise cannot_load(source, error, by=TRANSFORMERS) from None
    _refuse_strange(folder, info)
    return net.float().eval()


def is_untrained(net: Any) -> bool:
    """Whether every norm is 1 and every bias 0 to the last bit, as a net begins: no training leaves them so."""
    vectors = [one.detach() for one in net.parameters() if one.ndim == 1]
    return bool(vectors) and all(bool((one == one[0]).all()) and float(one[0]) in (0.0, 1.0) for one in vectors)


def library() -> str:
    """Which versions made the numbers."""
    return behind("transformers", "torch")


def _refuse_strange(folder: Path, info: Mapping[str, Any]) -> None:
    """The library would draw missing weights at random and leave out those that it has no place for."""
    left_over = [name for name in info["unexpected_keys"] if not _NOT_NEEDED & set(name.split("."))]
    for what, names in (("lack", info["missing_keys"]), ("have besides", left_over)):
        if names:
            some = f"{len(names)} tensors, such as {shown(min(map(str, names)))}"
            raise WorldError(visible(f"{folder}: by config.json the weights {what} {some}; do they belong together?"))

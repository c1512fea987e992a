"""A trained encoder as a folder: the weights, the tokenizer's files and trial.json, which is written last."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..._extras import extra
from ...errors import InputError, UsageError, WorldError, shown, visible
from ..checksums import sha256_of, unreadable
from ..json_file import read_object
from ..safetensors_file import Taker, open_weights
from .card import wrong_part
from .folder import check_free, write_marked
from .net import State
from .shape import Shape, tensors
from .subword_tokenizer import FILE
from .tokenizer import Tokenizer, files_of, opened_tokenizer

CARD, WEIGHTS = "trial.json", "model.safetensors"
FORMAT = 1
_ANEW = "train it again with: rankproof tokenizers train"


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A folder, checked but for its weights, which are read where they are asked for; `card` tells of the training."""

    folder: Path
    shape: Shape
    tokenizer: Tokenizer
    card: Mapping[str, Any] = field(repr=False)

    @cached_property
    def state(self) -> State:
        """Every tensor by its name, of the size that the shape says and finite."""
        weights, sizes = open_weights(self.folder / WEIGHTS), tensors(self.shape)
        if more := sorted(set(weights.header) - set(sizes)):
            raise _wrong(self.folder / WEIGHTS, f"tensor {shown(more[0])} is none of the shape in {CARD}")
        taker = Taker(weights, lambda name: (name,), said=CARD)
        return {name: taker.take(name, *size) for name, size in sizes.items()}

    def check_weights(self) -> None:
        """Refuses weights that are damaged or of another shape."""
        _ = self.state

    def digests(self) -> dict[str, str]:
        """The sha256 of each file, by its name."""
        return {name: sha256_of(self.folder / name) for name in (CARD, WEIGHTS, *self.tokenizer.files())}


def save_checkpoint(folder: str | Path, net: Any, shape: Shape, tokenizer: Tokenizer, card: Mapping[str, Any]) -> None:
    """The folder, whole or not at all; a checkpoint that is there already is never replaced."""
    with extra("retrieval"):
        from safetensors.numpy import save

    state = {name: np.ascontiguousarray(values.detach().float().cpu().numpy()) for name, values in net.state_dict().items()}
    if any(not np.isfinite(values).all() for values in state.values()):
        raise WorldError(
            visible(f"{folder}: the weights are not finite, so nothing was written; train with a lower learning rate")
        )
    told = {"format": FORMAT, "shape": asdict(shape), "card": dict(card)}
    try:
        text = json.dumps(told, indent=1, ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UsageError(f"the card cannot be written as JSON ({error})", fix="leave out what is no plain finite value") from None
    check_place(folder)
    write_marked(_place(folder), {**tokenizer.files(), WEIGHTS: save(state), CARD: text.encode()}, CARD)


def check_place(folder: str | Path) -> None:
    """Refuses a folder in which no checkpoint can be written."""
    check_free(_place(folder), CARD, (WEIGHTS, FILE))


def is_written(folder: str | Path) -> bool:
    """Whether a checkpoint was written there to its end."""
    return (_place(folder) / CARD).is_file()


def open_checkpoint(folder: str | Path) -> Checkpoint:
    """The checkpoint; what is missing, cut or does not belong together is named."""
    path = _place(folder)
    for name in (CARD, WEIGHTS):
        if not (path / name).is_file():
            raise InputError(f"no {name}", source=str(path), fix="name a folder that rankproof tokenizers train wrote")
    told = _told(path / CARD)
    shape = _shape(path / CARD, told.get("shape"))
    card = told.get("card")
    if not isinstance(card, dict):
        raise _wrong(path / CARD, "there is no card")
    if wrong := wrong_part(card):
        raise _wrong(path / CARD, f"the card's part {wrong} is not what training writes")
    return Checkpoint(path, shape, _tokenizer(path, shape), card)


def _place(folder: str | Path) -> Path:
    return Path(folder).expanduser().absolute()


def _told(path: Path) -> dict[str, Any]:
    told = read_object(path)
    if told.get("format") != FORMAT:
        raise _wrong(path, f"format {shown(str(told.get('format')))}, and this version reads {FORMAT}")
    return told


def _shape(path: Path, told: Any) -> Shape:
    """The shape, whose sizes are bounded before anything is made of them."""
    if not isinstance(told, dict):
        raise _wrong(path, "there is no shape")
    try:
        return Shape(**told)
    except TypeError:
        names = ", ".join(sorted(map(str, told)))
        raise _wrong(path, f"the shape has the parts {shown(names)}") from None
    except UsageError as error:
        raise _wrong(path, error.what) from None


def _tokenizer(path: Path, shape: Shape) -> Tokenizer:
    files = {name: _content(path / name) for name in files_of(shape.kind) if (path / name).is_file()}
    try:
        tokenizer = opened_tokenizer(shape.kind, files)
    except WorldError as error:
        raise WorldError(visible(f"{path}: {error}")) from None
    if tokenizer.vocabulary != shape.vocabulary:
        sizes = f"the tokenizer has {tokenizer.vocabulary} tokens, and the shape says {shape.vocabulary}"
        raise _wrong(path / CARD, f"{sizes}: do they belong together?")
    return tokenizer


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from None


def _wrong(path: Path, what: str) -> InputError:
    return InputError(what, source=str(path), fix=_ANEW)

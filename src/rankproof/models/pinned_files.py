"""Files with a pinned sha256, from the first of several roads that leads to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..errors import WorldError
from .checksums import sha256_of
from .hub import Progress

Say = Callable[[str], None]
Road = Callable[[Path, Progress], None]


def gathered(
    model: str, pinned: Mapping[str, str], roads: Mapping[str, Road], folder: Path, say: Say, progress: Progress
) -> Mapping[str, Any]:
    """Fills the folder and tells what is in it; the first pinned file is the weights."""
    for name, road in roads.items():
        try:
            say(f"{model} from {name}")
            road(folder, progress)
            _verify(folder, pinned)
        except WorldError as error:
            say(f"not from {name}: {error}")
            continue
        return {"kind": "weights", "model": model, "revision": next(iter(pinned.values())), "from": name}
    what = f"{model} could be had neither" if len(roads) > 1 else f"{model} could not be had"
    raise WorldError(f"{what} from {' nor from '.join(roads)}; check the network and try again")


def _verify(folder: Path, pinned: Mapping[str, str]) -> None:
    for name, digest in pinned.items():
        if sha256_of(folder / name) != digest:
            raise WorldError(f"{name} is not the pinned file (sha256 {digest[:8]}…{digest[-4:]})")

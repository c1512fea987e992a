"""Where the training runs: a GPU where there is one, else the processor."""

from __future__ import annotations

import platform
from typing import Any, Literal

from ..._extras import extra
from ...models.trial.model import Place
from ...models.trial.net import device_named

Device = Literal[Place, "auto"]


def chosen_device(device: Device, threads: int | None = None) -> Any:
    """The library's own device; `threads` are the processor's, where they are given."""
    with extra("torch"):
        import torch

    if threads is not None:
        torch.set_num_threads(threads)
    return device_named(("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device)


def told_device(device: Any) -> str:
    """Its name, as a checkpoint's card has it."""
    with extra("torch"):
        import torch

    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    return f"CPU {platform.machine()}, {torch.get_num_threads()} threads"

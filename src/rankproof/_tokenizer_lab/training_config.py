"""The settings of a training, and the device it runs on."""

from __future__ import annotations

import platform
from dataclasses import asdict, dataclass
from typing import Any, Literal

from rankproof._data import validation
from rankproof._data.text import pluralise
from rankproof._extras import extra
from rankproof._tokenizer_lab.training_data import TrainingDataConfig
from rankproof.errors import UsageError, type_phrase
from rankproof.models._device import chosen_device
from rankproof.models._trained.shape import Architecture, check_layers

_SIZE_FIELDS = ("parameters", "architecture", "width", "depth", "heads", "characters")
_PROMPT_FIELDS = ("query_prompt", "passage_prompt")
DEFAULT_FLOPS = 1e15
"""The budget if neither flops nor steps are given."""


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """Contrastive training on cosines with in-batch and hard negatives, by AdamW with warm-up and cosine decay.

    The budget is `flops` (forward and backward, so finer tokens get fewer steps), `steps`, or both, whichever ends sooner.
    `judged_share` is the share of judged pairs in a batch, if there are any; the rest are crops. The prompts are put before each
    query and each passage; they count towards `characters` and the budget.
    """

    parameters: int = 4_000_000
    flops: float | None = DEFAULT_FLOPS
    steps: int | None = None
    batch: int = 128
    learning_rate: float = 1e-3
    warmup: float = 0.1
    temperature: float = 0.05
    weight_decay: float = 0.01
    clip: float = 1.0
    judged_share: float = 0.25
    characters: int = 512
    width: int = 256
    depth: int = 4
    heads: int = 4
    architecture: Architecture = "transformer"
    crops: int = 16
    negatives: int = 10
    query_prompt: str = ""
    passage_prompt: str = ""

    def __post_init__(self) -> None:
        validation.checked_integer("parameters", self.parameters, 1000, 1_000_000_000)
        validation.checked_integer("batch", self.batch, 2, 65_536)
        validation.checked_number("learning_rate", self.learning_rate, 1e-8, 1)
        validation.checked_number("warmup", self.warmup, 0, 1)
        validation.checked_number("temperature", self.temperature, 1e-3, 10)
        validation.checked_number("weight_decay", self.weight_decay, 0, 10)
        validation.checked_number("clip", self.clip, 1e-3, 1e6)
        validation.checked_number("judged_share", self.judged_share, 0, 1)
        check_layers(self.architecture, self.width, self.depth, self.heads)
        self.data_config()
        self._check_budget()
        self._check_prompts()

    def _check_budget(self) -> None:
        if self.flops is None and self.steps is None:
            raise UsageError("the training has no budget", fix="give flops, steps or both")
        if self.flops is not None:
            validation.checked_number("flops", self.flops, 1, 1e24)
        if self.steps is not None:
            validation.checked_integer("steps", self.steps, 0, 10_000_000)

    def _check_prompts(self) -> None:
        for name in _PROMPT_FIELDS:
            prompt = getattr(self, name)
            if not isinstance(prompt, str):
                raise UsageError(f"{name} is {type_phrase(prompt)}", fix="give a text")
            if len(prompt) >= self.characters:
                what = f"{name} has {pluralise(len(prompt), 'character')}, and the network reads {self.characters} of each text"
                raise UsageError(what, fix="shorten the prompt, or raise characters")

    def data_config(self, holdout: float = 0.0, seed: int = 1) -> TrainingDataConfig:
        """The config of the training data."""
        return TrainingDataConfig(holdout, self.crops, self.characters, self.negatives, seed)

    def sizes(self) -> dict[str, Any]:
        """The settings that determine the shape of the network, besides the tokenizer."""
        return {name: getattr(self, name) for name in _SIZE_FIELDS}

    def describe(self) -> dict[str, Any]:
        """The config in the metadata of a checkpoint; prompts are left out if there are none, as in older checkpoints."""
        return {name: value for name, value in asdict(self).items() if value or name not in _PROMPT_FIELDS}


Device = Literal["auto", "cpu", "cuda"]


def training_device(device: Device, threads: int | None = None) -> Any:
    """The torch device; `threads` sets the number of CPU threads."""
    with extra("torch"):
        import torch

    if threads is not None:
        torch.set_num_threads(threads)
    return torch.device(chosen_device(device))


def device_name(device: Any) -> str:
    """The name of the device in the metadata of a checkpoint."""
    with extra("torch"):
        import torch

    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    return f"CPU {platform.machine()}, {torch.get_num_threads()} threads"

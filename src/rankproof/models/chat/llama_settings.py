"""The settings of a model that llama.cpp runs on this machine, whatever file its weights are in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from ...data.checks import number, whole
from ...data.identity import NOT_PART

_LEAST_CONTEXT, _MOST_SECONDS = 256, 86_400


@dataclass(frozen=True)
class LlamaSettings:
    """`context` is how many tokens a prompt and its reply may have together, `timeout` seconds are for one reply.

    A model answers one ask at a time, each from the start: asks that share a batch or the beginning of a prompt would change each
    other's numbers. So the same ask always brings the same reply, and one that was of no use is asked for again with another seed
    and at a temperature of at least `retry_temperature`.
    """

    context: int = 4096
    temperature: float = 0.0
    seed: int = 0
    retry_temperature: float = 0.5
    timeout: float = field(default=600.0, metadata=NOT_PART)
    concurrency: ClassVar[int] = 1
    price_in: ClassVar[float] = 0.0
    price_out: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        whole("context", self.context, _LEAST_CONTEXT)
        whole("seed", self.seed, 0)
        number("temperature", self.temperature, 0, 2)
        number("retry_temperature", self.retry_temperature, 0, 2)
        number("timeout", self.timeout, 1, _MOST_SECONDS)

"""The settings of a model that llama.cpp runs on this machine, whatever file its weights are in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from ..._registry import Option
from ...data.checks import check_options
from ...data.identity import NOT_PART


@dataclass(frozen=True)
class LlamaSettings:
    """`context` is how many tokens a prompt and its reply may have together, `timeout` seconds are for one reply.

    A model answers one ask at a time, each from the start: asks that share a batch or the beginning of a prompt would change each
    other's numbers. So the same ask always brings the same reply, and one that was of no use is asked for again with another seed
    and at a temperature of at least `retry_temperature`.
    """

    context: Annotated[int, Option("how many tokens prompt and reply may have together", least=256)] = 4096
    temperature: Annotated[float, Option("sampling temperature, from 0 to 2", least=0, most=2)] = 0.0
    seed: Annotated[int, Option("seed of the sampling", least=0)] = 0
    retry_temperature: Annotated[float, Option("the lowest temperature of a repeated call, from 0 to 2", least=0, most=2)] = 0.5
    timeout: Annotated[float, Option("the most seconds for one reply", least=1, most=86_400)] = field(
        default=600.0, metadata=NOT_PART
    )
    concurrency: ClassVar[int] = 1
    price_in: ClassVar[float] = 0.0
    price_out: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        check_options(self)

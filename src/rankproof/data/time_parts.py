"""The parts of the time that answering a query takes."""

from __future__ import annotations

from typing import Literal, get_args

Part = Literal["embed", "search", "rerank", "generate"]
PARTS: tuple[Part, ...] = get_args(Part)

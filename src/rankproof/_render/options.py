"""The options of rendering."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """Options for printing; `width` is the number of characters per line, and `wrap` wraps longer lines.

    `rel` is the relevance threshold, which names of trec_eval leave out. `summary` is False for values of queries alone.
    `trec_names` are names in the output of trec_eval, by measure.
    """

    per_query: bool = False
    width: int = 80
    wrap: bool = False
    colour: bool = False
    verbose: bool = False
    rel: int = 1
    summary: bool = True
    trec_names: Mapping[str, str] = field(default_factory=dict)

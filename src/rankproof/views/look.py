"""How a view is to look: what it shows and how much room it has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Look:
    """What every view takes beside its content; width is in columns, fold says that a longer line must not happen.

    `rel` is what `--rel` said, which trec_eval's names leave unsaid.
    """

    per_query: bool = False
    width: int = 80
    fold: bool = False
    colour: bool = False
    verbose: bool = False
    rel: int = 1

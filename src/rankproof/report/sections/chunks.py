"""Chunks: the values of what is ranked before it is collapsed to documents."""

from __future__ import annotations

from ...analysis.wording import counted
from ...views.ladder_chunks import chunk_grid
from ..material import Material
from ..section import Section
from ..sheet import Sheet


def chunks(material: Material) -> Section | None:
    """None where no system ranks chunks."""
    found = material.climb.chunks
    if found is None:
        return None
    many = counted(len(found.systems), "system ranks", "systems rank")
    return Section(
        key="chunks",
        title="Chunks",
        question="How good are the rankings before chunks are collapsed to documents?",
        sentences=(
            f"{many} chunks; the values here are of the same run at chunk level, those above of its documents.",
            "Systems that cut documents otherwise rank other chunks, so that none of these values is the best.",
        ),
        tables=(Sheet("At chunk level", chunk_grid(found)),),
    )

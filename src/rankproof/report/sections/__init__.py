"""The sections of the page, in their order; a file each."""

from __future__ import annotations

from collections.abc import Callable

from ..material import Material
from ..section import Section
from .answers import answers
from .chunks import chunks
from .definitions import definitions
from .diagnosis import diagnosis
from .holes import holes
from .ladder import ladder
from .latency import latency
from .measures import measures
from .movement import movement
from .notes import notes
from .pareto import pareto
from .provenance import provenance
from .segments import segments
from .verdict import verdict

FINDINGS: tuple[Callable[[Material], Section | None], ...] = (
    *(verdict, ladder, pareto, latency, measures, segments, diagnosis, movement, answers, chunks, holes),
)
"""What the numbers say: before every query."""
GROUNDS: tuple[Callable[[Material], Section | None], ...] = (notes, provenance, definitions)
"""What they rest on: after it."""

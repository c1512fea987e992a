"""The page: sections for reading, and every query for looking into."""

from __future__ import annotations

from markupsafe import Markup

from ..experiment.rung import Climb
from .assets import rendered, script, style
from .blocks import json_block
from .explorer import explorer_blocks
from .material import Material
from .policy import policy
from .sections import SECTIONS


def page_of(climb: Climb) -> str:
    """The whole report as one HTML file; the same climb gives the same bytes."""
    material = Material(climb)
    made = [section for make in SECTIONS if (section := make(material)) is not None]
    return rendered(
        "page.html.j2",
        climb=climb,
        sections=made,
        policy=policy([script()], [style()]),
        style=Markup(style()),
        script=Markup(script()),
        blocks={name: json_block(block) for name, block in explorer_blocks(climb).items()},
    )

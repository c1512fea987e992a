"""The page: sections for reading, and every query for looking into."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import Markup

from ..analysis.wording import counted
from ..experiment.rung import Climb
from .assets import rendered, script, style
from .blocks import json_block
from .explorer import explorer_blocks
from .material import Material
from .policy import policy
from .section import Section
from .sections import FINDINGS, GROUNDS


def page_of(climb: Climb, ways: Sequence[tuple[str, str]] = ()) -> str:
    """The whole report as one HTML file; the same climb gives the same bytes.

    `ways` are links beside the maker's name, address and words, for a page that is one of several.
    """
    material = Material(climb)
    findings, grounds = _made(FINDINGS, material), _made(GROUNDS, material)
    return rendered(
        "page.html.j2",
        climb=climb,
        ways=ways,
        facts=_facts(climb),
        findings=findings,
        grounds=grounds,
        policy=policy([script()], [style()]),
        style=Markup(style()),
        script=Markup(script()),
        blocks={key: json_block(value) for key, value in explorer_blocks(climb).items()},
    )


def _made(makers: Sequence[Callable[[Material], Section | None]], material: Material) -> list[Section]:
    return [section for make in makers if (section := make(material)) is not None]


def _facts(climb: Climb) -> list[str]:
    """What stands under the name: how much of everything there is, and when it was made."""
    documents, dataset, made = (climb.provenance.get(name) for name in ("documents", "dataset", "made"))
    return [
        *([f"on {dataset}"] if dataset else []),
        counted(len(climb.queries), "query", "queries"),
        *([counted(documents, "document")] if isinstance(documents, int) else []),
        counted(len(climb.rungs), "system"),
        *([str(made)[:10]] if made else []),
    ]

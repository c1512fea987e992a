"""The report as one HTML file: templates, style, script and content security policy."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from rankproof._analysis.compare.comparison import Comparison
from rankproof._data.text import pluralise
from rankproof._render.table import shown_head, shown_rows
from rankproof._report.context import ReportContext
from rankproof._report.elements import Section, with_system_links
from rankproof._report.explorer import explorer_blocks
from rankproof._report.sections import FOLDED_SECTIONS, OPEN_SECTIONS, UNJUDGED_FOLDED, UNJUDGED_SECTIONS
from rankproof._results.experiment_result import ExperimentResult
from rankproof.errors import escape_invisible

if TYPE_CHECKING:
    from jinja2 import Environment


STYLES = (
    *("report.css", "tables.css", "widths.css", "charts.css", "explorer.css"),
    *("overview.css", "explorer-table.css", "explorer-phone.css", "explorer-query.css", "explorer-claims.css", "print.css"),
)
SCRIPTS = (
    "dom.js",
    "state.js",
    *(f"explorer-{part}.js" for part in ("view", "model", "columns", "head", "grid", "keys", "controls", "words", "details")),
    "waterfall.js",
    "served.js",
    *(f"explorer-{part}.js" for part in ("measures", "explain", "rankings", "claims", "answers", "panel")),
    "explorer.js",
    "measure-switch.js",
    "sorted-tables.js",
    "number-links.js",
    "page.js",
)
"""In execution order; together they are one script."""
_COMPRESSION = 5
"""The usual level takes twice as long for 4% less."""
_NUMBERS = re.compile(r"\b[pn] [=<] [\d.]+|[\d.]+ to -?[\d.]+(?: pp)?|\d (?:pp|ms|s|MB|kB)\b")


@cache
def stylesheet(more: tuple[str, ...] = ()) -> str:
    """All style sheets, joined."""
    return _compact("".join(_text("static", name) for name in (*STYLES, *more)))


@cache
def page_script() -> str:
    """All scripts, joined."""
    return _compact("".join(_text("static", name) for name in SCRIPTS))


def _compact(source: str) -> str:
    """A style or script without indentation, empty lines and whole lines of comment, which every report would carry."""
    lines = (line.strip() for line in source.split("\n"))
    return "".join(f"{line}\n" for line in lines if line and not line.startswith("//"))


def render_template(template: str, **values: Any) -> str:
    """Render a template; values are escaped unless they are Markup, and invisible characters are shown as escapes."""
    return template_environment(template_text).get_template(template).render(**values)


@cache
def template_environment(source: Callable[[str], str]) -> Environment:
    """The Jinja environment that loads templates with `source`."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(source),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    environment.filters |= {
        "visible_lines": _visible_lines,
        "keep_units": _keep_units_together,
        "shown_head": shown_head,
        "shown_rows": shown_rows,
    }
    return environment


def template_text(name: str) -> str:
    """The source of a template."""
    return _text("templates", name)


def _visible(value: Any) -> Any:
    """Text with invisible characters escaped; Markup as it is."""
    return escape_invisible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _visible_lines(text: str) -> Markup:
    """A text of several lines, each with invisible characters escaped."""
    return Markup("\n").join(escape(escape_invisible(line.rstrip("\r").replace("\t", "    "))) for line in text.split("\n"))


def _keep_units_together(text: str) -> str:
    """A sentence with no line break between a number and its unit."""
    return _NUMBERS.sub(lambda match: match.group().replace(" ", "\u00a0"), escape_invisible(text))


def package_text(package: str, folder: str, name: str) -> str:
    """The text of a file in a folder of a package."""
    return (files(package) / folder / name).read_text(encoding="utf-8")


def _text(folder: str, name: str) -> str:
    return package_text(__package__, folder, name)


def csp_hash(text: str) -> str:
    """The hash of an inline script or style, as written in a content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def content_security_policy(
    scripts: Iterable[str], styles: Iterable[str], *, connect: str = "'none'", script: str = "'none'"
) -> str:
    """A policy that loads nothing; scripts may connect to `connect`, and without inline ones be loaded from `script`."""
    parts = {
        "default-src": "'none'",
        "script-src": " ".join(map(csp_hash, scripts)) or script,
        "style-src": " ".join(map(csp_hash, styles)) or "'none'",
        "img-src": "data:",
        "connect-src": connect,
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in parts.items())


def render_report(
    results: ExperimentResult,
    links: Sequence[tuple[str, str]] = (),
    compared: Comparison | None = None,
    served: Mapping[str, str] | None = None,
) -> str:
    """Render the report as one HTML file; the same results give the same bytes.

    `links` are pairs of address and text, shown beside the name rankproof. `compared` is what `compare_results` returned, if it
    was called before. `served` are the addresses of a server: `documents` has whole texts, `bench` its page of these results.
    """
    context = ReportContext(results, compared)
    opened, folded = (OPEN_SECTIONS, FOLDED_SECTIONS) if results.is_judged else (UNJUDGED_SECTIONS, UNJUDGED_FOLDED)
    return render_page(
        results.name,
        report_facts(results),
        build_sections(opened, context),
        build_sections(folded, context),
        {
            **explorer_json(results, shown=(context.leading, context.runner_up) if results.is_judged else None),
            **({"served": packed_block(served)} if served else {}),
        },
        links=links,
        connect="'self'" if served else "'none'",
    )


def render_page(
    title: str,
    facts: Sequence[str],
    opened: Sequence[Section],
    folded: Sequence[Section],
    blocks: Mapping[str, Markup],
    *,
    links: Sequence[tuple[str, str]] = (),
    source: str = "one results folder",
    styles: tuple[str, ...] = (),
    connect: str = "'none'",
) -> str:
    """A page of open sections, the table of queries and folded sections, as one HTML file with its policy.

    Scripts may connect to `connect`.
    """
    return render_template(
        "page.html.j2",
        title=title,
        source=source,
        links=links,
        facts=facts,
        opened=opened,
        folded=[replace(section, is_folded=True) for section in folded],
        policy=content_security_policy([page_script()], [stylesheet(styles)], connect=connect),
        style=Markup(stylesheet(styles)),
        script=Markup(page_script()),
        blocks=blocks,
    )


def explorer_json(
    results: ExperimentResult,
    pairs: Mapping[str, tuple[str, str]] | None = None,
    shown: tuple[str, str] | None = None,
) -> dict[str, Markup]:
    """The data of the table of queries; none if neither rankings nor answers were measured.

    `pairs` and `shown` are as in `explorer_blocks`.
    """
    if not results.is_judged and results.answers is None:
        return {}
    return {key: packed_block(value) for key, value in explorer_blocks(results, pairs, shown).items()}


def packed_block(value: Any) -> Markup:
    """The value as compressed JSON for a <script type="text/plain"> element, the same bytes for the same value."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return Markup(base64.b64encode(zlib.compress(text.encode(), _COMPRESSION)).decode())


def build_sections(builders: Sequence[Callable[[ReportContext], Section | None]], context: ReportContext) -> list[Section]:
    """The sections in their order, without those that have nothing to show; rows of systems lead to their queries."""
    sections = (section for build in builders if (section := build(context)) is not None)
    return [_with_system_links(section, context.system_runs) if context.has_queries else section for section in sections]


def _with_system_links(section: Section, systems: Collection[str]) -> Section:
    tables, folded = (tuple(with_system_links(table, systems) for table in part) for part in (section.tables, section.folded))
    return replace(section, tables=tables, folded=folded)


def report_facts(results: ExperimentResult) -> list[str]:
    """The line under the title: dataset, numbers of queries, documents and systems, and the date."""
    documents, dataset, made = (results.provenance.get(name) for name in ("documents", "dataset", "created"))
    return [
        *([f"on {dataset}"] if dataset else []),
        pluralise(len(results.queries), "query", "queries"),
        *([pluralise(documents, "document")] if isinstance(documents, int) else []),
        pluralise(len(results.system_runs), "system"),
        *([str(made)[:10]] if made else []),
    ]

"""Tables of registered parts: fusion methods, normalisations, tests, checks, charts, exports, HTTP presets, columns."""

from __future__ import annotations

from collections.abc import Iterable

from rankproof._analysis.compare.significance import TESTS
from rankproof._analysis.doctor.check import all_checks
from rankproof._fusion.method import METHODS, FusionMethod
from rankproof._fusion.normalisations import NORMALISATIONS
from rankproof._importers.table import NAMES, OPTIONS
from rankproof._io.escape import for_markdown
from rankproof._plots.registry import PLOT_KINDS
from rankproof._render.formats import EXPORT_FORMATS
from rankproof.stages._engines.request import Preset, presets


def fusion_methods() -> str:
    """Every fusion method with the settings that it uses and its source."""
    rows = ((f"`{one.name}`", one.summary, _used(one), one.source) for one in METHODS.values())
    return table(("method", "what it does", "uses", "source"), rows)


def _used(method: FusionMethod) -> str:
    return ", ".join(f"`{name}`" for name in (*method.uses, *(setting.key for setting in method.own)))


def normalisations() -> str:
    """Every normalisation of scores."""
    return table(("norm", "scores of one ranking"), ((f"`{one.name}`", one.summary) for one in NORMALISATIONS.values()))


def significance_tests() -> str:
    """Every test of `compare`, with its null hypothesis and when to use it."""
    rows = ((f"`--test {name}`", one.title, one.tests, one.use, one.source) for name, one in TESTS.items())
    return table(("option", "test", "null hypothesis", "use it", "source"), rows)


def checks() -> str:
    """Every check of `rankproof doctor`."""
    rows = ((f"`{check.name}`", check.severity, ", ".join(check.needs), check.summary) for check in all_checks())
    return table(("check", "severity", "needs", "looks for"), rows)


def plots() -> str:
    """Every chart of `rankproof plot`."""
    return table(("kind", "shows"), ((f"`{name}`", PLOT_KINDS.summary(name)) for name in PLOT_KINDS))


def exports() -> str:
    """Every format of `rankproof export`."""
    rows = (
        (f"`{one.name}`", ", ".join(f"`.{name}`" for name in (one.name, *one.aliases)), one.summary)
        for one in EXPORT_FORMATS.components
    )
    return table(("format", "suffixes", "contains"), rows)


def http_presets() -> str:
    """Every preset of the stage `http`, with the values that it takes."""
    rows = (
        (f"`{one.name}`", one.summary, _values(one), one.settings.get("escape", "none"), _limit(one), one.tested or "no")
        for one in presets().values()
    )
    return table(("preset", "engine", "values (default)", "escape", "most documents", "tested with"), rows)


def table_roles() -> str:
    """The roles of columns in a table that becomes a dataset: the option that names one, and the names that tell it."""
    rows = ((role, f"`{OPTIONS[role]}`", ", ".join(f"`{name}`" for name in names)) for role, names in NAMES.items())
    return table(("role", "option", "names"), rows)


def _values(preset: Preset) -> str:
    defaults = preset.settings.get("values", {})
    return ", ".join([*(f"`{name}`" for name in preset.required), *(f"`{name}` ({value})" for name, value in defaults.items())])


def _limit(preset: Preset) -> str:
    return f"{preset.settings['max_size']:,}" if "max_size" in preset.settings else "–"


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [head, ("---",) * len(head), *(tuple(map(_cell, row)) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    """Code unchanged, other text escaped."""
    return text if text.startswith("`") else for_markdown(text)

"""What every measure declares: its kind, its range, its parameters with their defaults and bounds, and what needs them."""

from __future__ import annotations

from pathlib import Path

from rankproof._registry import settings_of
from rankproof.measures import Measure
from rankproof.measures._registry import all_measures

DECLARED = Path(__file__).with_name("declared.txt")
FACTS = ("kind", "summary", "range", "higher_is_better", "parity", "at", "suffix", "positional", "needs")
FLAGS = ("additive", "needs_subtopics", "best_by_grade", "without_contexts")


def declared(measure: Measure) -> str:
    """One line."""
    facts = [f"{name}={getattr(measure, name)!r}" for name in FACTS]
    flags = [name for name in FLAGS if getattr(measure, name, False)]
    settings = []
    for setting in settings_of(type(measure)):
        option = setting.option
        named = {name: getattr(option, name) for name in ("least", "most", "above", "below")}
        bounds = [f"{name}={value}" for name, value in named.items() if value is not None]
        settings.append(f"{setting.field}={getattr(measure, setting.field)!r} [{', '.join(bounds)}]")
    return f"{measure.name}: {' '.join(facts)}; {' '.join(flags)}; {' '.join(settings)}".rstrip("; ")


def test_every_measure_declares_what_is_listed() -> None:
    """A changed default or bound changes values or what is accepted: it is a line of the changelog, and one of `declared.txt`."""
    lines = sorted(map(declared, all_measures()))
    assert len(lines) > 80
    assert lines == DECLARED.read_text(encoding="utf-8").splitlines()

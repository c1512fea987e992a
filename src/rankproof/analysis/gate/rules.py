"""The rules of the gate, each a decision with its sentence."""

from __future__ import annotations

from ...errors import shown
from ..wording import few, p_words
from .baseline import Blessed
from .changes import Change
from .decision import Decision, moved
from .settings import GateSettings, Threshold


def on_missing_system(name: str) -> Decision:
    """A system of the baseline must still be there."""
    return Decision("system", name, False, f"{shown(name)} was blessed and is not here (--system leaves out the others).")


def on_queries(now: Blessed, before: Blessed) -> Decision:
    """Every query that was answered when the baseline was made must still be answered."""
    had = sorted({query for values in before.measures.values() for query in values} - before.missing)
    has = {query for values in now.measures.values() for query in values} - now.missing
    lost = [query for query in had if query not in has]
    name = shown(now.name)
    if lost:
        words = f"{len(lost):,} of {len(had):,} queries that the baseline answers went missing: {few(lost)}."
        return Decision("queries", now.name, False, f"{name}: {words}")
    return Decision("queries", now.name, True, f"{name}: all {len(had):,} queries that the baseline answers are there.")


def on_threshold(system: str, threshold: Threshold, value: float, n: int) -> Decision:
    """A mean over n queries must keep to its bound."""
    is_met = threshold.is_met(value)
    words = "as asked for" if is_met else "which misses the bound"
    sentence = f"{shown(system)}: {threshold.measure} is {value:.4f} (n = {n:,}), {words} ({threshold})."
    return Decision("threshold", system, is_met, sentence, measure=str(threshold), value=value, n=n, is_news=True)


def on_change(system: str, measure: str, change: Change, settings: GateSettings, *, tests: int) -> Decision:
    """A measure must not drop: significantly, or by more than is allowed where that was said."""
    passed, verdict, is_news = _verdict(change, settings.max_drops.get(measure), settings.alpha, tests)
    sentence = f"{shown(system)}: {measure} {_way(change)}: {verdict}."
    return Decision("drop", system, passed, sentence, measure, change=change, is_news=is_news)


def on_segment(system: str, measure: str, segment: str, change: Change, settings: GateSettings, *, tests: int) -> Decision:
    """The same in one segment, always by significance: an allowed drop is one of the whole."""
    passed, verdict, _ = _verdict(change, None, settings.alpha, tests)
    sentence = f"{shown(system)}: {measure} in {shown(segment)} {_way(change)}: {verdict}."
    return Decision("segment", system, passed, sentence, measure, segment, change)


def _way(change: Change) -> str:
    if change.is_worse is None:
        return f"is the same on every query, {change.now:.4f} (n = {change.n:,})"
    return f"{'rose' if change.difference > 0 else 'fell' if change.difference < 0 else 'stayed'} {moved(change)}"


def _verdict(change: Change, allowed: float | None, alpha: float, tests: int) -> tuple[bool, str, bool]:
    """Whether it passes, why, and whether a reader should see it though it passes."""
    evidence = f"{p_words(change.p)} after Holm over {tests:,} tests" if tests > 1 else p_words(change.p)
    is_sure = change.p <= alpha
    if change.is_worse is None:
        return True, "nothing changed", False
    if not change.is_worse:
        return True, f"{'an improvement' if is_sure else 'no drop'} ({evidence})", is_sure
    if allowed is not None:
        is_small = abs(change.difference) <= allowed
        return is_small, f"a drop {'within' if is_small else 'of more than'} the {allowed:g} allowed ({evidence})", True
    return not is_sure, f"{'a significant drop' if is_sure else 'a drop that chance may explain'} ({evidence})", True

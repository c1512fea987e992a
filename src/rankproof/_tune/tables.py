"""The tables and sentences of a tuning, and the tuned system as an experiment file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rankproof._data.table import CellValue, Column, Table, TableSummary
from rankproof._data.text import pluralise
from rankproof._experiment.config_write import experiment_toml
from rankproof._experiment.experiment import Experiment
from rankproof._statistics.intervals import MIN_DIFFERENT
from rankproof._tune.parameters import Settings, Value, settings_text, value_text
from rankproof._tune.tuning import TunedResult, TuningBaseline
from rankproof.stages._base import Stage

FEW_QUERIES = 50
_SHOWN_TRIALS = 10
_SHOWN_DIFFERENCE = 0.00005


def tuning_tables(result: TunedResult) -> tuple[Table, ...]:
    """The gain, the parameters and the trials."""
    return _gain_table(result), _parameters_table(result), _trials_table(result)


def verdict(result: TunedResult) -> str:
    """Whether tuning pays, in one sentence."""
    name, gain = str(result.measure), result.gain
    if gain.interval is None:
        few = f"fewer than {MIN_DIFFERENT} held-out queries differ, or all by the same amount"
        return f"Keep the defaults: {gain.mean:+.4f} {name} without an interval, as {few}."
    figures = f"{gain.mean:+.4f} {name} on held-out queries (95% CI [{gain.interval[0]:+.4f}, {gain.interval[1]:+.4f}])"
    if result.pays:
        return f"Tuning pays: {figures}. Use {settings_text(result.best)}."
    if result.harms:
        return f"Keep the defaults: tuning makes the system worse, {figures}."
    return f"Keep the defaults: no significant gain, {figures}."


def _gain_table(result: TunedResult) -> Table:
    rows: list[tuple[CellValue, ...]] = [
        ("tuned, held-out queries", result.held_out_value, result.gain.mean, result.gain.interval, result.gain.p),
        ("tuned, same queries (naive)", result.best_value, result.naive, None, None),
    ]
    first, *others = result.baselines
    rows.append(("default settings, all queries", first.value, None, None, None))
    columns = (
        Column("system"),
        Column(str(result.measure), "value"),
        Column("gain", "difference", "over the default settings"),
        Column("95% CI", "interval"),
        Column("p", "p"),
    )
    rows += [(f"{other.name}, held-out queries", other.value, other.value - first.value, None, None) for other in others]
    if result.best_single is not None:
        name, value = result.best_single
        rows.append((f"{name} alone, all queries", value, value - first.value, None, None))
    counts = f"{pluralise(len(result.trials), 'trial')}, {pluralise(len(result.queries), 'query', 'queries')}"
    return Table(
        "gain",
        f"Tuning by {result.measure}: {counts}",
        columns,
        tuple(rows),
        sentences=(verdict(result), _optimism(result), *(_against(other) for other in others)),
        notes=_notes(result),
        facts=_facts(result),
        verdict_first=True,
    )


def _optimism(result: TunedResult) -> str:
    naive = f"The naive gain, on the queries that chose the settings, is {result.naive:+.4f}"
    if abs(result.optimism) < _SHOWN_DIFFERENCE:
        return f"{naive}, the same: it is not optimistic."
    if result.optimism < 0:
        return f"{naive}, which is less: it is not optimistic."
    return f"{naive}. Its optimism is {result.optimism:.4f}: so much less is gained on held-out queries."


def _against(baseline: TuningBaseline) -> str:
    gain, chosen = (
        baseline.gain,
        "each fold is measured with the run that is best on the other folds, so it can be below every run",
    )
    interval = "without an interval"
    if gain.interval is not None:
        interval = f"95% CI [{gain.interval[0]:+.4f}, {gain.interval[1]:+.4f}]"
    return f"Against the {baseline.name}: {gain.mean:+.4f} on held-out queries ({interval}); {chosen}."


def _notes(result: TunedResult) -> tuple[str, ...]:
    notes = []
    if len(result.queries) < FEW_QUERIES:
        notes.append(f"{len(result.queries)} queries are few to tune on: the choice and its gain can differ much on others")
    edges = [name for name, value in result.best if _is_edge(result, name, value)]
    if edges:
        notes.append(f"the best value of {', '.join(edges)} is at the end of its range: a wider range may be better")
    return tuple(notes)


def _is_edge(result: TunedResult, name: str, value: Value) -> bool:
    chosen = dict(result.best)
    for family in result.space.families:
        if all(chosen.get(key) == fixed for key, fixed in family.fixed):
            for axis in family.axes:
                if axis.name == name and axis.kind == "ordered" and len(axis.values) > 2:
                    return value in (axis.values[0], axis.values[-1])
    return False


def _facts(result: TunedResult) -> dict[str, object]:
    return {
        "queries": len(result.queries),
        "trials": len(result.trials),
        "search": result.plan.search,
        "folds": result.plan.folds,
        "repeats": result.plan.repeats,
        "seed": result.plan.seed,
        "chosen": {name: list(value) if isinstance(value, tuple) else value for name, value in result.best},
        "optimism": result.optimism,
        "pays": result.pays,
    }


def _parameters_table(result: TunedResult) -> Table:
    """Each parameter: its default, what all queries choose, and what the folds choose."""
    default, names = dict(result.space.default), [name for name, _ in result.best]
    rows = []
    for name, value in result.best:
        chosen = [dict(settings)[name] for settings in result.held.chosen if name in dict(settings)]
        same = sum(other == value for other in chosen) / len(result.held.chosen)
        others = ", ".join(map(value_text, sorted(set(chosen), key=_sort_key)))
        rows.append((name, value_text(default[name]) if name in default else "", value_text(value), same, others))
    whole = next((share for settings, share in result.shares if settings == result.best), 0.0)
    count = len(result.held.chosen)
    return Table(
        "parameters",
        "Parameters",
        (
            Column("parameter"),
            Column("default"),
            Column("chosen"),
            Column("folds", "share", "share of the folds that choose the same value"),
            Column("chosen by folds"),
        ),
        tuple(rows),
        sentences=(f"{whole:.0%} of {count} folds choose {'this value' if len(names) == 1 else 'the same settings'}.",),
    )


def _sort_key(value: Value) -> tuple[float, ...] | tuple[str]:
    """Numbers and weights by size, names by letter; the values of one parameter are of one kind."""
    if isinstance(value, str):
        return (value,)
    return value if isinstance(value, tuple) else (float(value),)


def _trials_table(result: TunedResult) -> Table:
    """Every trial, best first, with its mean on all queries; details have a column for each parameter."""
    keys = list(dict.fromkeys(name for settings in result.trials for name, _ in settings))
    ordered = sorted(result.trials.items(), key=lambda item: -result.direction * item[1])
    base, name = result.trials[result.space.default], str(result.measure)
    rows: tuple[tuple[CellValue, ...], ...] = tuple(
        (
            settings_text(settings),
            value,
            value - base,
            settings == result.best,
            settings == result.space.default,
            *(_cell(settings, key) for key in keys),
        )
        for settings, value in ordered
    )
    columns = (
        Column("settings"),
        Column(name, "value"),
        Column("gain", "difference", "over the default settings, on the same queries"),
        Column("chosen", "flag"),
        Column("default", "flag"),
        *(Column(key) for key in keys),
    )
    summary = TableSummary(("settings", name, "gain"), tuple(range(min(_SHOWN_TRIALS, len(rows)))))
    return Table("trials", "Best trials on all queries", columns, rows, summary=summary)


def _cell(settings: Settings, key: str) -> str:
    value = dict(settings).get(key)
    return "" if value is None else value_text(value)


TUNED = "tuned"


def tuned_toml(experiment: Experiment, systems: Mapping[str, Stage], result: TunedResult) -> str:
    """The experiment with these systems; comments say how the settings were chosen and what they gain."""
    first = next(iter(systems))
    changed = replace(experiment, systems=systems, baseline=first, costs={}, measures=None)
    return f"{_comment(result)}{experiment_toml(changed)}"


def _comment(result: TunedResult) -> str:
    plan = result.plan
    lines = [
        verdict(result),
        f"Chosen by {result.measure} on {len(result.queries)} queries: {plan.search} search, {len(result.trials)} trials.",
        f"The gain is by nested cross-validation: {plan.folds} folds, {plan.repeats} repeats, seed {plan.seed}.",
        f"On these queries `rankproof run` shows the naive gain; its optimism is {result.optimism:+.4f}.",
    ]
    return "".join(f"# {line}\n" for line in lines)

"""Writes an experiment as TOML: the experiment with all its settings, and the commented starter file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rankproof._data.dataset import Dataset
from rankproof._data.qrels import Qrels
from rankproof._data.validation import described
from rankproof._experiment.config_read import SYSTEMS_KEY
from rankproof._experiment.config_settings import (
    EVERY,
    TOP,
    absolute_path,
    is_scorer,
    is_system,
    is_systems,
    keys_of,
    parameter_keys,
    part_kind,
    part_table,
)
from rankproof._experiment.experiment import Experiment, checked_qrels, stage_with_inputs
from rankproof._formats.detect import SAMPLE, is_irds_name
from rankproof._io.open import StrPath, path_text
from rankproof._io.toml_file import toml_key, toml_value
from rankproof._registry import Setting, settings_of
from rankproof._results.result_json import PYTHON_PREFIX
from rankproof.stages._base import Stage
from rankproof.stages._engines.request import Preset, variables
from rankproof.stages._registry import SCORERS, STAGES

_FILE_COMMENT = """\
# A rankproof experiment: one dataset and named systems. Each system is a stage.
# A system can use any other system as input, by name. Only `stage`, `of`, `by` and `model` are required:
# the other keys show their default values.
"""
_EXAMPLE_VALUES: Mapping[str, Any] = {
    "grade_map": {"E": 3, "S": 2, "C": 1, "I": 0},
    "qrels": "results.model.qrels",
    "measures": ["nDCG@10", "RR@10", "R@100"],
    "limit": 50,
    "collapse": "url",
    "pool": 10,
    "include_cases": "cases.jsonl",
    "primary": "nDCG@10",
    "margin": 0.02,
    "baseline": "bm25",
    "labels_by": "people",
    "looks": "many",
    "judgements": "complete",
}
_COMMENT_COLUMN = 44


@dataclass(frozen=True, slots=True)
class TomlTable:
    """The keys of a system, with remarks on what is left out."""

    values: Mapping[str, Any]
    remarks: tuple[str, ...] = ()


def top_table(experiment: Experiment) -> dict[str, Any]:
    """The keys above the systems; None for those that are not set."""
    values = {key: getattr(experiment, setting.field) for key, setting in TOP.items()}
    measures = None if experiment.measures is None else [str(measure) for measure in experiment.measures]
    primary = None if experiment.primary is None else str(experiment.primary)
    named = {"dataset": _dataset_name(experiment.dataset), "qrels": _qrels_names(experiment)}
    return values | named | {"measures": measures, "primary": primary}


def system_tables(systems: Mapping[str, Stage], costs: Mapping[str, float] | None = None) -> dict[str, TomlTable]:
    """Every system in order; an input that is not a system comes before the first that needs it, as a hidden system."""
    names = {stage: name for name, stage in reversed(list(systems.items()))}
    taken = set(systems)
    tables: dict[str, TomlTable] = {}
    for name, stage in systems.items():
        for part in stage_with_inputs(stage)[:-1]:
            if part not in names:
                names[part] = _unused_name(taken)
                taken.add(names[part])
                tables[names[part]] = _system_table(part, names, hidden=True)
        table = _system_table(stage, names, hidden=False)
        tables[name] = replace(table, values={**table.values, "cost": costs[name]}) if costs and name in costs else table
    return tables


def _system_table(stage: Stage, names: Mapping[Stage, str], *, hidden: bool) -> TomlTable:
    shown = {"hidden": True} if hidden else {}
    name = STAGES.name_of(type(stage))
    if name is None:
        return TomlTable({"stage": f"{PYTHON_PREFIX}{type(stage).__name__}", **shown}, ("this stage was made in Python",))
    values, remarks = _component_values(stage, names)
    return TomlTable({"stage": name, **shown, **values}, remarks)


def _component_values(part: Any, names: Mapping[Stage, str]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The keys of a stage or scorer; those of a scorer follow the key with its name."""
    table: dict[str, Any] = {}
    no_remarks: tuple[str, ...] = ()
    remarks = no_remarks
    for setting in settings_of(type(part)):
        value = getattr(part, setting.field)
        if value is None:
            continue
        if setting.option.role == "parameters":
            values, more = dict(value), no_remarks
        elif is_scorer(setting):
            values, more = _scorer(setting.key, value, names)
        else:
            plain, more = _toml_plain(setting, value, names)
            values = {setting.key: plain}
        table |= values
        remarks += more
    return table, remarks


def _scorer(key: str, scorer: Any, names: Mapping[Stage, str]) -> tuple[dict[str, Any], tuple[str, ...]]:
    name = SCORERS.name_of(type(scorer))
    if name is None:
        return {key: f"{PYTHON_PREFIX}{type(scorer).__name__}"}, ("this scorer was made in Python",)
    values, remarks = _component_values(scorer, names)
    return {key: name, **values}, remarks


def _toml_plain(setting: Setting, value: Any, names: Mapping[Stage, str]) -> tuple[Any, tuple[str, ...]]:
    if is_system(setting):
        return names[value], ()
    if is_systems(setting):
        return [names[system] for system in value], ()
    if kind := part_kind(setting):
        return part_table(kind, value)
    if setting.option.role == "function" and not isinstance(value, str):
        return f"{PYTHON_PREFIX}{getattr(value, '__qualname__', type(value).__name__)}", ("this function was made in Python",)
    if setting.option.role == "path":
        return absolute_path(value, ""), ()
    return (list(value) if isinstance(value, tuple) else value), ()


def _unused_name(taken: set[str]) -> str:
    return next(name for number in range(1, len(taken) + 2) if (name := f"part-{number}") not in taken)


def _dataset_name(dataset: Dataset | StrPath) -> str:
    if isinstance(dataset, Dataset):
        return f"{PYTHON_PREFIX}{dataset.name}"
    path = path_text(dataset)
    return path if path == SAMPLE or is_irds_name(path) else absolute_path(path, "")


def _qrels_names(experiment: Experiment) -> list[str] | None:
    """The absolute paths of the files of judgements, None without any."""
    judgements = checked_qrels(experiment.qrels)
    if judgements is None:
        return None
    return [
        f"{PYTHON_PREFIX}{source.source}" if isinstance(source, Qrels) else absolute_path(source, "") for source in judgements
    ]


def experiment_toml(experiment: Experiment) -> str:
    """The experiment with every setting, without passwords and values made in Python; a comment says what is left out."""
    lines = [f"{key} = {toml_value(value)}" for key, value in top_table(experiment).items() if value is not None]
    for name, table in system_tables(experiment.systems, experiment.costs).items():
        lines += ["", f"[{SYSTEMS_KEY}.{toml_key(name)}]", *(f"# {remark}" for remark in table.remarks)]
        lines += [f"{key} = {toml_value(value)}" for key, value in table.values.items()]
    return "\n".join(lines) + "\n"


def starter_toml() -> str:
    """The default systems on the sample, with a comment at the first use of each key."""
    from rankproof._experiment.experiment import default_systems

    experiment = Experiment(default_systems(wordllama=True, minilm=True))
    explained: set[tuple[str, str]] = set()
    lines = [_FILE_COMMENT, *_top_lines(experiment)]
    for name, table in system_tables(experiment.systems).items():
        lines += ["", f"[{SYSTEMS_KEY}.{toml_key(name)}]", *_explain_keys(table, explained)]
    return "\n".join(lines) + "\n"


def preset_toml(preset: Preset) -> str:
    """BM25 and a search engine behind HTTP, with an example of each value that the engine needs."""
    tested = f"tested with {preset.tested}" if preset.tested else "not tested against a server"
    needed = variables(preset.settings) | set(filter(None, [preset.settings.get("login_env")]))
    values = {**preset.required, **preset.settings.get("values", {})}
    about_login = "if the server has a login; the key is read from the environment"
    lines = [
        f"# Compares BM25 with an engine behind HTTP: {preset.summary}.",
        f"# The preset is {tested}. The API of the engine: {preset.source}",
        *(f"# Set the environment variable {name} before the run." for name in sorted(needed)),
        _with_comment(f"dataset = {toml_value(SAMPLE)}", "your dataset; its document ids are those of the engine"),
        f"\n[{SYSTEMS_KEY}.bm25]",
        _with_comment('stage = "bm25"', "needs documents; remove this system if the dataset has none") + "\n",
        f'[{SYSTEMS_KEY}.{toml_key(preset.name)}]\nstage = "http"\npreset = {toml_value(preset.name)}',
        f"values = {toml_value(values)}",
        *(_with_comment(f"# {key} = {toml_value(value)}", about_login) for key, value in preset.login.items()),
        *([_with_comment('model = "minilm"', "the encoder of the index")] if preset.needs_vector else []),
    ]
    return "\n".join(lines) + "\n"


def _top_lines(experiment: Experiment) -> Iterator[str]:
    """Every key above the systems; those that are not set are comments."""
    for key, value in top_table(experiment).items():
        is_set = value is not None
        line = f"{key} = {toml_value(value if is_set else _EXAMPLE_VALUES[key])}"
        yield _with_comment(line if is_set else f"# {line}", described(TOP[key]))


def _explain_keys(table: TomlTable, explained: set[tuple[str, str]]) -> Iterator[str]:
    stage = table.values["stage"]
    keys = _possible_options(table.values)
    for key, value in table.values.items():
        line = f"{key} = {toml_value(value)}"
        about = STAGES.summary(stage) if key == "stage" else keys[key].option.description
        yield line if (stage, key) in explained else _with_comment(line, about)
        explained.add((stage, key))


def _possible_options(values: Mapping[str, Any]) -> Mapping[str, Setting]:
    """Every key of the table's stage and scorers."""
    own = keys_of(STAGES.load(values["stage"]))
    scorers = [keys_of(SCORERS.load(values[key])) for key, setting in own.items() if is_scorer(setting)]
    parameters = parameter_keys(STAGES.load(values["stage"]), values)
    return {**EVERY, **own, **parameters, **{key: setting for keys in scorers for key, setting in keys.items()}}


def _with_comment(line: str, about: str) -> str:
    return f"{line:<{_COMMENT_COLUMN}}  # {about}"

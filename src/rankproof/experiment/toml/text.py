"""An experiment as the text of a TOML file, such that the file is read back as the same experiment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..._registry import Setting
from ...stages.registry import SCORERS, STAGES
from ..experiment import Experiment
from .build import SYSTEMS
from .settings import EVERY, TOP, is_scorer, keys_of
from .tables import Table, system_tables, top_table
from .write import toml_key, toml_value

_START = """\
# An experiment of rankproof: systems by name, each a stage, on one dataset.
# Systems refer to each other by name, in any order. Only `stage`, `of`, `by` and `model` are needed:
# what else stands here is what holds without it.
"""
_EXAMPLES = {"measures": ["nDCG@10", "RR@10", "R@100"], "limit": 50, "collapse": "url", "pool": 10}
_COMMENT_AT = 44


def toml_of(experiment: Experiment) -> str:
    """The whole experiment with every setting; passwords, and what was made in Python, are not in it, and a comment says so."""
    lines = [f"{key} = {toml_value(value)}" for key, value in top_table(experiment).items() if value is not None]
    for name, table in system_tables(experiment.systems).items():
        lines += ["", f"[{SYSTEMS}.{toml_key(name)}]", *(f"# {remark}" for remark in table.remarks)]
        lines += [f"{key} = {toml_value(value)}" for key, value in table.values.items()]
    return "\n".join(lines) + "\n"


def starting_text() -> str:
    """The default ladder on the sample, each key explained where it comes first."""
    from ..ladder import default_ladder

    experiment = Experiment(default_ladder(minilm=True))
    told: set[tuple[str, str]] = set()
    lines = [_START, *_top_lines(experiment)]
    for name, table in system_tables(experiment.systems).items():
        lines += ["", f"[{SYSTEMS}.{toml_key(name)}]", *_explained(table, told)]
    return "\n".join(lines) + "\n"


def _top_lines(experiment: Experiment) -> Iterator[str]:
    """Every key above the systems; what is not asked for stands there as a comment."""
    for key, value in top_table(experiment).items():
        asked = value is not None
        line = f"{key} = {toml_value(value if asked else _EXAMPLES[key])}"
        yield _commented(line if asked else f"# {line}", TOP[key].option.description)


def _explained(table: Table, told: set[tuple[str, str]]) -> Iterator[str]:
    stage = table.values["stage"]
    keys = _keys(table.values)
    for key, value in table.values.items():
        line = f"{key} = {toml_value(value)}"
        about = STAGES.summary(stage) if key == "stage" else keys[key].option.description
        yield line if (stage, key) in told else _commented(line, about)
        told.add((stage, key))


def _keys(values: Mapping[str, Any]) -> Mapping[str, Setting]:
    """Everything that may stand in the table."""
    own = keys_of(STAGES.load(values["stage"]))
    scorers = [keys_of(SCORERS.load(values[key])) for key, setting in own.items() if is_scorer(setting)]
    return {**EVERY, **own, **{key: setting for keys in scorers for key, setting in keys.items()}}


def _commented(line: str, about: str) -> str:
    return f"{line:<{_COMMENT_AT}}  # {about}"

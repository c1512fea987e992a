"""The tuned system as an experiment file, beside the system with its default settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rankproof._experiment.config_write import experiment_toml
from rankproof._experiment.experiment import Experiment
from rankproof._tune.tables import verdict
from rankproof._tune.tuning import TunedResult
from rankproof.stages._base import Stage

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

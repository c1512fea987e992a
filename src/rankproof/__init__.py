"""Proves, with numbers, whether one search or RAG system is better than another.

>>> import rankproof as rp
>>> result = rp.evaluate({"q1": {"d1": 1}}, {"q1": {"d1": 0.9, "d2": 0.4}}, ["nDCG@10", "RR"])
>>> result.means
{'run': {'nDCG@10': 1.0, 'RR': 1.0}}
"""

from __future__ import annotations

from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any

from rankproof._version import __version__ as __version__

if TYPE_CHECKING:
    from rankproof import errors as errors
    from rankproof import measures as measures
    from rankproof import models as models
    from rankproof import plugins as plugins
    from rankproof import stages as stages
    from rankproof import stores as stores
    from rankproof import types as types
    from rankproof._api.agreement import correlate as correlate
    from rankproof._api.agreement import stability as stability
    from rankproof._api.analyses import audit as audit
    from rankproof._api.analyses import compare as compare
    from rankproof._api.analyses import diagnose as diagnose
    from rankproof._api.analyses import segments as segments
    from rankproof._api.answers import evaluate_answers as evaluate_answers
    from rankproof._api.baselines import baselines as baselines
    from rankproof._api.checks import doctor as doctor
    from rankproof._api.checks import gate as gate
    from rankproof._api.datasets import convert as convert
    from rankproof._api.datasets import import_dataset as import_dataset
    from rankproof._api.explain import explain as explain
    from rankproof._api.fuse import fit_fusion as fit_fusion
    from rankproof._api.fuse import fuse as fuse
    from rankproof._api.judges import agreement as agreement
    from rankproof._api.live import online as online
    from rankproof._api.live import sample_queries as sample_queries
    from rankproof._api.output import export as export
    from rankproof._api.output import plot as plot
    from rankproof._api.output import report as report
    from rankproof._api.prefer import prefer as prefer
    from rankproof._api.programs import generate as generate
    from rankproof._api.programs import judge as judge
    from rankproof._api.programs import run as run
    from rankproof._api.programs import save_results as save_results
    from rankproof._api.tune import tune as tune
    from rankproof._data.answers import Answers as Answers
    from rankproof._data.corpus import Corpus as Corpus
    from rankproof._data.dataset import Dataset as Dataset
    from rankproof._data.dataset import Queries as Queries
    from rankproof._data.qrels import Qrels as Qrels
    from rankproof._data.run import Run as Run
    from rankproof._evaluation.evaluate import evaluate as evaluate
    from rankproof._evaluation.result import Result as Result
    from rankproof._experiment.config_read import read_experiment as read_experiment
    from rankproof._experiment.experiment import Experiment as Experiment
    from rankproof._experiment.experiment import default_systems as default_systems
    from rankproof._formats.read import read_qrels as read_qrels
    from rankproof._formats.read import read_run as read_run
    from rankproof._formats.write import write_qrels as write_qrels
    from rankproof._formats.write import write_run as write_run
    from rankproof._importers.registry import read_dataset as read_dataset
    from rankproof._interleaving.interleave import interleave as interleave
    from rankproof._results.experiment_result import ExperimentResult as ExperimentResult
    from rankproof._results.folder import load_results as load_results
    from rankproof.measures._parse import parse_measure as parse_measure

_TARGETS = {
    "Answers": "rankproof._data.answers:Answers",
    "Corpus": "rankproof._data.corpus:Corpus",
    "Dataset": "rankproof._data.dataset:Dataset",
    "Experiment": "rankproof._experiment.experiment:Experiment",
    "ExperimentResult": "rankproof._results.experiment_result:ExperimentResult",
    "Qrels": "rankproof._data.qrels:Qrels",
    "Queries": "rankproof._data.dataset:Queries",
    "Result": "rankproof._evaluation.result:Result",
    "Run": "rankproof._data.run:Run",
    "agreement": "rankproof._api.judges:agreement",
    "audit": "rankproof._api.analyses:audit",
    "baselines": "rankproof._api.baselines:baselines",
    "compare": "rankproof._api.analyses:compare",
    "convert": "rankproof._api.datasets:convert",
    "correlate": "rankproof._api.agreement:correlate",
    "default_systems": "rankproof._experiment.experiment:default_systems",
    "diagnose": "rankproof._api.analyses:diagnose",
    "doctor": "rankproof._api.checks:doctor",
    "evaluate": "rankproof._evaluation.evaluate:evaluate",
    "evaluate_answers": "rankproof._api.answers:evaluate_answers",
    "explain": "rankproof._api.explain:explain",
    "export": "rankproof._api.output:export",
    "fit_fusion": "rankproof._api.fuse:fit_fusion",
    "fuse": "rankproof._api.fuse:fuse",
    "gate": "rankproof._api.checks:gate",
    "generate": "rankproof._api.programs:generate",
    "import_dataset": "rankproof._api.datasets:import_dataset",
    "interleave": "rankproof._interleaving.interleave:interleave",
    "judge": "rankproof._api.programs:judge",
    "load_results": "rankproof._results.folder:load_results",
    "online": "rankproof._api.live:online",
    "parse_measure": "rankproof.measures._parse:parse_measure",
    "plot": "rankproof._api.output:plot",
    "prefer": "rankproof._api.prefer:prefer",
    "read_dataset": "rankproof._importers.registry:read_dataset",
    "read_experiment": "rankproof._experiment.config_read:read_experiment",
    "read_qrels": "rankproof._formats.read:read_qrels",
    "read_run": "rankproof._formats.read:read_run",
    "report": "rankproof._api.output:report",
    "run": "rankproof._api.programs:run",
    "save_results": "rankproof._api.programs:save_results",
    "sample_queries": "rankproof._api.live:sample_queries",
    "segments": "rankproof._api.analyses:segments",
    "tune": "rankproof._api.tune:tune",
    "stability": "rankproof._api.agreement:stability",
    "write_qrels": "rankproof._formats.write:write_qrels",
    "write_run": "rankproof._formats.write:write_run",
    "errors": "rankproof.errors",
    "measures": "rankproof.measures",
    "models": "rankproof.models",
    "plugins": "rankproof.plugins",
    "stages": "rankproof.stages",
    "stores": "rankproof.stores",
    "types": "rankproof.types",
}
"""Where each public name is defined; its module is imported on first use."""

__all__ = [
    "Answers",
    "Corpus",
    "Dataset",
    "Experiment",
    "ExperimentResult",
    "Qrels",
    "Queries",
    "Result",
    "Run",
    "agreement",
    "audit",
    "baselines",
    "compare",
    "convert",
    "correlate",
    "default_systems",
    "diagnose",
    "doctor",
    "errors",
    "evaluate",
    "evaluate_answers",
    "explain",
    "export",
    "fit_fusion",
    "fuse",
    "gate",
    "generate",
    "import_dataset",
    "interleave",
    "judge",
    "load_results",
    "measures",
    "models",
    "online",
    "parse_measure",
    "plot",
    "plugins",
    "prefer",
    "read_dataset",
    "read_experiment",
    "read_qrels",
    "read_run",
    "report",
    "run",
    "sample_queries",
    "save_results",
    "segments",
    "stability",
    "stages",
    "stores",
    "tune",
    "types",
    "write_qrels",
    "write_run",
]


def __getattr__(name: str) -> Any:
    """Loads a public name on first use, so that importing rankproof imports nothing else."""
    if name not in _TARGETS:
        raise AttributeError(f"module 'rankproof' has no attribute {name!r}")
    module, _, attribute = _TARGETS[name].partition(":")
    loaded = import_module(module)
    globals()[name] = value = getattr(loaded, attribute) if attribute else loaded
    if isinstance(value, FunctionType):
        from rankproof._data.validation import describe

        value.__doc__ = describe(value)
    return value


def __dir__() -> list[str]:
    return sorted([*_TARGETS, "__version__"])

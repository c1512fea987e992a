"""Proves, with numbers, whether one search or RAG system is better than another.

>>> import rankproof as rp
>>> result = rp.evaluate({"q1": {"d1": 1}}, {"q1": {"d1": 0.9, "d2": 0.4}}, ["nDCG@10", "RR"])
>>> result.means
{'run': {'nDCG@10': 1.0, 'RR': 1.0}}
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankproof._version import __version__ as __version__

if TYPE_CHECKING:
    from rankproof._analysis.compare.compare import compare as compare
    from rankproof._analysis.inputs import AnalysisInput as AnalysisInput
    from rankproof._analysis.inputs import input_from_results as input_from_results
    from rankproof._analysis.inputs import input_from_runs as input_from_runs
    from rankproof._data.dataset import Corpus as Corpus
    from rankproof._data.dataset import Dataset as Dataset
    from rankproof._data.dataset import Document as Document
    from rankproof._data.dataset import Queries as Queries
    from rankproof._data.dataset import Query as Query
    from rankproof._data.qrels import Qrels as Qrels
    from rankproof._data.run import Run as Run
    from rankproof._evaluation.answers import evaluate_answers as evaluate_answers
    from rankproof._evaluation.evaluate import evaluate as evaluate
    from rankproof._evaluation.notes import Note as Note
    from rankproof._evaluation.result import Result as Result
    from rankproof._experiment.config_read import read_experiment as read_experiment
    from rankproof._experiment.experiment import Experiment as Experiment
    from rankproof._experiment.experiment import default_systems as default_systems
    from rankproof._experiment.run import RunOptions as RunOptions
    from rankproof._experiment.run import run_experiment as run_experiment
    from rankproof._formats.read import read_dataset as read_dataset
    from rankproof._formats.read import read_qrels as read_qrels
    from rankproof._formats.read import read_run as read_run
    from rankproof._formats.write import write_qrels as write_qrels
    from rankproof._formats.write import write_run as write_run
    from rankproof._fusion.fuse import fuse as fuse
    from rankproof._llm.budget import Budget as Budget
    from rankproof._results.experiment_result import ExperimentResult as ExperimentResult
    from rankproof._results.folder import load_results as load_results
    from rankproof._results.folder import save_results as save_results
    from rankproof.errors import ExternalError as ExternalError
    from rankproof.errors import InputError as InputError
    from rankproof.errors import MissingExtraError as MissingExtraError
    from rankproof.errors import RankproofError as RankproofError
    from rankproof.errors import UsageError as UsageError
    from rankproof.measures._average_precision import AP as AP
    from rankproof.measures._average_precision import GMAP as GMAP
    from rankproof.measures._average_precision import ElevenPoint as ElevenPoint
    from rankproof.measures._average_precision import IPrec as IPrec
    from rankproof.measures._average_precision import infAP as infAP
    from rankproof.measures._counts import NumQ as NumQ
    from rankproof.measures._counts import NumRel as NumRel
    from rankproof.measures._counts import NumRelRet as NumRelRet
    from rankproof.measures._counts import NumRet as NumRet
    from rankproof.measures._dcg import DCG as DCG
    from rankproof.measures._dcg import nDCG as nDCG
    from rankproof.measures._judged import Judged as Judged
    from rankproof.measures._judged import Unjudged as Unjudged
    from rankproof.measures._judged import bpref as bpref
    from rankproof.measures._parse import parse_measure as parse_measure
    from rankproof.measures._precision_recall import F1 as F1
    from rankproof.measures._precision_recall import P as P
    from rankproof.measures._precision_recall import R as R
    from rankproof.measures._precision_recall import Rprec as Rprec
    from rankproof.measures._precision_recall import SetF as SetF
    from rankproof.measures._precision_recall import SetP as SetP
    from rankproof.measures._precision_recall import SetR as SetR
    from rankproof.measures._precision_recall import Success as Success
    from rankproof.measures._user_model import ERR as ERR
    from rankproof.measures._user_model import RBP as RBP
    from rankproof.measures._user_model import RR as RR
    from rankproof.models._bert import Bert as Bert
    from rankproof.models._bert import CrossEncoder as CrossEncoder
    from rankproof.models._chat.llama_cpp import Llama as Llama
    from rankproof.models._chat.openai import OpenAIChat as OpenAIChat
    from rankproof.models._chat.smollm2 import SmolLM2 as SmolLM2
    from rankproof.models._minilm import MiniLM as MiniLM
    from rankproof.models._torch import SentenceTransformer as SentenceTransformer
    from rankproof.models._torch import TorchCrossEncoder as TorchCrossEncoder
    from rankproof.models._trained.encoder import BpeEncoder as BpeEncoder
    from rankproof.models._trained.encoder import TrainedEncoder as TrainedEncoder
    from rankproof.models._transformers import ByT5 as ByT5
    from rankproof.models._transformers import Canine as Canine
    from rankproof.models._wordllama import WordLlama as WordLlama
    from rankproof.stages._answer import GenerateAnswer as GenerateAnswer
    from rankproof.stages._base import BuildContext as BuildContext
    from rankproof.stages._base import Cost as Cost
    from rankproof.stages._bm25 import BM25 as BM25
    from rankproof.stages._chunked import Chunked as Chunked
    from rankproof.stages._dense import Dense as Dense
    from rankproof.stages._extract import ExtractAnswer as ExtractAnswer
    from rankproof.stages._fuse import RRF as RRF
    from rankproof.stages._fuse import Fuse as Fuse
    from rankproof.stages._llm_scorers import Listwise as Listwise
    from rankproof.stages._llm_scorers import Pairwise as Pairwise
    from rankproof.stages._llm_scorers import Pointwise as Pointwise
    from rankproof.stages._rerank import Rerank as Rerank
    from rankproof.stages._rewrite import Rewrite as Rewrite
    from rankproof.stages._rm3 import RM3 as RM3
    from rankproof.stages._scorers import BiEncoderScorer as BiEncoderScorer
    from rankproof.stages._scorers import CrossEncoderScorer as CrossEncoderScorer
    from rankproof.stages._scorers import KeywordScorer as KeywordScorer
    from rankproof.stages._scorers import MaxSim as MaxSim
    from rankproof.stores._chroma import Chroma as Chroma
    from rankproof.stores._memory import Memory as Memory
    from rankproof.stores._pgvector import PgVector as PgVector

_HOMES = {
    "compare": "rankproof._analysis.compare.compare",
    "AnalysisInput": "rankproof._analysis.inputs",
    "input_from_results": "rankproof._analysis.inputs",
    "input_from_runs": "rankproof._analysis.inputs",
    "Corpus": "rankproof._data.dataset",
    "Dataset": "rankproof._data.dataset",
    "Document": "rankproof._data.dataset",
    "Queries": "rankproof._data.dataset",
    "Query": "rankproof._data.dataset",
    "Qrels": "rankproof._data.qrels",
    "Run": "rankproof._data.run",
    "evaluate_answers": "rankproof._evaluation.answers",
    "evaluate": "rankproof._evaluation.evaluate",
    "Note": "rankproof._evaluation.notes",
    "Result": "rankproof._evaluation.result",
    "read_experiment": "rankproof._experiment.config_read",
    "Experiment": "rankproof._experiment.experiment",
    "default_systems": "rankproof._experiment.experiment",
    "RunOptions": "rankproof._experiment.run",
    "run_experiment": "rankproof._experiment.run",
    "read_dataset": "rankproof._formats.read",
    "read_qrels": "rankproof._formats.read",
    "read_run": "rankproof._formats.read",
    "write_qrels": "rankproof._formats.write",
    "write_run": "rankproof._formats.write",
    "fuse": "rankproof._fusion.fuse",
    "Budget": "rankproof._llm.budget",
    "ExperimentResult": "rankproof._results.experiment_result",
    "load_results": "rankproof._results.folder",
    "save_results": "rankproof._results.folder",
    "ExternalError": "rankproof.errors",
    "InputError": "rankproof.errors",
    "MissingExtraError": "rankproof.errors",
    "RankproofError": "rankproof.errors",
    "UsageError": "rankproof.errors",
    "AP": "rankproof.measures._average_precision",
    "ElevenPoint": "rankproof.measures._average_precision",
    "GMAP": "rankproof.measures._average_precision",
    "IPrec": "rankproof.measures._average_precision",
    "infAP": "rankproof.measures._average_precision",
    "NumQ": "rankproof.measures._counts",
    "NumRel": "rankproof.measures._counts",
    "NumRelRet": "rankproof.measures._counts",
    "NumRet": "rankproof.measures._counts",
    "DCG": "rankproof.measures._dcg",
    "nDCG": "rankproof.measures._dcg",
    "Judged": "rankproof.measures._judged",
    "Unjudged": "rankproof.measures._judged",
    "bpref": "rankproof.measures._judged",
    "parse_measure": "rankproof.measures._parse",
    "F1": "rankproof.measures._precision_recall",
    "P": "rankproof.measures._precision_recall",
    "R": "rankproof.measures._precision_recall",
    "Rprec": "rankproof.measures._precision_recall",
    "SetF": "rankproof.measures._precision_recall",
    "SetP": "rankproof.measures._precision_recall",
    "SetR": "rankproof.measures._precision_recall",
    "Success": "rankproof.measures._precision_recall",
    "ERR": "rankproof.measures._user_model",
    "RBP": "rankproof.measures._user_model",
    "RR": "rankproof.measures._user_model",
    "Bert": "rankproof.models._bert",
    "CrossEncoder": "rankproof.models._bert",
    "Llama": "rankproof.models._chat.llama_cpp",
    "OpenAIChat": "rankproof.models._chat.openai",
    "SmolLM2": "rankproof.models._chat.smollm2",
    "MiniLM": "rankproof.models._minilm",
    "SentenceTransformer": "rankproof.models._torch",
    "TorchCrossEncoder": "rankproof.models._torch",
    "BpeEncoder": "rankproof.models._trained.encoder",
    "TrainedEncoder": "rankproof.models._trained.encoder",
    "ByT5": "rankproof.models._transformers",
    "Canine": "rankproof.models._transformers",
    "WordLlama": "rankproof.models._wordllama",
    "GenerateAnswer": "rankproof.stages._answer",
    "BuildContext": "rankproof.stages._base",
    "Cost": "rankproof.stages._base",
    "BM25": "rankproof.stages._bm25",
    "Chunked": "rankproof.stages._chunked",
    "Dense": "rankproof.stages._dense",
    "ExtractAnswer": "rankproof.stages._extract",
    "Fuse": "rankproof.stages._fuse",
    "RRF": "rankproof.stages._fuse",
    "Listwise": "rankproof.stages._llm_scorers",
    "Pairwise": "rankproof.stages._llm_scorers",
    "Pointwise": "rankproof.stages._llm_scorers",
    "Rerank": "rankproof.stages._rerank",
    "Rewrite": "rankproof.stages._rewrite",
    "RM3": "rankproof.stages._rm3",
    "BiEncoderScorer": "rankproof.stages._scorers",
    "CrossEncoderScorer": "rankproof.stages._scorers",
    "KeywordScorer": "rankproof.stages._scorers",
    "MaxSim": "rankproof.stages._scorers",
    "Chroma": "rankproof.stores._chroma",
    "Memory": "rankproof.stores._memory",
    "PgVector": "rankproof.stores._pgvector",
}
"""Where each public name is defined; its module is imported on first use."""

__all__ = [
    "AP",
    "BM25",
    "DCG",
    "ERR",
    "F1",
    "GMAP",
    "RBP",
    "RM3",
    "RR",
    "RRF",
    "AnalysisInput",
    "Bert",
    "BiEncoderScorer",
    "BpeEncoder",
    "Budget",
    "BuildContext",
    "ByT5",
    "Canine",
    "Chroma",
    "Chunked",
    "Corpus",
    "Cost",
    "CrossEncoder",
    "CrossEncoderScorer",
    "Dataset",
    "Dense",
    "Document",
    "ElevenPoint",
    "Experiment",
    "ExperimentResult",
    "ExternalError",
    "ExtractAnswer",
    "Fuse",
    "GenerateAnswer",
    "IPrec",
    "InputError",
    "Judged",
    "KeywordScorer",
    "Listwise",
    "Llama",
    "MaxSim",
    "Memory",
    "MiniLM",
    "MissingExtraError",
    "Note",
    "NumQ",
    "NumRel",
    "NumRelRet",
    "NumRet",
    "OpenAIChat",
    "P",
    "Pairwise",
    "PgVector",
    "Pointwise",
    "Qrels",
    "Queries",
    "Query",
    "R",
    "RankproofError",
    "Rerank",
    "Result",
    "Rewrite",
    "Rprec",
    "Run",
    "RunOptions",
    "SentenceTransformer",
    "SetF",
    "SetP",
    "SetR",
    "SmolLM2",
    "Success",
    "TorchCrossEncoder",
    "TrainedEncoder",
    "Unjudged",
    "UsageError",
    "WordLlama",
    "bpref",
    "compare",
    "default_systems",
    "evaluate",
    "evaluate_answers",
    "fuse",
    "infAP",
    "input_from_results",
    "input_from_runs",
    "load_results",
    "nDCG",
    "parse_measure",
    "read_dataset",
    "read_experiment",
    "read_qrels",
    "read_run",
    "run_experiment",
    "save_results",
    "write_qrels",
    "write_run",
]


def __getattr__(name: str) -> Any:
    """Loads a public name on first use, so that importing rankproof imports nothing else."""
    if name not in _HOMES:
        raise AttributeError(f"module 'rankproof' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*_HOMES, "__version__"])

"""`run`, `judge` and `generate` as functions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rankproof._data.validation import BUDGET, FILES, NAMED_FILES, REL, REPLIES, SEED, public
from rankproof._evaluation.options import QrelsLike, RunLike
from rankproof._registry import Option
from rankproof.errors import UsageError, type_phrase

if TYPE_CHECKING:
    from rankproof._api.values import Generated, Judging
    from rankproof._data.corpus import Corpus
    from rankproof._data.dataset import Queries
    from rankproof._data.qrels import Qrels
    from rankproof._experiment.experiment import Experiment
    from rankproof._experiment.run import RunOptions
    from rankproof._judge.judges import Judge
    from rankproof._judge.pairs import QueryDocPair
    from rankproof._llm.budget import Budget
    from rankproof._llm.session import LLMSession
    from rankproof._results.experiment_result import ExperimentResult
    from rankproof.models._chat.base import ChatModel
    from rankproof.stages._base import Stage

KEYWORDS = "keywords"
PathLike = str | os.PathLike[str]
POOL = Option("how many documents of each ranking are judged", least=1, metavar="N")


@public
def run(
    experiment: Annotated[
        Experiment | PathLike | Mapping[str, Stage] | None,
        Option("an Experiment, the path of an experiment file, or {name: stage}", unset="the default systems", typed=str),
    ] = None,
    options: Annotated[RunOptions | None, Option("how to run: cache, threads, budget and others", unset="RunOptions()")] = None,
    *,
    dataset: Annotated[Any, Option("a Dataset, a folder, irds:NAME or sample; an experiment has its own", typed=str)] = None,
    qrels: Annotated[Any, Option("judgements beside those of the dataset, files or Qrels", typed=FILES)] = None,
    judged_only: Annotated[bool, Option("remove unjudged documents from the rankings first")] = False,
) -> ExperimentResult:
    """Runs and evaluates every system of an experiment."""
    from rankproof._experiment.config_read import read_experiment
    from rankproof._experiment.experiment import Experiment, default_systems
    from rankproof._experiment.run import run_experiment

    if isinstance(experiment, str | os.PathLike):
        experiment = read_experiment(experiment)
    if experiment is None or isinstance(experiment, Mapping):
        systems = default_systems() if experiment is None else experiment
        experiment = Experiment(systems, dataset="sample" if dataset is None else dataset)
    elif dataset is not None:
        raise UsageError("the experiment has its own dataset", fix="leave out --dataset")
    changes = {"judged_only": judged_only or None, "qrels": qrels}
    chosen = {name: value for name, value in changes.items() if value is not None}
    if chosen and isinstance(experiment, Experiment):
        experiment = replace(experiment, **chosen)
    return run_experiment(experiment, options)


@public
def judge(
    dataset: Annotated[Any, Option("the texts: a Dataset or its path; or results, whose systems are the runs", typed=str)],
    runs: Annotated[RunLike | None, Option("the runs as {name: run}", unset="those of the results", typed=NAMED_FILES)] = None,
    *,
    model: Annotated[ChatModel | str, Option("the language model, or keywords for keyword overlap", metavar="NAME", typed=str)],
    qrels: Annotated[
        QrelsLike | None,
        Option(
            "human judgements to compare the judge with, which count before its own; also the pairs, if nothing else names them",
            metavar="FILE",
            typed=str,
        ),
    ] = None,
    pool: Annotated[int, POOL] = 10,
    unjudged: Annotated[bool, Option("only pairs without a human judgement")] = False,
    sample: Annotated[int | None, Option("use a random sample of N human judgements", least=1, metavar="N", unset="all")] = None,
    rel: Annotated[int, REL._replace(description="the lowest human grade that counts as relevant", letter="")] = 1,
    judge_rel: Annotated[
        int | None,
        Option("the lowest grade of the judge that counts as relevant", least=1, metavar="N", unset="as rel", rare=True),
    ] = None,
    seed: Annotated[int, SEED] = 0,
    budget: Annotated[Budget | str | None, BUDGET] = None,
    cache: Annotated[PathLike | None, REPLIES] = None,
    path: Annotated[PathLike | None, Option("the file to write the judgements to")] = None,
) -> Judging:
    """Judgements of the top `pool` documents of the runs by a language model, or by keyword overlap (`model="keywords"`).

    With results, `.results` of the result has them measured with the judgements and `qrels`.
    """
    from rankproof._api.inputs import holds_results, results_of
    from rankproof._api.values import Judging
    from rankproof._io.open import path_text
    from rankproof._judge.agreement import Thresholds
    from rankproof._judge.judge import judge_pairs, judging_tables, report_qrels
    from rankproof._judge.judges import JudgeContext
    from rankproof._judge.pairs import human_grades, select_pairs
    from rankproof._results.judgements import with_judgements

    output = None if path is None else path_text(path, "path")
    given_qrels = () if qrels is None else (qrels_of(qrels),)
    people = human_grades(*given_qrels) if given_qrels else None
    results = results_of(dataset) if runs is None and holds_results(dataset) else None
    candidates = _pooled_dataset(dataset, runs, pool) if results is None else _pooled_results(results, pool)
    chosen = select_pairs(candidates.pools, people, candidates.known, unjudged=unjudged, sample=sample, seed=seed)
    how = Thresholds(rel, judge_rel or rel, chosen.highest)
    with open_session(cache, budget) as session:
        context = JudgeContext(candidates.queries, candidates.corpus(chosen.pairs), session)
        report = judge_pairs(_judge(model), chosen.pairs, context, output, lambda label, done, total: None)
        tables = judging_tables(report, context, chosen.human, chosen.pools, how)
    judged = report_qrels(report)
    return Judging(tuple(tables), judged, None if results is None else with_judgements(results, *given_qrels, judged))


@dataclass(frozen=True, slots=True)
class _Pooled:
    """Pools of pairs, the judgements that are known of them, and their texts."""

    pools: Mapping[str, Sequence[QueryDocPair]]
    known: Qrels | None
    queries: Queries
    corpus: Callable[[Sequence[QueryDocPair]], Corpus]


def _pooled_dataset(dataset: Any, runs: RunLike | None, depth: int) -> _Pooled:
    from rankproof._api.inputs import dataset_of

    texts = dataset_of(dataset)
    pools = {} if runs is None else _pools(runs, depth)
    return _Pooled(pools, None if runs is None else texts.qrels, texts.queries, lambda pairs: texts.corpus)


def _pooled_results(results: ExperimentResult, depth: int) -> _Pooled:
    from rankproof._judge.pairs import results_pools, results_texts

    pools = results_pools(results, depth)
    return _Pooled(pools, results.qrels, results.texts, lambda pairs: results_texts(results, pairs).corpus)


def _judge(model: ChatModel | str) -> Judge:
    from rankproof._judge.judges import KeywordOverlapJudge, LLMJudge

    return KeywordOverlapJudge() if model == KEYWORDS else LLMJudge(_chat_model(model))


def _chat_model(model: ChatModel | str) -> ChatModel:
    """The model, or the one of that name: a built-in one, else one of an OpenAI-compatible server."""
    from rankproof.models._registry import CHATS, chat_model_by_name

    if not isinstance(model, str):
        return model
    return chat_model_by_name(model) if model in CHATS and model != "openai" else chat_model_by_name("openai", model=model)


@contextmanager
def open_session(cache: PathLike | None, budget: Budget | str | None) -> Iterator[LLMSession]:
    from rankproof._llm.budget import as_budget
    from rankproof._llm.cache import ResponseCaches
    from rankproof._llm.session import LLMSession

    home = None if cache is None else Path(cache).expanduser().absolute()
    with LLMSession(None if home is None else ResponseCaches(home), as_budget(budget)) as session:
        yield session


def qrels_of(qrels: QrelsLike) -> Qrels:
    from rankproof._evaluation.options import EvaluateOptions
    from rankproof._evaluation.sources import read_judgements
    from rankproof._evaluation.user_forms import Coercion

    return read_judgements(Coercion().qrels(qrels), EvaluateOptions())


def _pools(runs: RunLike, depth: int) -> dict[str, list[QueryDocPair]]:
    from rankproof._evaluation.options import EvaluateOptions
    from rankproof._evaluation.sources import read_source
    from rankproof._evaluation.user_forms import Coercion
    from rankproof._judge.pairs import pool_pairs

    sources = Coercion().runs(runs, lambda: ())
    return {name: pool_pairs(read_source(source, name, EvaluateOptions()), depth) for name, source in sources.items()}


@public
def generate(
    documents: Annotated[
        Any,
        Option("a Corpus, a Dataset, {id: text}, or the path of a dataset or JSONL file", typed=str | Mapping[str, str]),
    ],
    count: Annotated[int, Option("number of queries", least=1, metavar="N")] = 100,
    *,
    categories: Annotated[
        Sequence[str] | None,
        Option(
            "categories of queries",
            metavar="A,B…",
            unset="all of the rules; factual,how-to,keyword,paraphrase for a model",
        ),
    ] = None,
    fields: Annotated[Sequence[str], Option("document fields to use", metavar="A,B…", rare=True)] = ("title", "text"),
    model: Annotated[
        ChatModel | str | None, Option("the language model that writes the queries", metavar="NAME", unset="rules", typed=str)
    ] = None,
    seed: Annotated[int, SEED._replace(description="random seed that selects the documents")] = 0,
    budget: Annotated[Budget | str | None, BUDGET] = None,
    cache: Annotated[PathLike | None, REPLIES] = None,
) -> Generated:
    """Test queries from documents, by rules or by a language model, with their judgements; `.dataset` can be run."""
    from rankproof._api.values import Generated
    from rankproof._data.dataset import Dataset
    from rankproof._generate.generate import GenerationPipeline
    from rankproof._generate.generated_queries import example_table, generated_table

    corpus = corpus_of(documents)
    with open_session(cache, budget) as session:
        chat = None if model is None else _chat_model(model)
        pipeline = GenerationPipeline(corpus, count, categories, tuple(fields), seed, chat, session)
        generated = pipeline.generate()
        tables = (generated_table(generated, None, pipeline.usage()), example_table(generated))
    queries, qrels = generated.queries(), generated.qrels()
    return Generated(tables, queries, qrels, Dataset("generated", corpus, queries, qrels))


def corpus_of(documents: Any) -> Corpus:
    from rankproof._data.corpus import Corpus, Document
    from rankproof._data.dataset import Dataset
    from rankproof._importers.registry import read_documents

    if isinstance(documents, Corpus):
        return documents
    if isinstance(documents, Dataset):
        return documents.corpus
    if isinstance(documents, Mapping):
        return Corpus((Document(str(doc), str(text)) for doc, text in documents.items()), source="documents")
    if not isinstance(documents, str | os.PathLike):
        raise UsageError(f"documents cannot be {type_phrase(documents)}", fix="pass a Corpus, a Dataset, {id: text}, or a path")
    return read_documents(documents)


@public
def save_results(
    results: Annotated[ExperimentResult, Option("the results")],
    path: Annotated[PathLike, Option("the folder to write")],
    *,
    findings: Annotated[Sequence[str], Option("sentences about the answers, for answers.json")] = (),
    overwrite: Annotated[bool, Option("replace results of another dataset")] = False,
) -> str:
    """Writes the results folder with its summary.json, replaces an older results folder, and returns the path."""
    from rankproof._analysis.compare.summary import compare_results, summary_document
    from rankproof._results.experiment_result import ExperimentResult
    from rankproof._results.folder import save_results as save

    if not isinstance(results, ExperimentResult):
        raise UsageError(f"results cannot be {type_phrase(results)}", fix="pass an ExperimentResult, as rankproof.run gives it")
    summary = summary_document(results, compare_results(results))
    return save(results, path, findings=findings, summary=summary, overwrite=overwrite)

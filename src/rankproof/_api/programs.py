"""`run`, `judge`, `generate` and `evaluate_answers` as functions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankproof._api.inputs import dataset_of, holds_results, results_of
from rankproof._api.values import Generated, Judging
from rankproof._data.answers import Answer, Answers, Reference, References, references_from_queries
from rankproof._data.corpus import Corpus, Document
from rankproof._data.dataset import Dataset, Queries
from rankproof._data.qrels import Qrels
from rankproof._data.validation import checked_integer
from rankproof._evaluation.answers import evaluate_answers as evaluate_given_answers
from rankproof._evaluation.coerce import Coercion, QrelsLike, RunLike
from rankproof._evaluation.evaluate import MeasuresLike
from rankproof._evaluation.inputs import read_judgements, read_source
from rankproof._evaluation.options import EvaluateOptions
from rankproof._evaluation.result import Result
from rankproof._results.experiment_result import ExperimentResult
from rankproof.errors import UsageError, type_phrase
from rankproof.measures._answers import Encode
from rankproof.measures._parse import parse_measures

if TYPE_CHECKING:
    from rankproof._experiment.experiment import Experiment
    from rankproof._experiment.run import RunOptions
    from rankproof._judge.judges import Judge
    from rankproof._judge.rubric import QueryDocPair
    from rankproof._llm.budget import Budget
    from rankproof._llm.session import LLMSession
    from rankproof.models._chat.base import ChatModel
    from rankproof.stages._base import Stage

KEYWORDS = "keywords"
AnswersLike = Answers | Mapping[str, Answer | str] | str | os.PathLike[str]
ReferencesLike = References | Mapping[str, Reference | str | Sequence[str]] | Queries | Dataset | str | os.PathLike[str]


def run(
    experiment: Experiment | str | os.PathLike[str] | Mapping[str, Stage] | None = None,
    options: RunOptions | None = None,
    *,
    dataset: Any = None,
    qrels: Any = None,
    judged_only: bool = False,
) -> ExperimentResult:
    """Runs and evaluates every system of an experiment.

    `experiment` is an Experiment, the path of an experiment file, or {name: stage}, by default the default systems. `dataset` is
    a Dataset, a folder, `irds:NAME` or `sample`; an Experiment and an experiment file have their own. `qrels` are judgements
    beside those of the dataset: files or Qrels, such as those of `judge`. `judged_only` removes unjudged documents from the
    rankings before they are measured.
    """
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


def judge(
    dataset: Any,
    runs: RunLike | None = None,
    *,
    model: ChatModel | str,
    qrels: QrelsLike | None = None,
    pool: int = 10,
    unjudged: bool = False,
    sample: int | None = None,
    rel: int = 1,
    judge_rel: int | None = None,
    seed: int = 0,
    budget: Budget | None = None,
    cache: str | os.PathLike[str] | None = None,
    path: str | os.PathLike[str] | None = None,
) -> Judging:
    """Judgements of the top `pool` documents of the runs by a language model, or by keyword overlap (`model="keywords"`).

    `dataset` has the texts; it may also be an ExperimentResult or a results folder, whose systems are then the runs, and
    `.results` of the result has them measured with the judgements and `qrels`. `qrels` are human judgements to compare with,
    and without runs also the pairs to judge; `sample` is how many of them. `unjudged` leaves out pairs that people judged.
    `cache` is the folder of responses, None for none. With `path`, the judgements are also written there.
    """
    from rankproof._judge.agreement import Thresholds
    from rankproof._judge.judge import judge_pairs, judging_tables
    from rankproof._judge.judges import JudgeContext
    from rankproof._judge.report import report_qrels
    from rankproof._judge.selection import human_grades, select_pairs
    from rankproof._results.judgements import with_judgements

    given_qrels = () if qrels is None else (_qrels(qrels),)
    people = human_grades(*given_qrels) if given_qrels else None
    results = results_of(dataset) if runs is None and holds_results(dataset) else None
    given = _pooled_dataset(dataset, runs, checked_integer("pool", pool)) if results is None else _pooled_results(results, pool)
    chosen = select_pairs(given.pools, people, given.known, unjudged=unjudged, sample=sample, seed=seed)
    how = Thresholds(rel, judge_rel or rel, chosen.highest)
    with _session(cache, budget) as session:
        context = JudgeContext(given.queries, given.corpus(chosen.pairs), session)
        output = None if path is None else os.fspath(path)
        found = judge_pairs(_judge(model), chosen.pairs, context, output, lambda label, done, total: None)
        tables = judging_tables(found, context, chosen.human, chosen.pools, how)
    judged = report_qrels(found)
    return Judging(tuple(tables), judged, None if results is None else with_judgements(results, *given_qrels, judged))


@dataclass(frozen=True, slots=True)
class _Pooled:
    """Pools of pairs, the judgements that are known of them, and their texts."""

    pools: Mapping[str, Sequence[QueryDocPair]]
    known: Qrels | None
    queries: Queries
    corpus: Callable[[Sequence[QueryDocPair]], Corpus]


def _pooled_dataset(dataset: Any, runs: RunLike | None, depth: int) -> _Pooled:
    texts = dataset_of(dataset)
    pools = {} if runs is None else _pools(runs, depth)
    return _Pooled(pools, None if runs is None else texts.qrels, texts.queries, lambda pairs: texts.corpus)


def _pooled_results(results: ExperimentResult, depth: int) -> _Pooled:
    from rankproof._judge.selection import results_pools, results_texts

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
def _session(cache: str | os.PathLike[str] | None, budget: Budget | None) -> Iterator[LLMSession]:
    from rankproof._llm.cache import ResponseCaches
    from rankproof._llm.session import LLMSession

    home = None if cache is None else Path(cache).expanduser().absolute()
    with LLMSession(None if home is None else ResponseCaches(home), budget) as session:
        yield session


def _qrels(qrels: QrelsLike) -> Qrels:
    return read_judgements(Coercion().qrels(qrels), EvaluateOptions())


def _pools(runs: RunLike, depth: int) -> dict[str, list[QueryDocPair]]:
    from rankproof._judge.rubric import pool_pairs

    sources = Coercion().runs(runs, lambda: ())
    return {name: pool_pairs(read_source(source, name, EvaluateOptions()), depth) for name, source in sources.items()}


def generate(
    documents: Any,
    count: int = 100,
    *,
    categories: Sequence[str] | None = None,
    fields: Sequence[str] = ("title", "text"),
    model: ChatModel | str | None = None,
    seed: int = 0,
    budget: Budget | None = None,
    cache: str | os.PathLike[str] | None = None,
) -> Generated:
    """Test queries from documents, by rules or by a language model, with their judgements.

    `documents` are a Corpus, a Dataset, {id: text}, or the path of a dataset or JSONL file. `.dataset` of the result can be run.
    """
    from rankproof._generate.output import example_table, generated_table
    from rankproof._generate.pipeline import GenerationPipeline

    corpus = _corpus(documents)
    with _session(cache, budget) as session:
        chat = None if model is None else _chat_model(model)
        pipeline = GenerationPipeline(corpus, checked_integer("count", count), categories, tuple(fields), seed, chat, session)
        found = pipeline.generate()
        tables = (generated_table(found, None), example_table(found))
    queries, qrels = found.queries(), found.qrels()
    return Generated(tables, queries, qrels, Dataset("generated", corpus, queries, qrels))


def _corpus(documents: Any) -> Corpus:
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


def evaluate_answers(
    answers: Mapping[str, AnswersLike] | str | os.PathLike[str] | Any,
    references: ReferencesLike | None = None,
    qrels: QrelsLike | None = None,
    measures: MeasuresLike = None,
    encode: Encode | None = None,
    *,
    rel: int = 1,
    document: Callable[[str], str] = str,
) -> Result:
    """The measures of every system's answers over the queries with a reference.

    `answers` has the answers of each system as {query: answer} or the path of a JSONL file; or it is an ExperimentResult or a
    results folder, which has its own references. `references` are {query: text or texts}, or queries with the field answers: a
    Dataset, Queries, or the path of a JSONL file. A missing answer scores 0, a failed one is left out. An empty answer abstains;
    an empty reference says that there is no answer. `document` maps a cited passage to its judged document.
    """
    if references is None and isinstance(answers, Mapping):
        raise UsageError("references is missing", fix="pass {query: text or texts}, or queries with the field answers")
    if references is None:
        from rankproof._analysis.answers.inputs import answer_input_from_results

        names = None if measures is None else [str(measure) for measure in parse_measures(measures)]
        return answer_input_from_results(results_of(answers), names, rel=rel, encode=encode).inputs.result
    expected, queries = _references(references)
    if not isinstance(answers, Mapping):
        raise UsageError(f"answers cannot be {type_phrase(answers)}", fix="pass {name: answers}, or results without references")
    _check_order(answers, expected)
    given = {str(name): _answers(one, queries) for name, one in answers.items()}
    judged = None if qrels is None else _qrels(qrels)
    chosen = None if measures is None else parse_measures(measures)
    return evaluate_given_answers(given, expected, judged, chosen, encode, rel=rel, document=document)


def _references(references: Any) -> tuple[Any, Queries | None]:
    from rankproof._formats.texts import read_queries
    from rankproof._io.open import open_source

    if isinstance(references, str | os.PathLike):
        references = read_queries(open_source(os.fspath(references)))
    if isinstance(references, Dataset):
        references = references.queries
    if isinstance(references, Queries):
        return references_from_queries(references), references
    if not isinstance(references, Mapping):
        fix = "pass {query: text}, queries with answers, or the path of a JSONL file"
        raise UsageError(f"references cannot be {type_phrase(references)}", fix=fix)
    return references, None


def _check_order(answers: Mapping[Any, Any], references: Mapping[Any, Any]) -> None:
    """Raises an error for references in place of answers, and for answers without the name of their system."""
    call = "evaluate_answers({name: {query: answer}}, references)"
    if isinstance(answers, Queries) or any(isinstance(one, Mapping) for one in references.values()):
        raise UsageError("the references come before the answers", fix=f"write {call}")
    if wrong := [one for one in answers.values() if not isinstance(one, Mapping | str | os.PathLike)]:
        raise UsageError(f"the answers of a system cannot be {type_phrase(wrong[0])}", fix=f"write {call}")
    if any(isinstance(one, str) and name in references for name, one in answers.items()):
        raise UsageError("answers has the ids of queries in place of names of systems", fix=f"write {call}")


def _answers(answers: Any, queries: Queries | None) -> Any:
    from rankproof._formats.texts import read_answers
    from rankproof._io.open import open_source

    return read_answers(open_source(os.fspath(answers)), queries) if isinstance(answers, str | os.PathLike) else answers


def save_results(
    results: ExperimentResult, path: str | os.PathLike[str], *, findings: Sequence[str] = (), overwrite: bool = False
) -> str:
    """Writes the results folder with its summary.json, replaces an older results folder, and returns the path.

    A folder with results of another dataset is replaced only with `overwrite`. `findings` are sentences about the answers, for
    answers.json.
    """
    from rankproof._analysis.compare.summary import compare_results, summary_document
    from rankproof._results.folder import save_results as save

    if not isinstance(results, ExperimentResult):
        raise UsageError(f"results cannot be {type_phrase(results)}", fix="pass an ExperimentResult, as rankproof.run gives it")
    comparison = compare_results(results)
    summary = None if comparison is None else summary_document(results, comparison)
    return save(results, path, findings=findings, summary=summary, overwrite=overwrite)

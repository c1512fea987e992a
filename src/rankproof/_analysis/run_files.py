"""Run files as the systems of an experiment: everything that a results folder has but times and costs."""

from __future__ import annotations

from dataclasses import replace

from rankproof._analysis.inputs import AnalysisInput, reevaluated
from rankproof._data.dataset import Dataset, Queries
from rankproof._data.ordering import ranked_run
from rankproof._data.run import Run
from rankproof._data.text import example_ids
from rankproof._results.experiment_result import ExperimentResult, SystemRun
from rankproof._results.provenance import provenance
from rankproof._results.snippets import build_snippets, document_fields, document_urls, title_lengths
from rankproof.errors import UsageError, for_message


def with_system_runs(inputs: AnalysisInput) -> AnalysisInput:
    """The input with a SystemRun without times for each run; one that has them as it is."""
    if inputs.system_runs:
        return inputs
    return replace(inputs, system_runs=_system_runs({name: inputs.runs[name] for name in inputs.systems}))


def with_texts(inputs: AnalysisInput, dataset: Dataset) -> AnalysisInput:
    """The input with the texts of its queries and documents, and the weights of the queries where none were given.

    A dataset that has none of the judged queries, or none of the documents of a run, is rejected.
    """
    _check_ids(inputs, dataset)
    if inputs.result.weights is None and (weights := dataset.queries.weights):
        inputs = reevaluated(inputs, None, replace(inputs.options, weights=weights))
    own = replace(dataset, qrels=inputs.qrels)
    runs = (ranked_run(inputs.runs[name], inputs.read_options) for name in inputs.systems)
    return replace(
        inputs,
        fingerprint=own.fingerprint(),
        texts=dataset.queries,
        snippets=build_snippets(own, runs),
        documents=len(dataset.corpus) or inputs.documents,
        dataset=dataset.name,
    )


def results_from_runs(inputs: AnalysisInput, dataset: Dataset | None = None) -> ExperimentResult:
    """The runs of an input as results without times; `dataset` has the texts of queries and documents."""
    if inputs.skip_missing:
        what = "--skip-missing gives each system its own queries, but all systems of a report have the same"
        raise UsageError(what, fix="leave it out, or use `rankproof compare`")
    if dataset is not None:
        inputs = with_texts(inputs, dataset)
    known = frozenset(inputs.result.queries)
    runs = {name: ranked_run(inputs.runs[name].restricted_to(known), inputs.read_options) for name in inputs.systems}
    return ExperimentResult(
        name=inputs.name,
        fingerprint=inputs.fingerprint,
        queries=inputs.result.queries,
        result=inputs.result,
        system_runs=_system_runs(runs),
        qrels=inputs.qrels,
        texts=inputs.texts or Queries([]),
        snippets=inputs.snippets,
        titles={} if dataset is None else title_lengths(dataset, inputs.snippets),
        urls={} if dataset is None else document_urls(dataset, inputs.snippets),
        document_fields={} if dataset is None else document_fields(dataset, inputs.snippets),
        experiment="",
        provenance={**provenance(), "dataset": inputs.dataset or None, "documents": inputs.documents},
        rel=inputs.rel,
        judged_only=inputs.read_options.judged_only,
        decision_settings=inputs.decision_settings,
    )


def _system_runs(runs: dict[str, Run]) -> tuple[SystemRun, ...]:
    return tuple(_system_run(name, run) for name, run in runs.items())


def _system_run(name: str, run: Run) -> SystemRun:
    return SystemRun(
        name=name,
        kind="run",
        stage={"kind": "RunFile", "path": run.source},
        stored_run=run,
        times={},
        index_seconds=None,
        index_bytes=None,
        throughput=None,
        builds_on=None,
    )


def _check_ids(inputs: AnalysisInput, dataset: Dataset) -> None:
    """Rejects a dataset that has no judged query, or none of the documents of a run."""
    named, fix = for_message(dataset.name), "specify the dataset of the run files"
    if not any(query in dataset.queries for query in inputs.result.queries):
        examples = f"{example_ids(inputs.result.queries)}; the dataset has {example_ids(dataset.queries)}"
        raise UsageError(f"no judged query is in the dataset {named} ({examples})", fix=fix)
    for name in inputs.systems if dataset.has_documents else ():
        docs = inputs.runs[name].docs
        if len(docs) and not any(doc in dataset.corpus for doc in docs):
            examples = f"{example_ids(docs)}; the dataset has {example_ids(dataset.corpus)}"
            raise UsageError(f"no document of {for_message(name)} is in the dataset {named} ({examples})", fix=fix)

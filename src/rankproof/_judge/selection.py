"""The pairs to judge: pools of documents, those without a judgement, or a sample of those with one; and their texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rankproof._data.corpus import Corpus, Document
from rankproof._data.qrels import Qrels
from rankproof._judge.rubric import QueryDocPair, judged_pairs, merge_pools, pool_pairs, sample_pairs, unjudged_pairs
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.judgements import experiment_dataset
from rankproof.errors import UsageError, for_message

_PAIRS_FIX = "name pairs with --pairs, --runs or --results, or judged pairs with --qrels"


@dataclass(frozen=True)
class SelectedPairs:
    """The pairs, their pools by name, the human grades of some of them, and the highest human grade."""

    pairs: Sequence[QueryDocPair]
    pools: Mapping[str, Sequence[QueryDocPair]] = field(default_factory=dict)
    human: Mapping[QueryDocPair, int] = field(default_factory=dict)
    highest: int | None = None


def human_grades(qrels: Qrels) -> dict[QueryDocPair, int]:
    """The human judgements; those of machines are left out, and none is an error."""
    found = {pair: qrels[pair.query][pair.doc] for pair in judged_pairs(qrels) if pair not in qrels.judge_labels}
    if not found:
        raise UsageError(f"{for_message(qrels.source)} has no human judgements", fix="specify a file with human judgements")
    return found


def select_pairs(
    pools: Mapping[str, Sequence[QueryDocPair]],
    human: Mapping[QueryDocPair, int] | None,
    known: Mapping[str, Mapping[str, int]] | None,
    *,
    unjudged: bool,
    sample: int | None,
    seed: int,
) -> SelectedPairs:
    """The pairs of the pools, or those that people judged; `known` are judgements that come with the pools."""
    if sample is not None and human is None:
        raise UsageError("--sample needs human judgements", fix="specify them with --qrels, or leave out --sample")
    grades = human or {}
    highest = max(grades.values(), default=None)
    if unjudged:
        judged = known if human is None else _nested(human)
        if judged is None or not pools:
            raise UsageError("--unjudged needs a pool of documents and judgements", fix="add --results, or --runs and --qrels")
        pools = {name: unjudged_pairs(pool, judged) for name, pool in pools.items()}
    if not pools:
        if human is None:
            raise UsageError("no pairs", fix=_PAIRS_FIX)
        chosen = sample_pairs(human, sample, seed)
        return SelectedPairs(chosen, {}, {pair: human[pair] for pair in chosen}, highest)
    pairs = merge_pools(pools.values())
    both = sample_pairs((pair for pair in pairs if pair in grades), sample, seed)
    every = {"all": pairs} if len(pools) > 1 else {}
    return SelectedPairs(pairs, {**every, **pools}, {pair: grades[pair] for pair in both}, highest)


def _nested(human: Mapping[QueryDocPair, int]) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = {}
    for (query, doc), grade in human.items():
        grades.setdefault(query, {})[doc] = grade
    return grades


def results_pools(results: ExperimentResult, depth: int) -> dict[str, list[QueryDocPair]]:
    """The top documents of every query of each system with stored rankings; rankings that are all empty are refused."""
    stored = {run.name: run.stored_run for run in results.system_runs}
    found = {name: pool_pairs(run, depth) for name, run in stored.items() if run is not None}
    if not found:
        pool_pairs(results.system_runs[0].run, depth)  # Says that rankings are not stored.
    if not any(found.values()):
        what = f"no system of {for_message(results.name)} retrieved a document, so there is nothing to judge"
        raise UsageError(what, fix="check the systems and the queries")
    return found


_NO_DATASET = "the dataset of the results cannot be read or has changed: only the first 300 characters of documents are judged"
_NO_DOCUMENTS = "the dataset has no documents: the first 300 characters of the texts in the results are judged"


@dataclass(frozen=True)
class ResultsTexts:
    """The texts of documents of results; `note` says why they are only beginnings, empty if they are whole."""

    corpus: Corpus
    note: str = ""


def results_texts(results: ExperimentResult, pairs: Iterable[QueryDocPair]) -> ResultsTexts:
    """The texts of the documents to judge: of the dataset of the experiment, of contexts, else the beginnings in the results."""
    docs = dict.fromkeys(pair.doc for pair in pairs)
    dataset = experiment_dataset(results)
    known = dataset.corpus if dataset is not None else Corpus(())
    texts = {**results.snippets, **results.contexts}
    others = (Document(doc, texts[doc]) for doc in docs if doc not in known and doc in texts)
    is_whole = bool(known) or all(doc in results.contexts for doc in docs)
    note = "" if is_whole else _NO_DATASET if dataset is None else _NO_DOCUMENTS
    return ResultsTexts(Corpus((*(known[doc] for doc in docs if doc in known), *others)), note)

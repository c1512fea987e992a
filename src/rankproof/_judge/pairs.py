"""Pairs of query and document: pools of the top documents, those to judge and their texts, and their grades."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from rankproof._data.corpus import Corpus, Document
from rankproof._data.ordering import best_first_order, order_key, resolve_duplicates
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._data.validation import ReadOptions
from rankproof._formats.trec import numbered_lines
from rankproof._io.streams import ByteSource
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.judgements import experiment_dataset
from rankproof.errors import InputError, UsageError, for_message

Grades = Mapping[str, Mapping[str, int]]
_DOC_COLUMN = {2: 1, 3: 1, 4: 2, 6: 2}
"""The column of the document by the number of columns: pairs, BEIR qrels, TREC qrels, a run."""


class QueryDocPair(NamedTuple):
    """A query and a document, by their ids."""

    query: str
    doc: str


def pool_pairs(run: Run, depth: int, read_options: ReadOptions | None = None) -> list[QueryDocPair]:
    """The top documents of every query of a run."""
    how = read_options or ReadOptions()
    rows, _ = resolve_duplicates(run, how)
    pairs = []
    for query, query_rows in rows.items():
        docs = [row.doc for row in query_rows]
        # The order of an evaluation: the pool of depth k has the documents that a measure at k sees.
        order = best_first_order(docs, np.array([order_key(row, how) for row in query_rows], dtype=np.float64))
        pairs += [QueryDocPair(query, docs[at]) for at in order[:depth].tolist()]
    return pairs


def merge_pools(pools: Iterable[Iterable[QueryDocPair]]) -> list[QueryDocPair]:
    """The pairs of all pools, each once, in the order of their first occurrence."""
    return list(dict.fromkeys(pair for pool in pools for pair in pool))


def unjudged_pairs(pairs: Iterable[QueryDocPair], grades: Grades) -> list[QueryDocPair]:
    """The pairs without a judgement; a negative grade counts as none."""
    return [pair for pair in pairs if grades.get(pair.query, {}).get(pair.doc, -1) < 0]


def judged_pairs(grades: Grades) -> list[QueryDocPair]:
    """The pairs with a judgement."""
    return [QueryDocPair(query, doc) for query, docs in grades.items() for doc, grade in docs.items() if grade >= 0]


def sample_pairs(pairs: Iterable[QueryDocPair], count: int | None, seed: int) -> list[QueryDocPair]:
    """A random sample of `count` pairs in their original order; all pairs if there are no more."""
    listed = list(pairs)
    if count is None or count >= len(listed):
        return listed
    chosen = random.Random(seed).sample(range(len(listed)), count)
    return [listed[at] for at in sorted(chosen)]


def read_pairs(source: ByteSource) -> list[QueryDocPair]:
    """The pairs in a file of two columns, query and document, or in a TREC or BEIR file, whose other columns are ignored."""
    pairs = []
    for line, row in numbered_lines(source):
        columns = row.split(b"\t") if row.count(b"\t") == 1 else row.split()
        if len(columns) not in _DOC_COLUMN:
            what = f"{len(columns)} columns, but a pair has two: query and document"
            raise InputError(what, fix="write the query id, a tab and the document id", source=source.name, line=line)
        pairs.append(QueryDocPair(columns[0].decode().strip(), columns[_DOC_COLUMN[len(columns)]].decode().strip()))
    if not pairs:
        raise UsageError(f"{source.name} has no pair", fix="write the query id, a tab and the document id on each line")
    return merge_pools([pairs])


@dataclass(frozen=True, slots=True)
class PairGrade:
    """The grade of a pair, None if judging failed, with the judge's reason or the error.

    `counts` are the calls and tokens when the grade was first requested, `cut` says that the passage was truncated.
    """

    pair: QueryDocPair
    grade: int | None
    reason: str = ""
    counts: Mapping[str, float] = field(default_factory=dict)
    cut: bool = False


def sum_counts(grades: Iterable[PairGrade]) -> dict[str, float]:
    """The calls and tokens of all grades."""
    total: dict[str, float] = {}
    for grade in grades:
        for name, count in grade.counts.items():
            total[name] = total.get(name, 0) + count
    return total


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
    grades = {pair: qrels[pair.query][pair.doc] for pair in judged_pairs(qrels) if pair not in qrels.judge_labels}
    if not grades:
        raise UsageError(f"{for_message(qrels.source)} has no human judgements", fix="specify a file with human judgements")
    return grades


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
    """The top documents of every query of each system with stored rankings; rankings that are all empty are rejected."""
    stored = {run.name: run.stored_run for run in results.system_runs}
    pools = {name: pool_pairs(run, depth) for name, run in stored.items() if run is not None}
    if not pools:
        pool_pairs(results.system_runs[0].run, depth)  # Says that rankings are not stored.
    if not any(pools.values()):
        what = f"no system of {for_message(results.name)} retrieved a document, so there is nothing to judge"
        raise UsageError(what, fix="check the systems and the queries")
    return pools


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

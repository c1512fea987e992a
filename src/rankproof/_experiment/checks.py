"""Checks of systems and their devices before any work is done, and of the rankings that a stage gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from rankproof._data.corpus import Corpus
from rankproof._data.dataset import Dataset, Query
from rankproof._data.identity import kind_name
from rankproof._data.ordering import Ranking
from rankproof._data.text import first_ids, pluralise
from rankproof._experiment.engines import check_known_documents
from rankproof._experiment.experiment import stage_tree
from rankproof._experiment.stage_output import pack_rankings
from rankproof._llm.budget import Budget, check_model_has_price
from rankproof._registry import settings_of
from rankproof.errors import InputError, UsageError, for_message
from rankproof.models._device import Placement, idle_gpu_note
from rankproof.stages._base import EstimatesCost, Stage
from rankproof.stages._fields import check_known_fields
from rankproof.stages._run_file import RunFile

_NO_DOCUMENTS_FIX = "add corpus.jsonl to the dataset, or run only systems that need no documents: run, http, sql or python"
_FIX = "let search return at most depth documents of the corpus, each once, with their scores, best first"


def check_documents(systems: Mapping[str, Stage], dataset: Dataset) -> None:
    """Refuses a system with a stage that needs documents, if the dataset has none."""
    if dataset.has_documents:
        return
    for name, stage in systems.items():
        for part in stage_tree(stage):
            if getattr(part, "needs_documents", True):
                what = f"system {for_message(name)} needs documents for {kind_name(type(part))}, and the dataset has none"
                raise InputError(what, fix=_NO_DOCUMENTS_FIX, source=dataset.source)


def check_run_files(systems: Mapping[str, Stage], corpus: Corpus, queries: Sequence[Query]) -> None:
    """Refuses a run file that cannot be read, has none of the queries, or has mostly documents that are not in the corpus."""
    for name, stage in systems.items():
        for part in stage_tree(stage):
            if isinstance(part, RunFile):
                _check_run_file(part, corpus, queries, f"system {for_message(name)}")


def _check_run_file(stage: RunFile, corpus: Corpus, queries: Sequence[Query], label: str) -> None:
    rankings = stage.rankings()
    retrieved = [rankings[query.id][0][: stage.depth] for query in queries if query.id in rankings]
    if rankings and queries and not retrieved:
        asked = first_ids([query.id for query in queries])
        what = f"{label}: the run has none of the queries: it has {first_ids(list(rankings))}, the dataset has {asked}"
        raise InputError(what, fix="specify a run on the queries of the dataset", source=stage.path)
    check_known_documents(retrieved, corpus, label)


def check_fields_exist(systems: Mapping[str, Stage], corpus: Corpus) -> None:
    """Refuses a system that reads a field that no document has."""
    for name, stage in systems.items():
        for fields in (fields for part in stage_tree(stage) for fields in _fields_read(part)):
            try:
                check_known_fields(corpus, fields)
            except UsageError as error:
                raise UsageError(f"system {for_message(name)}: {error.what}", fix=error.fix) from None


def _fields_read(part: Any) -> Iterator[tuple[str, ...]]:
    """The fields that a stage reads, with its scorers, models and stores but without its inputs."""
    for setting in settings_of(type(part)):
        value = getattr(part, setting.field)
        if setting.option.role == "fields":
            yield value
        elif not hasattr(value, "inputs"):
            yield from _fields_read(value)


def check_systems_have_prices(systems: Mapping[str, Stage], budget: Budget) -> None:
    """Refuses a system that calls a model without a price, if the budget limits money."""
    for name, stage in systems.items():
        for part in stage_tree(stage):
            model = part.paid_model if isinstance(part, EstimatesCost) else None
            try:
                if model is not None:
                    check_model_has_price(budget, model)
            except UsageError as error:
                raise UsageError(f"system {for_message(name)}: {error.what}", fix=error.fix) from None


def check_rankings(
    rankings: Sequence[Ranking], queries: Sequence[Query], stage: Stage, corpus: Corpus | None, label: str
) -> None:
    """Refuses an invalid ranking, with its query and the reason; None allows documents that the corpus does not have."""
    for query, ranking in zip(queries, rankings, strict=True):
        if fault := _ranking_fault(ranking, stage.depth, corpus):
            raise _ranking_error(label, stage, query, fault)
    docs, scores = pack_rankings(rankings)
    if not np.isfinite(scores).all():
        at = int(np.argmin(np.isfinite(scores)))
        raise _ranking_error(label, stage, queries[_ranking_of_score(docs, at)], "has a score that is not a finite number")
    rises = np.diff(scores) > 0
    starts = np.cumsum([len(doc) for doc in docs])[:-1]
    rises[starts[(starts > 0) & (starts < len(scores))] - 1] = False
    if rises.any():
        raise _ranking_error(
            label, stage, queries[_ranking_of_score(docs, int(np.argmax(rises)))], "is not in the order of its scores"
        )


def _ranking_fault(ranking: Ranking, depth: int, corpus: Corpus | None) -> str | None:
    if not isinstance(ranking, tuple) or len(ranking) != 2 or not isinstance(ranking[0], list):
        return "is not a pair of a list of documents and an array of scores"
    docs, scores = ranking
    if not all(isinstance(doc, str) for doc in docs):
        return "has a document id that is not text"
    if np.shape(scores) != (len(docs),) or np.asarray(scores).dtype.kind not in "fiu":
        return f"has {len(docs)} documents, but not one score for each"
    if len(docs) > depth:
        return f"has {len(docs)} documents, but the depth of the stage is {depth}"
    if len(set(docs)) < len(docs):
        return "has a document twice"
    unknown = corpus.missing(docs) if corpus else []
    return f"has {for_message(unknown[0])}, which is not a document of the corpus" if unknown else None


def _ranking_of_score(docs: list[list[str]], at: int) -> int:
    """The index of the ranking that the score at this index belongs to."""
    return int(np.searchsorted(np.cumsum([len(doc) for doc in docs]), at, side="right"))


def _ranking_error(label: str, stage: Stage, query: Query, fault: str) -> UsageError:
    what = f"{for_message(label)}: the ranking of {type(stage).__name__} for query {for_message(query.id)} {fault}"
    return UsageError(what, fix=_FIX)


@dataclass(frozen=True, slots=True)
class UsedDevices:
    """The device and precision of each system with a model that chooses one, and notes on GPUs that are used or idle."""

    systems: Mapping[str, str]
    notes: tuple[str, ...]

    def facts(self) -> dict[str, Any]:
        """The devices of the systems, for the provenance; nothing without such a model."""
        return {"devices": dict(self.systems)} if self.systems else {}


def used_devices(systems: Mapping[str, Stage]) -> UsedDevices:
    """The devices of all systems; a device that is not there is an error."""
    models = {name: list(_placed_models(stage)) for name, stage in systems.items()}
    placements = {name: [model.placement() for model in own_models] for name, own_models in models.items() if own_models}
    described = {name: ", ".join(dict.fromkeys(map(_description, placement))) for name, placement in placements.items()}
    on_gpu = [name for name, placement in placements.items() if any(model_placement.on_gpu for model_placement in placement)]
    if on_gpu:
        return UsedDevices(described, (f"on a GPU: {'; '.join(f'{name} ({described[name]})' for name in on_gpu)}",))
    idle = (
        idle_gpu_note(model_placement.device, getattr(model_placement, "precision", "auto"))
        for model in models.values()
        for model_placement in model
    )
    return UsedDevices(described, tuple(dict.fromkeys(note for note in idle if note)))


def _placed_models(value: Any) -> Iterator[Any]:
    """The models in a stage that choose a device."""
    if callable(getattr(value, "placement", None)):
        yield value
    elif is_dataclass(value):
        for setting in settings_of(type(value)):
            yield from _placed_models(getattr(value, setting.field))
    elif isinstance(value, tuple):
        for part in value:
            yield from _placed_models(part)


def _description(placement: Placement) -> str:
    facts = placement.facts()
    return f"{facts.get('gpu', 'CPU')} {facts['precision']}"


def batch_agreement(pairs: Sequence[tuple[Query, Ranking, Ranking]], stage: Stage, label: str, *, exact: bool) -> tuple[str, ...]:
    """Refuses a stage that ranks a query differently in a batch and alone; if it is not exact, a note says so.

    `pairs` has each query with both rankings, that of the batch first.
    """
    if exact:
        for query, batch, single in pairs:
            if fault := _difference(batch, single):
                raise _batch_error(label, stage, query, fault)
        return ()
    changed = sum(batch[0] != single[0] for _, batch, single in pairs)
    if not changed:
        return ()
    have = f"{changed} of {pluralise(len(pairs), 'timed query', 'timed queries')} {'has' if changed == 1 else 'have'}"
    return (f"{have} another ranking alone than in the batch, which is measured: the model or the store is not exact",)


def _difference(batch: Ranking, single: Ranking) -> str:
    """The first rank at which the rankings differ, empty if they are equal to the last bit."""
    rows = zip_longest(*(list(zip(docs, np.asarray(scores).tolist(), strict=True)) for docs, scores in (batch, single)))
    for rank, pair in enumerate(rows, start=1):
        if pair[0] != pair[1]:
            first, other = ("nothing" if row is None else f"{for_message(row[0])} ({row[1]!r})" for row in pair)
            return f"at rank {rank}: {first} in the batch, {other} alone"
    return ""


def _batch_error(label: str, stage: Stage, query: Query, fault: str) -> UsageError:
    name = type(stage).__name__
    what = f"{for_message(label)}: search_all and search of {name} rank query {for_message(query.id)} differently, {fault}"
    return UsageError(what, fix="let both return the same documents with the same scores, or remove search_all")

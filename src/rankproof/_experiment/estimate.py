"""Estimates the calls and cost of an experiment before anything is built or called."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from rankproof._experiment.cache import MemoryBlockCache
from rankproof._experiment.checks import check_documents, check_fields_exist
from rankproof._experiment.experiment import Experiment
from rankproof._experiment.judgements import load_judged_dataset
from rankproof._experiment.queries import select_queries
from rankproof._experiment.runner import is_asked
from rankproof._io.corpus_store import CorpusStorage
from rankproof._llm.budget import Budget, Estimate, estimated_money, has_price
from rankproof._llm.session import LLMSession
from rankproof.models._api.settings import PaidModel, model_name
from rankproof.stages._base import (
    BuildContext,
    EncodesPassages,
    EstimatesCost,
    ReplacesCorpus,
    ReplacesQueries,
    Stage,
)
from rankproof.stages._engines.base import EngineStage
from rankproof.stages._registry import STAGES
from rankproof.stages._text_vectors import EncodesQueries

_Requests = dict[tuple[str, tuple[Stage, ...], Hashable], tuple[PaidModel | EngineStage, Estimate]]
"""By corpus, query rewriting stages, and stage, queries or passages to encode: the model or engine and its estimated calls.

Encoded queries belong to no corpus."""


@dataclass(frozen=True, slots=True)
class SystemCost:
    """Calls, tokens and money of a system with its inputs; `is_priced` is False where a model has no price.

    `models` has the names of language models and the kinds of search engines. Calls of search engines have no price.
    """

    models: tuple[str, ...]
    estimate: Estimate
    money: float
    is_priced: bool


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """Every system by name, and the total, in which calls that systems share count once."""

    systems: dict[str, SystemCost]
    total: SystemCost
    queries: int


def estimate_cost(experiment: Experiment, storage: CorpusStorage | None = None, *, repeats: int = 1) -> CostEstimate:
    """The calls of each system without retries; cached replies cost less.

    Search engines and language models are asked `repeats` times.
    """
    loaded = load_judged_dataset(experiment, storage)
    dataset = loaded.dataset
    check_documents(experiment.systems, dataset)
    check_fields_exist(experiment.systems, dataset.corpus)
    queries = select_queries(experiment, dataset, loaded.own).queries(dataset)
    with LLMSession(budget=Budget(calls=0)) as session, MemoryBlockCache(lambda label, done, total: None) as block_cache:
        context = BuildContext(dataset.corpus, dataset.corpus.fingerprint(), block_cache, session=session)
        requests_of: dict[str, _Requests] = {name: {} for name in experiment.systems}
        for name, stage in experiment.systems.items():
            for part, on, changed in _stages_in_context(stage, context):
                if isinstance(part, EngineStage):
                    requests_of[name][on.corpus_key, changed, ("asked", part)] = part, Estimate(calls=len(queries) * repeats)
                if isinstance(part, EstimatesCost) and part.paid_model is not None:
                    encoded = part.encoded_queries() if isinstance(part, EncodesQueries) else None
                    where = "" if encoded else on.corpus_key
                    times = repeats if is_asked(part) else 1
                    requests_of[name][where, changed, encoded or part] = part.paid_model, part.estimate(queries, on).times(times)
                    if isinstance(part, EncodesPassages) and (passages := part.passages()):
                        requests_of[name][on.corpus_key, (), passages] = part.paid_model, passages.estimate(on.corpus)
    systems = {name: _system_cost(requests) for name, requests in requests_of.items()}
    shared = {key: request for requests in requests_of.values() for key, request in requests.items()}
    return CostEstimate(systems, _system_cost(shared), len(queries))


def _stages_in_context(
    stage: Stage, context: BuildContext, changed: tuple[Stage, ...] = ()
) -> Iterator[tuple[Stage, BuildContext, tuple[Stage, ...]]]:
    """The stage and its inputs at any level, each with its corpus and the stages that rewrite its queries."""
    yield stage, context, changed
    inputs = stage.inputs()
    if inputs and isinstance(stage, ReplacesCorpus):
        context = stage.input_context(context)
    if isinstance(stage, ReplacesQueries):
        changed = (*changed, stage)
    for part in inputs:
        yield from _stages_in_context(part, context, changed)


def _system_cost(requests: _Requests) -> SystemCost:
    estimate, money, models = Estimate(), 0.0, dict[str, None]()
    is_priced = True
    for model, request in requests.values():
        estimate += request
        if isinstance(model, EngineStage):
            models[STAGES.name_of(type(model)) or type(model).__name__] = None
            continue
        money += estimated_money(request, model)
        is_priced = is_priced and (has_price(model) or not request.calls)
        models[model_name(model)] = None
    return SystemCost(tuple(models), estimate, money, is_priced)

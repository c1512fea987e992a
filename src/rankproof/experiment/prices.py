"""What an experiment would ask of language models, counted before anything is built or asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..asking.budget import Budget
from ..asking.desk import Desk
from ..asking.estimate import Estimate
from ..models.chat.naming import chat_name
from ..models.chat.port import ChatModel
from ..stages.abilities import Priced, Regrounded, Requeried
from ..stages.base import Ground, Stage
from .climbing import dataset_of
from .draw import draw_of
from .experiment import Experiment
from .field_rules import refuse_fields
from .keep import MemoryKeep

_Asks = dict[tuple[str, tuple[Stage, ...], Stage], tuple[ChatModel, Estimate]]
"""By the documents, what changed the queries, and the stage: the model, and what it is asked."""


@dataclass(frozen=True, slots=True)
class Price:
    """Calls, tokens and money of a system and all that it rests on; not `is_priced` where a model that it asks has no price."""

    models: tuple[str, ...]
    estimate: Estimate
    money: float
    is_priced: bool


@dataclass(frozen=True, slots=True)
class Prices:
    """Every system by name, and all together: what two systems share is asked for once. `queries` is how many are asked."""

    systems: dict[str, Price]
    total: Price
    queries: int


def prices_of(experiment: Experiment) -> Prices:
    """The most that each system asks, but for attempts that a reply of no use leads to; what journals hold costs nothing."""
    dataset = dataset_of(experiment)
    refuse_fields(experiment.systems, dataset.corpus)
    queries = draw_of(experiment, dataset).queries(dataset)
    with Desk(budget=Budget(calls=0)) as desk, MemoryKeep(lambda label, done, total: None) as keep:
        ground = Ground(dataset.corpus, dataset.corpus.fingerprint(), keep, desk=desk)
        found: dict[str, _Asks] = {}
        for name, stage in experiment.systems.items():
            found[name] = {
                (on.corpus_key, changed, part): (part.chat, part.estimate(queries, on))
                for part, on, changed in _placed(stage, ground)
                if isinstance(part, Priced) and part.chat is not None
            }
    systems = {name: _price(asks) for name, asks in found.items()}
    together = {key: asked for asks in found.values() for key, asked in asks.items()}
    return Prices(systems, _price(together), len(queries))


def _placed(stage: Stage, ground: Ground, changed: tuple[Stage, ...] = ()) -> Iterator[tuple[Stage, Ground, tuple[Stage, ...]]]:
    """The stage and all that it rests on, each with the documents that it searches and the stages that change its queries."""
    yield stage, ground, changed
    below = stage.below()
    if below and isinstance(stage, Regrounded):
        ground = stage.ground_below(ground)
    if isinstance(stage, Requeried):
        changed = (*changed, stage)
    for part in below:
        yield from _placed(part, ground, changed)


def _price(asks: _Asks) -> Price:
    estimate, money, models = Estimate(), 0.0, dict[str, None]()
    is_priced = True
    for model, asked in asks.values():
        estimate += asked
        money += asked.usage(model.price_in, model.price_out).money
        is_priced = is_priced and bool(model.price_in or model.price_out or not asked.calls)
        models[chat_name(model)] = None
    return Price(tuple(models), estimate, money, is_priced)

"""What is compared, and the queries that are asked: judged ones that no trial was trained on, the same for every system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...data.counting import counted
from ...data.dataset import Dataset
from ...data.qrels import Qrels
from ...data.queries import Queries
from ...errors import UsageError
from ...experiment.draw import drawn_queries
from .contestants import Contestant
from .seen import seen_queries


@dataclass(frozen=True)
class Plan:
    """`editions` are the dataset by language, `limit` is how many queries are drawn."""

    name: str
    contestants: Sequence[Contestant]
    editions: Mapping[str, Dataset]
    edits: Sequence[int] = (0,)
    measures: Sequence[str] | None = None
    limit: int | None = None
    seed: int = 0
    store: str = "memory"
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Asked:
    """The dataset by language with the queries that are asked alone, and how many were left out."""

    editions: Mapping[str, Dataset]
    left_out: int
    notes: tuple[str, ...]


def asked_editions(plan: Plan) -> Asked:
    """Every edition with the same queries: judged, not trained on, with a text in every language."""
    datasets = list(plan.editions.values())
    judged = list(datasets[0].qrels)
    cards = [card for one in plan.contestants for card in one.cards]
    texts = [dataset.queries for dataset in datasets]
    seen = {query for name in (plan.name, datasets[0].name) for query in seen_queries(cards, name, texts)}
    unseen = [query for query in judged if query not in seen]
    asked = [query for query in unseen if all(_has_text(dataset, query) for dataset in datasets)]
    if not asked:
        fix = "compare on another split or dataset, or train with --holdout"
        raise UsageError(f"no query is left: the trials were trained on {len(judged) - len(unseen)} of {len(judged)}", fix=fix)
    notes = []
    if left_out := len(judged) - len(unseen):
        notes.append(f"{counted(left_out, 'query', 'queries')} that a trial was trained on are left out for every system")
    if missing := len(unseen) - len(asked):
        notes.append(f"{counted(missing, 'judged query has', 'judged queries have')} no text in every language and are not asked")
    kept = _reduced(datasets[0], asked)
    drawn = drawn_queries(kept, plan.limit, plan.seed)
    editions = {language: _reduced(dataset, drawn) for language, dataset in plan.editions.items()}
    return Asked(editions, left_out, tuple(notes))


def _has_text(dataset: Dataset, query: str) -> bool:
    return query in dataset.queries and bool(dataset.queries[query].text.strip())


def _reduced(dataset: Dataset, asked: Sequence[str]) -> Dataset:
    queries = Queries((dataset.queries[query] for query in asked), source=dataset.queries.source)
    qrels = Qrels.from_dict({query: dict(dataset.qrels[query]) for query in asked}, source=dataset.qrels.source)
    return Dataset(dataset.name, dataset.corpus, queries, qrels)

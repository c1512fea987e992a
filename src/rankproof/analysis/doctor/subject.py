"""What the doctor is shown: documents, queries, judgements, rankings, stages, as much of it as there is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from ...align.hits import Hits
from ...data.corpus import Corpus
from ...data.dataset import Dataset
from ...data.qrels import Qrels
from ...data.queries import Queries
from ...data.run import Run
from ...evaluation import Note
from ...evaluation.inputs import align, judge
from ...evaluation.options import Options
from ...experiment.rung import Rung
from ..evidence import Evidence

Part = Literal[
    "documents", "corpus size", "queries", "judgements", "rankings", "stages", "training queries", "training judgements"
]


@dataclass(frozen=True, eq=False)
class Subject:
    """`parts` says what there is; a part that is not there is empty.

    `size` is how many documents were searched, 0 where it is not known; `asked` are the queries that the values run over;
    `cutoff` is the deepest of the measures, None where none has one.
    """

    name: str
    parts: frozenset[Part]
    corpus: Corpus = field(default_factory=lambda: Corpus(()))
    size: int = 0
    queries: Queries = field(default_factory=lambda: Queries(()))
    qrels: Qrels = field(default_factory=lambda: Qrels(iter(())))
    runs: Mapping[str, Run] = field(default_factory=dict)
    notes: Mapping[str, tuple[Note, ...]] = field(default_factory=dict)
    rungs: tuple[Rung, ...] = ()
    asked: tuple[str, ...] = ()
    cutoff: int | None = None
    rel: int = 1
    options: Options = field(default_factory=Options)
    training: Queries = field(default_factory=lambda: Queries(()))
    trained_on: Qrels = field(default_factory=lambda: Qrels(iter(())))

    @cached_property
    def hits(self) -> Mapping[str, Hits]:
        """Where each system puts the judged documents."""
        judged = judge(self.qrels, self.options)
        return {name: align(judged, run, name, self.options) for name, run in self.runs.items()}


def of_dataset(dataset: Dataset, *, rel: int = 1) -> Subject:
    """A dataset that nobody has searched yet."""
    parts: frozenset[Part] = frozenset({"documents", "corpus size", "queries", "judgements"})
    return Subject(dataset.name, parts, dataset.corpus, len(dataset.corpus), dataset.queries, dataset.qrels, rel=rel)


def of_evidence(evidence: Evidence, dataset: Dataset | None = None) -> Subject:
    """Systems that were evaluated, with the dataset that they searched where it is at hand."""
    size = 0 if evidence.reading.judged_only else len(dataset.corpus) if dataset else evidence.documents or 0
    there: dict[Part, bool] = {
        "documents": dataset is not None,
        "corpus size": size > 0,
        "queries": dataset is not None or evidence.texts is not None,
        "judgements": True,
        "rankings": True,
        "stages": bool(evidence.rungs),
    }
    return Subject(
        evidence.name,
        frozenset(part for part, is_there in there.items() if is_there),
        corpus=dataset.corpus if dataset else Corpus(()),
        size=size,
        queries=dataset.queries if dataset else evidence.texts or Queries(()),
        qrels=evidence.qrels,
        runs=evidence.runs,
        notes=evidence.result.notes,
        rungs=evidence.rungs,
        asked=evidence.result.queries,
        cutoff=_deepest(evidence),
        rel=evidence.rel,
        options=evidence.options,
    )


def _deepest(evidence: Evidence) -> int | None:
    measures = evidence.result.systems[0].measures.values()
    cutoffs = [one.measure.parameters().get("cutoff") for one in measures]
    return max((cutoff for cutoff in cutoffs if isinstance(cutoff, int)), default=None)

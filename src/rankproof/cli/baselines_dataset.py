"""The two simplest searches, run on the documents that the systems searched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import UsageError, shown

if TYPE_CHECKING:
    from ..analysis.evidence import Evidence
    from ..data.dataset import Dataset
    from ..data.reading import Reading
    from ..data.run import Run
    from ..stages.base import Stage


def with_references(evidence: Evidence, known: Mapping[str, str], path: str, split: str) -> tuple[Evidence, dict[str, str]]:
    """The evidence with title-only and full-text BM25 among its systems, where they were not, and which ones those are."""
    from ..analysis.baselines.references import FULL_TEXT, TITLE_ONLY
    from ..evaluation import Result, evaluate_runs
    from ..stages import BM25

    dataset = _dataset(evidence, path, split)
    stages: dict[str, Stage] = {TITLE_ONLY: BM25(fields=("title",)), FULL_TEXT: BM25()}
    missing = {name: stage for name, stage in stages.items() if name not in known}
    for name in missing:
        if name in evidence.systems:
            raise UsageError(f"a system is called {name} already", fix="give it another name with --name")
    evidence = replace(evidence, documents=len(dataset.corpus))
    if not missing:
        return evidence, dict(known)
    runs = {name: _as_read(run, evidence.reading) for name, run in _climbed(missing, dataset, evidence.rel).items()}
    result = evaluate_runs(evidence.qrels, runs, list(evidence.result.systems[0].measures), evidence.options)
    both = Result(evidence.result.queries, (*result.systems, *evidence.result.systems))
    return replace(evidence, result=both, runs={**runs, **evidence.runs}), {**known, **{name: name for name in missing}}


def _dataset(evidence: Evidence, path: str, split: str) -> Dataset:
    """The dataset under the evidence's own judgements; refused where it is known to be another one."""
    from ..data.dataset import Dataset
    from .dataset import read_named, refuse_other

    found = read_named(path, split)
    refuse_other(found, path, evidence)
    if evidence.documents not in (None, len(found.corpus)):
        what = f"{shown(path)} has {len(found.corpus)} documents, not {evidence.documents}"
        raise UsageError(what, fix="leave out --documents, or name another dataset")
    return Dataset(found.name, found.corpus, found.queries, evidence.qrels)


def _climbed(stages: Mapping[str, Stage], dataset: Dataset, rel: int) -> dict[str, Run]:
    from ..experiment import Experiment, Settings, climb

    return {rung.name: rung.run for rung in climb(Experiment(stages, dataset=dataset, rel=rel), Settings(cache=None)).rungs}


def _as_read(run: Run, reading: Reading) -> Run:
    """The same ranking with ranks, and with scores that fall or rise as the other runs' do."""
    from ..data.run import Run
    from ..formats.ranked import ranked_rows

    sign = -1.0 if reading.lower_is_better else 1.0
    rows = (replace(row, score=sign * row.score) for row in ranked_rows(run))
    return Run.from_rows(rows, name=run.name, queries=run.queries)

"""A resumed run has the same notes as an uninterrupted one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rankproof._data.corpus import Corpus, Document
from rankproof._data.dataset import Dataset, Queries, Query
from rankproof._data.qrels import Qrels
from rankproof._experiment.cache import StageCache
from rankproof._experiment.experiment import Experiment
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof.stages import BM25, CrossEncoderScorer, Dense, MaxSim, Rerank
from rankproof.stages._base import Stage
from support.small_models import HashedWords, SharedWords

COUNT = 20
STAGES: dict[str, tuple[Stage, str]] = {
    "pairs": (
        Rerank(BM25(), CrossEncoderScorer(SharedWords(max_words=2))),
        "400 pairs of query and passage are longer than the model's limit",
    ),
    "maxsim": (Rerank(BM25(), MaxSim(HashedWords(max_words=2))), "20 of 20 passages (100%) are longer than the model's limit"),
    "dense": (Dense(HashedWords(max_words=2)), "20 of 20 passages (100%) are longer than the model's limit"),
    "dense queries": (
        Dense(HashedWords(max_words=1)),
        "20 of 20 queries (100%) are longer than the model's limit and were truncated",
    ),
    "maxsim queries": (Rerank(BM25(), MaxSim(HashedWords(max_words=1))), "20 of 20 queries (100%) are longer than the model"),
}


def kitchen() -> Dataset:
    docs = [Document(f"d{at}", f"bread note {at}") for at in range(COUNT)]
    queries = [Query(f"q{at}", f"bread {at}") for at in range(COUNT)]
    return Dataset("kitchen", Corpus(docs), Queries(queries), Qrels.from_dict({f"q{at}": {f"d{at}": 1} for at in range(COUNT)}))


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] if name == "pairs" else []) for name in STAGES])
def test_truncation_is_noted_after_a_run_that_was_resumed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage, words = STAGES[name]
    experiment = Experiment({name: stage}, kitchen())

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    for below in stage.inputs():
        run_experiment(Experiment({"inputs": below}, kitchen()), RunOptions(cache=tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(StageCache, "put", stop)
        with pytest.raises(KeyboardInterrupt):
            run_experiment(experiment, RunOptions(cache=tmp_path))
    notes = [run_experiment(experiment, RunOptions(cache=tmp_path)).system_run(name).notes for _ in range(2)]
    assert notes[0] == notes[1] == run_experiment(experiment, RunOptions(cache=None)).system_run(name).notes
    assert any(note.startswith(words) for note in notes[0])

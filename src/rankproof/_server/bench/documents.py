"""Whole documents of results: from the dataset of `--dataset`, else from the one that the experiment names."""

from __future__ import annotations

from rankproof._data.corpus import TextRecord
from rankproof._data.dataset import Dataset
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.judgements import experiment_dataset
from rankproof._server.library import LibraryEntry, LruCache, results_stamp

_MOST_DATASETS = 2


class LibraryDocuments:
    """The documents of datasets, each read at most once; `given` is the dataset of `--dataset`."""

    def __init__(self, dataset: Dataset | None = None) -> None:
        self._given = dataset
        self._datasets: LruCache[Dataset | None] = LruCache(_MOST_DATASETS)

    def __call__(self, entry: LibraryEntry, results: ExperimentResult, doc: str) -> TextRecord | None:
        """The document, None if its dataset is not known here or is another one by now."""
        dataset = self._given or self._datasets.get_or_create(
            (entry.id, results_stamp(entry)), lambda: experiment_dataset(results) if entry.is_folder else None
        )
        return dataset.corpus[doc] if dataset is not None and doc in dataset.corpus else None

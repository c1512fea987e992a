"""The dataset that an analysis is about, named on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import UsageError, shown

if TYPE_CHECKING:
    from ..analysis.evidence import Evidence
    from ..data.dataset import Dataset

SPLIT = "test"


def is_sample(path: str) -> bool:
    """Whether the path names the built-in dataset."""
    from ..experiment import SAMPLE

    return path == SAMPLE


def read_named(path: str, split: str = SPLIT) -> Dataset:
    """The dataset in a folder, at ir_datasets, or the built-in sample."""
    from ..formats import read_dataset
    from ..samples import sample_folder

    if is_sample(path):
        with sample_folder() as folder:
            return read_dataset(folder)
    return read_dataset(path, split=split)


def refuse_other(dataset: Dataset, path: str, evidence: Evidence) -> None:
    """Refuses a dataset that is known not to be the one that was searched: results folders have its fingerprint."""
    from ..experiment.collapsing import COLLAPSE

    if any(COLLAPSE in rung.facts for rung in evidence.rungs):
        what = f"the rankings of {shown(evidence.name)} are of what its chunks were collapsed to, not of documents"
        raise UsageError(what, fix="leave out the dataset, or run the experiment without collapse")
    if evidence.rungs and dataset.fingerprint() != evidence.fingerprint:
        what = f"{shown(path)} is not the dataset of {shown(evidence.name)}"
        raise UsageError(what, fix="name the dataset that the results were made on")

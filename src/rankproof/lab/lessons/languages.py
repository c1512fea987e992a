"""The languages of a dataset: its own files, and translations with the same ids in its folder `i18n`."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ...data.dataset import Dataset
from ...errors import UsageError, shown
from ...formats.opening import open_source
from ...formats.texts_format import read_corpus, read_queries

OWN = "own"
ALL = "all"
_FOLDER = "i18n"


def languages_in(folder: str) -> tuple[str, ...]:
    """The names NAME for which i18n/corpus.NAME.jsonl and i18n/queries.NAME.jsonl are there."""
    place = os.path.join(folder, _FOLDER)
    files = set(os.listdir(place)) if os.path.isdir(place) else set()
    names = [name.removeprefix("corpus.").removesuffix(".jsonl") for name in files if name.startswith("corpus.")]
    return tuple(sorted(name for name in names if f"corpus.{name}.jsonl" in files and f"queries.{name}.jsonl" in files))


def read_languages(folder: str, dataset: Dataset, wanted: Sequence[str] | None) -> dict[str, Dataset]:
    """The dataset by language, `own` for its own files, which alone are read where nothing is wanted."""
    there = languages_in(folder)
    names = (OWN, *there) if wanted and ALL in wanted else tuple(dict.fromkeys(wanted or (OWN,)))
    for name in names:
        if name != OWN and name not in there:
            fix = f"choose from {', '.join((ALL, OWN, *there))}" if there else "leave out --languages"
            raise UsageError(f"{shown(folder)} has no language {shown(name)} in {_FOLDER}", fix=fix)
    return {name: dataset if name == OWN else _translated(folder, dataset, name) for name in names}


def _translated(folder: str, dataset: Dataset, name: str) -> Dataset:
    place = os.path.join(folder, _FOLDER)
    corpus = read_corpus(open_source(os.path.join(place, f"corpus.{name}.jsonl")))
    queries = read_queries(open_source(os.path.join(place, f"queries.{name}.jsonl")))
    return Dataset(f"{dataset.name}-{name}", corpus, queries, dataset.qrels)

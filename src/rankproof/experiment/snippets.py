"""The beginnings of the documents that a reader will want to see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..data.dataset import Dataset
from ..data.run import Run

_LENGTH = 300
_TOP = 20


def snippets_of(dataset: Dataset, runs: Iterable[Run]) -> dict[str, str]:
    """Title and the first 300 characters of every judged document and of each ranking's first 20."""
    wanted = {doc: None for docs in dataset.qrels.values() for doc in docs}
    for run in runs:
        for start, end in zip(run.offsets[:-1].tolist(), run.offsets[1:].tolist(), strict=True):
            wanted.update(dict.fromkeys(run.docs[start : min(end, start + _TOP)]))
    return {doc: _snippet(dataset, doc) for doc in sorted(wanted) if doc in dataset.corpus}


def titles_of(dataset: Dataset, snippets: Mapping[str, str]) -> dict[str, int]:
    """How many characters of each snippet are the document's title, for those that have one."""
    titles = ((doc, dataset.corpus[doc].title) for doc in snippets if doc in dataset.corpus)
    return {doc: min(len(title), len(snippets[doc])) for doc, title in titles if title}


def urls_of(dataset: Dataset, docs: Iterable[str]) -> dict[str, str]:
    """The field `url` of those of the documents that have one."""
    found = ((doc, dataset.corpus[doc].fields.get("url")) for doc in docs if doc in dataset.corpus)
    return {doc: url for doc, url in found if isinstance(url, str) and url.strip()}


def _snippet(dataset: Dataset, doc: str) -> str:
    document = dataset.corpus[doc]
    whole = " · ".join(part for part in (document.title, " ".join(document.text.split())) if part)
    return whole if len(whole) <= _LENGTH else f"{whole[:_LENGTH]}…"

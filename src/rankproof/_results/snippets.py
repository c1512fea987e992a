"""Snippets: the beginnings of documents, and their titles, URLs and other fields, which reports and analyses show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rankproof._data.corpus import TextRecord
from rankproof._data.dataset import Dataset
from rankproof._data.run import Run

_SNIPPET_LENGTH = 300
_SNIPPET_DEPTH = 20
_MOST_FIELDS = 12


def build_snippets(dataset: Dataset, runs: Iterable[Run], replies: Mapping[str, str] | None = None) -> dict[str, str]:
    """The first 300 characters, title included, of every judged document and of the top 20 of each ranking.

    `replies` has texts of documents from the replies of search engines, for those that are not in the corpus.
    """
    wanted = {doc: None for docs in dataset.qrels.values() for doc in docs}
    for run in runs:
        for start, end in zip(run.offsets[:-1].tolist(), run.offsets[1:].tolist(), strict=True):
            wanted.update(dict.fromkeys(run.docs[start : min(end, start + _SNIPPET_DEPTH)]))
    texts = replies or {}
    snippets = {doc: _document_snippet(dataset, doc) for doc in wanted if doc in dataset.corpus}
    snippets |= {doc: _clipped(" ".join(texts[doc].split())) for doc in wanted if doc in texts and doc not in snippets}
    return {doc: snippets[doc] for doc in sorted(snippets)}


def title_lengths(dataset: Dataset, snippets: Mapping[str, str]) -> dict[str, int]:
    """How many characters of each snippet are the title of the document."""
    titles = ((doc, dataset.corpus[doc].title) for doc in snippets if doc in dataset.corpus)
    return {doc: min(len(title), len(snippets[doc])) for doc, title in titles if title}


def document_urls(dataset: Dataset, docs: Iterable[str]) -> dict[str, str]:
    """The field `url` of the documents that have one."""
    urls = ((doc, dataset.corpus[doc].fields.get("url")) for doc in docs if doc in dataset.corpus)
    return {doc: url for doc, url in urls if isinstance(url, str) and url.strip()}


def document_fields(dataset: Dataset, docs: Iterable[str]) -> dict[str, dict[str, str]]:
    """The other fields of the documents that have some, without `url`."""
    shown = ((doc, short_fields(dataset.corpus[doc])) for doc in docs if doc in dataset.corpus)
    others = ((doc, {name: text for name, text in fields.items() if name != "url"}) for doc, fields in shown)
    return {doc: fields for doc, fields in others if fields}


def short_fields(record: TextRecord) -> dict[str, str]:
    """The other fields of a record as short texts."""
    shown = {name: _clipped(_field_text(value)) for name, value in record.fields.items() if value not in (None, "")}
    return dict(list(shown.items())[:_MOST_FIELDS])


def _field_text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _document_snippet(dataset: Dataset, doc: str) -> str:
    document = dataset.corpus[doc]
    return _clipped(" · ".join(part for part in (document.title, " ".join(document.text.split())) if part))


def _clipped(text: str) -> str:
    return text if len(text) <= _SNIPPET_LENGTH else f"{text[:_SNIPPET_LENGTH]}…"

"""Hold-out of queries, queries of other splits, and translations of a dataset."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from random import Random

from rankproof._data.dataset import Dataset
from rankproof._data.qrels import Qrels
from rankproof._formats.detect import open_file, other_qrels
from rankproof._formats.documents import read_corpus
from rankproof._formats.texts import read_queries
from rankproof._io.open import open_source
from rankproof.errors import UsageError, for_message


def relevant_documents(qrels: Qrels) -> dict[str, frozenset[str]]:
    """The documents with a grade of at least 1, for each query that has any."""
    relevant = {query: frozenset(doc for doc, grade in docs.items() if grade >= 1) for query, docs in qrels.items()}
    return {query: docs for query, docs in sorted(relevant.items()) if docs}


def training_split(relevant: Mapping[str, frozenset[str]], share: float, seed: int) -> dict[str, frozenset[str]]:
    """The training queries; the queries of at most `share` of the relevant documents are held out.

    No training query shares a relevant document with a held-out one.
    """
    # Whole groups are held out: a shared relevant document would leak the answer of a test query into training.
    groups = _query_groups(relevant)
    Random(f"{seed}\0holdout").shuffle(groups)
    left = share * len(frozenset().union(*relevant.values()))
    held: set[str] = set()
    for group in groups:
        documents = len(frozenset().union(*(relevant[query] for query in group)))
        if documents <= left:
            left -= documents
            held.update(group)
    if share and not 0 < len(held) < len(relevant):
        what = f"a hold-out of {share:g} leaves no query {'to test' if not held else 'to train'} with"
        raise UsageError(what, fix="choose a share closer to 0.5, or a dataset with a training split")
    return {query: docs for query, docs in relevant.items() if query not in held}


def _query_groups(relevant: Mapping[str, frozenset[str]]) -> list[list[str]]:
    """Groups of queries connected by shared relevant documents."""
    groups: dict[str, list[str]] = {}
    for query, docs in relevant.items():
        met = {id(group): group for doc in sorted(docs) if (group := groups.get(doc)) is not None}
        joined = [query, *(member for group in met.values() for member in group)]
        groups.update(dict.fromkeys((doc for member in joined for doc in relevant[member]), joined))
    return [sorted(group) for group in {id(group): group for group in groups.values()}.values()]


_DIGITS = 16


def text_digest(text: str) -> str:
    """The first 16 hex digits of the sha256 of the text in lower case with white space collapsed."""
    return sha256(" ".join(text.lower().split()).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


@dataclass(frozen=True, slots=True)
class OtherSplitQueries:
    """The judged queries of other splits: ids, digests of their texts in every language, and qrels files."""

    ids: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    files: tuple[str, ...] = ()

    def has(self, query: str, text: str) -> bool:
        """Whether another split has the query, by id or text."""
        return query in self.ids or self.has_text(text)

    def has_text(self, text: str) -> bool:
        """Whether a query of another split has this text."""
        return bool(self.texts) and text_digest(text) in self.texts


def find_other_split_queries(folder: str, *, split: str) -> OtherSplitQueries:
    """The judged queries of the other splits in the folder; empty if there is no folder, as for the sample.

    Raises an error for an unreadable qrels file: its queries could leak into training.
    """
    if not os.path.isdir(folder):
        return OtherSplitQueries()
    files = other_qrels(folder, split=split)
    ids = frozenset(query for path in files for query in open_file(path).qrels())
    return OtherSplitQueries(ids, frozenset(_text_digests(folder, ids)), tuple(files)) if ids else OtherSplitQueries()


def _text_digests(folder: str, ids: frozenset[str]) -> Iterator[str]:
    for place in (folder, os.path.join(folder, "i18n")):
        for name in sorted(os.listdir(place)) if os.path.isdir(place) else ():
            if name.startswith("queries.") and ".jsonl" in name:
                queries = read_queries(open_source(os.path.join(place, name)))
                yield from (text_digest(record.text) for query, record in queries.items() if query in ids)


OWN_LANGUAGE = "own"
ALL_LANGUAGES = "all"
_FOLDER = "i18n"


def find_languages(folder: str) -> tuple[str, ...]:
    """The names NAME for which i18n/corpus.NAME.jsonl and i18n/queries.NAME.jsonl exist."""
    place = os.path.join(folder, _FOLDER)
    files = set(os.listdir(place)) if os.path.isdir(place) else set()
    names = [name.removeprefix("corpus.").removesuffix(".jsonl") for name in files if name.startswith("corpus.")]
    return tuple(sorted(name for name in names if f"corpus.{name}.jsonl" in files and f"queries.{name}.jsonl" in files))


def read_languages(folder: str, dataset: Dataset, wanted: Sequence[str] | None) -> dict[str, Dataset]:
    """The dataset by language; `own` is the dataset itself and the default."""
    available = find_languages(folder)
    names = (OWN_LANGUAGE, *available) if wanted and ALL_LANGUAGES in wanted else tuple(dict.fromkeys(wanted or (OWN_LANGUAGE,)))
    for name in names:
        if name != OWN_LANGUAGE and name not in available:
            fix = f"choose from {', '.join((ALL_LANGUAGES, OWN_LANGUAGE, *available))}" if available else "omit --languages"
            raise UsageError(f"{for_message(folder)} has no language {for_message(name)} in {_FOLDER}", fix=fix)
    return {name: dataset if name == OWN_LANGUAGE else _read_translation(folder, dataset, name) for name in names}


def _read_translation(folder: str, dataset: Dataset, name: str) -> Dataset:
    place = os.path.join(folder, _FOLDER)
    corpus = read_corpus(open_source(os.path.join(place, f"corpus.{name}.jsonl")))
    queries = read_queries(open_source(os.path.join(place, f"queries.{name}.jsonl")))
    return Dataset(f"{dataset.name}-{name}", corpus, queries, dataset.qrels)

"""Documents that are chunks already: rankings and judgements brought to what a field names, an URL for instance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..data.corpus import Corpus, Document
from ..data.dataset import Dataset
from ..data.identity import key_of
from ..data.ids import checked_id
from ..data.qrels import Judgement, Qrels
from ..data.ranking import Ranking
from ..data.run import Run
from ..errors import InputError, UsageError, shown
from ..stages.chunks.collapse import collapsed
from .chunk_grades import Pieces

COLLAPSE = "collapse"
"""The fact of a rung, and of the provenance, that says how."""
_RULE = "every {field} has the score of its best chunk and the highest grade of its chunks"
_RULE_BY_VALUE = "every {field} has the score of its best chunk; judgements are of the {field} itself"


@dataclass(frozen=True, eq=False, slots=True)
class Collapse:
    """The dataset, what each of its documents is a chunk of, and the judgements of that.

    `by_value` says that the judgements already were of the field's values. `pool` keeps the first so many chunks of a ranking.
    """

    dataset: Dataset
    field: str
    pool: int | None
    values: Mapping[str, str]
    qrels: Qrels
    by_value: bool

    def ranking(self, ranking: Ranking) -> Ranking:
        """What the ranking is of chunks, of the field's values."""
        return collapsed(ranking, self.values.__getitem__, pool=self.pool)

    def fingerprint(self) -> str:
        """That of the dataset as it is judged: the same for any pool."""
        return key_of(self.dataset.fingerprint(), "collapse", self.field)

    @property
    def rule(self) -> str:
        """How chunks become what they are chunks of, in words."""
        return (_RULE_BY_VALUE if self.by_value else _RULE).format(field=self.field)

    def facts(self) -> dict[str, Any]:
        """For the provenance."""
        return {COLLAPSE: {"field": self.field, "pool": self.pool, "rule": self.rule, "chunks": len(self.dataset.corpus)}}

    def notes(self) -> Iterator[str]:
        """The rule, which every number rests on."""
        pool = f"; the first {self.pool} chunks of a ranking count" if self.pool else ""
        chunks, wholes = len(self.dataset.corpus), len(set(self.values.values()))
        yield f"{chunks} documents are chunks of {wholes} by {self.field}: {self.rule}{pool}"

    def judged(self, runs: Iterable[Run]) -> Dataset:
        """A dataset of the field's values, each with the text of the chunk that the rankings show first, else its first one."""
        corpus, best = self.dataset.corpus, dict[str, str]()
        for doc in (*(doc for run in runs for doc in run.docs), *corpus):
            best.setdefault(self.values[doc], doc)
        documents = (Document(value, corpus[doc].text, corpus[doc].title, corpus[doc].fields) for value, doc in best.items())
        return Dataset(self.dataset.name, Corpus(documents, source=corpus.source), self.dataset.queries, self.qrels)

    def pieces(self) -> Pieces:
        """The documents as chunks of the field's values."""
        of: dict[str, list[str]] = {}
        for doc, value in self.values.items():
            of.setdefault(value, []).append(doc)
        corpus = self.dataset.corpus
        return Pieces(corpus, of, lambda value: "\n".join(corpus[doc].text for doc in of[value]))


def collapse_of(dataset: Dataset, field: str, pool: int | None) -> Collapse:
    """How the dataset is brought to the field's values."""
    values = {doc: _value(dataset.corpus, document, field) for doc, document in dataset.corpus.items()}
    by_value = _is_judged_by_value(dataset, values, field)
    qrels = dataset.qrels if by_value else _highest(dataset.qrels, values)
    return Collapse(dataset, field, pool, values, qrels, by_value)


def _value(corpus: Corpus, document: Document, field: str) -> str:
    value = document.title if field == "title" else document.fields.get(field)
    if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
        return checked_id(value, field, source=corpus.source, line=document.line)
    if not any(field in each.fields for each in corpus.values()) and field != "title":
        known = ", ".join(shown(name) for name in sorted({name for each in corpus.values() for name in each.fields})) or "title"
        raise UsageError(f"no document has a field called {shown(field)} to collapse to", fix=f"choose from {known}")
    what = f"document {shown(document.id)} has no {shown(field)} to collapse to"
    raise InputError(what, fix="give every document one, or collapse nothing", source=corpus.source, line=document.line)


def _is_judged_by_value(dataset: Dataset, values: Mapping[str, str], field: str) -> bool:
    """Whether the judgements name the field's values and not documents; both kinds together are refused."""
    known = set(values.values())
    pairs = [(query, doc) for query, docs in dataset.qrels.items() for doc in docs]
    document = next((pair for pair in pairs if pair[1] in values), None)
    value = next((pair for pair in pairs if pair[1] in known and pair[1] not in values), None)
    if document and value:
        what = f"judgements of documents (query {shown(document[0])}: {shown(document[1])}) and of {shown(field)} itself"
        told = f"{what} (query {shown(value[0])}: {shown(value[1])}) are mixed"
        raise InputError(told, fix="judge all by document, or all by the field", source=dataset.qrels.source)
    return value is not None


def _highest(qrels: Qrels, values: Mapping[str, str]) -> Qrels:
    """The highest grade of each value's chunks, with its mark; judged documents that are not there keep their own id."""
    best: dict[tuple[str, str], Judgement] = {}
    for query, docs in qrels.items():
        for doc, grade in docs.items():
            key = query, values.get(doc, doc)
            if key not in best or grade > best[key].grade:
                best[key] = Judgement(*key, grade, mark=qrels.marks.get((query, doc), ""))
    return Qrels(iter(best.values()), source=qrels.source)

"""A dataset: documents, queries and the judgements that belong to both."""

from __future__ import annotations

from dataclasses import dataclass

from .corpus import Corpus
from .qrels import Qrels
from .queries import Queries
from .refusals import refusal


@dataclass(frozen=True, eq=False, slots=True)
class Dataset:
    """Refused where no judged query is among the queries; judged documents may be missing from the corpus, and are listed."""

    name: str
    corpus: Corpus
    queries: Queries
    qrels: Qrels

    def __post_init__(self) -> None:
        if not any(query in self.queries for query in self.qrels):
            raise refusal("strange-queries", source=self.qrels.source)

    def fingerprint(self) -> str:
        """A sha256 of everything in it, the same for any order of lines."""
        import hashlib

        parts = (self.corpus.fingerprint(), self.queries.fingerprint(), self.qrels.fingerprint())
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def missing_documents(self) -> tuple[str, ...]:
        """Judged documents that the corpus lacks."""
        judged = {doc: None for docs in self.qrels.values() for doc in docs}
        return tuple(doc for doc in judged if doc not in self.corpus)

    def missing_queries(self) -> tuple[str, ...]:
        """Judged queries whose text is not there."""
        return tuple(query for query in self.qrels if query not in self.queries)

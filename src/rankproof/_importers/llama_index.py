"""LlamaIndex's EmbeddingQAFinetuneDataset: queries, corpus and relevant documents in one JSON file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rankproof._data.qrels import Judgement
from rankproof._importers.base import Imported, ImportOptions, ImportSource
from rankproof._importers.builder import DatasetBuilder
from rankproof._importers.json_parts import JsonPart, json_documents, require_keys

_RELEVANT = "1"


class LlamaIndexImporter:
    """`queries`, `corpus` and `relevant_docs` of one file; every relevant document has grade 1."""

    has_grades = False
    settings: Mapping[str, str] = {}

    def detect(self, source: ImportSource) -> bool:
        """Whether the file is an object with the three keys."""
        return any(document.has("queries", "corpus", "relevant_docs") for document in json_documents(source).values())

    def read(self, source: ImportSource, options: ImportOptions) -> Imported:
        """The dataset of the file."""
        require_keys(self.detect(source), source, "queries, corpus and relevant_docs")
        builder = DatasetBuilder(source, options)
        documents = json_documents(source).values()
        return builder.built((judgement for document in documents for judgement in _judgements(document, builder)), "llama-index")


def _judgements(document: JsonPart, builder: DatasetBuilder) -> Iterator[Judgement | None]:
    for key, text in document["corpus"].entries():
        builder.document(key, None, text.text_or_empty())
    for key, text in document["queries"].entries():
        builder.query(key, text.text())
    for query, docs in document["relevant_docs"].entries():
        if query not in builder.queries:
            count = len(list(docs.items()))
            builder.counts.read("judgements", count)
            builder.counts.drop("judgements", "of a query that is not among the queries", line=docs.line, count=count)
            continue
        for doc in docs.items():
            yield builder.judged_ids(query, doc.text(), _RELEVANT)


LLAMA_INDEX = LlamaIndexImporter()

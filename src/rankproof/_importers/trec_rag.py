"""Candidates of RankLLM and Anserini, and answers of the TREC RAG track, with qrels and topics beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice, pairwise
from typing import Any, Literal

from rankproof._data.answers import Answer, Answers, as_answer
from rankproof._data.qrels import Judgement
from rankproof._data.run import Run, RunRow
from rankproof._data.validation import checked_id
from rankproof._formats.read import read_qrels
from rankproof._formats.rows import id_of_value, score_of_json
from rankproof._formats.source_table import SourceTable
from rankproof._importers.base import Imported, ImportOptions, ImportSource
from rankproof._importers.builder import DatasetBuilder, field_names, plain_fields
from rankproof._importers.cells import TableCell
from rankproof.errors import InputError

Kind = Literal["candidates", "answers", "topics", "qrels"]
IMPORTER = "trec-rag"
_TEXTS = ("segment", "contents", "content", "text", "passage", "body", "abstract")
_TOPIC_IDS, _TOPIC_TEXTS = ("id", "qid", "query_id", "topic_id", "narrative_id"), ("title", "query", "text", "topic", "narrative")
_SAMPLED_ROWS = 20
_SHAPES = '{"query": {"text": "…", "qid": "1"}, "candidates": [{"docid": "d1", "score": 2.5, "doc": {"contents": "…"}}]}'


class TrecRagImporter:
    """Files of candidates are the rankings of systems, named after the files; files of answers the answers of their run_id."""

    settings: Mapping[str, str] = {}

    def detect(self, source: ImportSource) -> bool:
        """Whether a file has candidates or answers, and every other one too, or qrels or topics."""
        kinds = [_kind(source, path) for path in source.plain_files]
        return ("candidates" in kinds or "answers" in kinds) and None not in kinds

    def read(self, source: ImportSource, options: ImportOptions) -> Imported:
        """The queries, the documents with texts, the rankings, the answers and the judgements."""
        builder = DatasetBuilder(source, options)
        reader = _TrecRagReader(source, options, builder)
        imported = builder.imported(reader.judgements(), IMPORTER)
        cited = {doc for answers in reader.answers.values() for answer in answers.values() for doc in answer.cited}
        texts = {doc: imported.dataset.corpus[doc].text for doc in sorted(cited) if doc in imported.dataset.corpus}
        answers = {name: Answers(answer, source=name) for name, answer in reader.answers.items()}
        return replace(imported, runs=reader.runs, answers=answers, contexts=texts)


def _kind(source: ImportSource, path: str) -> Kind | None:
    """What the file holds, by the keys of its first rows; text is qrels."""
    form = source.format_of(path)
    if form == "text":
        return "qrels"
    if form == "json" and not isinstance(source.json_of(path).value, list):
        return None
    rows = [row for _, row in islice(source.table_of(path).rows(), _SAMPLED_ROWS)]
    for kind, fits in _FITS.items():
        if rows and all(map(fits, rows)):
            return kind
    return None


def _has_candidates(row: Mapping[str, Any]) -> bool:
    return "query" in row and (isinstance(row.get("candidates"), list) or isinstance(row.get("hits"), list))


def _has_sentences(row: Mapping[str, Any]) -> bool:
    has_topic = isinstance(row.get("metadata"), dict) or any(name in row for name in _TOPIC_IDS)
    return has_topic and isinstance(row.get("answer"), list) and isinstance(row.get("references"), list)


def _is_topic(row: Mapping[str, Any]) -> bool:
    return len(row) <= 3 and any(name in row for name in _TOPIC_IDS) and any(name in row for name in _TOPIC_TEXTS)


_FITS: Mapping[Kind, Any] = {"candidates": _has_candidates, "answers": _has_sentences, "topics": _is_topic}


class _TrecRagReader:
    """Reads the files of each kind."""

    def __init__(self, source: ImportSource, options: ImportOptions, builder: DatasetBuilder) -> None:
        self._source, self._options, self._builder = source, options, builder
        self.runs: dict[str, Run] = {}
        self.answers: dict[str, dict[str, Answer]] = {}

    def judgements(self) -> Iterator[Judgement]:
        """Adds everything but judgements, and gives those of the qrels."""
        kinds = {path: _kind(self._source, path) for path in self._source.plain_files}
        for path, kind in kinds.items():
            if kind is None:
                what = "neither candidates nor answers, topics or qrels"
                raise InputError(what, fix=f"write rows like {_SHAPES}", source=path)
        for path in (path for path, kind in kinds.items() if kind == "topics"):
            self._add_topics(self._source.table_of(path))
        for path in (path for path, kind in kinds.items() if kind == "candidates"):
            self._add_candidates(self._source.table_of(path), self._source.system_names[path])
        for path in (path for path, kind in kinds.items() if kind == "answers"):
            self._add_answers(self._source.table_of(path), self._source.system_names[path])
        for path in (path for path, kind in kinds.items() if kind == "qrels"):
            how = self._options
            qrels = read_qrels(path, encoding=self._source.encoding, grade_map=how.grade_map, on_conflict=how.on_conflict)
            self._builder.notes += qrels.grade_notes()
            self._builder.counts.read_judgements(qrels)
            yield from qrels.rows()
        if "qrels" not in kinds.values():
            fix = (
                "judge the rankings with rankproof judge"
                if self.runs
                else "add reference answers to queries.jsonl, as the field answers"
            )
            self._builder.notes.append(f"no judgements: pass the qrels too, or {fix}")

    def _add_topics(self, table: SourceTable) -> None:
        self._builder.place = table.source
        for line, row in table.rows():
            self._builder.query(_first(row, _TOPIC_IDS), _first(row, _TOPIC_TEXTS), line=line)

    def _add_candidates(self, table: SourceTable, system: str) -> None:
        """The ranking of one system; its order is that of the candidates."""
        part, self._builder.place = f"rows of {system}", table.source
        rankings: dict[str, dict[str, float]] = {}
        for line, row in table.rows():
            self._builder.counts.read(part)
            if not _has_candidates(row):
                raise InputError("no query with candidates", fix=f"write rows like {_SHAPES}", source=table.source, line=line)
            query = self._query(row, line)
            if query is None or query in rankings:
                self._builder.counts.drop(part, "without a query" if query is None else "of a query that came before", line=line)
            else:
                rankings[query] = self._ranking(query, row, line, system)
        self.runs[system] = _run(system, rankings, self._builder)

    def _query(self, row: Mapping[str, Any], line: int) -> str | None:
        query = row["query"]
        if isinstance(query, dict):
            return self._builder.query(_first(query, ("qid", "id")), query.get("text"), line=line)
        hits = row.get("candidates") or row.get("hits") or [{}]
        inside = hits[0].get("qid") if isinstance(hits[0], dict) else None
        return self._builder.query(_first(row, ("qid", "query_id")) or inside, query, line=line)

    def _ranking(self, query: str, row: Mapping[str, Any], line: int, system: str) -> dict[str, float]:
        part, place = f"candidates of {system}", self._builder.place
        ranking: dict[str, float] = {}
        for at, candidate in enumerate(row["candidates"] if isinstance(row.get("candidates"), list) else row["hits"]):
            self._builder.counts.read(part)
            if not isinstance(candidate, dict):
                what = f"candidates[{at}] is no object"
                raise InputError(what, fix='write {"docid": "d1", "score": 2.5}', source=place, line=line)
            doc = self._document(candidate, line)
            if doc in ranking:
                self._builder.counts.drop(part, "that a better rank of the same ranking has", line=line)
                continue
            score = candidate.get("score")
            ranking[doc] = -float(at) if score is None else score_of_json(score, query=query, doc=doc, source=place, line=line)
        return ranking

    def _document(self, candidate: Mapping[str, Any], line: int) -> str:
        """Adds the text of the candidate; the id of its document."""
        place = self._builder.place
        key = id_of_value(_first(candidate, ("docid", "doc_id", "id")), "document", source=place, line=line)
        doc = candidate.get("doc", candidate)
        if not isinstance(doc, dict):
            self._builder.document(key, None, doc, line=line)
            return key
        name = next((text for text in _TEXTS if doc.get(text)), None)
        known = (name, "title", "docid", "doc_id", "id", "_id", "qid", "score", "rank")
        others = field_names(field for field in doc if field not in known)
        self._builder.document(
            key, doc.get("title"), doc.get(name) if name else None, lambda: plain_fields(doc, others), line=line
        )
        return key

    def _add_answers(self, table: SourceTable, system: str) -> None:
        """The answers by run_id; a citation is the place of a reference from 0, or its id."""
        self._builder.place = table.source
        for line, row in table.rows():
            if not _has_sentences(row):
                fix = 'write {"topic_id": "1", "topic": "…", "references": ["d1"], "answer": [{"text": "…", "citations": [0]}]}'
                raise InputError("no answer with references", fix=fix, source=table.source, line=line)
            fields = {**row, **(row["metadata"] if isinstance(row.get("metadata"), dict) else {})}
            name = TableCell(fields.get("run_id"), "run_id", table.source, line).text() or system
            part = f"answers of {name}"
            self._builder.counts.read(part)
            topic_id = _first(fields, ("topic_id", "narrative_id", "qid", "query_id", "id"))
            query = self._builder.query(topic_id, _first(fields, ("topic", "narrative", "title", "query")), line=line)
            own = self.answers.setdefault(name, {})
            if query is None or query in own:
                self._builder.counts.drop(part, "without a topic" if query is None else "of a topic that came before", line=line)
            else:
                own[query] = self._answer(row, name, line)

    def _answer(self, row: Mapping[str, Any], system: str, line: int) -> Answer:
        place, part = self._builder.place, f"citations of {system}"
        references = [id_of_value(id, "document", source=place, line=line) for id in row["references"]]
        texts, cited = [], dict[str, None]()
        for at, sentence in enumerate(row["answer"]):
            cell = TableCell(sentence.get("text") if isinstance(sentence, dict) else sentence, f"answer[{at}]", place, line)
            texts.append((cell.text() or "").strip())
            citations = sentence.get("citations") if isinstance(sentence, dict) else None
            for id in citations if isinstance(citations, list) else ():
                self._builder.counts.read(part)
                doc = _reference(id, references)
                if doc is None:
                    self._builder.counts.drop(part, "of no reference", line=line)
                else:
                    cited[checked_id(doc, "document", source=place, line=line)] = None
        return replace(as_answer(" ".join(filter(None, texts))), cited=tuple(cited))


def _reference(citation: Any, references: list[str]) -> str | None:
    """The document that is cited by its place from 0 or by its id."""
    if isinstance(citation, int) and not isinstance(citation, bool):
        return references[citation] if 0 <= citation < len(references) else None
    return citation if citation in references else None


def _run(system: str, rankings: Mapping[str, Mapping[str, float]], builder: DatasetBuilder) -> Run:
    """The rankings with their scores, or by place alone where scores are tied or contradict the order."""
    plain = sum(any(high <= low for high, low in pairwise(docs.values())) for docs in rankings.values())
    if plain:
        builder.notes.append(
            f"{system}: scores are tied or contradict the order of candidates in {plain:,} of its queries: the order counts"
        )
        return Run({query: list(docs) for query, docs in rankings.items()}, name=system, source=system)
    rows = (RunRow(query, doc, score) for query, docs in rankings.items() for doc, score in docs.items())
    return Run.from_rows(rows, name=system, source=system, queries=rankings)


def _first(row: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((row[name] for name in names if row.get(name) not in (None, "")), None)


TREC_RAG = TrecRagImporter()

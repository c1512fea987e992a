"""The value of one query, explained rank by rank, and the ideal ranking of the query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankproof._align.hits import Hits, Ties
from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.values import EMPTY_LIST, RankedList, all_hits, measure_result, ranked_lists
from rankproof._data.replies import RecordedReply
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import clip_text, pluralise, shown_time
from rankproof._evaluation.result import MeasureResult
from rankproof._results.experiment_result import SystemRun
from rankproof.errors import UsageError, for_message
from rankproof.measures._base import BinaryMeasure, Measure, discounts
from rankproof.measures._relevant import SumParts, sum_by_query

NOT_RETRIEVED = "not retrieved"
_RANK_COLUMN = Column("system rank", "count", "its rank in the system's ranking")


def ideal_table(inputs: AnalysisInput, measure: Measure, hits: Hits, query: str, ranked_list: RankedList, rows: int) -> Table:
    """The ideal ranking if the measure has one, else the relevant documents."""
    ranks = {doc: rank for rank, doc in enumerate(ranked_list.docs, start=1)}
    if measure.ideal(hits.judged) is None:
        return _relevant(inputs, measure, query, ranks, rows)
    return _ideal_list(inputs, measure, hits, query, ranks, rows)


def _ideal_list(inputs: AnalysisInput, measure: Measure, hits: Hits, query: str, ranks: dict[str, int], rows: int) -> Table:
    judged = hits.judged
    ideal = measure.ideal(judged)
    assert ideal is not None, "the caller checks this"
    of_query = judged.queries.index(query)
    start = int(judged.offsets[of_query])
    docs = _by_grade(inputs, query)
    mine = np.flatnonzero((ideal.query_index == of_query) & (ideal.gain > 0)).tolist()
    table_rows: list[tuple[CellValue, ...]] = []
    for at in mine:
        doc = docs[int(ideal.at[at]) - start]
        rank, discount = int(ideal.ranks[at]), float(discounts(ideal.ranks[at : at + 1])[0])
        grade = inputs.qrels[query][doc]
        amounts = (float(ideal.gain[at]), discount, float(ideal.terms[at]))
        table_rows.append((rank, doc, grade, *amounts, ranks.get(doc, NOT_RETRIEVED), *_snippet(inputs, doc)))
    total = float(ideal.sums()[of_query])
    columns = (
        *(Column("rank", "count"), Column("document"), Column("grade", "count"), Column("gain", "value")),
        *(Column("discount", "value"), Column("term", "value"), _RANK_COLUMN, *_text_columns(inputs)),
    )
    missed = sum(row[1] not in ranks for row in table_rows)
    sentence = (
        f"The ideal ranking adds up to {total:.4f}; {len(table_rows) - missed} of its {len(table_rows)} documents were retrieved."
    )
    return Table(
        name="explain-ideal",
        title=f"Ideal ranking of query {for_message(query)}",
        columns=columns,
        rows=tuple(table_rows[:rows]),
        sentences=(sentence, *_more_rows(len(table_rows), rows)),
        facts={"n": 1, "query": query, "sum": total, "documents": len(table_rows)},
        verdict_first=True,
    )


def _relevant(inputs: AnalysisInput, measure: Measure, query: str, ranks: dict[str, int], rows: int) -> Table:
    least = measure.least if isinstance(measure, BinaryMeasure) else 1
    grades = inputs.qrels[query]
    docs = [doc for doc in _by_grade(inputs, query) if grades[doc] >= least]
    docs.sort(key=lambda doc: ranks.get(doc, len(ranks) + 1))
    missed = sum(doc not in ranks for doc in docs)
    return Table(
        name="explain-relevant",
        title=f"Relevant documents of query {for_message(query)}",
        columns=(Column("document"), Column("grade", "count"), _RANK_COLUMN, *_text_columns(inputs)),
        rows=tuple((doc, grades[doc], ranks.get(doc, NOT_RETRIEVED), *_snippet(inputs, doc)) for doc in docs[:rows]),
        sentences=(f"{len(docs) - missed} of {len(docs)} relevant documents were retrieved.", *_more_rows(len(docs), rows)),
        facts={"n": 1, "query": query, "documents": len(docs), "rel": least},
        verdict_first=True,
    )


def _text_columns(inputs: AnalysisInput) -> tuple[Column, ...]:
    return (Column("text", about="start of the document"),) if inputs.snippets else ()


def _snippet(inputs: AnalysisInput, doc: str) -> tuple[CellValue, ...]:
    return (clip_text(inputs.snippets.get(doc, "")),) if inputs.snippets else ()


def _by_grade(inputs: AnalysisInput, query: str) -> list[str]:
    """The judged documents, highest grade first, then by id."""
    grades = inputs.qrels[query]
    return sorted(grades, key=lambda doc: (-grades[doc], doc))


def _more_rows(count: int, rows: int) -> tuple[str, ...]:
    return (f"{count - rows} more are not shown.",) if count > rows else ()


@dataclass(frozen=True, slots=True)
class RankContribution:
    """What one rank adds; `contribution` is scale x term / denominator."""

    rank: int
    gain: float
    discount: float
    term: float
    contribution: float


@dataclass(frozen=True, slots=True)
class ExplainedValue:
    """A value as scale x total / denominator, with its parts by rank."""

    parts: tuple[RankContribution, ...]
    total: float
    denominator: float
    scale: float

    def by_rank(self) -> dict[int, RankContribution]:
        """The parts that are not 0."""
        return {part.rank: part for part in self.parts if part.term}


def explain_value(parts: SumParts, query: int) -> ExplainedValue:
    """The parts of one query, given its index in the hits."""
    total = sum_by_query(parts.hits.query_index[parts.at], parts.terms, len(parts.hits.queries))[query]
    return ExplainedValue(tuple(_rank_contributions(parts, query)), float(total), float(parts.denominator[query]), parts.scale)


def _rank_contributions(parts: SumParts, query: int) -> Iterator[RankContribution]:
    hits, denominator = parts.hits, float(parts.denominator[query])
    for index in np.flatnonzero(hits.query_index[parts.at] == query).tolist():
        term = float(parts.terms[index])
        contribution = parts.scale * term / denominator if denominator else 0.0
        rank = int(hits.ranks[parts.at[index]])
        yield RankContribution(rank, float(parts.gain[index]), float(parts.discount[index]), term, contribution)


def losses_by_rank(measure: Measure, hits: Hits, query: int) -> dict[int, float]:
    """Rank to what the query's value loses with an unjudged document at that rank, where it loses or gains something."""
    # One batch of variants: a measure that is no sum over documents can only be evaluated as a whole.
    variants = _without_each_hit(hits, query)
    values = measure.values(variants)
    ranks = hits.ranks[hits.offsets[query] : hits.offsets[query + 1]].tolist()
    lost = (values[0] - values[1:]).tolist()
    return {rank: loss for rank, loss in zip(ranks, lost, strict=True) if loss}


def _without_each_hit(hits: Hits, query: int) -> Hits:
    """The query with all its hits, then once without each of them, as if these were different queries."""
    judged, hit = hits.judged, slice(int(hits.offsets[query]), int(hits.offsets[query + 1]))
    grades = judged.grades[judged.offsets[query] : judged.offsets[query + 1]]
    count = hit.stop - hit.start
    copies = count + 1
    kept = np.vstack([np.ones((1, count), np.bool_), ~np.eye(count, dtype=np.bool_)]).ravel()
    documents = None if judged.documents is None else judged.documents.between(query, query + 1).repeated(copies)
    repeated = replace(
        judged,
        queries=tuple(str(at) for at in range(copies)),
        offsets=np.arange(copies + 1) * len(grades),
        grades=np.tile(grades, copies),
        documents=documents,
    )
    return replace(
        hits,
        judged=repeated,
        present=np.repeat(hits.present[query], copies),
        retrieved=np.repeat(hits.retrieved[query], copies),
        offsets=np.concatenate(([0], np.cumsum(kept.reshape(copies, count).sum(axis=1)))),
        ranks=np.tile(hits.ranks[hit], copies)[kept],
        grades=np.tile(hits.grades[hit], copies)[kept],
        ties=Ties(*(np.tile(array[hit], copies)[kept] for array in hits.ties)),
        codes=None if hits.codes is None else np.tile(hits.codes[hit], copies)[kept],
    )


ROWS = 10
UNJUDGED_TEXT = "unjudged"
COLUMNS = (
    Column("rank", "count"),
    Column("document"),
    Column("score", "number", "the system's score"),
    Column("grade", "count", "the judgement"),
    Column("gain", "value", "gain of its grade"),
    Column("discount", "value", "discount of its rank"),
    Column("term", "value", "gain x discount"),
    Column("contribution", "value", "what it adds to the value"),
)
DENOMINATORS = {
    "nDCG": "the ideal DCG",
    "AP": "the number of relevant documents",
    "P": "the cutoff",
    "R": "the number of relevant documents",
    "F1": "the cutoff plus the number of relevant documents",
    "Rprec": "the number of relevant documents",
    "bpref": "the number of relevant documents",
    "SetP": "the number of retrieved documents",
    "SetR": "the number of relevant documents",
    "Judged": "the number of retrieved documents within the cutoff",
    "relative_P": "the cutoff, or the number of relevant documents if that is smaller",
    "binG": "the number of relevant documents",
    "nERR": "the ideal ERR",
    "alpha_DCG": "the sum for documents that cover every subtopic",
    "alpha_nDCG": "the sum for the ideal ranking",
    "ERR_IA": "the sum for documents that cover every subtopic",
    "nERR_IA": "the sum for the ideal ranking",
    "NRBP": "the sum for documents that cover every subtopic",
    "nNRBP": "the sum for the ideal ranking",
    "AP_IA": "the number of subtopics",
    "P_IA": "the cutoff times the number of subtopics",
    "StRecall": "the number of subtopics",
}


@dataclass(frozen=True, eq=False, slots=True)
class _Query:
    """One query of one system; a measure that is not a sum over documents has `losses` by rank instead of `explained`."""

    inputs: AnalysisInput
    system: str
    one: MeasureResult
    id: str
    ranked_list: RankedList
    explained: ExplainedValue | None
    losses: Mapping[int, float]

    @property
    def value(self) -> float:
        return self.one.per_query[self.id]

    @property
    def reply(self) -> RecordedReply | None:
        """What a search engine replied; None for any other system."""
        return None if self.run is None or self.run.replies is None else self.run.replies.get(self.id)

    @property
    def run(self) -> SystemRun | None:
        """The run of the system; None if only its ranking is known."""
        return next((run for run in self.inputs.system_runs if run.name == self.system), None)

    def score(self, rank: int) -> float | None:
        """The score at a rank: of a search engine its own, None if it gives none."""
        if self.run is not None and self.reply is not None:
            return self.run.own_score(self.id, self.ranked_list.docs[rank - 1])
        return float(self.ranked_list.scores[rank - 1])


def explain_query(inputs: AnalysisInput, system: str, measure: str, query: str, *, rows: int = ROWS) -> list[Table]:
    """The ranking with what each document adds to the value, then the ideal ranking or the relevant documents."""
    result = measure_result(inputs, system, measure)
    _reject_unknown(query, result)
    hits = all_hits(inputs)[system]
    parts = result.measure.parts(hits)
    at = hits.queries.index(query)
    explained = None if parts is None else explain_value(parts, at)
    losses = {} if parts is not None or result.measure.kind == "count" else losses_by_rank(result.measure, hits, at)
    ranked_list = ranked_lists(inputs, system, [query]).get(query, EMPTY_LIST)
    ranking = _ranking(_Query(inputs, system, result, query, ranked_list, explained, losses), rows)
    if result.measure.kind == "count":
        return [ranking]
    return [ranking, ideal_table(inputs, result.measure, hits, query, ranked_list, rows)]


def _ranking(query: _Query, rows: int) -> Table:
    inputs, measure, ranked_list = query.inputs, query.one.measure, query.ranked_list
    adding = {} if query.explained is None else query.explained.by_rank()
    within = min(getattr(measure, "cutoff", None) or rows, rows, len(ranked_list.docs))
    counting = {*adding, *query.losses}
    ranks = sorted({*range(1, within + 1), *counting})
    text = "" if inputs.texts is None or query.id not in inputs.texts else f": {clip_text(inputs.texts[query.id].text)}"
    return Table(
        name="explain-query",
        title=f"{measure} of {for_message(query.system)} for query {for_message(query.id)}{text}",
        columns=(*COLUMNS, *_text_columns(inputs)),
        rows=tuple(_row(query, rank, adding.get(rank)) for rank in ranks),
        sentences=(*_sentences(query, len(ranks)), *_reply_sentences(query.reply)),
        facts=_facts(query),
        highlighted=frozenset(place for place, rank in enumerate(ranks) if rank in adding or _shows(query.losses.get(rank, 0.0))),
        verdict_first=True,
    )


def _shows(loss: float) -> bool:
    """Whether the loss is not 0 with the four decimals that are shown."""
    return abs(loss) >= 0.00005


def _row(query: _Query, rank: int, part: RankContribution | None) -> tuple[CellValue, ...]:
    inputs, doc = query.inputs, query.ranked_list.docs[rank - 1]
    grade = inputs.qrels[query.id].get(doc)
    amounts = (part.gain, part.discount, part.term) if part else (None, None, None)
    contribution = part.contribution if part else query.losses.get(rank, 0.0)
    return (
        rank,
        doc,
        query.score(rank),
        UNJUDGED_TEXT if grade is None else grade,
        *amounts,
        contribution,
        *_snippet(inputs, doc),
    )


def _sentences(query: _Query, shown_rows: int) -> tuple[str, ...]:
    result, value, retrieved = query.one, query.value, len(query.ranked_list.docs)
    if query.explained is None:
        return (_loss_sentence(query),)
    sentences = [_sum_sentence(result, value, query.explained)]
    if not retrieved:
        sentences.append("The system retrieved no document for this query, so its value is 0.")
    elif shown_rows < retrieved:
        hidden = retrieved - shown_rows
        what = "is not shown; it contributes" if hidden == 1 else "are not shown; they contribute"
        sentences.append(f"{hidden} of {retrieved} retrieved documents {what} nothing.")
    if result.summary == "mean":
        n = pluralise(result.queries, "query", "queries")
        sentences.append(f"This query contributes {value / result.queries:.6f} to the mean of {result.value:.4f} over n = {n}.")
    return tuple(sentences)


def _reply_sentences(reply: RecordedReply | None) -> Iterator[str]:
    """What a search engine replied, in words."""
    if reply is None:
        return
    if reply.state != "ok" or reply.round_trip_ms is None:
        yield f"The search engine did not answer this query: {reply.reason}."
        return
    server = "" if reply.server_ms is None else f", of which the server reports {shown_time(reply.server_ms)} ms"
    requests = "" if reply.requests == 1 else f" after {reply.requests} requests"
    yield f"The search engine replied in {shown_time(reply.round_trip_ms)} ms{server}{requests}, asked at {reply.asked}."
    if reply.unknown:
        yield f"{pluralise(reply.unknown, 'retrieved document is', 'retrieved documents are')} not in the corpus."
    if reply.notes:
        yield f"Notes on the reply: {'; '.join(reply.notes)}."


def _loss_sentence(query: _Query) -> str:
    value = f"{query.one.measure} is {query.value:.4f}"
    if not query.losses:
        return f"{value}; no document changes it by itself."
    drop = "The contribution of a document is how much the value drops if an unjudged document takes its place"
    return f"{value}. {drop}; contributions need not add up."


def _sum_sentence(result: MeasureResult, value: float, explained: ExplainedValue) -> str:
    scale = "" if explained.scale == 1 else f"{explained.scale:.4g} x "
    what = DENOMINATORS.get(result.measure.name)
    over = "" if explained.denominator == 1 and what is None else f" / {explained.denominator:.4f}"
    over += "" if what is None else f" ({what})"
    count = len(explained.by_rank())
    return f"Sum over {pluralise(count, 'document', 'documents')}: {scale}{explained.total:.4f}{over} = {value:.4f}."


def _facts(query: _Query) -> dict[str, Any]:
    result, explained = query.one, query.explained
    known = {"n": result.queries, "system": query.system, "measure": str(result.measure), "query": query.id, "value": query.value}
    if explained is None:
        return {**known, "explained": False}
    return {**known, "explained": True, "sum": explained.total, "denominator": explained.denominator, "scale": explained.scale}


def query_id(inputs: AnalysisInput, query: str) -> str:
    """The id of a query, given its id or its text without regard to case; one that is neither is returned as it is."""
    if inputs.texts is None or query in inputs.texts or query in inputs.result.queries:
        return query
    same = [text.id for text in inputs.texts.values() if _folded(text.text) == _folded(query)]
    judged = [query_with_text for query_with_text in same if query_with_text in inputs.result.queries] or same
    if len(judged) > 1:
        what = f"{len(judged)} queries have the text {for_message(query)}"
        raise UsageError(what, fix=f"specify one of their ids with --query: {', '.join(map(for_message, judged))}")
    return judged[0] if judged else query


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _reject_unknown(query: str, result: MeasureResult) -> None:
    if query in result.query_ids:
        return
    from difflib import get_close_matches

    near = get_close_matches(query[:100], result.query_ids, n=3) or list(result.query_ids[:3])
    raise UsageError(
        f"no judged query has the id or the text {for_message(query)}",
        fix=f"there is, for example, {', '.join(map(for_message, near))}",
    )

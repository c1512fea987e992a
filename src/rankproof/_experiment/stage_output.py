"""StageOutput: what a stage gives for the queries, in memory, as journal blocks and as cached bytes, with its notes."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from rankproof._data.answers import Answer, AnswerUsage, SearchCall
from rankproof._data.arrays import FloatArray, IntArray
from rankproof._data.ordering import Ranking
from rankproof._data.replies import RecordedReply, ReusedReplies
from rankproof._data.run import PARTS
from rankproof._data.text import pluralise
from rankproof._io.array_files import Block
from rankproof._llm.budget import COUNT_NAMES, CountName, reply_notes
from rankproof.stages._base import Cost, QueryTimer
from rankproof.stages._vectors import truncation_note

CountsByName = Mapping[str, IntArray]
_FAILED_CALLS = "{failed} calls gave no valid reply"
_FAILURE_REASONS: Mapping[CountName, str] = {
    "given_up": "no valid reply after every attempt",
    "refused": "refused by the server",
    "failed": "no reply",
}
_FAILURE_EFFECTS: Mapping[CountName, str] = {
    "rewritten": "{failed} of {of} queries were not rewritten and were searched unchanged",
    "windows": "{failed} of {of} windows kept their input order",
    "graded": "{failed} of {of} documents could not be scored and kept their rank; the other documents were reranked",
    "compared": "{undecided} of {of} compared pairs count as ties",
    "encoded": "{failed} of {of} queries got no vector and have an empty ranking",
    "score_requests": "{failed} of {of} requests for scores failed: their documents kept their rank",
}
_TRUNCATION_COUNTS = ("cut", "cut_queries")


def call_count_notes(counts: CountsByName) -> tuple[str, ...]:
    """A note for each kind of failed or unusual call; `counts` has one number a query for each name."""
    sums = {name: int(values.sum()) for name, values in counts.items()}
    notes = [
        _failed_calls_note(sums),
        *_yes_no_note(counts),
        *_order_bias_note(sums),
        *_answer_format_note(sums),
        _unreadable_note(sums),
        _long_documents_note(sums),
        *reply_notes(sums),
    ]
    return tuple(note for note in notes if note)


def lost_calls_note(counts: Iterable[CountsByName]) -> str:
    """What happened instead of the calls of these systems without a valid reply; empty if there was none."""
    sums: dict[str, int] = dict.fromkeys(COUNT_NAMES, 0)
    for system in counts:
        for name, values in system.items():
            sums[name] += int(values.sum())
    return _failed_calls_note(sums)


def _failed_calls_note(sums: Mapping[str, int]) -> str:
    """What happened instead of the calls without a valid reply."""
    failed = sums["failed"] + sums["given_up"]
    if not failed:
        return ""
    causes = {**sums, "failed": sums["failed"] - sums["refused"]}
    reasons = ", ".join(f"{text} ({causes[name]})" for name, text in _FAILURE_REASONS.items() if causes[name])
    of, effect = next(((sums[use], text) for use, text in _FAILURE_EFFECTS.items() if sums[use]), (0, _FAILED_CALLS))
    return f"{effect.format(failed=failed, of=of, undecided=sums['undecided'])}: {reasons}"


def _yes_no_note(counts: CountsByName) -> list[str]:
    """How many queries were ranked by log-probabilities, by the text of replies, or not at all."""
    total, odds, texts = (int(np.count_nonzero(counts[name])) for name in ("graded", "by_odds", "by_text"))
    if not total:
        return []
    notes = {
        f"{odds} of {total} queries were ranked by the log-probabilities of Yes and No": odds,
        f"{texts} of {total} queries were ranked by the text of the replies, Yes above No: not every reply had a log-probability "
        "of Yes or No": texts,
        f"{total - odds - texts} of {total} queries kept their input order: no document had a valid reply": total - odds - texts,
    }
    return [note for note, count in notes.items() if count]


def _order_bias_note(sums: Mapping[str, int]) -> list[str]:
    """How often the model preferred a position to a document."""
    pairs, disagreed = sums["compared"], sums["disagreed"]
    if not disagreed:
        return []
    share = f"{disagreed} of {pairs} compared pairs ({disagreed / pairs:.0%})"
    return [f"{share} are ties: the model chose the same position in both orders"]


def _answer_format_note(sums: Mapping[str, int]) -> list[str]:
    """Answers without the requested JSON, and citations of passages that were not in the input."""
    plain, unknown = 0 if sums["graded"] else sums["by_text"], sums["dropped"]
    notes = {
        f"{pluralise(plain, 'reply is', 'replies are')} plain text instead of JSON": plain,
        pluralise(unknown, "cited source was", "cited sources were")
        + " left out, because the answer's input does not have them": unknown,
    }
    return [note for note, count in notes.items() if count]


def _unreadable_note(sums: Mapping[str, int]) -> str:
    count = sums["unreadable"]
    return pluralise(count, "invalid, truncated or refused reply", "invalid, truncated or refused replies") if count else ""


def _long_documents_note(sums: Mapping[str, int]) -> str:
    count = sums["long_documents"]
    longer = pluralise(count, "document is", "documents are")
    return f"an estimated {longer} longer than the API reads, at four bytes per token: it cuts them" if count else ""


PackedRankings = tuple[list[list[str]], FloatArray]


def pack_rankings(rankings: Iterable[Ranking]) -> PackedRankings:
    """The documents of each ranking, and the scores of all rankings in one array."""
    listed = list(rankings)
    scores = np.concatenate([np.zeros(0), *(np.asarray(scores, np.float64) for _, scores in listed)])
    return [list(docs) for docs, _ in listed], scores


def unpack_rankings(docs: Iterable[list[str]], scores: FloatArray) -> Iterator[Ranking]:
    """The rankings, with copies of their scores."""
    at = 0
    for doc in docs:
        yield doc, np.array(scores[at : at + len(doc)])
        at += len(doc)


TimesByPart = dict[str, FloatArray]


@dataclass(frozen=True, eq=False, slots=True)
class BlockOutput:
    """The rankings of all queries with times by part, truncation counts and call counts, one number a query.

    `cut` counts truncated pairs of query and passage, `cut_queries` truncated queries; `answers` is None for a stage without.
    """

    rankings: tuple[Ranking, ...]
    times: Mapping[str, FloatArray]
    cut: IntArray
    cut_queries: IntArray
    counts: Mapping[str, IntArray]
    answers: tuple[Answer, ...] | None = None
    remarks: tuple[str, ...] = ()

    def notes(self) -> tuple[str, ...]:
        """Notes on truncation and on calls, over all runs that the outputs come from, and the remarks."""
        count, pairs = int(np.count_nonzero(self.cut_queries)), int(self.cut.sum())
        queries = (truncation_note(count, len(self.cut_queries), "queries"),) if count else ()
        singular = "pair of query and passage is longer than the model's limit and was truncated"
        plural = "pairs of query and passage are longer than the model's limit and were truncated"
        truncated = (*queries, *((pluralise(pairs, singular, plural),) if pairs else ()))
        return (*truncated, *call_count_notes(self.counts), *self.remarks)


def with_rankings(output: BlockOutput, timed: Sequence[int], rankings: Sequence[Ranking], remarks: Sequence[str]) -> BlockOutput:
    """The rankings of all queries with the times of the timed ones; every other time is NaN.

    Counts are 0: a stage with a batch search calls no model, and has its own notes on truncated queries.
    """
    none, times = np.zeros(len(rankings), np.int64), {}
    for part, values in output.times.items():
        times[part] = np.full(len(rankings), np.nan)
        times[part][list(timed)] = values
    return BlockOutput(tuple(rankings), times, none, none, dict.fromkeys(COUNT_NAMES, none), remarks=tuple(remarks))


def query_block(rankings: Sequence[Ranking], timers: Sequence[QueryTimer], answers: Sequence[Answer] | None = None) -> Block:
    """Rankings, times, counts and answers of some queries."""
    docs, scores = pack_rankings(rankings)
    times: TimesByPart = {part: np.array([timer.milliseconds[part] for timer in timers]) for part in PARTS}
    cut = {name: np.array([getattr(timer, name) for timer in timers], np.int64) for name in _TRUNCATION_COUNTS}
    counts = {str(name): np.array([timer.counts[name] for timer in timers], np.int64) for name in COUNT_NAMES}
    answered = {} if answers is None else {"answers": _json_bytes([asdict(answer) for answer in answers])}
    return {"docs": _json_bytes(docs), "scores": scores, **cut, **counts, **times, **answered}


def read_query_blocks(blocks: Sequence[Block]) -> BlockOutput:
    """The content of the blocks, copied."""
    unpacked = (unpack_rankings(json.loads(block["docs"].tobytes()), block["scores"]) for block in blocks)
    times: TimesByPart = {part: np.concatenate([np.zeros(0), *(block[part] for block in blocks)]) for part in PARTS}
    arrays = {
        name: np.concatenate([np.zeros(0, np.int64), *(block[name] for block in blocks)])
        for name in (*_TRUNCATION_COUNTS, *COUNT_NAMES)
    }
    answered = [
        answer for block in blocks if "answers" in block for answer in answers_from_json(json.loads(block["answers"].tobytes()))
    ]
    return BlockOutput(
        tuple(ranking for rankings in unpacked for ranking in rankings),
        times,
        arrays["cut"],
        arrays["cut_queries"],
        {name: arrays[name] for name in COUNT_NAMES},
        tuple(answered) if blocks and "answers" in blocks[0] else None,
    )


def answers_from_json(values: Sequence[Mapping[str, object]]) -> list[Answer]:
    """Answers that were written as JSON."""
    return [_answer_from_json(value) for value in values]


def _answer_from_json(value: Mapping[str, Any]) -> Answer:
    parts: dict[str, Any] = {name: tuple(part) if isinstance(part, list) else part for name, part in value.items()}
    usage, searches = parts.pop("usage", None), parts.pop("searches", None)
    calls = None if searches is None else tuple(SearchCall(**{**call, "returned": tuple(call["returned"])}) for call in searches)
    return Answer(**parts, usage=None if usage is None else AnswerUsage(**usage), searches=calls)


def _json_bytes(value: object) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


@dataclass(frozen=True, eq=False, slots=True)
class StageOutput:
    """The rankings of a stage, in the order of the queries, with its own times and call counts, one number a query.

    A query that was not timed has the time NaN. `throughput` is queries a second in batch, None without a batch search.
    `answers` is None where neither the stage nor its input answers; `repeats` has the further answers by query. `replies` is None
    for a stage that is no search engine; it, `reused` and `texts`, the documents' texts in the replies, are not cached with the
    output.
    """

    rankings: tuple[Ranking, ...]
    times: Mapping[str, FloatArray]
    cost: Cost
    throughput: float | None
    facts: Mapping[str, Any]
    notes: tuple[str, ...]
    computed: str
    from_cache: bool = False
    counts: Mapping[str, IntArray] = field(default_factory=dict)
    answers: tuple[Answer, ...] | None = None
    replies: tuple[RecordedReply, ...] | None = None
    reused: ReusedReplies | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    repeats: Mapping[str, tuple[Answer, ...]] = field(default_factory=dict)

    def has_times_of(self, queries: Sequence[int]) -> bool:
        """Whether the queries at these positions were timed, or the stage is not timed at all."""
        return not any(np.isnan(values[list(queries)]).any() for values in self.times.values())

    def with_times_of(self, queries: Sequence[int]) -> StageOutput:
        """The output of a stage with a batch search with the times of these queries alone; any other output as it is."""
        if self.throughput is None:
            return self
        kept = np.isin(np.arange(len(self.rankings)), list(queries))
        return replace(self, times={part: np.where(kept, values, np.nan) for part, values in self.times.items()})


def inherited_answers(
    own: tuple[Answer, ...] | None, inputs: Sequence[StageOutput]
) -> tuple[tuple[Answer, ...] | None, tuple[str, ...]]:
    """The answers of a stage: its own, else those of its only input; several inputs give none, and a note."""
    if own is not None or len(inputs) == 1:
        return inputs[0].answers if own is None else own, ()
    answering = sum(input_.answers is not None for input_ in inputs)
    note = f"{answering} of {len(inputs)} fused systems answer: the fused system has no answers"
    return None, (note,) if answering else ()


def stage_output_bytes(output: StageOutput) -> bytes:
    """The output as an npz file without pickles."""
    docs, scores = pack_rankings(output.rankings)
    meta = {
        "docs": docs,
        "cost": [output.cost.seconds, output.cost.bytes, dict(output.cost.shared)],
        "throughput": output.throughput,
        "facts": output.facts,
        "notes": output.notes,
        "computed": output.computed,
        "answers": None if output.answers is None else [asdict(answer) for answer in output.answers],
        "repeats": {query: [asdict(answer) for answer in further] for query, further in output.repeats.items()},
    }
    arrays: dict[str, Any] = {f"time-{part}": values for part, values in output.times.items()}
    arrays |= {f"count-{name}": values for name, values in output.counts.items()}
    arrays["scores"] = scores
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, meta=np.frombuffer(json.dumps(meta).encode(), np.uint8), **arrays)
    return buffer.getvalue()


def read_stage_output(content: bytes) -> StageOutput:
    """The output in the bytes."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        meta = json.loads(arrays["meta"].tobytes())
        scores = arrays["scores"]
        times = _without_prefix("time-", arrays)
        counts = _without_prefix("count-", arrays)
    seconds, size, shared = meta["cost"]
    return StageOutput(
        tuple(unpack_rankings(meta["docs"], scores)),
        times,
        Cost(seconds, size, {key: (part[0], part[1]) for key, part in shared.items()}),
        meta["throughput"],
        meta["facts"],
        tuple(meta["notes"]),
        meta["computed"],
        from_cache=True,
        counts=counts,
        answers=None if meta["answers"] is None else tuple(answers_from_json(meta["answers"])),
        repeats={query: tuple(answers_from_json(further)) for query, further in meta["repeats"].items()},
    )


def _without_prefix(start: str, arrays: Any) -> dict[str, Any]:
    return {name.removeprefix(start): arrays[name] for name in arrays.files if name.startswith(start)}

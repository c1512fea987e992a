"""Asks the search engines of an experiment in turns, and puts their recorded replies together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from rankproof._data.corpus import Corpus
from rankproof._data.dataset import Query
from rankproof._data.replies import RecordedReply, ReusedReplies, failure_notes
from rankproof._data.text import example_ids, pluralise
from rankproof._llm.session import map_in_order
from rankproof._results.experiment_result import TimeSummary, summarise_times
from rankproof.errors import ExternalError, UsageError, for_message
from rankproof.stages._base import BuildContext
from rankproof.stages._engines.base import EngineClient, EngineError, EngineReply

_EARLY_CHECK = 20
"""Queries after which an engine that has retrieved no known document is refused."""
_SHOWN_NOTES = 5


def ask_in_turns(clients: Sequence[tuple[str, EngineClient]], queries: Sequence[Query], context: BuildContext) -> None:
    """Asks every engine each query that has no recorded reply; for each query another engine is first.

    So no engine always profits from caches that the one before it has filled. `clients` has each client with its system.
    """
    requests = [at for at, query in enumerate(queries) if any(client.find(query) is None for _, client in clients)]

    def ask(at: int) -> None:
        first = (context.session.repeat + at - 1) % len(clients)
        for name, client in (*clients[first:], *clients[:first]):
            with named_errors(name):
                reply = client.ask(queries[at])
            if context.engines.strict and isinstance(reply, EngineError):
                raise strict_error(name, queries[at], reply)

    label = f"{', '.join(dict.fromkeys(name for name, _ in clients))}: asking"
    concurrency = max((client.stage.concurrency for _, client in clients), default=1)
    for done, _ in enumerate(map_in_order(context.session, ask, requests, concurrency), 1):
        context.progress(label, done, len(requests))
        if done == _EARLY_CHECK:
            for name, client in clients:
                _check_any_known(name, client, queries, context.corpus)


@contextmanager
def named_errors(name: str) -> Iterator[None]:
    """Adds the system to an error about its settings that its engine found."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"system {for_message(name)}: {error.what}", fix=error.fix) from None


def strict_error(name: str, query: Query, failure: EngineError) -> ExternalError:
    """The error for a failed query where the run is strict."""
    where = f"system {for_message(name)}, query {for_message(query.id)}"
    return ExternalError(f"{where}: {failure.what}; run without --strict to count failed queries with 0")


@dataclass(frozen=True, eq=False, slots=True)
class EngineOutput:
    """The replies to all queries in their order, with the notes and facts of the system."""

    replies: tuple[RecordedReply, ...]
    notes: tuple[str, ...]
    facts: Mapping[str, Any]
    texts: Mapping[str, str]
    from_cache: bool
    asked: str
    reused: ReusedReplies | None


def engine_output(client: EngineClient, queries: Sequence[Query], context: BuildContext, label: str) -> EngineOutput:
    """What the engine replied; rankings of which most documents are unknown to the corpus are refused."""
    replies = tuple(_recorded(client, query, context) for query in queries)
    check_known_documents([reply.docs for reply in replies], context.corpus, label)
    received = [reply for query in queries if isinstance(reply := client.find(query), EngineReply)]
    earlier = [reply.asked for reply, query in zip(replies, queries, strict=True) if reply.asked and not client.was_sent(query)]
    return EngineOutput(
        replies,
        tuple(_notes(replies, queries, context)),
        _facts(replies),
        {doc: text for reply in received for doc, text in reply.texts.items()},
        bool(received) and not any(client.was_sent(query) for query in queries),
        max((reply.asked for reply in replies), default=""),
        ReusedReplies(label, len(earlier), len(replies), min(earlier), max(earlier)) if earlier else None,
    )


def _recorded(client: EngineClient, query: Query, context: BuildContext) -> RecordedReply:
    reply = client.find(query)
    assert reply is not None, "every query is asked before"
    if isinstance(reply, EngineError):
        return RecordedReply("failed" if reply.sent else "not asked", reply.what, requests=reply.requests)
    return RecordedReply(
        docs=reply.docs,
        scores=reply.scores,
        round_trip_ms=reply.seconds * 1000,
        server_ms=reply.server_ms,
        requests=reply.requests,
        asked=reply.asked,
        notes=reply.notes,
        unknown=sum(doc not in context.corpus for doc in reply.docs) if context.corpus else 0,
    )


def check_known_documents(rankings: Sequence[Sequence[str]], corpus: Corpus, label: str) -> None:
    """Refuses rankings of which more than half of all documents are not in the corpus; a dataset without documents has none."""
    unknown, total = _unknown_documents(rankings, corpus), sum(map(len, rankings))
    if len(unknown) * 2 <= total:
        return
    raise _mismatch(label, f"{len(unknown)} of {total}", unknown, corpus)


def _check_any_known(name: str, client: EngineClient, queries: Sequence[Query], corpus: Corpus) -> None:
    """Refuses an engine that has retrieved documents but none of the corpus."""
    replies = (reply for query in queries if isinstance(reply := client.find(query), EngineReply))
    docs = [doc for reply in replies for doc in reply.docs]
    if docs and corpus and not any(doc in corpus for doc in docs):
        raise _mismatch(name, f"{len(docs)} of {len(docs)}", docs, corpus)


def _mismatch(name: str, share: str, docs: Sequence[str], corpus: Corpus) -> UsageError:
    what = f"{for_message(name)}: {share} retrieved documents are not in the corpus: it retrieves {example_ids(docs)}"
    return UsageError(f"{what}, the corpus has {example_ids(corpus)}", fix="let it return the ids of the corpus")


def _notes(replies: Sequence[RecordedReply], queries: Sequence[Query], context: BuildContext) -> Iterator[str]:
    texts = {query.id: query.text for query in queries}
    yield from failure_notes(dict(zip(texts, replies, strict=True)), texts)
    yield from unknown_document_notes([reply.docs for reply in replies], context.corpus)
    if empty := sum(reply.state == "ok" and not reply.docs for reply in replies):
        yield f"{empty} of {pluralise(len(replies), 'query', 'queries')} found no document"
    counts = Counter(note for reply in replies for note in reply.notes)
    for note, count in counts.most_common(_SHOWN_NOTES):
        yield f"{pluralise(count, 'query', 'queries')}: {note}"
    if (more := len(counts) - _SHOWN_NOTES) > 0:
        yield f"{pluralise(more, 'other note')} on replies; see the folder replies"


def unknown_document_notes(rankings: Sequence[Sequence[str]], corpus: Corpus) -> Iterator[str]:
    """A note on documents that are not in the corpus."""
    if unknown := _unknown_documents(rankings, corpus):
        share = f"{len(unknown)} of {sum(map(len, rankings))} retrieved documents are not in the corpus"
        yield f"{share} ({example_ids(unknown)}); they keep their rank; fusion and reranking leave them out"


def _unknown_documents(rankings: Sequence[Sequence[str]], corpus: Corpus) -> list[str]:
    """The retrieved documents that are not in the corpus, each as often as it was retrieved."""
    return corpus.missing(doc for docs in rankings for doc in docs) if corpus else []


def _plain(times: TimeSummary | None) -> dict[str, float | None] | None:
    return None if times is None else asdict(times)


def _facts(replies: Sequence[RecordedReply]) -> dict[str, Any]:
    """Round trip and server time in milliseconds, and how many requests were sent for the replies."""
    trips = [reply.round_trip_ms for reply in replies if reply.round_trip_ms is not None]
    server = [reply.server_ms for reply in replies if reply.server_ms is not None]
    return {
        "round_trip_ms": _plain(summarise_times(trips)),
        "server_ms": _plain(summarise_times(server)),
        "requests": sum(reply.requests for reply in replies),
        "failed": sum(reply.state != "ok" for reply in replies),
        "not_in_corpus": sum(reply.unknown for reply in replies),
    }

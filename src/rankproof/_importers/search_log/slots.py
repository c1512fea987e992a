"""The places of documents in the lists of their sessions, as columns with a row per document or event."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankproof._data.arrays import BoolArray
from rankproof._importers.search_log.columns import chunks
from rankproof._importers.search_log.log import Codes, Sessions

Array = np.ndarray[Any, np.dtype[Any]]


def is_sorted(values: Array) -> bool:
    """Whether no value is below the one before it."""
    return bool((values[1:] >= values[:-1]).all())


def order_by_rank(session: Array, rank: Array) -> Array | None:
    """The order by session and rank, None if rows have it; rows without a rank keep their order, after the others."""
    last = int(rank.max(initial=0)) + 1
    key = session.astype(np.int64)
    key *= last + 1
    key += np.where(rank < 0, last, rank)
    return None if is_sorted(key) else np.argsort(key, kind="stable")


def first_rows(session: Array, doc: Codes, docs: int) -> BoolArray | None:
    """Whether a row is the first of its session with its document, or has none; None if all are."""
    key = session.astype(np.int64)
    key *= docs + 1
    key += doc
    if not (doc < 0).any():
        in_order = np.sort(key)
        if not (in_order[1:] == in_order[:-1]).any():
            return None
        del in_order
    first = doc < 0
    first[np.unique(key, return_index=True)[1]] = True
    return None if first.all() else np.asarray(first)


def slots_of(session: Array, doc: Codes, rank: Codes, sessions: Sessions) -> Codes:
    """The place of each document in the list of its session, from 1; 0 if it is not there.

    An event without a document is about the one at the rank that it names.
    """
    slot = np.zeros(len(session), dtype=np.int32)
    for rows in chunks(len(session)):
        slot[rows] = _slots(session[rows], doc[rows], rank[rows], sessions)
    return slot


def _slots(session: Array, doc: Codes, rank: Codes, sessions: Sessions) -> Codes:
    start = sessions.offsets[session]
    length = sessions.offsets[session + 1] - start
    slot = np.zeros(len(session), dtype=np.int32)
    left = np.flatnonzero((length > 0) & ((doc >= 0) | (rank >= 0)))
    for at in range(int(length.max(initial=0))):
        left = left[length[left] > at]
        if not len(left):
            break
        place = start[left] + at
        match = np.where(doc[left] >= 0, sessions.docs[place] == doc[left], sessions.ranks[place] == rank[left])
        slot[left[match]] = at + 1
        left = left[~match]
    return slot


def named_docs(session: Array, slot: Codes, doc: Codes, sessions: Sessions) -> Codes:
    """The document of each event; that of its place in the list if the event names only a rank."""
    if not len(sessions.docs):
        return doc
    rows = np.flatnonzero((doc < 0) & (slot > 0))
    if not len(rows):
        return doc
    named = doc.copy()
    named[rows] = sessions.docs[sessions.offsets[session[rows]] + slot[rows] - 1]
    return named

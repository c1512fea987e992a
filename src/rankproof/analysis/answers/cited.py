"""What answers from elsewhere cite and were given, by the ids that judgements name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from ...data.answers import Answer, Answers
from ...data.qrels import Qrels
from ...evaluation.notes import Note
from ...stages.chunks.chunking import document_of, separator
from ..wording import counted, few

UNJUDGED = "unjudged-citations"


def judged_documents(answers: Iterable[Answers], qrels: Qrels) -> dict[str, str]:
    """From an id that is written as our chunks are (d1#c1) to the judged document that it is of."""
    return documents_of((one for each in answers for one in each.values()), _named(qrels))


def documents_of(answers: Iterable[Answer], known: Set[str]) -> dict[str, str]:
    """The same for any known documents; what is none of their chunks is not in it."""
    mark = separator(known)
    passages = {doc for one in answers for doc in (*one.given, *one.cited)} - known
    wholes = {passage: document_of(passage, mark) for passage in sorted(passages) if passage.rpartition(mark)[2].isdigit()}
    return {passage: whole for passage, whole in wholes.items() if whole in known}


def unjudged_citations(answers: Answers, qrels: Qrels, wholes: Mapping[str, str]) -> tuple[Note, ...]:
    """The ids that a system cites and no judgement names, not even of another query: perhaps they are ids of something else."""
    judged = _named(qrels)
    cited = dict.fromkeys(wholes.get(doc, doc) for one in answers.values() for doc in one.cited)
    strange = [doc for doc in cited if doc not in judged]
    if not strange:
        return ()
    told = "is named by no judgement and counts" if len(strange) == 1 else "are named by no judgement and count"
    return (Note(UNJUDGED, len(strange), f"{counted(len(strange), 'cited id')} {told} as not relevant: {few(strange)}"),)


def _named(qrels: Qrels) -> set[str]:
    return {doc for docs in qrels.values() for doc in docs}

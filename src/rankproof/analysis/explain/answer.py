"""An answer's F1 taken apart: the words that it shares with the reference."""

from __future__ import annotations

from ...measures.answers import shared_words
from ..table import Column, Table


def explain_answer(answer: str, reference: str) -> Table:
    """Every word with where it stands; 2 x shared / (words of the answer + words of the reference)."""
    words = shared_words(answer, reference)
    order = sorted(words.answer | words.reference, key=lambda word: (word not in words.shared, word not in words.answer, word))
    rows = tuple((word, word in words.answer, word in words.reference, word in words.shared) for word in order)
    shared, ours, theirs = len(words.shared), len(words.answer), len(words.reference)
    return Table(
        name="explain-answer",
        title=f"F1(tokens='set') of an answer: {words.f1:.4f}",
        columns=(Column("word"), Column("in the answer", "flag"), Column("in the reference", "flag"), Column("shared", "flag")),
        rows=rows,
        sentences=(f"2 x {shared} shared / ({ours} in the answer + {theirs} in the reference) = {words.f1:.4f}.",),
        facts={"n": 1, "shared": shared, "answer": ours, "reference": theirs, "f1": words.f1},
    )

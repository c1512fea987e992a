"""An answer's F1 taken apart: the words that it shares with the reference."""

from __future__ import annotations

from ...measures.answers import shared_words, token_bag_f1, word_bag
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


def explain_bag(answer: str, reference: str) -> Table:
    """Every word with how often it stands on either side; articles are left out, as SQuAD has it."""
    said, wanted = word_bag(answer), word_bag(reference)
    both = said & wanted
    order = sorted(said | wanted, key=lambda word: (not both[word], not said[word], word))
    f1 = token_bag_f1(answer, reference)
    counts = both.total(), said.total(), wanted.total()
    return Table(
        name="explain-answer",
        title=f"F1(tokens='bag') of an answer: {f1:.4f}",
        columns=(Column("word"), *(Column(name, "count") for name in ("in the answer", "in the reference", "shared"))),
        rows=tuple((word, said[word], wanted[word], both[word]) for word in order),
        sentences=("2 x {} shared / ({} in the answer + {} in the reference) = ".format(*counts) + f"{f1:.4f}.",),
        facts={"n": 1, "shared": counts[0], "answer": counts[1], "reference": counts[2], "f1": f1},
    )

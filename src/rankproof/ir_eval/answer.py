"""Seed 003: a generated answer against the reference."""

from __future__ import annotations

from ..errors import UsageError
from ..measures.answers import token_set_f1


def compute_answer_f1(generated_answer: str, reference_answer: str) -> float:
    """F1 of the two sets of words, in lower case and without punctuation; 0 where either has none."""
    for text in (generated_answer, reference_answer):
        if not isinstance(text, str):
            raise UsageError(f"an answer is {type(text).__name__}, not text", fix="pass both answers as text")
    return token_set_f1(generated_answer, reference_answer)

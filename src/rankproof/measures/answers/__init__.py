"""Measures of answers: a file each, parsed and printed in the notation of the others."""

from __future__ import annotations

from .base import AnswerMeasure, Case, Encode
from .citations import CiteP, CiteR
from .contains import Contains
from .exact_match import EM
from .f1 import AnswerF1, SharedWords, shared_words, token_bag_f1, token_set_f1, word_bag
from .normalised import normalised
from .rouge_l import ROUGE_L, rouge_words
from .similarity import Similarity

__all__ = [
    "EM",
    "ROUGE_L",
    "AnswerF1",
    "AnswerMeasure",
    "Case",
    "CiteP",
    "CiteR",
    "Contains",
    "Encode",
    "SharedWords",
    "Similarity",
    "normalised",
    "rouge_words",
    "shared_words",
    "token_bag_f1",
    "token_set_f1",
    "word_bag",
]

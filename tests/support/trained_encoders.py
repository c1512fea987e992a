"""Tiny tokenizers and encoder shapes of every kind."""

from __future__ import annotations

from functools import cache

from rankproof.models._trained.shape import ARCHITECTURES as ARCHITECTURES
from rankproof.models._trained.shape import Architecture, NetShape, fit_shape
from rankproof.models._trained.tokenizers import TOKENIZER_KINDS as NAMES
from rankproof.models._trained.tokenizers import Tokenizer, train_tokenizer

KINDS = tuple(name.replace("-N", "-300") for name in NAMES)
TRAINED = tuple(kind for kind, name in zip(KINDS, NAMES, strict=True) if kind != name)
ENGLISH = tuple(
    f"The {one} fox jumps over the {other} dog, and the {other} dog sleeps on by the {one} river."
    for one in ("quick", "brown", "small", "hungry")
    for other in ("lazy", "old", "sleepy", "patient")
)
HOSTILE = {
    "empty": "",
    "blank": " \t\n",
    "NUL": "a\0b",
    "half a pair": "a\ud800b",
    "other half": "\udc00",
    "pair in two halves": "\ud83d\ude00",
    "emoji": "👩‍👩‍👧 😀",
    "last code point": "\U0010ffff",
    "byte order mark": "\ufeffword",
    "right to left": "\u202eabc שלום",
    "combining": "e\u0301" * 40,
    "Thai": "สุนัขจิ้งจอกสีน้ำตาล",
    "names of special tokens": "[PAD] [UNK] [CLS] <pad> ##a",
    "one long word": "x" * 5000,
}


@cache
def tokenizer_of(kind: str) -> Tokenizer:
    return train_tokenizer(kind, ENGLISH)


def shape_of(kind: str, architecture: Architecture = "transformer", **sizes: int) -> NetShape:
    options = {"parameters": 150_000, "width": 32, "depth": 2, "heads": 2, **sizes}
    return fit_shape(kind, tokenizer_of(kind).vocabulary, architecture=architecture, **options)

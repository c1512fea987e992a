"""Made-up texts for benchmarks on a GPU: words of a WordPiece vocabulary, drawn by Zipf's law."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

RARE_SHARE = 0.15
"""The share of words that are joined from two words, so that a word has about 1.2 tokens as in English."""


class Words:
    """The words of a tokenizer.json, most probable first."""

    def __init__(self, tokenizer: Path) -> None:
        vocabulary = json.loads(tokenizer.read_text(encoding="utf-8"))["model"]["vocab"]
        self._words = [word for word in sorted(vocabulary, key=vocabulary.get) if word.isascii() and word.isalpha()]
        self._share = np.cumsum(1 / (np.arange(len(self._words)) + 3.0))

    def texts(self, count: int, length: int, *, seed: int) -> list[str]:
        """So many texts of `length` words."""
        return [text for start in range(0, count, 1000) for text in self._some(min(1000, count - start), length, (seed, start))]

    def varied(self, count: int, least: int, most: int, *, seed: int) -> list[str]:
        """So many texts of `least` to `most` words."""
        lengths = np.random.default_rng((seed, 0)).integers(least, most + 1, count)
        whole = self.texts(count, most, seed=seed)
        return [" ".join(text.split(" ", length)[:length]) for text, length in zip(whole, lengths.tolist(), strict=True)]

    def _some(self, count: int, length: int, seed: tuple[int, int]) -> list[str]:
        dice = np.random.default_rng(seed)
        chosen = np.searchsorted(self._share, dice.random((count, length)) * self._share[-1])
        joined = dice.random((count, length)) < RARE_SHARE
        words, spaces = self._words, np.where(joined, 0, 1).tolist()
        return [
            "".join([words[word] + " " * space for word, space in zip(row, between, strict=True)]).strip()
            for row, between in zip(chosen.tolist(), spaces, strict=True)
        ]

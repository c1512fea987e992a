"""Normalised texts and ids, for finding near duplicates."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

import numpy as np

from rankproof._data.arrays import id_hash

_WORD = re.compile(r"\w+")
_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])")


def normalised_text(text: str) -> str:
    """The text without differences in case, white space and Unicode form."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def repeated_positions(texts: Iterable[str], count: int) -> list[int]:
    """The positions of texts that occur more than once, by their hash, so that no text stays in memory."""
    hashes = np.fromiter((id_hash(text.encode(errors="surrogatepass")) for text in texts), np.uint64, count)
    _, which, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    positions: list[int] = np.flatnonzero(counts[which] > 1).tolist()
    return positions


def words_of(text: str) -> list[str]:
    """The normalised words without punctuation."""
    return _WORD.findall(normalised_text(text))


def normalised_id(name: str) -> str:
    """The id without differences in case, white space and Unicode form."""
    return "".join(unicodedata.normalize("NFKC", name).casefold().split())


def normalised_id_or_number(name: str) -> str:
    """The normalised id without leading zeros of numbers."""
    return _ZEROS.sub("", normalised_id(name))

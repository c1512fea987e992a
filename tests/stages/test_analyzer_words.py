"""An analyzer keeps the terms of a limited number of words."""

from __future__ import annotations

from unittest.mock import patch

from rankproof.stages import _analyzer
from rankproof.stages._analyzer import WordAnalyzer


def test_an_analyzer_that_forgets_words_gives_the_same_terms() -> None:
    text = "the houses of running dogs and the dogs of running houses"
    whole = WordAnalyzer("english", stemming=True, stop_words=True).tokenize(text)
    with patch.object(_analyzer, "_MOST_WORDS", 2):
        forgetful = WordAnalyzer("english", stemming=True, stop_words=True)
        assert forgetful.tokenize(text) == whole == ["hous", "run", "dog", "dog", "run", "hous"]
        assert len(forgetful) <= 2

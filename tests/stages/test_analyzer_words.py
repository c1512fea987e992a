"""Tokenization into words: word boundaries, stemming, stop words and languages."""

from __future__ import annotations

from unittest.mock import patch

import bm25s.stopwords
import pytest
import Stemmer

from rankproof._data.wording.stop_words import listed_stop_words
from rankproof.errors import UsageError
from rankproof.stages import _analyzer
from rankproof.stages._analyzer import STEMMERS, STOP_LISTS, WordAnalyzer, check_language, split_words

WORDS = {
    "one letter is a word": ("a B c", ["a", "b", "c"]),
    "digits and underscores belong": ("max_k=10, x2", ["max_k", "10", "x2"]),
    "punctuation separates": ("don't stop-now…", ["don", "t", "stop", "now"]),
    "composed and decomposed are one": ("Cafe\u0301 caf\u00e9", ["café", "café"]),
    "full width and ligatures become plain": ("ＡＢ ﬁn", ["ab", "fin"]),
    "vowel signs belong to their letters": ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
    "points belong to their letters": ("שָׁלוֹם", ["שָׁלוֹם"]),
    "letters beyond the first plane": ("𐐀𐐁 x", ["𐐨𐐩", "x"]),
    "nothing": (" \n—!", []),
}


@pytest.mark.parametrize("case", WORDS)
def test_what_counts_as_a_word(case: str) -> None:
    text, expected = WORDS[case]
    assert split_words(text) == expected


def test_terms_are_stemmed_and_keep_their_order_and_number() -> None:
    terms = WordAnalyzer("english", stemming=True, stop_words=True)
    assert terms.tokenize("The cats and a cat are running; RUNS") == ["cat", "cat", "run", "run"]


def test_without_stemming_and_stop_words_every_word_stays_as_it_is() -> None:
    assert WordAnalyzer("english", stemming=False, stop_words=False).tokenize("The cats") == ["the", "cats"]


def test_custom_stop_words_are_removed_in_any_case_and_before_stemming() -> None:
    assert WordAnalyzer("english", stemming=True, stop_words=("CATS", "l'a")).tokenize("Cats cat l a dog") == ["cat", "dog"]


def test_other_languages_have_their_own_forms() -> None:
    assert WordAnalyzer("german", stemming=True, stop_words=True).tokenize("Die Häuser und das Haus") == ["haus", "haus"]


def test_the_languages_are_those_of_the_libraries() -> None:
    assert set(STEMMERS) <= set(Stemmer.algorithms())
    names = {name.removeprefix("STOPWORDS_").lower() for name in dir(bm25s.stopwords) if name.startswith("STOPWORDS_")}
    assert len(STOP_LISTS) == 14
    assert set(STOP_LISTS) == set(listed_stop_words()) == names - {"en_plus", "en"} | {"english"}


@pytest.mark.parametrize("language", STOP_LISTS)
def test_the_stop_words_are_those_of_bm25s(language: str) -> None:
    name = "EN" if language == "english" else language.upper()
    expected = getattr(bm25s.stopwords, f"STOPWORDS_{name}")
    assert tuple(listed_stop_words()[language].split()) == expected
    assert [word for entry in expected for word in split_words(entry)] == list(expected)
    analyzer = WordAnalyzer(language, stemming=False, stop_words=True)
    assert analyzer.tokenize(" ".join((*expected, "rankproof", *map(str.upper, expected[:1])))) == ["rankproof"]


def test_a_language_must_have_what_is_asked_for() -> None:
    with pytest.raises(UsageError, match=r"no stemmer for korean; choose one of arabic, .* or turn stemming off"):
        check_language("korean", stemming=True, stop_words=True)
    with pytest.raises(UsageError, match=r"no stop word list for finnish; choose one of chinese, .* give your own"):
        check_language("finnish", stemming=True, stop_words=True)
    check_language("korean", stemming=False, stop_words=True)
    check_language("finnish", stemming=True, stop_words=("ja",))
    check_language("klingon", stemming=False, stop_words=False)


def test_an_analyzer_that_forgets_words_gives_the_same_terms() -> None:
    text = "the houses of running dogs and the dogs of running houses"
    whole = WordAnalyzer("english", stemming=True, stop_words=True).tokenize(text)
    with patch.object(_analyzer, "_MOST_WORDS", 2):
        forgetful = WordAnalyzer("english", stemming=True, stop_words=True)
        assert forgetful.tokenize(text) == whole == ["hous", "run", "dog", "dog", "run", "hous"]
        assert len(forgetful) <= 2

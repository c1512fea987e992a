"""The filters of generated queries, by examples, laws and a plain reference."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._data.corpus import Corpus, Document
from rankproof._generate.filters import (
    DUPLICATE_SIMILARITY,
    MAX_COPIED_SHARE,
    MAX_COPIED_WORDS,
    MIN_COPIED_WORDS,
    DuplicateFilter,
    TermStatistics,
    is_copy,
    is_title,
    reject_reason,
)
from rankproof._generate.generated_queries import REJECT_REASONS, QueryDraft, RejectReason, SourceDocument

TEXT = "Boil strawberries with sugar and lemon until drops wrinkle on a cold plate; pectin then holds the jam for 30 days."
CORPUS = Corpus([Document("jam", TEXT, "How to set jam"), Document("bread", "Flour and water", "Bread")])
LEXICON = TermStatistics(CORPUS, ("title", "text"))
some_words = st.lists(st.sampled_from("abcd"), max_size=12)


def reason(text: str, answers: tuple[str, ...] = (), category: str = "keyword") -> RejectReason | None:
    return reject_reason(QueryDraft(text, answers), SourceDocument(category, ("jam",)), [CORPUS["jam"]], LEXICON)


EXAMPLES: list[tuple[str, tuple[str, ...], str, RejectReason | None]] = [
    ("strawberry jam setting point", (), "keyword", None),
    ("how long does jam keep", ("30 days",), "factual", None),
    ("", (), "keyword", "empty"),
    ("12 34 ?", (), "keyword", "empty"),
    ("jam", (), "keyword", "short"),
    ("jam " * 33, (), "keyword", "long"),
    ("jam " + "a" * 300, (), "keyword", "long"),
    ("quantum chromodynamics lattice", (), "keyword", "unknown-words"),
    ("the of and which", (), "keyword", "unknown-words"),
    ("what does the passage say about jam", (), "factual", "names-source"),
    ("according to this short text how is jam made", (), "factual", "names-source"),
    ("what is jam in Passage 1", (), "factual", "names-source"),
    ("How to SET jam", (), "how-to", "title"),
    ("jam set to how", (), "how-to", "title"),
    ("tell me how to set jam please", (), "how-to", "title"),
    ("to set jam", (), "how-to", "title"),
    ("until drops wrinkle on a cold plate", (), "question", "copied"),
    ("why must you boil strawberries with sugar and lemon until drops wrinkle and what then", (), "question", "copied"),
    ("does jam keep for 30 days", ("30 days",), "factual", "gives-answer"),
    ("who invented jam", ("pectin",), "unanswerable", "answerable"),
    ("who invented jam", (), "unanswerable", None),
    ("which fruit needs lemon", (), "negated", "no-negation"),
    ("which fruit doesn’t need lemon", (), "negated", None),
]


@pytest.mark.parametrize(("text", "answers", "category", "expected"), EXAMPLES)
def test_each_filter_by_example(text: str, answers: tuple[str, ...], category: str, expected: RejectReason | None) -> None:
    assert reason(text, answers, category) == expected


def test_every_reason_has_an_example_or_a_test_of_its_own() -> None:
    elsewhere = {"no-draft", "duplicate", "near-duplicate"}
    assert {expected for *_, expected in EXAMPLES if expected} | elsewhere == set(REJECT_REASONS)


def _longest_span(asked: list[str], text: list[str]) -> int:
    """By trying every piece."""
    pieces = [asked[start:end] for start in range(len(asked)) for end in range(start + 1, len(asked) + 1)]
    return max((len(piece) for piece in pieces for at in range(len(text)) if text[at : at + len(piece)] == piece), default=0)


@given(asked=some_words, text=some_words)
def test_a_copy_is_found_by_its_longest_span(asked: list[str], text: list[str]) -> None:
    span = _longest_span(asked, text)
    assert is_copy(asked, text) == (
        span >= MAX_COPIED_WORDS or (span >= MIN_COPIED_WORDS and span >= MAX_COPIED_SHARE * len(asked))
    )


@given(asked=some_words, before=some_words, after=some_words)
def test_a_query_of_five_words_taken_from_the_text_is_always_a_copy(
    asked: list[str], before: list[str], after: list[str]
) -> None:
    if len(asked) >= MIN_COPIED_WORDS:
        assert is_copy(asked, before + asked + after)


@given(title=some_words, order=st.randoms(use_true_random=False))
def test_the_words_of_a_title_are_the_title_in_any_order(title: list[str], order: object) -> None:
    mixed = sorted(title, key=lambda word: order.random())  # type: ignore[attr-defined]
    assert is_title(mixed, title) == bool(title)


@given(st.lists(st.frozensets(st.sampled_from("abcdefgh"), min_size=1), max_size=12))
def test_kept_queries_are_never_near_duplicates_and_the_first_is_kept(sets: list[frozenset[str]]) -> None:
    earlier = DuplicateFilter()
    kept: list[frozenset[str]] = []
    for terms in sets:
        found = earlier.reject_reason(terms)
        alike = [other for other in kept if len(terms & other) >= DUPLICATE_SIMILARITY * len(terms | other)]
        assert (found is None) == (not alike)
        assert (found == "duplicate") == (terms in kept)
        if found is None:
            earlier.add(terms)
            kept.append(terms)
    assert kept[:1] == sets[:1]

"""Measures of answers: laws, worked examples, and a second implementation of SQuAD's."""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import rankproof
from rankproof._data.wording.stop_words import stop_words_of
from rankproof.errors import UsageError
from rankproof.measures import ANSWER_MEASURES, parse_measure, parse_measures
from rankproof.measures._answers import (
    ROUGE_L,
    AnswerCase,
    AnswerSimilarity,
    CaseState,
    lcs_length,
    normalise_answer,
    shared_words,
    token_set_f1,
)
from rankproof.measures._citations import AnswerStateMeasure
from rankproof.measures._claim_base import ClaimMeasure
from rankproof.measures._registry import default_answer_measures
from rankproof.plugins import AnswerMeasure

EVERY = ["EM", "F1(tokens='bag')", "F1(tokens='set')", "F1(tokens='set',stop_words='english')", "Contains", "ROUGE-L"]
EVERY += ["Similarity(model='letters')", "CiteP", "CiteR", "Evidence"]
TEXT = EVERY[:6]
WORDS = st.text(alphabet="abcAB ,.the", max_size=30) | st.text(max_size=20)
IDS = st.lists(st.sampled_from("abcde"), max_size=4, unique=True).map(tuple)


def letters(name: str, texts: Sequence[str]) -> np.ndarray:
    """An encoder that counts letters."""
    assert name == "letters"
    rows = np.array([[text.lower().count(letter) for letter in string.ascii_lowercase] for text in texts], dtype=np.float32)
    sizes = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(sizes == 0, 1, sizes)


def value(name: str, case: AnswerCase) -> float | None:
    measure = parse_measure(name)
    assert isinstance(measure, AnswerMeasure)
    return measure.answer_values([case], letters)[0]


def said(name: str, answer: str, *references: str) -> float:
    found = value(name, AnswerCase(answer, references))
    assert found is not None
    return found


CASES = st.builds(
    AnswerCase,
    WORDS,
    st.lists(WORDS, min_size=1, max_size=3).map(tuple),
    IDS,
    st.none() | IDS.map(frozenset),
    st.sampled_from(["answered", "missing"]),
)


def test_the_laws_cover_every_measure_of_answers() -> None:
    of_claims = {name for name, one in ANSWER_MEASURES.items() if isinstance(one, ClaimMeasure | AnswerStateMeasure)}
    assert {parse_measure(name).name for name in EVERY} == set(ANSWER_MEASURES) - of_claims | {"CiteP", "CiteR"}


@pytest.mark.parametrize("name", EVERY)
@given(case=CASES)
def test_a_value_is_within_the_range_and_a_missing_answer_counts_0(name: str, case: AnswerCase) -> None:
    found = value(name, case)
    low, high = parse_measure(name).range
    assert found is None or low <= found <= high
    assert case.state != "missing" or found in (None, 0.0)


@pytest.mark.parametrize("name", TEXT)
@given(text=WORDS, more=WORDS)
def test_another_reference_never_lowers_a_value(name: str, text: str, more: str) -> None:
    assert said(name, text, more, text) >= max(said(name, text, more), said(name, text, text))


@pytest.mark.parametrize("name", EVERY[:7])
@given(word=st.from_regex(r"[b-z]{2,9}( [b-z]{2,9}){0,3}", fullmatch=True))
def test_an_answer_that_is_the_reference_has_1(name: str, word: str) -> None:
    assert said(name, word, word) == pytest.approx(1.0, abs=1e-6) or set(word.split()) <= stop_words_of("english")


@pytest.mark.parametrize("name", ["EM", "F1(tokens='bag')", "F1(tokens='set')", "ROUGE-L"])
@given(one=WORDS, other=WORDS)
def test_answer_and_reference_can_be_swapped(name: str, one: str, other: str) -> None:
    assert said(name, one, other) == said(name, other, one)


@pytest.mark.parametrize("name", TEXT)
@given(one=st.text(alphabet="abcd xyz.", max_size=20), other=st.text(alphabet="abcd xyz.", max_size=20))
def test_case_does_not_count(name: str, one: str, other: str) -> None:
    assert said(name, one.upper(), other) == said(name, one, other.upper()) == said(name, one, other)


@given(one=WORDS, other=WORDS)
def test_equal_texts_are_contained_and_have_an_f1_of_1(one: str, other: str) -> None:
    assert said("EM", one, other) <= said("Contains", one, other)
    assert said("EM", one, other) <= said("F1(tokens='bag')", one, other)


def squad_tokens(text: str) -> list[str]:
    plain = "".join(char for char in text.lower() if char not in set(string.punctuation))
    return re.sub(r"\b(a|an|the)\b", " ", plain).split()


def squad_f1(answer: str, gold: str) -> float:
    wanted, given_tokens = squad_tokens(gold), squad_tokens(answer)
    same = sum((Counter(wanted) & Counter(given_tokens)).values())
    if not wanted or not given_tokens:
        return float(wanted == given_tokens)
    if not same:
        return 0.0
    precision, recall = same / len(given_tokens), same / len(wanted)
    return 2 * precision * recall / (precision + recall)


@given(one=WORDS, other=WORDS)
def test_bag_f1_and_em_equal_those_of_squad(one: str, other: str) -> None:
    assume(bool(one.strip()) == bool(other.strip()))
    assert said("F1(tokens='bag')", one, other) == pytest.approx(squad_f1(one, other), abs=1e-12)
    assert said("EM", one, other) == float(squad_tokens(one) == squad_tokens(other))


EXAMPLES = [
    ("F1(tokens='set')", "The capital of France is Paris", "Paris is the capital city of France", 12 / 13),
    ("F1(tokens='bag')", "The capital of France is Paris", "Paris is the capital city of France", 10 / 11),
    ("F1(tokens='set')", "", "", 0.0),
    ("F1(tokens='bag')", "", "", 1.0),
    ("F1(tokens='bag')", "", "Paris", 0.0),
    ("F1(tokens='set')", "to be or not to be", "to be", 2 * 2 / (4 + 2)),
    ("F1(tokens='bag')", "to be or not to be", "to be", 2 * 2 / (6 + 2)),
    ("F1(tokens='set',stop_words='english')", "to be or not to be", "to be", 0.0),
    ("F1(tokens='set',stop_words='english')", "The capital of France", "a capital in France", 1.0),
    ("EM", "The Denver Broncos!", "denver  broncos", 1.0),
    ("EM", "Denver Broncos won", "Denver Broncos", 0.0),
    ("EM", "", "", 1.0),
    ("Contains", "It was in 1998, they say.", "1998", 1.0),
    ("Contains", "It was in 19981.", "1998", 0.0),
    ("Contains", "the cat's pyjamas", "cat", 0.0),
    ("Contains", "anything", "", 0.0),
    ("Contains", "", "", 1.0),
    ("ROUGE-L", "testing", "testing one two", 1 / 2),
    ("ROUGE-L", "testing one", "testing one two", 4 / 5),
    ("ROUGE-L", "testing two", "testing one two", 4 / 5),
    ("ROUGE-L", "The quick brown dog jumps on the log.", "The quick brown fox jumps over the lazy dog", 10 / 17),
    ("ROUGE-L", "", "", 0.0),
    ("ROUGE-L", "猫 は", "猫", 2 / 3),
    ("Similarity(model='letters')", "abc", "cba", 1.0),
    ("Similarity(model='letters')", "", "cba", 0.0),
]


@pytest.mark.parametrize(("name", "answer", "reference", "expected"), EXAMPLES)
def test_worked_examples(name: str, answer: str, reference: str, expected: float) -> None:
    assert said(name, answer, reference) == pytest.approx(expected, abs=1e-6)


def test_a_known_example_of_set_f1_is_0_923() -> None:
    measure = rankproof.measures.F1(tokens="set")
    assert isinstance(measure, AnswerMeasure)
    case = AnswerCase("The capital of France is Paris", ("Paris is the capital city of France",))
    assert f"{measure.answer_values([case])[0]:.3f}" == "0.923"


@given(st.lists(st.sampled_from("ab"), max_size=12), st.lists(st.sampled_from("ab"), max_size=12))
def test_the_longest_common_subsequence_equals_that_of_dynamic_programming(one: list[str], other: list[str]) -> None:
    table = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, left in enumerate(one):
        for j, right in enumerate(other):
            table[i + 1][j + 1] = table[i][j] + 1 if left == right else max(table[i][j + 1], table[i + 1][j])
    assert lcs_length(one, other) == table[-1][-1]


def test_a_very_long_answer_is_fast() -> None:
    assert ROUGE_L.answer_values([AnswerCase("word " * 20_000, ("word",))])[0] == pytest.approx(2 / 20_001)


CITED = [
    (("a", "b"), ("a",), 1 / 2, 1.0),
    (("a",), ("a", "b"), 1.0, 1 / 2),
    ((), ("a",), 0.0, 0.0),
    (("x",), ("a",), 0.0, 0.0),
]


@pytest.mark.parametrize(("cited", "relevant", "precision", "recall"), CITED)
def test_citations_are_compared_with_relevant_documents(
    cited: tuple[str, ...], relevant: tuple[str, ...], precision: float, recall: float
) -> None:
    case = AnswerCase("text", ("text",), cited, frozenset(relevant))
    assert (value("CiteP", case), value("CiteR", case)) == (precision, recall)


@pytest.mark.parametrize(
    ("language", "answer", "reference"),
    [
        ("german", "Es war der König und die Königin", "König, Königin"),
        ("turkish", "Bu kedi ve köpek için", "kedi köpek"),
        ("french", "C'est le roi avec la reine", "C'est roi reine"),
    ],
)
def test_stop_words_of_a_language_do_not_count(language: str, answer: str, reference: str) -> None:
    assert said("F1(tokens='set')", answer, reference) < 0.8
    assert said(f"F1(tokens='set',stop_words='{language}')", answer, reference) == 1.0


@pytest.mark.parametrize("state", ["answered", "missing"])
@pytest.mark.parametrize(
    ("searched", "relevant", "expected"),
    [
        (frozenset("abx"), frozenset("abcd"), 0.5),
        (frozenset("x"), frozenset("a"), 0.0),
        (frozenset[str](), frozenset("a"), 0.0),
        (frozenset("x"), frozenset[str](), None),
    ],
)
def test_evidence_is_what_all_searches_found_also_without_an_answer(
    state: CaseState, searched: frozenset[str], relevant: frozenset[str], expected: float | None
) -> None:
    assert value("Evidence", AnswerCase("", ("text",), (), relevant, state, searched=searched)) == expected


def test_citations_of_a_question_without_relevant_documents_are_left_out() -> None:
    for relevant in (None, frozenset[str]()):
        assert value("CiteP", AnswerCase("text", ("text",), ("a",), relevant, state="missing")) is None


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("F1", "F1(tokens='bag')"),
        ("f1(tokens=set)", "F1(tokens='set')"),
        ("F1@10", "F1@10"),
        ("F1(rel=2)@10", "F1(rel=2)@10"),
        ("exact_match", "EM"),
        ("rougeL", "ROUGE-L"),
        ("Similarity", "Similarity(model='minilm')"),
        ("Similarity(model='org/Name-v1.5')", "Similarity(model='org/Name-v1.5')"),
    ],
)
def test_names_are_printed_in_full_and_parsed_back(text: str, full: str) -> None:
    assert str(parse_measure(text)) == full
    assert parse_measure(full) == parse_measure(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("F1(rel=2)", "needs a cutoff"),
        ("EM@10", "EM takes no cutoff"),
        ("F1(tokens=bags)", "choose one of bag, set"),
        ("F1(tokens='set')@10", "takes no cutoff"),
        ("Similarity(model=3)", "not the name of an encoder"),
        ("CiteQ", "did you mean Cite"),
    ],
)
def test_anything_but_a_measure_of_answers_is_rejected(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        parse_measures(text)


@pytest.mark.parametrize("name", EVERY)
def test_a_ranking_has_no_value_of_a_measure_of_answers(name: str) -> None:
    with pytest.raises(UsageError, match="measures answers, not rankings"):
        rankproof.evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}, [name])


def test_without_an_encoder_there_is_no_similarity() -> None:
    measure = parse_measure("Similarity")
    assert isinstance(measure, AnswerMeasure)
    with pytest.raises(UsageError, match="needs an encoder"):
        measure.answer_values([AnswerCase("a", ("a",))])
    with pytest.raises(UsageError, match="needs an encoder"):
        measure.value(AnswerCase("a", ("a",)))


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        ("東京", "日本の首都は東京です。"),
        ("กรุงเทพ", "เมืองหลวงคือกรุงเทพครับ"),
        ("ភ្នំពេញ", "រាជធានីគឺភ្នំពេញ។"),
        ("ရန်ကုန်", "မြို့တော်ဟောင်းမှာရန်ကုန်ဖြစ်သည်"),
        ("ວຽງຈັນ", "ນະຄອນຫຼວງວຽງຈັນ"),
        ("東京タワー", "それは「東京・タワー」です"),
    ],
)
def test_scripts_without_spaces_are_compared_by_characters(reference: str, answer: str) -> None:
    assert said("Contains", answer, reference) == 1.0
    assert all(0 < said(name, answer, reference) < 1 for name in ("F1(tokens='bag')", "F1(tokens='set')", "ROUGE-L"))


def test_the_characters_of_an_answer_count_as_its_words() -> None:
    # MLQA's mixed segmentation: 10 characters, 2 of them shared.
    assert said("F1(tokens='bag')", "日本の首都は東京です", "東京") == pytest.approx(2 * 2 / 12)
    assert said("EM", "東京。", "東京") == 1.0
    assert said("F1(tokens='bag')", "iPhone発売", "iPhone 発売") == 1.0
    assert said("Contains", "東北と京都", "東京") == 0.0


@pytest.mark.parametrize("name", TEXT)
def test_composed_and_decomposed_accents_are_equal(name: str) -> None:
    composed, apart = unicodedata.normalize("NFC", "Orléans Élysée"), unicodedata.normalize("NFD", "Orléans Élysée")
    assert composed != apart
    assert said(name, composed, apart) == said(name, apart, composed) == 1.0


def test_vowel_signs_belong_to_their_word() -> None:
    word, letters = "किताब", "कतब"
    assert word != letters
    assert token_set_f1(word, letters) == 0
    assert ROUGE_L.score(word, letters) == 0
    assert ROUGE_L.score(f"{word} की", f"{word} का") == 0.5
    assert shared_words("❤️ किताब!", "").answer == {word}


@pytest.mark.parametrize(("name", "fix"), [("F1", "write F1@10 for rankings"), ("EM", "use it with rankproof answers")])
def test_a_measure_of_answers_for_a_ranking_names_what_to_do(name: str, fix: str) -> None:
    with pytest.raises(UsageError, match=rf"measures answers, not rankings; {fix}"):
        rankproof.evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}, [name])


def test_answers_are_compared_with_references_unless_there_are_none() -> None:
    assert default_answer_measures(cited=False) == default_answer_measures(cited=False, referenced=True)
    assert default_answer_measures(cited=False) != default_answer_measures(cited=False, referenced=False)


def test_rounding_of_an_encoder_lifts_no_similarity_above_1() -> None:
    measure = parse_measure("Similarity(model='m')")
    assert isinstance(measure, AnswerMeasure)
    cases = [AnswerCase("a", ("b",)), AnswerCase("a", ("b", "c"))]
    assert measure.answer_values(cases, lambda model, texts: np.full((len(texts), 1), 1 + 1e-6)) == [1.0, 1.0]
    assert measure.answer_values(cases, lambda model, texts: np.full((len(texts), 1), 0.5)) == [0.25, 0.25]
    assert measure.answer_values(cases[:1], lambda model, texts: np.array([[1 + 1e-6], [-1.0]])) == [-1.0]


def test_a_similarity_is_the_exact_inner_product_on_every_processor() -> None:
    vectors = np.random.default_rng(5).normal(size=(2, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    case = AnswerCase("an answer", ("a reference",))
    exact = float(sum(Fraction(float(left)) * Fraction(float(right)) for left, right in zip(*vectors, strict=True)))
    assert AnswerSimilarity().answer_values([case], lambda *_: vectors) == [exact]


@pytest.mark.parametrize(
    ("cited", "referenced", "names"),
    [
        (False, True, ["EM", "F1(tokens='bag')", "F1(tokens='set')", "Contains", "ROUGE-L"]),
        (True, True, ["EM", "F1(tokens='bag')", "F1(tokens='set')", "Contains", "ROUGE-L", "CiteP", "CiteR"]),
        (True, False, ["Faithfulness(judge='overlap')", "Hallucination(judge='overlap')", "AnswerRate"]),
    ],
)
def test_the_usual_measures_of_answers_depend_on_citations_and_references(
    cited: bool, referenced: bool, names: list[str]
) -> None:
    assert [str(measure) for measure in default_answer_measures(cited=cited, referenced=referenced)] == names


@pytest.mark.parametrize("sign", ["\u0e5a", "\u104f", "\u17d4", "\u3001", "\u30fb", "\ufe30", "\ufe4f", "\uff01", "\uff65"])
def test_punctuation_of_scripts_without_spaces_separates_words(sign: str) -> None:
    assert normalise_answer(f"x{sign}y") == "x y"


@pytest.mark.parametrize("sign", ["\u1800", "\ufe50", "\u0f04", "\u2014", "\u00b7"])
def test_punctuation_of_other_scripts_stays_as_in_the_official_script(sign: str) -> None:
    assert normalise_answer(f"x{sign}y") == f"x{sign}y"

"""The complexity of queries by counted constraints: worked examples, and laws."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._analysis.diagnose.diagnose import segments_tables
from rankproof._analysis.options import SegmentOptions
from rankproof._analysis.query_groups import (
    COMPARISONS,
    COMPLEXITY_SEGMENTS,
    JOINING_WORDS,
    NEGATIONS,
    complexity_of,
    constraint_markers,
    count_constraints,
    group_queries,
    seems_english,
)
from rankproof._analysis.segments import segments
from rankproof.errors import UsageError
from support.analysis_inputs_with_texts import input_of, one_target, ranked_at
from support.paths import DOCS

SIMPLE, MODERATE, COMPLEX = COMPLEXITY_SEGMENTS

EXAMPLES = [
    # The topic alone, also if a question word or a preposition begins or ends it.
    ("coffee maker", 1, []),
    ("when is sauerkraut ready", 1, []),
    ("what is shio koji good for?", 1, []),
    ("smoke point of ghee", 1, []),
    # Numbers with their unit, codes, sizes: one each.
    ("dutch oven 28 cm", 2, ["28"]),
    ("F3 fault EX-9", 3, ["f3", "ex-9"]),
    ("1,000 watt blender", 2, ["1,000"]),
    # Negations.
    ("gravy without lumps", 2, ["without"]),
    ("jam didn’t set", 2, ["didn't"]),
    ("gluten-free bread", 2, ["gluten-free"]),
    ("non-stick pan -aluminium", 3, ["non-stick", "-aluminium"]),
    # Markers next to each other are one constraint.
    ("turkey of no more than 5 kg", 2, ["no more than 5"]),
    ("sous vide steak at 55 degrees for how long?", 3, ["at 55", "for"]),
    ("pan between 24 and 28 cm", 2, ["between 24 and 28"]),
    # Joining words, commas and filters.
    ("kettle with adjustable temperature for green tea", 3, ["with", "for"]),
    ("shoes, red, large", 3, [",", ","]),
    ("rust, python,", 2, [","]),
    ("category:pans colour=red", 2, ["category:pans colour=red"]),
    ("manual https://example.org/a", 1, []),
    ("shoes,red,large", 3, [",", ","]),
    ("brand:acme,bosch kettle", 2, ["brand:acme ,"]),
    ("pan 24,28 cm", 2, ["24,28"]),
    # A quoted phrase is one constraint, whatever is in it, and ends a run of markers.
    ('buy "shoes for men with laces"', 2, ['"shoes for men with laces"']),
    ('category:pans "cast iron" -aluminium', 4, ['"cast iron"', "category:pans", "-aluminium"]),
    ('knife "" 20 cm', 2, ["20"]),
    ("achat « pour homme »", 2, ['"pour homme"']),
    ('pan "for a hob with "cast iron"', 4, ['"cast iron"', "for", "with"]),
    ('24" pan for a 30" oven', 4, ["24", "for", "30"]),
    ('"cast iron" skillet', 2, ['"cast iron"']),
    ("“made in Japan” knife", 2, ['"made in japan"']),
    ('a lone " quote', 1, []),
    (
        "something sweet with chocolate for a guest who is not allowed wheat, made with ground almonds if possible",
        8,
        ["with", "for", "who", "not", ",", "with", "if"],
    ),
    ("", 0, []),
    ("?!", 0, []),
]


@pytest.mark.parametrize(("text", "count", "markers"), EXAMPLES, ids=[text[:30] or "empty" for text, *_ in EXAMPLES])
def test_constraints_are_counted_as_the_definition_says(text: str, count: int, markers: list[str]) -> None:
    assert [" ".join(marker.text for marker in run) for run in constraint_markers(text)] == markers
    assert count_constraints(text) == count


@pytest.mark.parametrize(
    ("constraints", "name"), [(0, SIMPLE), (1, SIMPLE), (2, MODERATE), (3, MODERATE), (4, COMPLEX), (9, COMPLEX)]
)
def test_the_class_is_simple_up_to_2_constraints_and_complex_from_5(constraints: int, name: str) -> None:
    assert complexity_of("soup" + " with salt" * constraints) == name


@pytest.mark.slow
def test_a_long_hostile_query_is_counted_in_time() -> None:
    assert count_constraints('"' + "a " * 200_000) == 1
    assert count_constraints('" ' * 100_000) == 0
    assert count_constraints('"a ' * 100_000) == count_constraints("« a " * 100_000) == 1
    assert count_constraints("«" + " " * 200_000 + "a") == 1
    assert count_constraints("," * 200_000 + "a") == 1


@pytest.mark.parametrize("text", ["電気ケトル 1.7 L", "чайник без пластика", "غلاية كهربائية", "ηλεκτρικός βραστήρας 2 l"])
def test_a_query_in_another_script_is_not_counted(text: str) -> None:
    assert count_constraints(text) is None
    assert complexity_of(text) is None


def test_a_query_of_digits_alone_is_counted() -> None:
    assert count_constraints("4006381333931") == 2


def test_a_word_is_in_one_list_only() -> None:
    lists = (JOINING_WORDS, COMPARISONS, NEGATIONS)
    assert len(frozenset.union(*lists)) == sum(map(len, lists))


QUERIES = st.lists(
    st.one_of(
        st.sampled_from(
            [*sorted(JOINING_WORDS | COMPARISONS | NEGATIONS), "pan", "Oven", ",", '"', ";", "24", "cm", "a:b", "-x"]
        ),
        st.text(st.characters(codec="utf-8"), max_size=6),
    ),
    max_size=12,
).map(" ".join)
CONSTRAINTS = st.sampled_from(
    ["without sugar", "under 5 kg", "for six guests", '"cast iron"', "brand:acme", ", made of steel", "not too loud", "-plastic"]
)


@given(QUERIES)
def test_case_and_white_space_do_not_matter(text: str) -> None:
    count = count_constraints(text)
    assert count_constraints(re.sub(r"\s", "\t\n ", text)) == count
    assert count_constraints(f"  {text}\n") == count
    assert count_constraints(text.casefold()) == count


@given(st.text(st.characters(max_codepoint=127), max_size=60))
def test_ascii_in_upper_case_has_the_same_count(text: str) -> None:
    assert count_constraints(text.upper()) == count_constraints(text)


@given(QUERIES, CONSTRAINTS)
def test_one_more_constraint_never_lowers_the_class(text: str, constraint: str) -> None:
    before, after = count_constraints(text), count_constraints(f"{text} {constraint}")
    if before is not None and after is not None:
        assert after >= before


@given(st.integers(0, 6), st.lists(CONSTRAINTS.filter(lambda text: text[0] not in ',-"'), max_size=5))
def test_every_constraint_after_a_word_counts_one(plain: int, constraints: list[str]) -> None:
    topic = " ".join(["kettle"] * (plain + 1))
    assert count_constraints(" ".join([topic, *(f"{one} thing" for one in constraints)])) == 1 + len(constraints)


def grouped(texts: dict[str, str], fields: dict[str, dict[str, object]] | None = None) -> tuple[str, dict[str, tuple[str, ...]]]:
    inputs = input_of(one_target(list(texts)), {"one": ranked_at(dict.fromkeys(texts, 1))}, texts=texts, fields=fields or {})
    found = group_queries(inputs, "complexity")
    return found.by, dict(found.segments)


def test_complexity_without_a_field_is_counted_and_named_so() -> None:
    texts = {"q1": "kettle", "q2": "kettle with a lid, red", "q3": "電気ケトル", "q4": "?", "q5": ""}
    assert grouped(texts) == ("complexity (counted)", {SIMPLE: ("q1",), MODERATE: ("q2",), "(not counted)": ("q3", "q4", "q5")})


def test_a_field_of_the_queries_always_wins() -> None:
    texts = {"q1": "kettle", "q2": "kettle with a lid, red"}
    by, segments = grouped(texts, {"q1": {"complexity": "hard"}})
    assert (by, segments) == ("complexity", {"hard": ("q1",), "(no complexity)": ("q2",)})
    by, _ = grouped(texts, {"q1": {"complexity": ""}})
    assert by == "complexity (counted)"


def test_run_files_without_texts_have_no_complexity() -> None:
    with pytest.raises(UsageError, match="run files have no query text; add the queries with dataset="):
        group_queries(input_of(one_target(["q"]), {"one": ranked_at({"q": 1})}), "complexity")


def notes_of(*texts: str) -> tuple[str, ...]:
    queries = {f"q{at}": text for at, text in enumerate(texts)}
    inputs = input_of(one_target(list(queries)), {"one": ranked_at(dict.fromkeys(queries, 1))}, texts=queries)
    return group_queries(inputs, "complexity").notes


HEURISTIC = "complexity is counted in the texts, a heuristic for English; a field complexity of the queries replaces it"


def test_notes_say_that_the_count_is_a_heuristic_for_english() -> None:
    assert notes_of("kettle", "how long do I boil an egg") == (HEURISTIC,)
    uncounted = "1 of 2 queries are not counted: they are not in Latin script, or have no words"
    assert notes_of("kettle", "чайник") == notes_of("kettle", "?") == (HEURISTIC, uncounted)


@pytest.mark.parametrize(
    "texts",
    [
        ("wie lange muss ein Ei kochen", "welcher Topf passt auf Induktion"),
        ("hoe lang moet een ei koken", "is dit een pan of een wok", "wat is de beste ketel van glas"),
        ("como se faz um bolo a vapor", "o que é que posso do forno a gás", "panela de ferro para fogão a lenha"),
        ("jak dlouho se vaří vejce do tvrda", "co je to za hrnec a kde ho koupit"),
        ("comment on fait cuire un œuf", "il y a un an de garantie sur la poêle"),
        ("a qué temperatura se hornea el pan", "no sé si la olla es de hierro"),
        ("i migliori coltelli di ceramica a poco prezzo", "come si fa il pane a casa"),
        ("en gryde for fire personer at have på komfuret", "hvor længe skal et æg koge for at blive hårdt"),
        ("gdzie kupić garnek by my mogli gotować", "jak to się robi na parze"),
        ("care are cea mai bună oală", "ce este o tigaie de fontă"),
    ],
    ids=["German", "Dutch", "Portuguese", "Czech", "French", "Spanish", "Italian", "Danish", "Polish", "Romanian"],
)
def test_queries_in_another_language_are_noted(texts: tuple[str, ...]) -> None:
    assert notes_of(*texts) == (
        HEURISTIC,
        "most longer queries do not look English: the rule does not apply to them, and their counted complexity is too low",
    )


def test_a_quarter_of_english_words_in_longer_queries_is_enough() -> None:
    product = "cast iron pan 24 cm"
    assert seems_english([*[product] * 3, "which pan fits this hob"])
    assert not seems_english([*[product] * 4, "which pan fits this hob"])


def test_segments_and_diagnosis_carry_the_notes() -> None:
    texts = {f"q{at}": "kettle" + " with a lid" * (at % 4) for at in range(24)}
    inputs = input_of(one_target(list(texts)), {"one": ranked_at(dict.fromkeys(texts, 1))}, texts=texts)
    grouping = group_queries(inputs, "complexity")
    for tables in (segments(inputs, grouping, "RR@10", SegmentOptions(samples=100)), segments_tables(inputs, grouping)):
        assert HEURISTIC in tables[-1].notes


def test_short_queries_do_not_tell_the_language() -> None:
    assert seems_english(["Kochtopf groß", "kettle"])


def test_the_page_of_segments_shows_the_words_that_count() -> None:
    page = (DOCS / "segments.md").read_text(encoding="utf-8")
    assert [word for word in JOINING_WORDS | COMPARISONS | NEGATIONS if not re.search(rf"\b{word}\b", page)] == []

"""Every check finds its fault and nothing else; the clean example has no findings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof import Corpus, Dataset, Experiment, parse_measure
from rankproof._analysis.chance import expected_value
from rankproof._analysis.doctor.check import (
    DENSE_FACTS,
    Check,
    Example,
    all_checks,
    clean_example,
    doctor_input_from_analysis,
    example_input,
)
from rankproof._analysis.doctor.check import doctor_check as register
from rankproof._analysis.doctor.checks.encoders import PROMPTED_ENCODERS, PromptedEncoders, prompted_encoders_of
from rankproof._analysis.doctor.checks.queries import near_pairs
from rankproof._analysis.doctor.doctor import checks_table, is_severe, run_checks
from rankproof._analysis.inputs import input_from_results
from rankproof._data.table import Table
from rankproof._experiment.run import run_experiment
from rankproof.stages import Dense
from rankproof.types import RunOptions
from support.small_models import HashedWords, OneByOne

CHECKS = {check.name: check for check in all_checks()}
NAMES = list(CHECKS)


def codes_of(table: Table) -> set[str]:
    return {str(record["check"]) for record in table.records()}


def broken(name: str, example: Example | None = None) -> Example:
    return CHECKS[name].broken(example or clean_example())


def sentence_of(example: Example, code: str) -> str:
    table = run_checks(example_input(example))
    return next(sentence for sentence in table.sentences if f": {code}: " in sentence)


def test_the_clean_example_has_no_finding_although_every_check_ran() -> None:
    table = run_checks(example_input(clean_example()))
    assert table.rows == ()
    assert table.title == "example: no findings"
    assert table.facts["ran"] == NAMES
    assert table.sentences == (f"{len(NAMES)} of {len(NAMES)} checks ran; {len(NAMES)} found nothing.",)


@pytest.mark.parametrize("check", CHECKS.values(), ids=lambda check: check.name)
def test_a_check_finds_what_its_example_breaks_and_others_are_silent(check: Check) -> None:
    table = run_checks(example_input(check.broken(clean_example())))
    found = codes_of(table)
    assert check.name in found, f"{check.name} finds nothing in its own broken example"
    more = {name for name in found - {check.name} if name not in check.also and check.name not in CHECKS[name].also}
    assert not more, f"the broken example of {check.name} has other findings; add {sorted(more)} to its also="
    (finding,) = [one for one in table.facts["findings"] if one["check"] == check.name]
    assert finding["count"] >= 1
    assert finding["examples"]
    assert finding["advice"]
    assert any(char.isdigit() for char in finding["sentence"])
    assert is_severe(table) or check.severity != "severe"


@pytest.mark.parametrize("check", [check for check in CHECKS.values() if check.also], ids=lambda check: check.name)
def test_a_check_has_a_finding_beside_each_one_of_its_also(check: Check) -> None:
    found = codes_of(run_checks(example_input(check.broken(clean_example()))))
    theirs = {
        name for name in check.also if check.name in codes_of(run_checks(example_input(CHECKS[name].broken(clean_example()))))
    }
    idle = sorted(set(check.also) - found - theirs)
    assert not idle, f"{check.name} and {idle} never have a finding together; remove them from its also="


def test_severe_findings_come_first_and_stand_out() -> None:
    both = broken("dangling-documents", broken("near-empty-documents"))
    table = run_checks(example_input(both))
    assert [record["severity"] for record in table.records()] == ["severe", "hint"]
    assert table.highlighted == {0}
    assert table.title == "example: 2 findings (1 severe, 1 hint)"


def test_a_check_without_what_it_needs_is_counted_and_never_called_clean() -> None:
    whole = example_input(clean_example())
    table = run_checks(replace(whole, parts=whole.parts - {"stages", "training queries", "training judgements"}))
    lacking = table.facts["skipped"]
    assert {code for code, part in lacking.items() if part == "stages"} == {
        "embedding-collapse",
        "untrained-encoder",
        "not-for-retrieval",
        "missing-prompt",
        "upper-case-queries",
        "low-recall",
        "truncated-passages",
    }
    assert table.sentences[0] == f"{len(NAMES) - 9} of {len(NAMES)} checks ran; {len(NAMES) - 9} found nothing."
    assert "7 did not run: no stage details" in table.sentences[3]


def test_reversed_grades_have_the_numbers_of_each_system() -> None:
    words = sentence_of(broken("reversed-grades"), "reversed-grades")
    assert "bm25 in 12 of 12 untied queries" in words
    assert "dense in 12 of 12 untied queries" in words


def test_one_system_in_the_right_order_clears_the_grades() -> None:
    swapped = broken("reversed-grades")
    honest = {query: {doc: -score for doc, score in docs.items()} for query, docs in swapped.runs["dense"].items()}
    table = run_checks(example_input(replace(swapped, runs={**swapped.runs, "dense": honest})))
    assert "reversed-grades" not in codes_of(table)


def test_random_level_has_the_closed_form_in_its_sentence() -> None:
    words = sentence_of(broken("random-level"), "random-level")
    by_chance = expected_value(parse_measure("R@10"), [2, 1, 1], 30)
    assert f"dense 0.333, random {by_chance:.3f} (z = +0.0, 12 queries)" in words
    assert "bm25" not in words


def test_random_level_is_not_tested_if_even_a_perfect_ranking_is_not_significant() -> None:
    faulty = broken("random-level")
    few = replace(faulty, judgements={"q01": faulty.judgements["q01"]})
    assert "random-level" not in codes_of(run_checks(example_input(few)))


def test_the_size_of_the_corpus_may_come_from_the_results_alone() -> None:
    subject = example_input(broken("random-level"))
    bare = replace(subject, corpus=Corpus(()), parts=subject.parts - {"documents"})
    assert "random-level" in codes_of(run_checks(bare))
    unknown = run_checks(replace(bare, size=0, parts=bare.parts - {"corpus size"}))
    assert unknown.facts["skipped"]["random-level"] == "corpus size"


def test_copies_that_are_judged_differently_are_counted() -> None:
    words = sentence_of(broken("duplicate-documents"), "duplicate-documents")
    assert "groups of copies: 1, with different judgements: 1 (d01 = e1)" in words


def test_near_copies_of_training_queries_are_distinguished_from_exact_ones() -> None:
    material = clean_example()
    training = {"t1": material.queries["q01"], "t2": "how q02a really relates to q02b and q02c in practice"}
    words = sentence_of(replace(material, training_queries=training), "trained-on-test-queries")
    assert "of 12 judged queries 1 have the text of a training query, and 1 have nearly the same words" in words
    assert "(q01 = t1, q02 ~ t2)" in words


@given(st.lists(st.frozensets(st.sampled_from("abcdefghijkl"), max_size=11), max_size=8), st.data())
def test_no_near_copy_is_overlooked(bags: list[frozenset[str]], data: st.DataObject) -> None:
    theirs = {f"t{at}": data.draw(st.frozensets(st.sampled_from("abcdefghijkl"), max_size=11)) for at in range(6)}
    mine = {f"q{at}": bag for at, bag in enumerate(bags)}
    near = {
        name for name, bag in mine.items() if any(bag and 5 * len(bag & one) >= 4 * len(bag | one) for one in theirs.values())
    }
    found = dict(near_pairs(mine, theirs))
    assert set(found) == near
    assert all(5 * len(mine[one] & theirs[other]) >= 4 * len(mine[one] | theirs[other]) for one, other in found.items())


def test_hostile_ids_are_shown_and_not_interpreted() -> None:
    evil = "\x1b[31m" + "x" * 500
    table = run_checks(example_input(replace(clean_example(), documents={**clean_example().documents, evil: ("", "")})))
    assert codes_of(table) == {"empty-documents"}
    assert all("\x1b" not in sentence and len(sentence) < 400 for sentence in table.sentences)


MODELS = {
    "E5 instruct": "intfloat/multilingual-e5-large-instruct",
    "E5": "/models/e5-base-v2/",
    "BGE English": "BAAI/bge-small-en-v1.5",
    "BGE Chinese": "BAAI/bge-large-zh",
    "Nomic": "nomic-ai/nomic-embed-text-v1.5",
    "mxbai": "mixedbread-ai/mxbai-embed-large-v1",
    "Arctic 2": "Snowflake/snowflake-arctic-embed-m-v2.0",
    "Arctic": "Snowflake/snowflake-arctic-embed-xs",
}


@pytest.mark.parametrize("family", PROMPTED_ENCODERS, ids=lambda family: family.name)
def test_the_prompts_of_every_family_are_required_and_suffice(family: PromptedEncoders) -> None:
    source = MODELS[family.name]
    assert prompted_encoders_of(source) is family
    bare = replace(clean_example(), facts={**DENSE_FACTS, "model": {"source": source}})
    assert codes_of(run_checks(example_input(bare))) == {"missing-prompt"}
    prompted = replace(bare, facts={**bare.facts, **family.prompts()})
    assert codes_of(run_checks(example_input(prompted))) == set()


@pytest.mark.parametrize("source", ["BAAI/bge-m3", "sentence-transformers/all-MiniLM-L6-v2", "thenlper/gte-base", ""])
def test_a_model_without_prompts_is_left_alone(source: str) -> None:
    assert prompted_encoders_of(source) is None


def test_an_unused_prompt_of_one_role_is_a_finding() -> None:
    model = {"source": "own", "prompts": {"query": "ask: ", "passage": "text: "}}
    half = {**DENSE_FACTS, "model": model, "query_prompt": "ask: "}
    assert "the model has prompts (query, passage), but none is used for a passage" in sentence_of(
        replace(clean_example(), facts=half), "missing-prompt"
    )
    whole = replace(clean_example(), facts={**half, "passage_prompt": "text: "})
    assert codes_of(run_checks(example_input(whole))) == set()


def test_unused_prompts_of_a_model_are_a_finding() -> None:
    facts = {**DENSE_FACTS, "model": {"source": "own", "prompts": {"query": "ask: "}}}
    assert "the model has prompts (query), but none is used" in sentence_of(
        replace(clean_example(), facts=facts), "missing-prompt"
    )


def test_a_reranker_is_checked_by_its_scorer() -> None:
    facts = {"top": 50, "scorer": {"kind": "bi-encoder", **DENSE_FACTS, "mean_cosine": 0.99}}
    assert "mean cosine 0.990" in sentence_of(replace(clean_example(), facts=facts), "embedding-collapse")


def test_real_stages_have_the_facts_that_the_checks_read() -> None:
    whole = example_input(clean_example())
    dataset = Dataset("case", whole.corpus, whole.queries, whole.qrels)
    stage = Dense(HashedWords(max_words=1), store=OneByOne(forgets=2), depth=20)
    found = run_experiment(Experiment({"first": stage}, dataset), RunOptions(cache=None))
    codes = codes_of(run_checks(doctor_input_from_analysis(input_from_results(found))))
    assert {"embedding-collapse", "truncated-passages", "low-recall"} <= codes


def test_a_check_that_needs_an_unknown_part_cannot_be_registered() -> None:
    needs: Any = ("querys",)
    with pytest.raises(ValueError, match="the check zz-test needs querys, which is no part of the input; choose among documents"):
        register("zz-test", "hint", "anything", advice="nothing", needs=needs, broken=lambda example: example)


def test_the_catalogue_lists_every_check() -> None:
    assert [row[0] for row in checks_table().rows] == NAMES


@pytest.mark.parametrize(
    ("text", "cosine", "found"),
    [
        ("DIELECTRIC CONSTANT OF LIQUIDS", 0.2, True),
        ("DIELECTRIC CONSTANT OF LIQUIDS", 1.0, False),
        ("Dielectric constant of liquids", 0.2, False),
        ("NASA", 0.2, False),
        ("", 0.2, False),
    ],
)
def test_upper_case_queries_matter_only_to_an_encoder_that_distinguishes_case(text: str, cosine: float, found: bool) -> None:
    example = clean_example().with_queries(q03=text).with_facts(case_cosine=cosine)
    rows = [row for row in run_checks(example_input(example)).rows if "upper-case-queries" in row]
    assert bool(rows) is found
    if found:
        words = sentence_of(example, "upper-case-queries")
        assert "dense 1 of 12 queries; a text and its upper-case form have cosine 0.20" in words

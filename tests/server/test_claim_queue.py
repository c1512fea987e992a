"""The sample of claims: the same for everybody, each claim once, with the texts that its judges saw."""

from dataclasses import replace

import pytest

from rankproof._data.answers import Answer, Answers
from rankproof._data.claims import Claim, ClaimVerdict
from rankproof._data.dataset import Queries, Query
from rankproof._results.experiment_result import ExperimentResult
from rankproof._server.claim_queue import ClaimItem, ClaimQueue, build_claim_queue
from support.claims_to_label import ANSWERS, CONTEXTS, JUDGE, REFERENCE, SYSTEMS, claim_results, claims_in, verdicts, with_claims


def only(results: ExperimentResult, *claims: ClaimVerdict) -> ClaimItem:
    (found,) = build_claim_queue(with_claims(results, claims)).items.values()
    return found


def keys(queue: ClaimQueue) -> list[str]:
    return list(queue.items)


def test_the_sample_is_the_same_for_everybody_and_another_with_another_seed() -> None:
    results = claim_results([f"q{at}" for at in range(20)])
    first = keys(build_claim_queue(results, 30))
    assert len(first) == 30
    assert keys(build_claim_queue(with_claims(results, results.claims[::-1]), 30)) == first
    assert keys(build_claim_queue(results, 60))[:30] == first
    assert set(keys(build_claim_queue(results, 30, seed=1))) != set(first)


def test_claims_that_are_added_later_keep_the_order_of_the_others() -> None:
    results = claim_results([f"q{at}" for at in range(10)])
    some = [one for one in results.claims if one.against == "contexts"]
    before = keys(build_claim_queue(with_claims(results, some), 1000))
    after = build_claim_queue(results, 1000)
    assert [id for id in after.items if id in before] == before
    assert len(after.items) > len(before)


def test_the_sample_takes_claims_of_every_table_and_system_by_their_share() -> None:
    results = claim_results([f"q{at}" for at in range(300)])
    items = build_claim_queue(results, 1000).items.values()
    share = sum(one.claim.side == "answer" for one in items) / len(items)
    assert share == pytest.approx(5 / 11, abs=0.06)


def test_a_claim_of_several_judges_is_labelled_once() -> None:
    results = claim_results()
    again = tuple(replace(one, judge="llm:model:digest", verdict="failed") for one in results.claims)
    assert keys(build_claim_queue(with_claims(results, results.claims + again))) == keys(build_claim_queue(results))


def test_systems_with_the_same_texts_share_a_claim_and_others_do_not() -> None:
    shared = {(one.claim.side, one.against, len(one.systems)) for one in build_claim_queue(claim_results()).items.values()}
    assert shared == {("answer", "contexts", 1), ("reference", "contexts", 2), ("reference", "answer", 1)}


def test_an_answer_claim_is_shown_in_its_answer_with_the_numbered_contexts() -> None:
    results = claim_results()
    item = only(results, *verdicts("q1", SYSTEMS[0], claims_in(ANSWERS[0], "answer")[1:2], "contexts"))
    assert item.side_text == ANSWERS[0]
    assert item.span is not None
    assert ANSWERS[0][slice(*item.span)] == "The batteries last 14 hours at full load."
    assert item.source_texts == tuple(enumerate(CONTEXTS.values(), start=1))
    assert [len(source.spans) for source in item.sources()] == [3, 2, 1]
    assert item.has_evidence(((1, 3), (3, 1)))
    assert not any(item.has_evidence((pair,)) for pair in ((1, 4), (4, 1), (0, 1), (1, 0), (-1, 1)))


def test_a_claim_against_some_contexts_is_shown_with_those_and_their_numbers() -> None:
    (cited,) = verdicts("q1", SYSTEMS[0], claims_in(ANSWERS[0], "answer")[1:2], "cited")
    both, one = replace(cited, shown=(3, 1)), replace(cited, shown=(3,))
    for order in ((both, one), (one, both)):
        assert only(claim_results(), *order).source_texts == ((3, CONTEXTS["c3"]), (1, CONTEXTS["c1"]))


def test_claims_against_a_reference_an_answer_and_of_a_nugget() -> None:
    results = claim_results()
    references = ["It is unknown.", REFERENCE]
    results = replace(results, texts=Queries([Query("q1", "How?", fields={"answers": references})]))
    second = Claim("answer", 1, "Sure!", 0, 5, reference=2)
    item = only(results, ClaimVerdict("q1", SYSTEMS[0], second, "reference", "supported", JUDGE))
    assert item.source_texts == ((2, REFERENCE),)
    nugget = only(results, ClaimVerdict("q1", SYSTEMS[1], Claim("nugget", 1, "3 kg"), "answer", "supported", JUDGE))
    assert (nugget.side_text, nugget.span, nugget.source_texts) == ("", None, ((1, ANSWERS[1]),))


def test_a_claim_that_a_model_wrote_has_no_place_in_its_text() -> None:
    written = Claim("answer", 1, "The batteries last for 14 hours")
    item = only(claim_results(), ClaimVerdict("q1", SYSTEMS[0], written, "contexts", "supported", JUDGE))
    assert (item.span, item.side_text) == (None, ANSWERS[0])


def test_grades_of_relevance_are_not_labelled() -> None:
    results = claim_results()
    graded = [
        ClaimVerdict("q1", SYSTEMS[0], Claim(side, 1, "text"), "question", "supported", JUDGE) for side in ("answer", "context")
    ]
    queue = build_claim_queue(with_claims(results, graded))
    assert (len(queue.items), queue.left_out) == (0, 0)


def test_claims_without_their_texts_are_counted() -> None:
    results = claim_results(["q1"])
    missing = replace(results, contexts={id: text for id, text in CONTEXTS.items() if id != "c2"})
    queue = build_claim_queue(missing)
    assert {one.against for one in queue.items.values()} == {"answer"}
    assert queue.left_out == 9
    bare = replace(results, system_runs=tuple(replace(one, answers=None) for one in results.system_runs))
    assert (len(build_claim_queue(bare).items), build_claim_queue(bare).left_out) == (0, 13)
    nothing = Answers({"q1": Answer("Yes.", (), ())})
    empty = replace(results, system_runs=tuple(replace(one, answers=nothing) for one in results.system_runs))
    assert all(one.against == "answer" for one in build_claim_queue(empty).items.values())

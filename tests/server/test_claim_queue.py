"""The claims of drawn questions: the same for everybody, each claim once, with the texts that its judges saw."""

from dataclasses import replace

from rankproof._data.answers import Answer, Answers
from rankproof._data.claims import Claim, ClaimVerdict
from rankproof._data.dataset import Queries, Query
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.label_tasks import ClaimItem
from rankproof._server.label_log import ClaimQueue
from support.claims_to_label import (
    ANSWERS,
    CONTEXTS,
    JUDGE,
    REFERENCE,
    SYSTEMS,
    claim_results,
    claims_in,
    queue_of,
    verdicts,
    with_claims,
)


def only(results: ExperimentResult, *claims: ClaimVerdict) -> ClaimItem:
    (found,) = queue_of(with_claims(results, claims)).items.values()
    return found


def keys(queue: ClaimQueue) -> list[str]:
    return list(queue.items)


def test_the_claims_of_the_first_drawn_questions_are_the_same_for_everybody_and_others_with_another_seed() -> None:
    results = claim_results([f"q{at}" for at in range(20)])
    queue = queue_of(results, 3)
    first = keys(queue)
    assert list(dict.fromkeys(item.query for item in queue.items.values())) == list(queue.draw.questions[:3])
    assert (queue.sizes, len(first)) == ((11, 11, 11), 33)
    assert keys(queue_of(with_claims(results, results.claims[::-1]), 3)) == first
    assert keys(queue_of(results, 6))[:33] == first
    assert set(keys(queue_of(results, 3, seed=1))) != set(first)


def test_a_question_has_all_claims_of_all_systems_and_one_without_claims_is_complete() -> None:
    results = claim_results([f"q{at}" for at in range(5)])
    queue = queue_of(results)
    assert frozenset(queue.items) == queue.every
    assert {system for item in queue.items.values() for system in item.systems} == set(SYSTEMS)
    empty = queue.draw.questions[1]
    fewer = queue_of(with_claims(results, [verdict for verdict in results.claims if verdict.query != empty]))
    assert fewer.sizes == (11, 0, 11, 11, 11)


def test_claims_that_are_added_later_keep_the_order_of_the_others() -> None:
    results = claim_results([f"q{at}" for at in range(10)])
    some = [one for one in results.claims if one.against == "contexts"]
    before = keys(queue_of(with_claims(results, some), 1000))
    after = queue_of(results, 1000)
    assert [id for id in after.items if id in before] == before
    assert len(after.items) > len(before)


def test_a_claim_of_several_judges_is_labelled_once() -> None:
    results = claim_results()
    again = tuple(replace(one, judge="llm:model:digest", verdict="failed") for one in results.claims)
    assert keys(queue_of(with_claims(results, results.claims + again))) == keys(queue_of(results))


def test_systems_with_the_same_texts_share_a_claim_and_others_do_not() -> None:
    shared = {(one.claim.side, one.against, len(one.systems)) for one in queue_of(claim_results()).items.values()}
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
    queue = queue_of(with_claims(results, graded))
    assert (len(queue.items), queue.left_out) == (0, 0)


def test_claims_without_their_texts_are_counted() -> None:
    results = claim_results(["q1"])
    missing = replace(results, contexts={id: text for id, text in CONTEXTS.items() if id != "c2"})
    queue = queue_of(missing)
    assert {one.against for one in queue.items.values()} == {"answer"}
    assert queue.left_out == 9
    bare = replace(results, system_runs=tuple(replace(one, answers=None) for one in results.system_runs))
    assert (len(queue_of(bare).items), queue_of(bare).left_out) == (0, 13)
    nothing = Answers({"q1": Answer("Yes.", (), ())})
    empty = replace(results, system_runs=tuple(replace(one, answers=nothing) for one in results.system_runs))
    without = [item for item in queue_of(empty).items.values() if item.against == "contexts"]
    assert {item.source_texts for item in without} == {()}

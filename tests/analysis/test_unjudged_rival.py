"""A rival of the chosen system that may not have been judged: what prevents a decision, and what does not."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankproof as rp
from rankproof._analysis.decision.record import Decision
from rankproof._cli.main import main
from rankproof._data.run import Run, RunRow
from rankproof.errors import UsageError

QUERIES = [f"q{at:02}" for at in range(60)]
Grades = dict[str, dict[str, int]]


def ranking(system: str) -> dict[str, list[str]]:
    """Five documents that both systems show and five that only this one shows."""
    shared, own = [f"s{at}" for at in range(5)], [f"{system}{at}" for at in range(5)]
    return {query: [*shared, *own] for query in QUERIES}


RUNS = {"words": ranking("w"), "meaning": ranking("m")}


def pool(words: int, meaning: int, zeros: int = 0) -> Grades:
    """Relevant documents that both, only `words` and only `meaning` show in most queries, and judged zeros of `words`."""
    found: Grades = {}
    for at, query in enumerate(QUERIES):
        fewer = at % 2
        relevant = ["s0", *(f"w{n}" for n in range(words - fewer)), *(f"m{n}" for n in range(max(0, meaning - fewer)))]
        found[query] = {**dict.fromkeys(relevant, 1), **{f"w{n + words}": 0 for n in range(zeros)}}
    return found


def decided(grades: Grades, **options: Any) -> Decision:
    return rp.compare(grades, RUNS, "nDCG@10", samples=100, **options).decision


def test_a_rival_without_judged_documents_of_its_own_prevents_a_decision() -> None:
    found = decided(pool(2, 0))
    assert (found.outcome, found.reason, found.systems) == ("not_decided", "unjudged", ())
    first, *more = found.sentences
    assert first.startswith(
        "Not decided: meaning may not have been judged. Of the documents that only words shows in its top 10, 90 of 300 are known"
        " to be relevant; of those of meaning 0 of 300. If "
    )
    assert first.endswith("% of the unjudged ones are relevant, the risk of words is above 5%.")
    assert more[0] == "Next: rankproof audit QRELS RUN… --judge-next 20, or --judgements complete if nothing relevant is missing."
    assert found.unjudged_rival is not None
    assert (found.unjudged_rival.needed or 1.0) <= 0.5
    assert found.to_dict()["unjudged_rival"]["other"] == {"system": "meaning", "known": 0, "relevant": 0, "shown": 300}


def with_ranks(rankings: dict[str, list[str]], sign: int) -> Run:
    """The rankings with ranks, and scores that rise or fall with them."""
    rows = [(query, doc, rank) for query, docs in rankings.items() for rank, doc in enumerate(docs, start=1)]
    return Run.from_rows(RunRow(query, doc, float(sign * rank), rank) for query, doc, rank in rows)


@pytest.mark.parametrize("options", [{"order": "rank"}, {"lower_is_better": True}, {"judged_only": True}], ids=str)
def test_no_way_to_read_rankings_hides_an_unjudged_rival(options: dict[str, Any]) -> None:
    sign = 1 if "lower_is_better" in options else -1
    runs = {name: with_ranks(rankings, sign) for name, rankings in RUNS.items()}
    decision = rp.compare(pool(2, 0), runs, "nDCG@10", samples=100, **options).decision
    assert (decision.outcome, decision.reason) == ("not_decided", "unjudged")


def test_complete_judgements_decide_and_that_is_said() -> None:
    found = decided(pool(2, 0), judgements="complete")
    assert (found.outcome, found.systems, found.judgements) == ("ship", ("words",), "complete")
    assert any("judgements complete" in sentence for sentence in found.sentences)


def test_a_rival_with_a_third_of_the_known_documents_is_poor_and_not_unjudged() -> None:
    found = decided(pool(2, 1))
    assert (found.outcome, found.systems, found.unjudged_rival) == ("ship", ("words",), None)


def test_with_judged_zeros_the_judged_share_counts() -> None:
    rival = {query: {**docs, **dict.fromkeys(("m0", "m1", "m2", "m3"), 0)} for query, docs in pool(2, 0, zeros=3).items()}
    found = decided(rival)
    assert (found.outcome, found.systems) == ("ship", ("words",))
    open_ = decided(pool(2, 0, zeros=3))
    assert (open_.reason, open_.unjudged_rival is not None and open_.unjudged_rival.has_zeros) == ("unjudged", True)


def test_with_fewer_than_two_relevant_documents_a_rival_that_has_one_of_its_own_gets_a_sentence() -> None:
    one = {query: ({"w0": 1} if at % 9 else {"m0": 1}) for at, query in enumerate(QUERIES)}
    found = decided(one)
    assert found.outcome == "ship"
    assert any(sentence.startswith("meaning may not have been judged.") for sentence in found.sentences)
    none = {query: {"w0": 1} for query in QUERIES}
    assert decided(none).reason == "unjudged"


def test_a_rival_without_documents_of_its_own_is_no_finding() -> None:
    runs = {"words": RUNS["words"], "same": {query: docs[::-1] for query, docs in RUNS["words"].items()}}
    found = rp.compare(pool(2, 0), runs, "nDCG@10", samples=100).decision
    assert (found.outcome, found.unjudged_rival) == ("ship", None)


def test_another_value_than_complete_is_an_error() -> None:
    with pytest.raises(UsageError, match="judgements is full; choose complete, or leave it out"):
        decided(pool(2, 0), judgements="full")


def test_rankings_out_of_order_and_tied_have_the_same_finding() -> None:
    scores = {
        name: {query: {doc: -float(place) for place, doc in enumerate(docs)} for query, docs in run.items()}
        for name, run in RUNS.items()
    }
    shuffled = {
        name: {query: dict(sorted(docs.items(), key=lambda item: item[0][::-1])) for query, docs in run.items()}
        for name, run in scores.items()
    }
    found = rp.compare(pool(2, 0), shuffled, "nDCG@10", samples=100).decision
    assert found.unjudged_rival == decided(pool(2, 0)).unjudged_rival


def test_many_queries_are_sampled_before_all_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    from rankproof._analysis.compare import unjudged_documents

    monkeypatch.setattr(unjudged_documents, "_MANY_QUERIES", 20)
    assert decided(pool(2, 0)).reason == "unjudged"
    assert decided(pool(2, 1)).decided
    assert np.isfinite(decided(pool(2, 1)).risk or 0)


def test_a_rival_that_could_hardly_change_the_choice_is_a_detail_and_no_first_line() -> None:
    runs = {name: {query: [f"{name}{at}" for at in range(10)] for query in QUERIES} for name in ("words", "meaning")}
    grades = {query: {"words9" if at < 6 else "words0" if at < 54 else "meaning0": 1} for at, query in enumerate(QUERIES)}
    found = rp.compare(grades, runs, "RR@10", samples=100)
    assert found.decision.outcome == "ship"
    assert found.decision.unjudged_rival is not None
    assert not found.decision.unjudged_rival.is_near
    assert not any("may not have been judged" in sentence for sentence in found.decision.sentences)
    (doubt,) = [table for table in found.tables if table.name == "doubt"]
    assert doubt.sentences[0].startswith("meaning may not have been judged.")


def test_the_command_that_lists_pairs_to_judge_names_the_files_and_the_measure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rp.write_qrels(rp.Qrels.from_dict(pool(2, 0)), "my qrels.txt")
    for name, run in RUNS.items():
        rp.write_run(with_ranks(run, -1), f"{name}.run")
    assert main(["compare", "my qrels.txt", "words.run", "meaning.run", "-m", "P@10"]) == 0
    output = " ".join(capsys.readouterr().out.split())
    command = "rankproof audit 'my qrels.txt' words.run meaning.run -m P@10 --judge-next 20"
    assert f"Next: {command}, or --judgements complete" in output
    assert main(shlex.split(command)[1:]) == 0
    assert "pairs to judge next (P@10" in capsys.readouterr().out


def test_rankings_that_are_no_files_have_no_file_in_the_command(tmp_path: Path) -> None:
    command = "rankproof audit QRELS RUN… --judge-next 20"
    assert decided(pool(2, 0)).audit_command == command
    assert rp.compare(rp.evaluate(pool(2, 0), RUNS, "nDCG@10"), samples=100).decision.audit_command == command
    path = tmp_path / "words.run"
    rp.write_run(with_ranks(RUNS["words"], -1), path)
    runs = {"words": path, "meaning": RUNS["meaning"]}
    assert rp.compare(rp.evaluate(pool(2, 0), runs, "nDCG@10"), samples=100).decision.audit_command == command


def short_lists(results: int, found: float) -> tuple[Grades, dict[str, dict[str, list[str]]]]:
    """Judged lists of one system with a relevant first document in a share of the queries, and unjudged ones of a rival."""
    runs = {name: {query: [f"{name}{at}" for at in range(results)] for query in QUERIES} for name in ("words", "meaning")}
    grades = {
        query: {**{f"words{at}": 0 for at in range(results)}, "words0": int(place < found * len(QUERIES)), "x": 0, "z": 0, "y": 1}
        for place, query in enumerate(QUERIES)
    }
    return grades, runs


@pytest.mark.parametrize("results", [1, 2])
@pytest.mark.parametrize("found", [0.4, 0.8])
@pytest.mark.parametrize("measure", ["nDCG@10", "RR@10", "P@1", "Success@1"])
def test_a_rival_of_one_or_two_results_that_nobody_judged_prevents_a_decision(results: int, found: float, measure: str) -> None:
    grades, runs = short_lists(results, found)
    decision = rp.compare(grades, runs, measure, samples=100).decision
    assert (decision.outcome, decision.reason) == ("not_decided", "unjudged")
    # One judgement of the rival's tells no more than none.
    grades[QUERIES[0]]["meaning0"] = 0
    assert rp.compare(grades, runs, measure, samples=100).decision.reason == "unjudged"


def test_a_query_without_a_relevant_document_may_have_one_that_only_the_rival_shows() -> None:
    grades, runs = short_lists(1, 0.5)
    of_one_pool = {query: {"words0": docs["words0"], "x": 0} for query, docs in grades.items()}
    decision = rp.compare(of_one_pool, runs, "Success@1", samples=100).decision
    assert (decision.n, decision.queries, decision.by_system[0].value) == (30, 60, 1.0)
    assert (decision.outcome, decision.reason) == ("not_decided", "unjudged")


def test_a_document_is_relevant_from_the_grade_of_the_measure_on() -> None:
    grades = {query: {doc: 2 * grade for doc, grade in docs.items()} for query, docs in pool(2, 0).items()}
    assert rp.compare(grades, RUNS, "P(rel=2)@10", samples=100).decision.reason == "unjudged"


def test_a_large_margin_calls_no_system_better_than_one_that_nobody_judged() -> None:
    grades, runs = short_lists(2, 0.6)
    decision = rp.compare(grades, runs, "P@1", margin=0.55, samples=100).decision
    assert (decision.outcome, decision.kind, decision.systems) == ("ship", "safe", ("words",))
    assert decision.unjudged_rival is not None
    assert decision.unjudged_rival.claim == "better"
    assert decision.sentences[0].startswith(
        "Ship words: 0.600 P@1; risk below 0.1% (limit 5%) of being more than 55 pp (92%) below the best. "
        "By these judgements it is better than every other system (next: meaning, -60.0 pp"
    )
    assert decision.sentences[0].endswith("0 of 60. If 50% of the unjudged ones are relevant, words is not shown to be better.")
    kept = rp.compare(grades, runs, "P@1", margin=0.55, baseline="words", samples=100).decision
    assert (kept.outcome, kept.kind) == ("keep", "safe")
    assert kept.sentences[0].startswith("Keep words: words is within 55 pp of the best (risk below 0.1%, limit 5%). By these")
    complete = rp.compare(grades, runs, "P@1", margin=0.55, judgements="complete", samples=100).decision
    assert (complete.kind, complete.unjudged_rival) == ("better", None)


def test_an_open_decision_calls_no_system_better_than_one_that_nobody_judged() -> None:
    queries = [f"q{at:03}" for at in range(120)]
    grades = {query: {**dict.fromkeys("ab", 0), "xa"[at % 2] if at % 3 else "b": 1, "z": 0} for at, query in enumerate(queries)}
    runs = {name: {query: [name] for query in queries} for name in "abc"}
    decision = rp.compare(grades, runs, "P@1", samples=100).decision
    assert (decision.outcome, decision.reason, decision.better) == ("not_decided", "risk", ())
    assert len(rp.compare(grades, runs, "P@1", judgements="complete", samples=100).decision.better) == 2


@pytest.mark.parametrize("measure", ["nDCG@10", "P@1"])
def test_without_zeros_a_short_list_of_which_nothing_is_known_prevents_a_decision(measure: str) -> None:
    grades, runs = short_lists(1, 0.7)
    relevant = {query: {doc: 1 for doc, grade in docs.items() if grade} or {"y": 1} for query, docs in grades.items()}
    decision = rp.compare(relevant, runs, measure, samples=100).decision
    assert (decision.outcome, decision.reason) == ("not_decided", "unjudged")
    # A single relevant document of the rival's own shows that it was judged, or is poor.
    relevant[QUERIES[0]]["meaning0"] = 1
    assert rp.compare(relevant, runs, measure, samples=100).decision.outcome == "ship"


def test_unjudged_documents_are_as_relevant_as_the_known_ones() -> None:
    graded = {query: {doc: 3 * grade for doc, grade in docs.items()} for query, docs in pool(2, 0).items()}
    found, plain = decided(graded).unjudged_rival, decided(pool(2, 0)).unjudged_rival
    assert found is not None
    assert found == plain


ONE_POOL = (
    "meaning may not have been judged. Every document that is known to be relevant is in the top {} of words; perhaps only its"
    " documents were judged."
)


def test_a_system_that_shows_every_known_relevant_document_first_was_perhaps_the_only_one_judged() -> None:
    runs = {
        "words": {query: ["w"] for query in QUERIES},
        "meaning": {query: ["m" if at < 20 else "w"] for at, query in enumerate(QUERIES)},
    }
    relevant = {query: {"w": 1} for query in QUERIES}
    text = ONE_POOL.format(1)
    decision = rp.compare(relevant, runs, "P@1", samples=100).decision
    assert (decision.outcome, decision.reason) == ("not_decided", "unjudged")
    assert decision.sentences[0] == f"Not decided: {text}"
    complete = rp.compare(relevant, runs, "P@1", judgements="complete", samples=100).decision
    assert (complete.outcome, complete.kind) == ("ship", "better")
    # Relevant documents elsewhere, or judged zeros, show that others were judged as well.
    elsewhere = {**relevant, **{query: {"w": 1, "x": 1} for query in QUERIES[:3]}}
    zeros = {query: {"w": 1, "x": 0, "m": 0} for query in QUERIES}
    for grades in (elsewhere, zeros):
        decision = rp.compare(grades, runs, "P@1", samples=100).decision
        assert decision.outcome == "ship"
        assert text not in decision.sentences


def test_a_system_that_shows_every_known_relevant_document_somewhere_is_shipped_with_a_warning() -> None:
    runs = {
        "words": {query: ["w", "v"] for query in QUERIES},
        "meaning": {query: ["w", "m"] if at < 20 else ["w", "v"] for at, query in enumerate(QUERIES)},
    }
    relevant = {query: {"v": 1} for query in QUERIES}
    decision = rp.compare(relevant, runs, "P@2", samples=100).decision
    assert decision.outcome == "ship"
    only = "Perhaps only the top 2 of words was; of the other documents in the top 2 of meaning 0 of 20 are known to be relevant."
    assert any(only in sentence for sentence in decision.sentences)


def test_few_documents_outside_a_pool_are_enough_to_leave_a_shallow_measure_open() -> None:
    """Two systems differ in the first document of 20 queries alone, and only the top 3 of one was judged."""
    runs = {
        "words": {query: ["w", "v", "u"] for query in QUERIES},
        "meaning": {query: ["m" if at < 20 else "w", "v", "u"] for at, query in enumerate(QUERIES)},
    }
    relevant = {query: {"w": 1} if at % 3 else {"u": 1} for at, query in enumerate(QUERIES)}
    relevant["q00"]["x"] = 1
    decision = rp.compare(relevant, runs, "P@1", samples=100).decision
    assert (decision.outcome, decision.reason) == ("not_decided", "unjudged")
    assert "Perhaps only the top 3 of words was" in decision.sentences[0]


@pytest.mark.parametrize("has_edge", [True, False])
def test_a_deep_pool_ends_at_an_edge_and_relevant_documents_of_a_small_collection_do_not(has_edge: bool) -> None:
    """The better system shows nearly every relevant document in its top 60, of 100; many at the end, or ever fewer."""
    runs: dict[str, dict[str, list[str]]] = {"good": {}, "poor": {}}
    grades: dict[str, dict[str, int]] = {}
    for at, query in enumerate(QUERIES):
        runs["good"][query] = [f"g{rank}" for rank in range(1, 101)]
        runs["poor"][query] = [f"g{rank}" for rank in range(56, 66)]
        grades[query] = {f"g{rank}": 1 for rank in (1, 2, 5, 56 + at % 5 if has_edge else 1 + at)}
    decision = rp.compare(grades, runs, "nDCG@10", samples=100).decision
    assert decision.outcome == "not_decided"
    assert decision.sentences[0].startswith("Not decided: poor may not have been judged.")
    assert ("Perhaps only the top 60 of good was" in decision.sentences[0]) == has_edge


@pytest.mark.parametrize("measure", ["nDCG@10", "ERR@10"])
@pytest.mark.parametrize("judged", [0, 1])
def test_documents_of_a_system_that_nobody_judged_may_have_the_highest_grade(measure: str, judged: int) -> None:
    runs = {name: {query: [f"{name}{at}" for at in range(10)] for query in QUERIES} for name in ("words", "meaning")}
    grades = {query: {f"words{at}": grade for at, grade in enumerate([3, 2, 1, 1, 0, 0, 0, 0])} for query in QUERIES}
    for query in QUERIES[:judged]:
        grades[query]["meaning0"] = 0
    decision = rp.compare(grades, runs, measure, samples=100).decision
    assert (decision.outcome, decision.reason) == ("not_decided", "unjudged")
    assert decision.unjudged_rival is not None
    assert decision.unjudged_rival.grade == 3
    assert "% of the unjudged ones have grade 3, the risk of words is above" in decision.sentences[0]


def truth_and_rankings(seed: int, relevant: int = 8) -> tuple[Grades, dict[str, dict[str, list[str]]]]:
    """Relevant documents of 200 queries, and two systems of which `meaning` ranks them clearly better."""
    rng = np.random.default_rng(seed)
    truth: Grades = {}
    runs: dict[str, dict[str, list[str]]] = {"words": {}, "meaning": {}}
    for query in (f"q{at:03}" for at in range(200)):
        docs = [f"{query}d{at}" for at in rng.permutation(60)]
        truth[query] = dict.fromkeys(docs[:relevant], 1)
        for system, signal in (("words", 1.2), ("meaning", 1.55)):
            scores = rng.normal(size=60) + signal * (np.arange(60) < relevant)
            runs[system][query] = [docs[at] for at in np.argsort(-scores)[:20]]
    return truth, runs


def judged_top(truth: Grades, run: dict[str, list[str]], depth: int, *, zeros: bool) -> Grades:
    """The judgements of the first documents of one system."""
    pools = {query: {doc: truth[query].get(doc, 0) for doc in docs[:depth]} for query, docs in run.items()}
    return {query: {doc: grade for doc, grade in docs.items() if zeros or grade} for query, docs in pools.items()}


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("options", [{"measures": "P@1"}, {"measures": "nDCG@3"}, {"measures": "nDCG@10", "depth": 3}], ids=str)
def test_a_pool_deeper_than_the_measure_says_nothing_of_what_only_the_rival_shows(seed: int, options: dict[str, Any]) -> None:
    truth, runs = truth_and_rankings(seed)
    assert rp.compare(truth, runs, samples=100, **options).decision.leader == "meaning"
    decision = rp.compare(judged_top(truth, runs["words"], 10, zeros=False), runs, samples=100, **options).decision
    assert (decision.outcome, decision.reason) == ("not_decided", "unjudged")
    assert "Perhaps only the top 10 of words was; of the other documents in the top " in decision.sentences[0]
    assert decision.unjudged_rival is not None
    assert decision.unjudged_rival.pool_depth == 10


@pytest.mark.parametrize("zeros", [True, False])
@pytest.mark.parametrize("relevant", [2, 8])
def test_a_pool_less_deep_than_the_measure_prevents_a_decision(zeros: bool, relevant: int) -> None:
    truth, runs = truth_and_rankings(3, relevant)
    decision = rp.compare(judged_top(truth, runs["words"], 3, zeros=zeros), runs, "nDCG@10", samples=100).decision
    assert (decision.outcome, decision.reason) == ("not_decided", "unjudged")


def test_a_few_judgements_of_a_rival_without_zeros_tell_no_more_than_none() -> None:
    truth, runs = truth_and_rankings(4, 1)
    grades = judged_top(truth, runs["words"], 10, zeros=False)
    only = [(query, doc) for query, docs in runs["meaning"].items() for doc in docs[:10] if doc in truth[query]]
    for query, doc in [pair for pair in only if pair[1] not in runs["words"][pair[0]][:10]][:2]:
        grades[query][doc] = 1
    assert rp.compare(grades, runs, "nDCG@10", samples=100).decision.outcome == "not_decided"


@pytest.mark.parametrize("judged", [0.12, 0.3])
def test_unjudged_documents_may_be_as_often_relevant_as_the_judged_ones_of_the_rival(judged: float) -> None:
    rng, shown = np.random.default_rng(5), [f"s{at}" for at in range(3)]
    runs = {
        system: {query: [*shown, *(f"{system}{at}" for at in range(7))] for query in QUERIES} for system in ("words", "meaning")
    }
    grades: Grades = {}
    for query, docs in runs["words"].items():
        grades[query] = {doc: int(rng.random() < 0.7) for doc in docs}
        # Only relevant documents of the rival were judged; 9 of 10 of all of them are relevant.
        grades[query].update({f"meaning{at}": 1 for at in range(7) if rng.random() < 0.9 * judged})
    decision = rp.compare(grades, runs, "nDCG@10", samples=100).decision
    assert (decision.outcome, decision.reason) == ("not_decided", "unjudged")
    assert decision.unjudged_rival is not None
    assert decision.unjudged_rival.has_zeros
    assert (decision.unjudged_rival.needed or 0) > 0.5


def test_judgements_of_both_systems_decide_whatever_their_depth() -> None:
    truth, runs = truth_and_rankings(6)
    both = judged_top(truth, runs["words"], 10, zeros=False)
    for query, docs in judged_top(truth, runs["meaning"], 10, zeros=False).items():
        both[query] |= docs
    for measure in ("nDCG@10", "nDCG@3", "P@1"):
        assert rp.compare(both, runs, measure, samples=100).decision.systems == ("meaning",)


def test_of_several_systems_that_will_do_each_is_compared_with_unjudged_documents_of_the_others() -> None:
    queries = [f"q{at:03}" for at in range(200)]
    runs = {
        "words": {query: [f"a{query}", f"b{query}"] for query in queries},
        "meaning": {
            query: [f"a{query}", f"c{query}"] if at < 140 else [f"c{query}", f"d{query}"] for at, query in enumerate(queries)
        },
    }
    # Only `meaning` was judged: queries of which it finds no relevant document seem to have none.
    grades = {
        query: {f"a{query}": 1, f"c{query}": 0} if at < 140 else {f"c{query}": 0, f"d{query}": 0}
        for at, query in enumerate(queries)
    }
    decision = rp.compare(grades, runs, "Success@2", samples=100).decision
    assert (decision.outcome, decision.reason) == ("not_decided", "unjudged")
    both = {query: {**docs, f"a{query}": docs.get(f"a{query}", 0), f"b{query}": 0} for query, docs in grades.items()}
    assert rp.compare(both, runs, "Success@2", samples=100).decision.outcome == "either"


def test_with_judged_zeros_a_rival_of_which_half_is_judged_prevents_a_decision_if_few_of_its_documents_matter() -> None:
    queries = [f"q{at:03}" for at in range(200)]
    runs = {name: {query: [f"{name}{query}"] for query in queries} for name in ("words", "meaning")}
    grades = {query: {f"words{query}": int(at % 4 == 0)} for at, query in enumerate(queries)}
    for query in queries[:100]:
        grades[query][f"meaning{query}"] = int(query.endswith("5"))
    decision = rp.compare(grades, runs, "Success@1", samples=100).decision
    assert (decision.outcome, decision.reason) == ("not_decided", "unjudged")
    for query in queries[100:]:
        grades[query][f"meaning{query}"] = int(query.endswith("5"))
    assert rp.compare(grades, runs, "Success@1", samples=100).decision.outcome == "ship"

"""Measures of diversity: worked examples by hand, laws, the greedy ideal ranking, and judgements without subtopics."""

from __future__ import annotations

import itertools
import math
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankproof as rp
from rankproof._align import hits as hits_module
from rankproof._align import native, reference
from rankproof._align.hits import Hits
from rankproof._align.judged_documents import with_codes
from rankproof._data.qrels import Qrels
from rankproof._data.validation import ReadOptions
from rankproof.errors import InputError, UsageError
from rankproof.measures import MEASURES, Measure, parse_measure, parse_measures
from rankproof.measures._subtopics import ideal_gains
from support.examples import examples
from support.qrels_and_runs import Scores, by_query, ranked, runs

Subtopics = dict[str, dict[str, dict[str, int]]]
EVERY = [
    *parse_measures(
        "alpha_DCG@3 alpha_DCG(alpha=0.2)@20 alpha_nDCG alpha_nDCG@3 alpha_nDCG(alpha=0.8,rel=2)@5 alpha_nDCG(alpha=1)"
    ),
    *parse_measures("ERR_IA@1 ERR_IA(rel=2)@5 nERR_IA nERR_IA@3 NRBP NRBP(alpha=0.2,beta=0.8) nNRBP nNRBP(alpha=0.2,beta=0.8)"),
    *parse_measures("AP_IA AP_IA(rel=2) P_IA@3 P_IA(rel=2)@20 StRecall@1 StRecall@5"),
]
NORMALISED = [measure for measure in EVERY if measure.name in ("alpha_nDCG", "nERR_IA", "nNRBP")]
DOCS = [f"d{number}" for number in range(12)]


def subtopics() -> st.SearchStrategy[Subtopics]:
    """Judgements of one to four queries for one to five subtopics, with grades from -2 to 3."""
    return st.integers(0, 2**32).map(lambda seed: _judged(Random(seed)))


def _judged(random: Random) -> Subtopics:
    def grades() -> dict[str, int]:
        return {doc: random.randint(-2, 3) for doc in random.sample(DOCS, random.randint(1, len(DOCS)))}

    queries = random.sample(["q0", "q1", "q2", "q3"], random.randint(1, 4))
    return {query: {str(number): grades() for number in range(random.randint(1, 5))} for query in queries}


def aligned(judged: Subtopics, run: Scores) -> Hits:
    qrels = reference.judge_qrels(Qrels.from_subtopics(judged))
    return with_codes(reference.align_dict(qrels, run, "run", ReadOptions()))


def value(name: str, judged: dict[str, dict[str, int]], docs: list[str]) -> float:
    return float(parse_measure(name).values(aligned({"q": judged}, {"q": ranked(docs)}))[0])


def test_every_measure_of_subtopics_is_tested() -> None:
    assert {measure.name for measure in EVERY} == {name for name, one in MEASURES.items() if one.needs_subtopics}


# Subtopic 1 is covered by a and b, subtopic 2 by b and c, subtopic 3 by nothing.
JUDGED = {"1": {"a": 1, "b": 1, "d": 0}, "2": {"b": 2, "c": 1}, "3": {"d": 0}}
RANKING = ["a", "x", "b", "c"]


@pytest.mark.parametrize(
    ("name", "by_hand"),
    [
        ("alpha_DCG@3", (1 + (0.5 + 1) / 2) / (2 * (1 + 0.5 / math.log2(3) + 0.25 / 2))),
        ("alpha_DCG(alpha=0.2)@3", (1 + (0.8 + 1) / 2) / (2 * (1 + 0.8 / math.log2(3) + 0.64 / 2))),
        # The ideal ranking is b (gain 2), c (0.5, as a, with the larger id), a (0.5).
        ("alpha_nDCG@3", (1 + (0.5 + 1) / 2) / (2 + 0.5 / math.log2(3) + 0.5 / 2)),
        ("alpha_nDCG(rel=2)@3", (1 / 2) / 1),
        ("ERR_IA@3", (1 + 1.5 / 3) / (2 * (1 + 0.5 / 2 + 0.25 / 3))),
        ("nERR_IA@3", (1 + 1.5 / 3) / (2 + 0.5 / 2 + 0.5 / 3)),
        ("NRBP", (1 - 0.5 * 0.5) / 2 * (1 + 1.5 * 0.25 + 0.5 * 0.125)),
        ("nNRBP", (1 + 1.5 * 0.25 + 0.5 * 0.125) / (2 + 0.5 * 0.5 + 0.5 * 0.25)),
        ("AP_IA", ((1 / 1 + 2 / 3) / 2 + (1 / 3 + 2 / 4) / 2) / 2),
        ("P_IA@3", (2 / 3 + 1 / 3) / 2),
        ("StRecall@2", 1 / 2),
        ("StRecall@3", 1.0),
        ("alpha_nDCG(judged_only=True)@3", (1 + (0.5 + 1) / math.log2(3) + 0.5 / 2) / (2 + 0.5 / math.log2(3) + 0.5 / 2)),
    ],
)
def test_a_small_ranking_by_hand(name: str, by_hand: float) -> None:
    assert value(name, JUDGED, RANKING) == pytest.approx(by_hand, abs=1e-15)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("alpha-nDCG@20", "alpha_nDCG@20"),
        ("alpha-DCG@5", "alpha_DCG@5"),
        ("strec@10", "StRecall@10"),
        ("P-IA@5", "P_IA@5"),
        ("MAP-IA", "AP_IA"),
        ("ERR-IA@20", "ERR_IA@20"),
        ("nerr-ia@20", "nERR_IA@20"),
        ("alpha_nDCG(alpha=0.8,rel=2)@10", "alpha_nDCG(rel=2,alpha=0.8)@10"),
        ("NRBP(alpha=0.2,beta=0.8)", "NRBP(alpha=0.2,beta=0.8)"),
    ],
)
def test_names_of_ndeval_and_ir_measures_are_known(theirs: str, ours: str) -> None:
    assert str(parse_measure(theirs)) == ours


@examples(80)
@given(judged=subtopics(), run=runs())
def test_a_value_is_within_its_range(judged: Subtopics, run: Scores) -> None:
    hits = aligned(judged, run)
    for measure in EVERY:
        values = measure.values(hits)
        assert values.shape == (len(judged),)
        assert (values >= 0).all(), measure
        # A greedy ranking is not always the best one, so that a value above 1 is possible.
        assert (values <= (1.1 if measure in NORMALISED else 1 + 1e-12)).all(), measure


@examples(80)
@given(judged=subtopics(), run=runs(), random=st.randoms(use_true_random=False))
def test_the_order_of_the_input_never_changes_a_bit(judged: Subtopics, run: Scores, random: Random) -> None:
    def shuffled(table: dict[str, dict[str, dict[str, int]]]) -> Subtopics:
        queries, order = random.sample(list(table), len(table)), random.sample(["0", "1", "2", "3", "4"], 5)
        return {
            query: {
                name: {doc: table[query][name][doc] for doc in random.sample(list(table[query][name]), len(table[query][name]))}
                for name in order
                if name in table[query]
            }
            for query in queries
        }

    one, other = aligned(judged, run), aligned(shuffled(judged), run)
    for measure in EVERY:
        assert by_query(one, measure.values(one)) == by_query(other, measure.values(other)), measure


@examples(80)
@given(judged=subtopics(), run=runs())
def test_a_query_does_not_depend_on_the_others(judged: Subtopics, run: Scores) -> None:
    hits = aligned(judged, run)
    for at, query in enumerate(hits.queries):
        alone = aligned({query: judged[query]}, {query: run.get(query, {})})
        for measure in EVERY:
            assert measure.values(alone)[0] == measure.values(hits)[at], measure


@examples(80)
@given(judged=subtopics())
def test_the_greedy_ranking_has_the_value_1(judged: Subtopics) -> None:
    for measure in NORMALISED:
        hits = aligned(judged, {query: ranked(greedy(each, measure)) for query, each in judged.items()})
        covered = [
            any(grade >= _rel(measure) for docs in judged[query].values() for grade in docs.values()) for query in hits.queries
        ]
        assert measure.values(hits) == pytest.approx(np.array(covered, float), abs=1e-12), measure


def _rel(measure: Measure) -> int:
    return measure.parameters()["rel"] or 1


def greedy(judged: dict[str, dict[str, int]], measure: Measure) -> list[str]:
    """The ideal ranking of one query in plain Python: exact gains, the larger id of equal ones."""
    from fractions import Fraction

    left = 1 - Fraction(str(measure.parameters().get("alpha", 0.5)))
    covers = {
        doc: {name for name, grades in judged.items() if grades.get(doc, 0) >= _rel(measure)}
        for doc in {doc for grades in judged.values() for doc in grades}
    }
    seen, ranking = dict.fromkeys(judged, 0), []
    while covers:
        best = max(covers, key=lambda doc: (sum(left ** seen[name] for name in covers[doc]), doc))
        for name in covers.pop(best):
            seen[name] += 1
        ranking.append(best)
    return ranking


@examples(80)
@given(judged=subtopics(), alpha=st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0]))
def test_the_gains_of_the_ideal_ranking_are_those_of_the_greedy_one(judged: Subtopics, alpha: float) -> None:
    hits = aligned(judged, {})
    measure = MEASURES["alpha_nDCG"](alpha=alpha)
    for depth in (3, 100):
        gains = ideal_gains(hits.judged, 1, alpha, depth)
        for row, query in zip(gains, hits.queries, strict=True):
            seen: dict[str, int] = dict.fromkeys(judged[query], 0)
            for rank, doc in enumerate(greedy(judged[query], measure)[: gains.shape[1]]):
                covered = [name for name, grades in judged[query].items() if grades.get(doc, 0) >= 1]
                assert row[rank] == pytest.approx(sum((1 - alpha) ** seen[name] for name in covered), abs=1e-12)
                seen |= {name: seen[name] + 1 for name in covered}


@examples(80)
@given(judged=subtopics(), run=runs())
def test_both_engines_give_the_same_bits(judged: Subtopics, run: Scores) -> None:
    qrels = native.judge_qrels(Qrels.from_subtopics(judged))
    hits, other = aligned(judged, run), with_codes(native.align_dict(qrels, run, "run", ReadOptions()))
    for measure in EVERY:
        assert measure.values(hits).tolist() == measure.values(other).tolist(), measure


@examples(40)
@given(judged=subtopics(), run=runs())
def test_parts_of_the_queries_give_the_same_values(judged: Subtopics, run: Scores) -> None:
    hits = aligned(judged, run)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hits_module, "QUERIES_PER_BLOCK", 1)
        blocks = hits.blocks
    for measure in EVERY:
        assert list(itertools.chain(*(measure.values(block).tolist() for block in blocks))) == measure.values(hits).tolist()


def test_more_subtopics_than_bits_of_a_mask_are_ranked_too() -> None:
    judged = {f"{number:03}": {"a": int(number < 70), "b": int(number >= 70), "c": 1} for number in range(100)}
    assert value("alpha_nDCG@3", judged, ["c", "a", "b"]) == pytest.approx(1.0)
    assert value("alpha_nDCG@3", judged, ["b", "a", "c"]) < 1


def test_a_document_may_cover_as_many_subtopics_as_there_may_be_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankproof.measures._subtopics._MOST_SUBTOPICS", 3)
    for count in (3, 4):
        judged = reference.judge_qrels(Qrels.from_subtopics({"q": {str(at): {"a": 1} for at in range(count)}}))
        if count == 3:
            assert ideal_gains(judged, 1, 0.5, 1).tolist() == [[3.0]]
        else:
            with pytest.raises(InputError, match="a document covers more than 3 subtopics; check the column of subtopics"):
                ideal_gains(judged, 1, 0.5, 1)


def test_judgements_without_subtopics_are_refused() -> None:
    with pytest.raises(InputError, match=r"^qrels: the judgements have no subtopics, which measures of diversity need; use TREC"):
        rp.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "alpha_nDCG@10")


def test_a_perfect_sum_has_a_longest_cutoff() -> None:
    with pytest.raises(UsageError, match=r"^cutoff 10000000 of ERR_IA is above 1000000; write ERR_IA@10$"):
        value("ERR_IA@10000000", JUDGED, RANKING)


@pytest.mark.parametrize("cutoff", [5, 20, 21, 25, 30])
def test_an_ideal_ranking_of_many_documents_has_the_value_1_at_every_depth(cutoff: int) -> None:
    """Each of 25 documents covers a subtopic of its own; the ideal ranking of a usual depth is computed on its own."""
    judged = {"q": {f"s{at}": {f"d{at}": 1} for at in range(25)}}
    hits = aligned(judged, {"q": ranked([f"d{at}" for at in range(25)])})
    assert parse_measure(f"alpha_nDCG@{cutoff}").values(hits).tolist() == pytest.approx([1.0])

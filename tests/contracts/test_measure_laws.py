"""Laws that every registered measure obeys; an exception is listed here with its reason."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._align.hits import Hits
from rankproof._data.arrays import FloatArray
from rankproof._registry import Option
from rankproof.errors import UsageError
from rankproof.measures import ANSWER_MEASURES, DCG, MEASURES, RR, Measure, SetR, nDCG, parse_measure, parse_measures
from rankproof.plugins import BinaryMeasure, CutoffMeasure
from support.examples import examples
from support.qrels_and_runs import DOCS, Grades, Scores, aligned, by_query, qrels_of, ranked, runs

SAMPLES: dict[str, str] = {
    "nDCG": "nDCG nDCG@1 nDCG@3 nDCG(gain='exp') nDCG(gain='exp')@3 nDCG(gain={0:0.5,1:3,2:9,3:9,4:27})@3",
    "DCG": "DCG DCG@3 DCG(gain='exp')@3",
    "RR": "RR RR@1 RR@3 RR(rel=2)@3",
    "AP": "AP AP@3 AP(rel=2)",
    "P": "P@1 P@3 P@30 P(rel=1)@3 P(rel=2)@3",
    "R": "R@1 R@3 R@30 R(rel=2)@3",
    "F1": "F1@1 F1@3 F1(rel=2)@30",
    "Success": "Success@1 Success@3 Success(rel=2)@3",
    "Rprec": "Rprec Rprec(rel=2)",
    "bpref": "bpref bpref(rel=2)",
    "infAP": "infAP infAP(rel=2)",
    "IPrec": "IPrec@0 IPrec@0.25 IPrec@1 IPrec(rel=2)@0.5",
    "11pt": "11pt 11pt(recalls=(0.25,0.5,0.75)) 11pt(rel=2)",
    "GMAP": "GMAP GMAP(rel=2)",
    "ERR": "ERR ERR@1 ERR@3",
    "RBP": "RBP RBP(p=0.5)@3 RBP(rel=2)",
    "SetP": "SetP SetP(rel=2) SetP(relative=True)",
    "SetR": "SetR SetR(rel=2)",
    "SetF": "SetF SetF(beta=2) SetF(rel=2)",
    "SetAP": "SetAP SetAP(rel=2)",
    "Utility": "Utility Utility(weights=(2,-1,0,0),rel=2)",
    "relative_P": "relative_P@1 relative_P@3 relative_P(rel=2)@30",
    "Rprec_mult": "Rprec_mult@0.5 Rprec_mult@1 Rprec_mult(rel=2)@2",
    "GMbpref": "GMbpref GMbpref(rel=2)",
    "yaap": "yaap yaap(rel=2)",
    "G": "G G(gain={1:3,2:9,3:9,4:27})",
    "binG": "binG binG(rel=2)",
    "ndcg_rel": "ndcg_rel ndcg_rel(gain='exp')",
    "Rndcg": "Rndcg Rndcg(gain={1:3,2:9,3:9,4:27})",
    "IDCG": "IDCG IDCG(gain='exp')",
    "nERR": "nERR nERR@1 nERR@3",
    "SDCG": "SDCG@1 SDCG@3 SDCG(max_rel=3,min_rel=1)@30",
    "INST": "INST INST(T=2) INST(max_rel=3)",
    "INSQ": "INSQ INSQ(T=2)",
    "BPM": "BPM BPM@3 BPM(T=2)@3",
    "NERR8": "NERR8@1 NERR8@3 NERR8(max_rel=5)@30",
    "NERR9": "NERR9@1 NERR9@3",
    "NERR10": "NERR10 NERR10(p=0.5)",
    "NERR11": "NERR11 NERR11(T=2)",
    "Compat": "Compat Compat(p=0.5) Compat(normalize=False)",
    "Accuracy": "Accuracy Accuracy@3 Accuracy(rel=2)",
    "GradedRBP": "GradedRBP GradedRBP(p=0.5) GradedRBP(gain='exp')",
    "RBPResid": "RBPResid RBPResid(p=0.5)",
    "NumNonrelRet": "NumNonrelRet NumNonrelRet(rel=2)",
    "Judged": "Judged Judged@1 Judged@3",
    "Unjudged": "Unjudged@1 Unjudged@3 Unjudged@30",
    "map_avgjg": "map_avgjg map_avgjg(rel=2)",
    "P_avgjg": "P_avgjg@3 P_avgjg(rel=2)@30",
    "Rprec_mult_avgjg": "Rprec_mult_avgjg@1 Rprec_mult_avgjg(rel=2)@2",
    "PrefsFul": "PrefsFul PrefsFul(of='both') PrefsFul(of='either') PrefsFul(mean='pair') PrefsFul(mean='pair',of='both')"
    " PrefsFul(mean='group') PrefsFul(mean='group',of='either') PrefsFul(mean='group',nonrel='R')"
    " PrefsFul(mean='group',of='both',nonrel='R')",
    "NumPrefs": "NumPrefs",
    "NumPrefsFul": "NumPrefsFul NumPrefsFul(of='both')",
    "NumQ": "NumQ",
    "NumRet": "NumRet",
    "NumRel": "NumRel NumRel(rel=2)",
    "NumRelRet": "NumRelRet NumRelRet(rel=2)",
}
OF_SUBTOPICS = {name for name, measure in MEASURES.items() if measure.needs_subtopics}
"""Their laws are in tests/measures/test_diversity.py."""
EVERY = [
    measure
    for name, bare in MEASURES.items()
    for measure in parse_measures(SAMPLES.get(name, bare.needs or name))
    if name not in OF_SUBTOPICS
]
DIRECTED = [measure for measure in EVERY if measure.higher_is_better is not None]

NOT_ZERO_WITHOUT_A_RANKING = {
    "NumQ": "every query counts",
    "NumRel": "it is a property of the qrels",
    "IDCG": "it is a property of the qrels",
    "NumPrefs": "it is a property of the qrels",
    "yaap": "log odds are below 0 where nothing is found",
}
NOT_ZERO_WITHOUT_RELEVANT = {
    "NumQ": "every query counts",
    "NumRet": "it counts what was retrieved",
    "Judged": "a document may be judged and not relevant",
    "Unjudged": "it has nothing to do with relevance",
    "NumNonrelRet": "it counts documents that are not relevant",
    "RBPResid": "it has nothing to do with relevance",
    "Utility": "every document retrieved in vain costs",
}
PULLED_DOWN_BY_PASSING_THE_POOLED = {"infAP": "a pooled document without a judgement counts as relevant in proportion"}
LOWERED_BY_A_BETTER_ORDER = {
    "G": "what is found above a document lowers its discount",
    "Accuracy": "a relevant document that enters the top k brings pairs in the wrong order",
    "BPM": "the user stops earlier, before another good document",
}
RAISED_BY_A_LONGER_RANKING = {
    "Rndcg": "the end of a long ranking is one more rank that is averaged",
    "Compat": "overlap is summed up to the length of the ranking",
    "Accuracy": "a document at the end is below every relevant one",
}
ONE_WHEN_PERFECT = [
    *("nDCG", "RR", "AP", "Success", "Rprec", "bpref", "IPrec", "11pt", "GMAP", "SetP", "SetR", "SetF", "Judged"),
    *("nERR", "Compat", "Accuracy"),
    *("ndcg_rel", "Rndcg", "binG", "SetAP", "GMbpref", "relative_P"),
]

every_collection = examples(80)


def test_the_laws_hold_for_every_registered_measure() -> None:
    assert {measure.name for measure in EVERY} | OF_SUBTOPICS == set(MEASURES)
    assert set(SAMPLES) <= set(MEASURES)


def good(measure: Measure, values: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The values, turned so that more is better."""
    return values if measure.higher_is_better else -values


@pytest.mark.parametrize("measure", EVERY, ids=str)
def test_printing_and_parsing_give_the_same_measure(measure: Measure) -> None:
    again = parse_measure(str(measure))
    assert again == measure
    assert hash(again) == hash(measure)
    assert repr(again) == str(measure)


def refusal(measure: Measure, name: str, value: Any) -> str:
    """What is wrong with the value of a parameter; empty if it is accepted."""
    try:
        measure(**{name: value})
    except UsageError as error:
        return error.what
    return ""


@pytest.mark.parametrize("measure", [*MEASURES.values(), *ANSWER_MEASURES.values()], ids=lambda one: f"{one.kind}-{one.name}")
@pytest.mark.parametrize("wrong", [object(), math.nan, -(10**400)], ids=["object", "nan", "large"])
def test_every_parameter_is_checked(measure: Measure, wrong: Any) -> None:
    for name in measure.parameters():
        fix = f'annotate the parameter, as in `{name}: Annotated[float, Option("what it is", least=0)]`'
        assert name.rstrip("s") in refusal(measure, name, wrong), fix


@dataclass(frozen=True, kw_only=True, repr=False)
class PoweredRank(CutoffMeasure):
    """A measure with a parameter of its own, and one that it shares by name only."""

    power: Annotated[float, Option("exponent of the rank", least=0)] = 1.0
    p: Annotated[int, Option("first rank", least=1)] = 1
    name = "PoweredRank"

    def values(self, hits: Hits) -> FloatArray:
        return np.zeros(len(hits.retrieved))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"power": "x"}, "power is x; choose a number of at least 0"),
        ({"power": math.nan}, "power is nan; choose a number of at least 0"),
        ({"power": -3}, "power is -3; choose a number of at least 0"),
        ({"p": 0.5}, "p is 0.5; choose a whole number of at least 1"),
        ({"cutoff": 0}, "cutoff must be >= 1; it is 0"),
    ],
)
def test_a_parameter_of_one_measure_is_checked_by_its_option(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        PoweredRank(**given)
    assert str(PoweredRank(power=2, p=3) @ 5) == "PoweredRank(power=2,p=3)@5"
    assert str(PoweredRank(power=-0.0)) == str(PoweredRank(power=0)) == "PoweredRank(power=0)"


def test_measures_are_equal_only_when_their_names_are() -> None:
    for one, other in itertools.combinations(EVERY, 2):
        assert (one == other) == (str(one) == str(other))


@every_collection
@given(qrels=qrels_of(), run=runs())
def test_a_value_is_within_its_range(qrels: Grades, run: Scores) -> None:
    hits = aligned(qrels, run)
    for measure in EVERY:
        low, high = measure.range
        values = measure.values(hits)
        assert values.dtype == np.float64
        assert values.shape == (len(qrels),)
        assert ((low <= values) & (values <= high + 1e-12)).all(), measure
        assert low <= measure.summarise(values) <= high + 1e-12, measure


def shuffled(table: dict[str, dict[str, Any]], order: Callable[[list[str]], list[str]]) -> dict[str, dict[str, Any]]:
    return {query: {doc: table[query][doc] for doc in order(list(table[query]))} for query in order(list(table))}


@every_collection
@given(qrels=qrels_of(), run=runs(), random=st.randoms(use_true_random=False))
def test_the_order_of_the_input_never_changes_a_bit(qrels: Grades, run: Scores, random: Any) -> None:
    def order(keys: list[str]) -> list[str]:
        return random.sample(keys, len(keys))  # type: ignore[no-any-return]

    one, other = aligned(qrels, run), aligned(shuffled(qrels, order), shuffled(run, order))
    for measure in EVERY:
        values, others = measure.values(one), measure.values(other)
        assert by_query(one, values) == by_query(other, others), measure
        assert measure.summarise(values).hex() == measure.summarise(others).hex(), measure


@given(values=st.lists(st.floats(0, 1), max_size=40), random=st.randoms(use_true_random=False))
def test_a_summary_is_the_same_for_any_order_of_queries(values: list[float], random: Any) -> None:
    mixed = random.sample(values, len(values))
    for measure in EVERY:
        assert measure.summarise(np.array(values)).hex() == measure.summarise(np.array(mixed)).hex(), measure


@every_collection
@given(qrels=qrels_of(), run=runs())
def test_a_cutoff_never_raises_reciprocal_rank(qrels: Grades, run: Scores) -> None:
    hits = aligned(qrels, run)
    values = [(RR @ cutoff).values(hits) for cutoff in range(1, 14)] + [RR.values(hits)]
    for smaller, larger in itertools.pairwise(values):
        assert (smaller <= larger).all()


@every_collection
@given(qrels=qrels_of(), run=runs())
def test_a_cutoff_beyond_the_ranking_is_no_cutoff(qrels: Grades, run: Scores) -> None:
    hits = aligned(qrels, run)
    for measure in EVERY:
        if isinstance(measure, CutoffMeasure) and measure.needs is None and measure.cutoff is None:
            assert (measure @ 10**15).values(hits).tolist() == measure.values(hits).tolist(), measure
    assert parse_measure("R@1000").values(hits).tolist() == SetR.values(hits).tolist()


@every_collection
@given(qrels=qrels_of(), run=runs(), depth=st.integers(1, 12))
def test_cutting_the_ranking_first_is_the_same_as_a_cutoff(qrels: Grades, run: Scores, depth: int) -> None:
    hits = aligned(qrels, run)
    for name in ("RR", "AP", "DCG", "ERR", "RBP", "Judged"):
        whole = parse_measure(name)
        assert whole.values(hits.cut(depth)).tolist() == (whole @ depth).values(hits).tolist(), name


def rankings(run: Scores) -> dict[str, list[str]]:
    return {query: sorted(docs, key=lambda doc: (docs[doc], doc), reverse=True) for query, docs in run.items()}


def swaps(qrels: Grades, run: Scores) -> Iterator[tuple[str, list[str], int]]:
    """Every neighbouring pair of which the lower one has the higher grade (nothing and below 0 counting as 0)."""
    for query, docs in rankings(run).items():
        grades = [max(qrels.get(query, {}).get(doc, 0), 0) for doc in docs]
        for place in range(len(docs) - 1):
            if grades[place] < grades[place + 1]:
                yield query, docs, place


@every_collection
@given(qrels=qrels_of(), run=runs())
def test_moving_a_document_up_past_a_lower_graded_one_never_hurts(qrels: Grades, run: Scores) -> None:
    for query, docs, place in itertools.islice(swaps(qrels, run), 3):
        before = aligned(qrels, run | {query: ranked(docs)})
        moved = [*docs[:place], docs[place + 1], docs[place], *docs[place + 2 :]]
        after = aligned(qrels, run | {query: ranked(moved)})
        pooled = qrels[query].get(docs[place], 0) < 0
        for measure in DIRECTED:
            excepted = pooled and measure.name in PULLED_DOWN_BY_PASSING_THE_POOLED
            if not excepted and measure.name not in LOWERED_BY_A_BETTER_ORDER:
                worse = good(measure, measure.values(after)) < good(measure, measure.values(before)) - 1e-12
                assert not worse.any(), measure


def test_passing_a_pooled_document_without_a_judgement_can_lower_inferred_ap() -> None:
    def value(docs: list[str]) -> float:
        return float(parse_measure("infAP").values(aligned({"q": {"a": 1, "b": 1, "pooled": -1}}, {"q": ranked(docs)}))[0])

    filler = [f"x{number}" for number in range(5)]
    assert value(["a", *filler, "b", "pooled"]) < value(["a", *filler, "pooled", "b"])


def single(measure: str, grades: dict[str, int], docs: list[str]) -> float:
    return float(parse_measure(measure).values(aligned({"q": grades}, {"q": ranked(docs)}))[0])


def test_a_document_above_can_raise_what_the_next_one_adds_to_the_normalised_gain() -> None:
    measure, grades = "G(gain={1:3,2:9})", {"a": 2, "b": 1}
    assert single(measure, grades, ["x", "a", "b"]) < single(measure, grades, ["x", "b", "a"])
    assert single(measure, grades, ["a", "b"]) > single(measure, grades, ["b", "a"])


def test_the_end_of_a_longer_ranking_is_one_more_rank_of_rndcg() -> None:
    assert single("Rndcg", {"a": 1}, ["x", "a"]) == 0
    assert single("Rndcg", {"a": 1}, ["x", "a", "y"]) == pytest.approx(0.5 / math.log2(3))


def test_a_relevant_document_that_enters_the_top_brings_pairs_in_the_wrong_order() -> None:
    assert single("Accuracy@3", {"a": 1, "b": 1}, ["a", "x", "y", "b"]) == 1
    assert single("Accuracy@3", {"a": 1, "b": 1}, ["a", "x", "b", "y"]) == 0.5


def test_a_user_who_has_enough_stops_before_another_good_document() -> None:
    assert single("BPM", {"a": 3, "b": 4}, ["x", "y", "a", "b"]) == 1.75 / 4
    assert single("BPM", {"a": 3, "b": 4}, ["x", "y", "b", "a"]) == 1 / 3


def test_a_longer_ranking_has_more_pairs_and_a_longer_overlap() -> None:
    for measure in ("Accuracy", "Compat"):
        assert single(measure, {"a": 1, "b": 1}, ["x", "a", "y"]) > single(measure, {"a": 1, "b": 1}, ["x", "a"])


@every_collection
@given(qrels=qrels_of(), run=runs(), more=st.integers(1, 4))
def test_unjudged_documents_at_the_end_never_help(qrels: Grades, run: Scores, more: int) -> None:
    tail = {f"new{number}": -1e6 - number for number in range(more)}
    before, after = aligned(qrels, run), aligned(qrels, {query: docs | tail for query, docs in run.items()})
    for measure in (one for one in DIRECTED if one.name not in RAISED_BY_A_LONGER_RANKING):
        better = good(measure, measure.values(after)) > good(measure, measure.values(before)) + 1e-12
        assert not better.any(), measure


def perfect(qrels: Grades, least: int) -> Scores:
    """All that has this grade or more, best first, and nothing else."""
    best = {query: sorted(docs, key=lambda doc: (-docs[doc], doc)) for query, docs in qrels.items()}
    return {query: ranked([doc for doc in docs if qrels[query][doc] >= least]) for query, docs in best.items()}


@every_collection
@given(qrels=qrels_of(), run=runs())
def test_no_ranking_beats_the_perfect_one(qrels: Grades, run: Scores) -> None:
    hits = aligned(qrels, run)
    bests = [aligned(qrels, perfect(qrels, least)) for least in range(3)]
    for measure in (one for one in DIRECTED if not has_no_perfect_ranking(one)):
        rel = measure.least if isinstance(measure, BinaryMeasure) else 1
        best = bests[0 if names_grade_0(measure) else rel]
        reachable = best.judged.relevant(rel) > 0
        values = good(measure, measure.values(best))
        assert (values >= good(measure, measure.values(hits)) - 1e-12)[reachable].all(), measure
        if measure.name in ONE_WHEN_PERFECT:
            fits = best.judged.relevant(rel) <= (measure.depth if isinstance(measure, CutoffMeasure) else math.inf)
            assert values[reachable & fits] == pytest.approx(1.0), measure


@every_collection
@given(qrels=qrels_of(lowest=0, highest=1), run=runs())
def test_exponential_gain_equals_linear_gain_for_binary_grades(qrels: Grades, run: Scores) -> None:
    hits = aligned(qrels, run)
    for measure in (nDCG, nDCG @ 3, DCG, DCG @ 3):
        assert measure(gain="exp").values(hits).tolist() == measure.values(hits).tolist()


@every_collection
@given(qrels=qrels_of())
def test_a_query_that_the_run_lacks_counts_0(qrels: Grades) -> None:
    first = next(iter(qrels))
    hits = aligned(qrels, {query: ranked(DOCS) for query in qrels if query != first})
    for measure in EVERY:
        if measure.name not in NOT_ZERO_WITHOUT_A_RANKING:
            assert by_query(hits, measure.values(hits))[first] == 0, measure
    assert by_query(hits, parse_measure("NumQ").values(hits))[first] == 1
    assert by_query(hits, parse_measure("NumRel").values(hits))[first] == sum(grade >= 1 for grade in qrels[first].values())


@every_collection
@given(qrels=qrels_of(highest=0), run=runs())
def test_a_query_without_relevant_documents_counts_0(qrels: Grades, run: Scores) -> None:
    hits = aligned(qrels, run)
    for measure in EVERY:
        if measure.name not in NOT_ZERO_WITHOUT_RELEVANT and not names_grade_0(measure):
            assert not measure.values(hits).any(), measure


def has_no_perfect_ranking(measure: Measure) -> bool:
    """Whether documents of grade 0 can help: only pairs of retrieved documents count, or they are preferred to the first R."""
    given = measure.parameters()
    return given.get("of") == "both" or given.get("nonrel") == "R"


def names_grade_0(measure: Measure) -> bool:
    """Whether a gain is given to grade 0 by hand."""
    return "{0:" in str(measure)


@pytest.mark.parametrize("measure", EVERY, ids=str)
def test_rel_is_filled_in_where_nobody_named_it(measure: Measure) -> None:
    assert measure.with_rel(1) == measure
    filled = measure.with_rel(3)
    if isinstance(measure, BinaryMeasure) and measure.rel is None:
        assert filled.parameters() == measure.parameters() | {"rel": 3}
    else:
        assert filled == measure


@every_collection
@given(qrels=qrels_of(), run=runs())
def test_values_are_the_same_when_asked_for_again(qrels: Grades, run: Scores) -> None:
    hits = aligned(qrels, run)
    first = [measure.values(hits).tolist() for measure in EVERY]
    fresh = aligned(qrels, run)
    assert first == [measure.values(hits).tolist() for measure in reversed(EVERY)][::-1]
    assert first == [measure.values(fresh).tolist() for measure in EVERY]


def test_the_largest_grades_stay_finite() -> None:
    hits: Hits = aligned({"q": {"a": 1000, "b": 999, "c": -(2**63)}}, {"q": ranked(["b", "a", "c"])})
    for measure in EVERY:
        assert math.isfinite(measure.summarise(measure.values(hits))), measure

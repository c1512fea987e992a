"""The notation of measures, the spellings of other tools, and wrong names."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._registry import Option
from rankproof.errors import UsageError
from rankproof.measures import (
    ANSWER_MEASURES,
    MEASURES,
    TEXT_MEASURES,
    Measure,
    _base,
    default_measures,
    nDCG,
    parse_measure,
    parse_measures,
)
from rankproof.measures._registry import all_measures
from rankproof.measures._trec_names import trec_label

SPELLINGS = {
    "ndcg_cut_10": "nDCG@10",
    "recip_rank": "RR",
    "P_5": "P@5",
    "recall_100": "R@100",
    "map": "AP",
    "map_cut_10": "AP@10",
    "success_1": "Success@1",
    "unj_5": "Unjudged@5",
    "gm_map": "GMAP",
    "iprec_at_recall_0.10": "IPrec@0.1",
    "11pt_avg": "11pt",
    "set_F.2": "SetF(beta=2)",
    "num_rel_ret": "NumRelRet",
    "RPREC": "Rprec",
    "INFAP": "infAP",
    "ndcg@10": "nDCG@10",
    "NDCG10": "nDCG@10",
    "ndcg10": "nDCG@10",
    "P10": "P@10",
    "Recall100": "R@100",
    "MRR10": "RR@10",
    "hit_rate5": "Success@5",
    "F110": "F1@10",
    "ndcg_cut10": "nDCG@10",
    "NERR8@10": "NERR8@10",
    "ndcg_burges@10": "nDCG(gain='exp')@10",
    "dcg_burges": "DCG(gain='exp')",
    "mrr": "RR",
    "mrr@10": "RR@10",
    "hit_rate@5": "Success@5",
    "precision@5": "P@5",
    "recall@5": "R@5",
    "f1@5": "F1@5",
    "r-precision": "Rprec",
    "map@100-l2": "AP(rel=2)@100",
    "rbp.95": "RBP(p=0.95)",
    "NDCG@10": "nDCG@10",
    "MRR@10": "RR@10",
    "Recall@100": "R@100",
    "MAP@10": "AP@10",
    "nDCG(dcg='exp-log2')@10": "nDCG(gain='exp')@10",
    "nDCG(dcg='log2')": "nDCG",
    "nDCG(gains={1:3})": "nDCG(gain={1:3})",
    "AP(rel=2)@100": "AP(rel=2)@100",
    "NumRet(rel=1)": "NumRelRet(rel=1)",
    "NumRet(rel=2)": "NumRelRet(rel=2)",
    "Bpref": "bpref",
    "nDCG(cutoff=10)": "nDCG@10",
    "IPrec(recall=0.5)": "IPrec@0.5",
    "Hit@3": "Success@3",
    "nDCG @ 10": "nDCG@10",
    "nDCG(gain=exp)@10": "nDCG(gain='exp')@10",
    'nDCG( gain = "exp" ) @ 10': "nDCG(gain='exp')@10",
    "nDCG(gain={1: 3, 2: 9.5})": "nDCG(gain={1:3,2:9.5})",
    "nDCG(gain={2=9,1=3})": "nDCG(gain={1:3,2:9})",
    "11pt(recalls=[.75, .25])": "11pt(recalls=(0.25,0.75))",
    "RBP(p=0.8)": "RBP",
    "P(rel=1)@5": "P(rel=1)@5",
    "P@1e3": "P@1000",
    f"P@{2**63 - 1}": f"P@{2**63 - 1}",
}


@pytest.mark.parametrize("text", SPELLINGS)
def test_a_spelling_is_printed_in_the_canonical_notation(text: str) -> None:
    assert str(parse_measure(text)) == SPELLINGS[text]


LISTS = {
    "P@5,10": "P@5 P@10",
    "P@5, 10 nDCG": "P@5 P@10 nDCG",
    "P.5,10": "P@5 P@10",
    "Success@1/3/5": "Success@1 Success@3 Success@5",
    "success.1,5": "Success@1 Success@5",
    "ndcg_cut.5,10,map": "nDCG@5 nDCG@10 AP",
    "ndcg.1=3,2=9,4=4.5": "nDCG(gain={1:3,2:9,4:4.5})",
    "iprec_at_recall..10,.20": "IPrec@0.1 IPrec@0.2",
    "11pt_avg..25,.5,.75": "11pt(recalls=(0.25,0.5,0.75))",
    "unj": "Unjudged@5 Unjudged@10 Unjudged@20",
    "R@10 AP R@10 map recall_10": "R@10 AP",
    "set": "runid NumQ NumRet NumRel NumRelRet Utility SetP SetR SetP(relative=True) SetAP SetF",
    "Rprec_mult.0.5,2": "Rprec_mult@0.5 Rprec_mult@2",
    "utility.2,-1,-0.5,0 relstring.15": "Utility(weights=(2,-1,-0.5,0)) relstring(length=15)",
    "rbp rbp.p=0.8 rbp.p=0.8,1=3,2=9": "GradedRBP GradedRBP(p=0.8) GradedRBP(p=0.8,gain={1:3,2:9})",
    "rbp_resid.p=0.5 RBP rbp.95": "RBPResid(p=0.5) RBP RBP(p=0.95)",
    "\tnDCG(gain={1:3,2:9})@5\n,, P(rel=2)@1 ": "nDCG(gain={1:3,2:9})@5 P(rel=2)@1",
}


@pytest.mark.parametrize("text", LISTS)
def test_a_list_is_read_in_order_and_without_repeats(text: str) -> None:
    assert [str(measure) for measure in parse_measures(text)] == LISTS[text].split()


def test_several_texts_and_measures_may_be_mixed() -> None:
    assert parse_measures(["P@5", nDCG @ 10, "ndcg@10,RR"]) == [parse_measure("P@5"), nDCG @ 10, parse_measure("RR")]


def test_nicknames_of_trec_eval_give_its_measures() -> None:
    official, everything = parse_measures("official"), parse_measures("all_trec")
    assert len(official) == 5 + 5 + 11 + 9
    assert official == everything[: len(official)]
    ours = {one.name for one in (*MEASURES.values(), *TEXT_MEASURES.values()) if one.parity}
    named = {measure.name for nickname in ("all_trec", "all_prefs", "qrels_jg") for measure in parse_measures(nickname)}
    assert named == ours - {"DCG", "IDCG", "yaap"}
    assert {*parse_measures("prefs")} < {*parse_measures("all_prefs")}


def test_a_measure_with_parameters_replaces_that_of_a_nickname_as_in_trec_eval() -> None:
    found = [str(measure) for measure in parse_measures(["set", "utility.2,-1,0,0", "set_F.2.0"])]
    assert found[-2:] == ["Utility(weights=(2,-1,0,0))", "SetF(beta=2)"]
    assert not {"Utility", "SetF"} & {*found}
    assert {"Utility", "SetF"} <= {str(measure) for measure in parse_measures(["set", "P@5"])}


SEE = "see rankproof measures for all of them, and name one of your own as module:name"
REFUSED = {
    "ndgc@10": "unknown measure ndgc; did you mean nDCG?",
    "sucess@5": "unknown measure sucess; did you mean Success?",
    "recip_rnak": "unknown measure recip_rnak; did you mean recip_rank?",
    "zzz": f"unknown measure zzz; {SEE}",
    "ndcg@0": "cutoff must be >= 1; it is 0",
    "ndcg@-3": "cutoff must be >= 1; it is -3",
    "ndcg@2.5": "cutoff 2.5 is not a whole number; write a whole number of at least 1",
    "ndcg_cut.10,23.4": "cutoff 23.4 is not a whole number; write a whole number of at least 1",
    "ndcg@x": 'cutoff "x" is not a number; write it like 10',
    "alpha_nDCG(alpha=1.01)@5": "alpha is 1.01; choose a number from 0 to 1",
    "nDCG(gain={1001:1})": "a gain for grade 1001; grades with a gain are whole numbers from 0 to 1000",
    "IPrec@x": 'recall "x" is not a number; write it like 0.5',
    "ndcg@": 'cutoff "" is not a number; write it like 10',
    "P@٣": 'cutoff "٣" is not a number; write it like 10',
    f"P@{2**63}": f"cutoff {2**63} is above 2^63 - 1; leave it out to count every document",
    "P": "P needs a cutoff; write it like P@10",
    "recall": "R needs a cutoff; write it like R@100",
    "IPrec": "IPrec needs a recall; write it like IPrec@0.1",
    "IPrec@1.5": "recall 1.5 is not between 0 and 1; write it like 0.5",
    "11pt@5": "11pt takes no cutoff; write 11pt",
    "11pt(recalls=0.5)": "recalls 0.5 is not a list; write it like (0.25,0.5,0.75)",
    "11pt(recalls=())": "recalls is empty; write it like (0.25,0.5,0.75)",
    "nDCG(rel=2)": "nDCG has no parameter rel; it takes cutoff, gain",
    "ndcg@10-l2": "nDCG has no parameter rel; it takes cutoff, gain",
    "NumQ(rel=2)": "NumQ has no parameter rel; it takes none",
    "nDCG(gain=big)": "gain big is not known; use linear or exp, or the gain of each grade, like {1:3,2:9}",
    "nDCG(gain={1})": 'cannot read "1" as gains; write them like {1:3,2:9}',
    "nDCG(gain={-1:2})": "a gain for grade -1; grades with a gain are whole numbers from 0 to 1000",
    "nDCG(gain={1:nan})": 'gain "nan" is not a number; write it like 10',
    "nDCG(gain={1:-1})": "gain -1 is not between 0 and 1e+15; write it like 3",
    "DCG(gain={1:1e308,2:1e308})@10": "gain 1e+308 is not between 0 and 1e+15; write it like 3",
    "DCG(gain={1:1e999})": "gain is not finite, or too large; write gain as a number",
    "nDCG(gain={1:2,1:3})": 'a grade occurs twice in "1:2,1:3"; give each grade one gain',
    "P(rel=0)@5": "rel must be >= 1; it is 0",
    f"P(rel={10**20})@5": f"rel {10**20} is above 2^63 - 1; grades are at most 1000",
    "P(rel=x)@5": "rel 'x' is not a number; write rel as a number",
    "P(2)@5": 'cannot read "2" as a parameter; write each parameter once, like rel=2',
    "P(rel=1,rel=2)@5": 'cannot read "rel=2" as a parameter; write each parameter once, like rel=2',
    "RBP(p=0)": "p 0.0 is not between 0 and 1; write it like 0.8",
    "RBP(p=1)": "p 1.0 is not between 0 and 1; write it like 0.8",
    "SetF(beta=-1)": "beta -1.0 is below 0; write it like 2",
    "utility.1,2": "weights (1, 2) are not four numbers; write them like (1,-1,0,0)",
    "utility.1,-1,0,1": "the fourth weight of Utility needs the number of documents in the corpus;"
    " write Utility(weights=(1,-1,0,0.01),documents=1000)",
    "hits@10": "hits is a mean count in ranx; write NumRelRet for the total count, or Success@10 for the hit rate",
    "nDCG(gain='exp'@10": "cannot read \"nDCG(gain='exp'@10\" as a measure; write it like nDCG@10 or nDCG(gain='exp')@10",
    "P@5@6": "cannot read \"P@5@6\" as a measure; write it like nDCG@10 or nDCG(gain='exp')@10",
    "Rprec.5": "cannot read \"Rprec.5\" as a measure; write it like nDCG@10 or nDCG(gain='exp')@10",
    "AP,10": '"10" follows AP, which takes no list; write lists like P@5,10',
    "official,5": '"5" follows official, which takes no list; write lists like P@5,10',
    "": "no measure is named; specify one, like nDCG@10",
    " , ": "no measure is named; specify one, like nDCG@10",
    "10": f"unknown measure 10; {SEE}",
    "\x1b[31mred": f"unknown measure \\x1b[31mred; {SEE}",
    "P@5,10": '"P@5,10" names 2 measures; specify one, or use parse_measures',
}


@pytest.mark.parametrize("text", REFUSED, ids=ascii)
def test_a_wrong_name_is_rejected_with_a_fix(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_measure(text)
    assert str(caught.value) == REFUSED[text]


@pytest.mark.parametrize(
    "text", ["x" * 100_000, "(" * 5000, "P@" + "9" * 5000, "nDCG(gain=" + "-" * 400 + "1)", "nDCG(gain={" + "1:2," * 90]
)
def test_the_error_for_a_very_long_name_is_short(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_measure(text)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("value", [None, 5, b"P@5", [None]])
def test_anything_but_text_and_measures_is_rejected(value: Any) -> None:
    with pytest.raises(UsageError, match="is not a measure"):
        parse_measures(value)


@given(st.text(st.sampled_from("nDCG@P(){}[]:=,. '\"rel12_-+eE/l"), max_size=30))
def test_any_text_gives_measures_or_a_usage_error(text: str) -> None:
    try:
        measures = parse_measures(text)
    except UsageError:
        return
    assert [parse_measure(str(measure)) for measure in measures] == measures


@pytest.mark.parametrize("measure", [*MEASURES.values(), *ANSWER_MEASURES.values()], ids=str)
def test_every_alias_is_read_in_any_case(measure: Measure) -> None:
    at = "@0.5" if measure.name == "IPrec" else "@5" if measure.at else ""
    for alias in measure.aliases:
        named = parse_measure(f"{measure(**measure.alias_parameters.get(alias, {}))}{at}")
        assert parse_measure(alias.upper() + at) == parse_measure(alias.lower() + at) == named


def test_an_alias_names_one_measure() -> None:
    names = [name.lower() for one in all_measures() for name in (one.name, *one.aliases)]
    assert [name for name, count in Counter(names).items() if count > 1] == ["f1"]


def test_aliases_of_other_tools_set_their_parameters() -> None:
    assert str(parse_measure("ndcg_burges@5")) == "nDCG(gain='exp')@5"
    assert str(parse_measure("DCG_burges")) == "DCG(gain='exp')"


def test_exponential_gain_is_a_default_only_where_grades_exceed_1() -> None:
    rest = "RR@10 R@100 P@10 Success@1 Success@3 Success@5 Success@10"
    assert default_measures(1) == parse_measures(f"nDCG@10 {rest}")
    assert default_measures(2) == parse_measures(f"nDCG@10 nDCG(gain='exp')@10 {rest}")


def test_a_number_at_the_end_of_a_name_may_begin_a_list() -> None:
    assert [str(measure) for measure in parse_measures("P5,10 ndcg3")] == ["P@5", "P@10", "nDCG@3"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("RBP95", r"unknown measure RBP95; did you mean RBP\(p=0.95\) or RBP@95\?"),
        ("P010", "unknown measure P010"),
        ("GMAP10", "unknown measure GMAP10; did you mean GMAP"),
        ("NERR8", "NERR8 needs a cutoff"),
    ],
)
def test_a_number_that_is_no_cutoff_is_not_read_as_one(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_measure(text)


@pytest.mark.parametrize(("name", "cutoff"), [("P@5", 5), ("Rprec_mult@1.5", 1.5), ("AP", 0), ("ERR@10", 0)])
def test_the_place_in_the_output_of_trec_eval_has_its_cutoff(name: str, cutoff: float) -> None:
    assert trec_label(parse_measure(name)).cutoff == cutoff


def test_a_gain_is_at_most_ten_to_the_fifteenth() -> None:
    assert str(parse_measure("DCG(gain={1:1e15})@10")) == "DCG(gain={1:1000000000000000})@10"
    with pytest.raises(UsageError, match="is not between 0 and 1e"):
        parse_measure("DCG(gain={1:1000000000000001})@10")


@pytest.mark.parametrize(
    ("option", "name", "step", "bounds"),
    [
        (_base.CUTOFF, "cutoff", 1, (1, None, None, None)),
        (_base.REL, "rel", 1, (1, 1000, None, None)),
        (_base.MAX_GRADE, "max_grade", 1, (1, 1000, None, None)),
        (_base.RECALL, "recall", 0.01, (0, 1, None, None)),
        (_base.P, "p", 0.01, (None, None, 0, 1)),
        (_base.BETA, "beta", 0.01, (0, None, None, None)),
    ],
)
def test_the_bounds_that_a_parameter_states_are_those_that_are_checked(
    option: Option, name: str, step: float, bounds: tuple[float | None, ...]
) -> None:
    assert (option.least, option.most, option.above, option.below) == bounds
    check = _base.PARAMETER_CHECKS[name]
    least, most, above, below = bounds
    allowed = [value for value in (least, most) if value is not None]
    # A grade above the highest one is refused where grades are read.
    outside = [value + sign * step for value, sign in ((least, -1), (most, 1)) if value not in (None, 1000)]
    for value in allowed:
        assert check(value) == value
    for value in [*outside, *(value for value in (above, below) if value is not None)]:
        with pytest.raises(UsageError):
            check(value)


@pytest.mark.parametrize(
    ("gains", "message"),
    [
        ("1:3:4", 'gain "3:4" is not a number'),
        ("1", 'cannot read "1" as gains'),
        ("1:3,1=4", 'a grade occurs twice in "1:3,1=4"'),
        ("x:3", 'grade "x" is not a number'),
    ],
)
def test_gains_that_cannot_be_read_are_named(gains: str, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        parse_measure(f"nDCG(gain={{{gains}}})@10")


def test_yes_and_no_are_written_as_in_python_or_in_json() -> None:
    for yes, no in (("True", "False"), ("true", "false")):
        assert parse_measure(f"P(judged_only={yes})@5") != parse_measure("P@5")
        assert parse_measure(f"P(judged_only={no})@5") == parse_measure("P@5")

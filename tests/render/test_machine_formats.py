"""The views that programs read: JSON, CSV and trec_eval's layout."""

import csv
import io
import json

import numpy as np
import pytest

from rankproof._evaluation.notes import Note
from rankproof._evaluation.result import MeasureResult, Result, SystemResult
from rankproof._render import result as as_csv
from rankproof._render import result as as_json
from rankproof._render import trec
from rankproof._render.formats import RenderOptions
from rankproof.measures import parse_measure
from rankproof.measures._trec_names import trec_label


def result_of(
    *systems: str, queries: tuple[str, ...] = ("q1", "q2"), measures: tuple[str, ...] = ("nDCG@10", "NumRet")
) -> Result:
    """A result whose values are thirds and counts."""
    found = {}
    for text in measures:
        measure = parse_measure(text)
        values = np.array([3.0, 4.0]) if measure.summary == "sum" else np.array([1 / 3, 1.0])
        found[str(measure)] = MeasureResult(measure, measure.summarise(values), queries, values)
    notes = (Note("tied-scores", 2, "2 judged documents have a tied score"),)
    return Result(queries, tuple(SystemResult(system, found, notes) for system in systems))


def test_json_keeps_its_shape() -> None:
    assert json.loads(as_json.render_json(result_of("a", "b"), RenderOptions()))["systems"][1] == {
        "name": "b",
        "measures": {
            "nDCG@10": {"value": 2 / 3, "summary": "mean", "queries": 2},
            "NumRet": {"value": 7.0, "summary": "sum", "queries": 2},
        },
        "notes": [{"code": "tied-scores", "count": 2, "text": "2 judged documents have a tied score"}],
    }


def test_json_has_every_query_at_full_precision_where_asked_for() -> None:
    found = json.loads(as_json.render_json(result_of("a"), RenderOptions(per_query=True)))
    assert found["queries"] == 2
    assert found["systems"][0]["measures"]["nDCG@10"]["per_query"] == {"q1": 1 / 3, "q2": 1.0}


def test_csv_has_one_layout_with_and_without_queries() -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv.render_csv(result_of("a"), RenderOptions(per_query=True)))))
    assert [row for row in rows if not row["query"]] == list(
        csv.DictReader(io.StringIO(as_csv.render_csv(result_of("a"), RenderOptions())))
    )
    assert rows[0] == {
        "system": "a",
        "query": "q1",
        "measure": "nDCG@10",
        "summary": "query",
        "queries": "1",
        "value": repr(1 / 3),
    }


def test_trec_layout_is_that_of_trec_eval() -> None:
    assert trec.render_trec(result_of("a"), RenderOptions(per_query=True)).splitlines() == [
        "num_ret               \tq1\t3",
        "ndcg_cut_10           \tq1\t0.3333",
        "num_ret               \tq2\t4",
        "ndcg_cut_10           \tq2\t1.0000",
        "num_ret               \tall\t7",
        "ndcg_cut_10           \tall\t0.6667",
    ]


def test_several_systems_are_separated_by_runid_in_the_trec_format() -> None:
    lines = trec.render_trec(result_of("a", "b"), RenderOptions()).splitlines()
    assert [lines[0], lines[3]] == ["runid                 \tall\ta", "runid                 \tall\tb"]


def test_a_query_called_all_is_not_the_mean_in_the_trec_layout_nor_in_csv() -> None:
    result = result_of("a", queries=("all", "q2"))
    assert "\tquery:all\t0.3333" in trec.render_trec(result, RenderOptions(per_query=True))
    assert trec.render_trec(result, RenderOptions(per_query=True)).count("\tall\t") == 2
    assert as_csv.render_csv(result, RenderOptions(per_query=True)).count("a,all,") == 2


def test_a_query_called_all_is_no_other_query_in_the_trec_layout_either() -> None:
    result = result_of("a", queries=("all", "query:all"), measures=("P@5",))
    shown = [line.split("\t")[1] for line in trec.render_trec(result, RenderOptions(per_query=True)).splitlines()]
    assert shown == ["query:query:all", "query:all", "all"]


def test_a_system_called_all_keeps_its_name() -> None:
    assert trec.render_trec(result_of("all", "b"), RenderOptions()).startswith("runid                 \tall\tall\n")


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("AP", "map"),
        ("AP@5", "map_cut_5"),
        ("nDCG", "ndcg"),
        ("RR", "recip_rank"),
        ("RR@10", "RR@10"),
        ("R@100", "recall_100"),
        ("Success@1", "success_1"),
        ("IPrec@0.1", "iprec_at_recall_0.10"),
        ("Unjudged@5", "unj_5"),
        ("11pt", "11pt_avg"),
        ("SetF", "set_F"),
        ("SetF(beta=2)", "set_F_2.0"),
        ("nDCG(gain={1:3,2:9})", "ndcg_1=3,2=9"),
        ("nDCG(gain={1:3,2:9})@5", "nDCG(gain={1:3,2:9})@5"),
        ("SetP(relative=True)", "set_relative_P"),
        ("Utility(weights=(2,-1,-0.5,0))", "utility_2,-1,-0.5,0"),
        ("GradedRBP(p=0.8)", "rbp_p=0.8"),
        ("RBP(p=0.8)", "RBP"),
        ("Rprec_mult@1.5", "Rprec_mult_1.50"),
        ("GMAP", "gm_map"),
        ("NumQ", "num_q"),
        ("nDCG(gain='exp')@10", "nDCG(gain='exp')@10"),
        ("P(rel=2)@5", "P(rel=2)@5"),
        ("ERR@10", "ERR@10"),
    ],
)
def test_trec_names_are_trec_evals_where_it_has_one(ours: str, theirs: str) -> None:
    assert trec_label(parse_measure(ours)).name == theirs


@pytest.mark.parametrize(
    ("measures", "rel", "names"),
    [
        (("P(rel=2)@5", "AP(rel=2)", "nDCG@5"), 2, ["map", "P_5", "ndcg_cut_5"]),
        (("P(rel=2)@5", "nDCG"), 1, ["ndcg", "P(rel=2)@5"]),
        (("P(rel=1)@5",), 2, ["P(rel=1)@5"]),
        (("P(rel=1)@5",), 1, ["P_5"]),
        (("P(rel=2)@5", "P@5"), 1, ["P_5", "P(rel=2)@5"]),
    ],
)
def test_trec_names_leave_out_only_the_given_rel(measures: tuple[str, ...], rel: int, names: list[str]) -> None:
    text = trec.render_trec(result_of("a", measures=measures), RenderOptions(rel=rel))
    assert [line.split()[0] for line in text.splitlines()] == names


def test_num_q_and_gmap_have_no_rows_for_single_queries_as_in_trec_eval() -> None:
    text = trec.render_trec(result_of("a", measures=("NumQ", "GMAP")), RenderOptions(per_query=True))
    assert [line.split("\t")[1] for line in text.splitlines()] == ["all", "all"]

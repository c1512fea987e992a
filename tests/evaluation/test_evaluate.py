"""`evaluate`: its inputs, results and notes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow
import pytest

import rankproof as rp
from rankproof._evaluation.notes import FEW_JUDGED, Note

QRELS = {"q1": {"d1": 2, "d2": 1, "d3": 0}, "q2": {"d4": 1}}
RUN = {"q1": {"d2": 9.0, "d1": 8.0, "dX": 7.0}, "q2": {"d5": 2.0, "d4": 1.0}}


def text_files(folder: Path) -> tuple[Path, Path]:
    qrels, run = folder / "a.qrels", folder / "bm25.run"
    qrels.write_text("".join(f"{q} 0 {d} {g}\n" for q, docs in QRELS.items() for d, g in docs.items()))
    rows = [(q, d, i, s) for q, docs in RUN.items() for i, (d, s) in enumerate(docs.items(), 1)]
    run.write_text("".join(f"{q} Q0 {d} {i} {s} t\n" for q, d, i, s in rows))
    return qrels, run


def frames(library: Any) -> tuple[Any, Any]:
    judged = [(q, d, g) for q, docs in QRELS.items() for d, g in docs.items()]
    rows = [(q, d, s) for q, docs in RUN.items() for d, s in docs.items()]
    left: dict[str, Any] = {
        "query_id": [r[0] for r in judged],
        "doc_id": [r[1] for r in judged],
        "relevance": [r[2] for r in judged],
    }
    right: dict[str, Any] = {"query_id": [r[0] for r in rows], "doc_id": [r[1] for r in rows], "score": [r[2] for r in rows]}
    make = pyarrow.table if library is pyarrow else library.DataFrame
    return make(left), make(right)


def test_means_and_per_query_values_are_keyed_by_canonical_names() -> None:
    result = rp.evaluate(QRELS, RUN, ["ndcg_cut_10", "recip_rank"])
    assert list(result.means["run"]) == ["nDCG@10", "RR"]
    assert result.per_query() == result.per_query("run")
    assert result.per_query()["RR"] == {"q1": 1.0, "q2": 0.5}
    assert result.means["run"]["RR"] == result.value("mrr") == 0.75


def test_paths_give_what_dicts_give(tmp_path: Path) -> None:
    qrels, run = text_files(tmp_path)
    assert rp.evaluate(qrels, run).means == {"bm25": rp.evaluate(QRELS, RUN).means["run"]}
    assert rp.evaluate(str(qrels), str(run)).per_query() == rp.evaluate(QRELS, RUN).per_query()


@pytest.mark.parametrize("library", [pandas, polars, pyarrow], ids=lambda library: library.__name__)
def test_frames_give_what_dicts_give(library: Any) -> None:
    qrels, run = frames(library)
    assert rp.evaluate(qrels, run).per_query() == rp.evaluate(QRELS, RUN).per_query()


def test_our_own_types_give_what_dicts_give() -> None:
    qrels, run = rp.Qrels.from_dict(QRELS), rp.Run.from_dict(RUN, name="mine")
    assert rp.evaluate(qrels, run).per_query("mine") == rp.evaluate(QRELS, RUN).per_query()


def test_several_runs_keep_their_names_and_order() -> None:
    result = rp.evaluate(QRELS, {"b": RUN, "a": RUN}, "RR")
    assert list(result.means) == ["b", "a"]
    with pytest.raises(rp.errors.UsageError, match="there are several systems; choose from: b, a"):
        result.per_query()


def test_equal_names_are_rejected() -> None:
    with pytest.raises(rp.errors.UsageError, match="two systems are called run"):
        rp.evaluate(QRELS, [rp.Run.from_dict(RUN), rp.Run.from_dict(RUN)])


def test_a_measure_may_be_a_value() -> None:
    assert rp.evaluate(QRELS, RUN, [rp.measures.P @ 2, rp.measures.nDCG(gain="exp") @ 10]).means["run"].keys() == {
        "P@2",
        "nDCG(gain='exp')@10",
    }


def test_the_default_measures_leave_out_exponential_gain_for_binary_grades() -> None:
    binary = rp.evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}).means["run"]
    graded = rp.evaluate({"q": {"d": 2}}, {"q": {"d": 1.0}}).means["run"]
    assert set(graded) - set(binary) == {"nDCG(gain='exp')@10"}


def test_rel_changes_what_is_relevant_but_never_the_gains() -> None:
    plain, strict = (rp.evaluate(QRELS, RUN, "nDCG@10 RR R@10", rel=rel) for rel in (1, 2))
    assert plain.value("nDCG@10") == strict.value("nDCG@10")
    assert strict.per_query()["RR(rel=2)"] == {"q1": 0.5, "q2": 0.0}


def _other_notes(result: rp.Result) -> list[Note]:
    """The notes but for that on unjudged documents."""
    return [note for note in result.notes["run"] if note.code != FEW_JUDGED]


def test_a_query_that_the_run_lacks_counts_zero_or_is_left_out() -> None:
    run = {"q1": RUN["q1"]}
    counted, skipped = rp.evaluate(QRELS, run, "RR"), rp.evaluate(QRELS, run, "RR", skip_missing=True)
    assert (counted.value("RR"), skipped.value("RR")) == (0.5, 1.0)
    assert skipped.per_query() == {"RR": {"q1": 1.0}}
    assert [note.code for note in _other_notes(counted)] == ["missing-queries"]


def test_a_query_with_an_empty_ranking_counts_zero_without_a_note() -> None:
    result = rp.evaluate(QRELS, {**RUN, "q2": {}}, "RR")
    assert result.value("RR") == 0.5
    assert _other_notes(result) == []


def test_depth_and_judged_only_work_as_in_trec_eval() -> None:
    assert rp.evaluate(QRELS, RUN, "NumRet", depth=1).value("NumRet") == 2
    assert rp.evaluate(QRELS, RUN, "RR", judged_only=True).value("RR") == 1.0
    assert rp.evaluate(QRELS, RUN, "RR", judged_only=True, depth=1).value("RR") == 0.5


def test_a_subset_of_queries_leaves_the_others_out_without_a_note() -> None:
    result = rp.evaluate(QRELS, RUN, "RR", queries={"q2"})
    assert result.per_query() == {"RR": {"q2": 0.5}}
    assert _other_notes(result) == []


def test_lower_is_better_reverses_the_order() -> None:
    qrels = {f"q{number}": {"d1": 1} for number in range(5)}
    distances = {query: {"d1": 0.1, "d2": 0.2, "d3": 0.9} for query in qrels}
    wrong, right = rp.evaluate(qrels, distances, "RR"), rp.evaluate(qrels, distances, "RR", lower_is_better=True)
    assert right.value("RR") == 1.0
    assert _other_notes(right) == []
    assert [(note.code, note.count) for note in _other_notes(wrong)] == [("scores-look-like-distances", 5)]


def test_lower_is_better_with_scores_that_are_not_distances_is_noted() -> None:
    qrels = {f"q{number}": {"d1": 1} for number in range(5)}
    scores = {query: {"d1": 0.9, "d2": 0.2, "d3": 0.1} for query in qrels}
    (note,) = _other_notes(rp.evaluate(qrels, scores, "RR", lower_is_better=True))
    assert "better ranks have higher scores" in note.text


def test_rows_of_few_queries_without_ranks_may_be_in_any_order() -> None:
    assert _other_notes(rp.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0, "b": 2.0, "c": 3.0}}, "RR")) == []


def test_a_query_without_a_relevant_document_is_noted_for_every_rel_in_use() -> None:
    notes = _other_notes(rp.evaluate(QRELS, RUN, "R(rel=2)@5 RR(rel=3) P@5"))
    assert [(note.code, note.count) for note in notes] == [("no-relevant", 1), ("no-relevant", 2)]


def test_a_very_large_depth_cuts_nothing() -> None:
    assert rp.evaluate(QRELS, RUN, depth=10**30).means == rp.evaluate(QRELS, RUN).means


def test_a_number_and_a_text_that_are_the_same_id_are_rejected() -> None:
    for qrels, run in (({1: {"d": 1}, "1": {"d": 1}}, RUN), (QRELS, {"q1": {5: 1.0, "5": 2.0}})):
        with pytest.raises(rp.errors.InputError, match="occurs as a number and as text"):
            rp.evaluate(qrels, run)


def test_a_subset_of_queries_leaves_the_values_of_each_query_as_they_are() -> None:
    qrels, run = {"q1": {"a": 1}, "q2": {"b": 3}}, {"q1": {"a": 1.0}, "q2": {"b": 1.0}}
    whole, part = rp.evaluate(qrels, run, "ERR"), rp.evaluate(qrels, run, "ERR", queries=["q1"])
    assert whole.per_query()["ERR"]["q1"] == part.per_query()["ERR"]["q1"] == 0.125


def test_selected_queries_may_be_numbers_and_must_be_judged() -> None:
    numbers: Any = [1]
    assert rp.evaluate({"1": {"d": 1}, "2": {"d": 1}}, {"1": {"d": 1.0}}, "RR", queries=numbers).value("RR") == 1.0
    with pytest.raises(rp.errors.InputError, match="none of the 1 selected queries is judged: q9"):
        rp.evaluate(QRELS, RUN, queries=["q9"])


def test_a_run_without_a_judged_query_is_rejected_with_ids_of_both() -> None:
    with pytest.raises(rp.errors.InputError, match=r"the run has 01, the judgements have 1 \(leading zeros differ\)"):
        rp.evaluate({"1": {"d": 1}}, {"01": {"d": 1.0}})


def test_integer_ids_become_their_decimal_text() -> None:
    assert rp.evaluate({1: {2: 1}}, {"1": {"2": 0.5}}, "RR").per_query() == {"RR": {"1": 1.0}}


@pytest.mark.parametrize(
    ("qrels", "run", "message"),
    [
        (QRELS, {"q1": {"d1": float("nan")}}, "not finite"),
        (QRELS, {"q1": {"d1": "0.9"}}, "is text, not a number"),
        (QRELS, {"q1": {"d1": None}}, "is null, not a number"),
        (QRELS, {"q1": {"d1": True}}, "not a number"),
        (QRELS, {"q1": {"": 1.0}}, "empty document id"),
        (QRELS, {"q1": {1.5: 1.0}}, "not text"),
        (QRELS, {"q1": {"\ud800": 1.0}}, "surrogate"),
        (QRELS, {"q1": 0.5}, "must map document ids"),
        ({"q1": {"d1": 0.5}}, RUN, "not an integer"),
        ({"q1": {"d1": 1001}}, RUN, "above the limit"),
        ({"q1": {"d1": "1"}}, RUN, "not an integer"),
        ({}, RUN, "no query is judged"),
        (QRELS, 7, "run cannot be"),
        (7, RUN, "qrels cannot be"),
    ],
)
def test_values_that_are_not_grades_or_scores_are_rejected(qrels: Any, run: Any, message: str) -> None:
    with pytest.raises((rp.errors.InputError, rp.errors.UsageError), match=message):
        rp.evaluate(qrels, run)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("compat", "trec_eval9"),
        ("order", "ranks"),
        ("on_duplicate", "best"),
        ("rel", "2"),
        ("rel", 0),
        ("depth", "3"),
        ("depth", True),
        ("threads", 0),
        ("queries", "12"),
        ("queries", []),
    ],
)
def test_an_invalid_option_is_rejected(option: str, value: Any) -> None:
    with pytest.raises(rp.errors.UsageError, match=option if option != "queries" else "quer"):
        rp.evaluate(QRELS, RUN, **{option: value})


@pytest.mark.parametrize("library", [pandas, polars, pyarrow], ids=lambda library: library.__name__)
@pytest.mark.parametrize(
    "fault", [{"doc_id": [None, "d"]}, {"score": [1.0, float("inf")]}, {"score": None}, {"doc_id": [1.5, 2.5]}]
)
def test_both_engines_reject_a_faulty_frame_alike(library: Any, fault: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rankproof._align.native", exc_type=ImportError)
    good: dict[str, Any] = {"query_id": ["q1", "q1"], "doc_id": [10**16, 3], "score": [2.0, 1.0]}
    columns = {name: values for name, values in {**good, **fault}.items() if values is not None}
    frame = pyarrow.table(columns) if library is pyarrow else library.DataFrame(columns)
    messages = []
    for name in ("native", "reference"):
        monkeypatch.setattr("rankproof._engine_choice.chosen_name", lambda name=name: name)
        with pytest.raises(rp.errors.InputError) as error:
            rp.evaluate(QRELS, {"dense": frame})
        messages.append(str(error.value))
    assert messages[0] == messages[1]
    assert messages[0].startswith("dense:")


@pytest.mark.parametrize("library", [pandas, polars], ids=lambda library: library.__name__)
def test_every_value_is_a_row_of_the_frame(library: Any) -> None:
    result = rp.evaluate(QRELS, RUN, "RR P@1")
    frame = result.to_pandas() if library is pandas else result.to_polars()
    assert list(frame.columns) == ["system", "query", "measure", "value"]
    assert len(frame) == 4


def test_an_error_in_a_later_batch_has_its_row() -> None:
    chunks: dict[str, Any] = {"query": [[b"q1"], [b"\xff"]], "doc": [[b"d1"], [b"d2"]], "score": [[2.0], [1.0]]}
    columns: dict[str, Any] = {name: pyarrow.chunked_array(parts) for name, parts in chunks.items()}
    table = pyarrow.table(columns)
    with pytest.raises(rp.errors.InputError, match="dense:2: not UTF-8"):
        rp.evaluate(QRELS, {"dense": table})


def test_a_score_that_is_not_finite_beside_long_integer_ids_is_rejected() -> None:
    table = pyarrow.table({"query": [1, 1, 1], "doc": [12345678901234567, 2, 99999999999999], "score": [3.0, 2.0, float("inf")]})
    with pytest.raises(rp.errors.InputError, match="run:3: score inf is not finite"):
        rp.evaluate({"1": {"2": 1}}, table)


def test_the_arguments_are_not_changed() -> None:
    qrels, run = {"q": {"d": 1}}, {"q": {"d": 1.0, "e": 2.0}}
    rp.evaluate(qrels, run)
    assert qrels == {"q": {"d": 1}}
    assert list(run["q"].items()) == [("d", 1.0), ("e", 2.0)]


def test_every_public_name_is_there() -> None:
    assert len(rp.__all__) >= 30
    assert set(dir(rp)) == {*rp.__all__, "__version__"}
    assert all(getattr(rp, name) is not None for name in rp.__all__)

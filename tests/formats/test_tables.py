"""CSV, JSON and JSONL in detail: column names, quotes, grade maps, duplicates, lines of errors."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import rankproof as rp
from rankproof._data.grades import parse_grade_map
from rankproof._data.run import Run
from rankproof._data.validation import ReadOptions
from rankproof._formats.columns import COLUMN_NAMES, find_columns, kind_from_names
from rankproof._formats.csv import delimited_line, split_rows
from rankproof._formats.detect import detect
from rankproof._formats.registry import format_named
from rankproof._formats.rows import ParseOptions, run_without_duplicates
from rankproof._io.open import numbered_text_lines
from rankproof._io.streams import ByteSource
from rankproof._io.strict_json import line_of, parse_strict_json
from rankproof.errors import InputError, UsageError


def source_of(text: str) -> ByteSource:
    return ByteSource("f", lambda: io.BytesIO(text.encode()))


def run_of(text: str, read_options: ReadOptions | None = None) -> Run:
    source = source_of(text)
    return format_named(detect(source)).read_run(source, "run", ParseOptions(read_options=read_options or ReadOptions()))


def grades_of(text: str, grade_map: dict[str, int] | None = None) -> dict[str, dict[str, int]]:
    source = source_of(text)
    qrels = format_named(detect(source)).read_qrels(source, ParseOptions(grade_map=grade_map))
    return {query: dict(docs) for query, docs in qrels.items()}


@pytest.mark.parametrize("name", COLUMN_NAMES["query"])
def test_every_usual_name_of_a_query_is_known(name: str) -> None:
    assert run_of(f"{name.replace('_', '-').upper()},doc_id,score\nq1,d1,1\n").queries == ("q1",)


@pytest.mark.parametrize("name", COLUMN_NAMES["document"])
def test_every_usual_name_of_a_document_is_known(name: str) -> None:
    assert run_of(f"qid,{name.title()},score\nq1,d1,1\n").docs == ("d1",)


@pytest.mark.parametrize("name", COLUMN_NAMES["score"])
def test_every_usual_name_of_a_score_is_known(name: str) -> None:
    assert run_of(f"qid,docid,{name}\nq1,d1,1\n").scores.tolist() == [1.0]


@pytest.mark.parametrize("name", COLUMN_NAMES["grade"])
def test_every_usual_name_of_a_grade_is_known(name: str) -> None:
    assert grades_of(f"qid,docid,{name}\nq1,d1,1\n") == {"q1": {"d1": 1}}


def test_an_id_column_is_preferred_to_the_text_of_the_query() -> None:
    assert find_columns(["query", "document", "query_id", "doc_id", "score"], "run").query == 2


def test_a_grade_column_is_preferred_to_a_score_in_qrels() -> None:
    assert find_columns(["query", "doc", "score", "rel"], "qrels").value == 3


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (["query-id", "corpus-id", "score"], "qrels"),
        (["qid", "docid", "score"], "run"),
        (["qid", "docid", "rel"], "qrels"),
        (["qid", "docid", "rank", "score"], "run"),
        (["qid", "docid"], None),
    ],
)
def test_column_names_distinguish_a_run_from_qrels(names: list[str], kind: str | None) -> None:
    assert kind_from_names(names) == kind


@given(st.lists(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=2, max_size=4), min_size=1, max_size=5))
def test_rows_are_split_as_they_were_joined(rows: list[list[str]]) -> None:
    text = "".join(delimited_line(row, ",") for row in rows)
    assert [fields for _, fields, _ in split_rows(numbered_text_lines(source_of(text)), ",", "f")] == rows


def test_a_row_has_the_number_of_its_first_line() -> None:
    text = 'a,b\n"x\n\ny",1\r\n\r\nz,2\n'
    rows = list(split_rows(numbered_text_lines(source_of(text)), ",", "f"))
    assert [(line, fields) for line, fields, _ in rows] == [(1, ["a", "b"]), (2, ["x\n\ny", "1"]), (6, ["z", "2"])]


def test_a_quote_inside_a_bare_field_is_text() -> None:
    assert run_of('qid,docid,score\nq1,5" disk,1\n').docs == ('5" disk',)


def test_ids_that_look_like_numbers_or_nothing_stay_text() -> None:
    assert run_of("qid,docid,score\n007,NA,1\n007,1.0,2\n007,null,3\n").docs == ("NA", "1.0", "null")


def test_integers_in_json_become_their_decimal_text() -> None:
    assert run_of('{"qid": 7, "docid": 12, "score": 1}\n{"qid": 7, "docid": 13, "score": 1}\n').docs == ("12", "13")


def test_letters_are_mapped_in_every_format() -> None:
    letters = parse_grade_map("E=3,S=2,C=1,I=0")
    expected = {"q1": {"d1": 3, "d2": 0}}
    for text in (
        "q1 0 d1 E\nq1 0 d2 I\n",
        "query_id,product_id,esci_label\nq1,d1,E\nq1,d2,I\n",
        '{"q1": {"d1": "E", "d2": "I"}}',
        '{"qid": "q1", "docid": "d1", "rel": "E"}\n{"qid": "q1", "docid": "d2", "rel": "I"}\n',
    ):
        assert grades_of(text, letters) == expected


def test_integers_pass_a_grade_map_and_other_letters_are_rejected_with_their_line() -> None:
    assert grades_of("q1 0 d1 0.5\nq1 0 d2 2\n", {"0.5": 1}) == {"q1": {"d1": 1, "d2": 2}}
    for text in ("q1 0 d1 E\nq1 0 d2 X\n", 'qid,docid,rel\nq1,"d1",X\n', '{"q1":\n{"d1": "X"}}'):
        with pytest.raises(InputError, match=r"f:2: grade .X. is not in the grade map; .*: grade_map=\{.E.: 3, .X.: \?\}$"):
            grades_of(text, {"E": 3})


def test_a_whole_float_is_mapped_like_the_integer_that_it_is() -> None:
    for numbers in ("1, 2", "1.0, 2.0"):
        one, two = numbers.split(", ")
        assert grades_of(f'{{"q1": {{"d1": {one}, "d2": {two}}}}}', {"1": 3, "2": 1}) == {"q1": {"d1": 3, "d2": 1}}
    assert grades_of('{"q1": {"d1": 1.0, "d2": 0.5}}', {"1.0": 3, "0.5": 2}) == {"q1": {"d1": 3, "d2": 2}}


@pytest.mark.parametrize(
    "wrong", ["E=3", {"1": 10**9}, {"1": "x"}, {"1": True}, {"1": 1.5}, {1: 3}, {"1": -(10**30)}, [("1", 3)]]
)
def test_a_grade_map_of_anything_but_text_to_grades_is_rejected(wrong: Any) -> None:
    with pytest.raises(UsageError, match=r"the grade map .*; pass a mapping of text to integers"):
        grades_of("q1 0 d1 1\n", wrong)


@pytest.mark.parametrize("text", ["", "E", "E=", "=3", "E=3,", "E=x", "E=3,E=2", "E=1.5", "E=1001", "E=٣"])
def test_a_malformed_grade_map_is_rejected(text: str) -> None:
    with pytest.raises(UsageError, match="grade map"):
        parse_grade_map(text)


def test_a_grade_map_may_have_an_equals_sign_in_a_label() -> None:
    assert parse_grade_map("a=b=2, c=-1") == {"a=b": 2, "c": -1}


TWICE = {
    "trec": "q1 Q0 d1 1 1.0 t\nq1 Q0 d1 2 3.0 t\nq1 Q0 d2 3 2.0 t\n",
    "csv": "qid,docid,score\nq1,d1,1.0\nq1,d1,3.0\nq1,d2,2.0\n",
    "jsonl": "".join(f'{{"qid": "q1", "docid": "{d}", "score": {s}}}\n' for d, s in (("d1", 1), ("d1", 3), ("d2", 2))),
}


@pytest.mark.parametrize("name", TWICE)
def test_duplicates_are_resolved_as_the_options_say(name: str) -> None:
    kept = {}
    for how in ("keep-best", "keep-first", "keep-last"):
        read_options = ReadOptions(on_duplicate=how)
        kept[how] = run_without_duplicates(run_of(TWICE[name], read_options), read_options).scores.tolist()
    assert kept == {"keep-best": [3.0, 2.0], "keep-first": [1.0, 2.0], "keep-last": [3.0, 2.0]}
    with pytest.raises(InputError, match="d1 appears twice for query q1"):
        run_without_duplicates(run_of(TWICE[name]), ReadOptions())


def test_a_duplicate_is_reported_before_a_later_error() -> None:
    with pytest.raises(InputError, match="f:3: document d1 appears twice"):
        run_of("qid,docid,score\nq1,d1,1\nq1,d1,2\nq1,d2,x\n")


def test_an_order_by_rank_needs_every_rank() -> None:
    with pytest.raises(InputError, match="f:3: the rank is not a whole number"):
        run_of("qid,docid,rank,score\nq1,d1,1,2\nq1,d2,,1\n", ReadOptions(order="rank"))


BY_RANK = ReadOptions(order="rank")
RANKED = {
    "csv": "qid,docid,rank\nq1,d1,2\nq1,d2,1\n",
    "csv of floats": "qid,docid,rank\nq1,d1,2.0\nq1,d2,1.0\n",
    "jsonl": '{"qid": "q1", "docid": "d1", "rank": 2}\n{"qid": "q1", "docid": "d2", "rank": 1.0}\n',
    "json": '[{"qid": "q1", "docid": "d1", "rank": "2"}, {"qid": "q1", "docid": "d2", "rank": 1}]',
}


@pytest.mark.parametrize("name", RANKED)
def test_a_table_without_scores_is_a_run_by_rank_alone(name: str) -> None:
    run = run_of(RANKED[name], BY_RANK)
    assert run.ranks is not None
    assert (run.ranks.tolist(), run.scores.tolist()) == ([2, 1], [-2.0, -1.0])
    with pytest.raises(InputError, match=r"f:1: no score column; .*order=.rank."):
        run_of(RANKED[name])


@pytest.mark.parametrize("rank", ["", "1.5", "first"])
def test_a_table_without_scores_names_the_row_without_a_rank(rank: str) -> None:
    with pytest.raises(InputError, match="f:3: the rank is not a whole number"):
        run_of(f"qid,docid,rank\nq1,d1,1\nq1,d2,{rank}\n", BY_RANK)


@pytest.mark.parametrize(
    "text", ["qid,docid,score\nq1,d1,1\n", '{"q1": {"d1": 1.0}}', '{"qid": "q1", "docid": "d1", "score": 1}\n' * 2]
)
def test_a_run_without_ranks_cannot_be_ordered_by_them(text: str) -> None:
    with pytest.raises(InputError, match=r"f(:1)?: the run has no ranks to order by"):
        run_of(text, BY_RANK)


def test_ranks_and_tags_of_a_table_are_kept() -> None:
    run = run_of("qid,docid,rank,score,tag\nq1,d1,1,2,mine\nq1,d2,2,1,mine\n")
    assert run.ranks is not None
    assert (run.ranks.tolist(), run.tags) == ([1, 2], ("mine",))


def test_lines_in_json_are_found_by_path() -> None:
    text = '{"a": [1,\n{"b": 2}],\n"c": {"d": "[{:,",\n"e": 3}}'
    assert [line_of(text, path) for path in (("a",), ("a", 1), ("a", 1, "b"), ("c", "e"), ("x",))] == [1, 2, 2, 4, None]


def test_equal_keys_in_different_objects_are_not_repeats() -> None:
    assert parse_strict_json('[{"a": 1}, {"a": {"a": 2}}]', source="f") == [{"a": 1}, {"a": {"a": 2}}]


def test_a_repeated_key_in_a_large_object_is_found_in_one_pass() -> None:
    text = "{" + ", ".join(f'"k{i}": {i}' for i in range(20_000)) + ', "k19999": 0}'
    with pytest.raises(InputError, match='key "k19999" occurs twice'):
        parse_strict_json(text, source="f")


@given(st.text(st.sampled_from('{}[]",:0123456789.eE+-NaInfty \n\\ud8b'), max_size=40))
def test_invalid_json_is_rejected_with_line_and_column(text: str) -> None:
    assume(not is_json(text))
    with pytest.raises(InputError, match=r"^f:\d+:\d+: "):
        parse_strict_json(text, source="f")


def is_json(text: str) -> bool:
    try:
        json.loads(text, parse_constant=int)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("judge", ["my-judge", "ſllm:x", "llm-x:1", "True"])
@pytest.mark.parametrize("column", ["judged_by", "judge", "Annotator", "model", "rated-by", "LLM"])
def test_a_judge_that_is_neither_people_nor_a_known_kind_of_machine_is_unknown(judge: str, column: str, tmp_path: Path) -> None:
    path = tmp_path / "qrels.csv"
    path.write_text(f"query_id,doc_id,grade,{column}\nq1,d1,1,people\nq1,d2,0,{judge}\nq1,d3,0,expert_7\nq1,d4,0,gpt-4o\n")
    expected = {("q1", "d2"): f"unknown:{judge}", ("q1", "d4"): "llm:gpt-4o"}
    assert dict(rp.read_qrels(path).judge_labels) == expected
    rows = [{"query_id": "q1", "doc_id": "d2", "grade": 0, column: judge}]
    (tmp_path / "qrels.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert dict(rp.read_qrels(tmp_path / "qrels.jsonl").judge_labels) == {("q1", "d2"): f"unknown:{judge}"}
    rp.write_qrels(rp.read_qrels(path), tmp_path / "again.txt")
    assert dict(rp.read_qrels(tmp_path / "again.txt").judge_labels) == expected


def test_the_kind_of_a_judge_may_stand_after_a_space_and_in_capitals(tmp_path: Path) -> None:
    path = tmp_path / "qrels.csv"
    path.write_text("query_id,doc_id,grade,judged_by\nq1,d1,1, Keywords:0.5:abc\nq1,d2,0, human:ann\nq2,d2,1,\n")
    assert dict(rp.read_qrels(path).judge_labels) == {("q1", "d1"): "keywords:0.5:abc"}

"""Hostile and broken files through the command line: refused with place and fix, or the defined value with its notes."""

from __future__ import annotations

import gzip
import json
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rankproof._cli.main import main
from rankproof._formats.documents import read_corpus
from rankproof._formats.texts import read_queries
from rankproof._io.open import open_source
from rankproof._io.streams import ByteSource
from support.bad_inputs import bad_input_cases, harmful_texts, unpack_bad_inputs
from support.examples import sampled
from support.hostile_files import BAD_QRELS, BAD_RUNS, GOOD_QRELS, GOOD_RUN, GOOD_RUNS

PAIRS = [case for case in bad_input_cases() if len(case["file"]) == 2]
DEFINED = {"c03_na_ids": 1.0, "c14_json_empty_run_query": 0.5, "c23_parquet_int_ids": 1.0}
WORDS = {
    "01_dup_doc_same_score": r"run\.txt:3: document d1 appears twice for query q1 \(first at line 2",
    "02_dup_doc_diff_score": r"run\.txt:\d+: document .* appears twice .*scores",
    "04_pos_inf": r"run\.txt:4: score inf is not finite",
    "15_huge_rel_1e9": r"qrels\.txt:1: grade 1000000000 is above the limit",
    "16_huge_rel_1e20": r"qrels\.txt:1: grade .* is not a 64-bit integer",
    "17_float_rel_half": r"qrels\.txt:1: grade \"0\.5\" is not an integer; .*--grade-map",
    "20_empty_run": r"run\.txt: the file is empty",
    "22_blank_only_run": r"run\.txt: no rows",
    "25_no_common_query": r"no query",
    "26_qid_leading_zero": r"leading zero",
    "33_latin1_id": r"\.txt:\d: byte 0xe9 at column \d is not UTF-8; .*--encoding latin-1",
    "34_utf16": r"run\.txt: .*UTF-16.*; save it as UTF-8",
    "42_missing_score_one_line": r"run\.txt:4: 4 columns where a run has 6",
    "45_qrels_3col": r"qrels\.txt:1: 3 columns .*; .*--qrels-format beir",
    "47_header_qrels": r"qrels\.txt:1: grade \"rel\" is not an integer; grades found: .*; if the line is a header, remove it",
    "49_text_score": r"run\.txt:2: score \"high\" is not a decimal number",
    "50_underscore_num": r"run\.txt:2: score \"1_0\.5\" is not a decimal number",
    "51_hexfloat": r"run\.txt:2: score \"0x1p4\" is not a decimal number",
    "60_swapped": r"qrels\.txt:1: .*looks like a run; are the arguments swapped",
    "66_trunc_gz": r"run\.txt\.gz: the gzip stream ends early, after \d+ lines; .*truncated",
    "74_k0": r"cutoff",
    "77_k_float": r"2\.5",
    "79_unknown_metric": r"(?i)ndgc; did you mean ndcg",
    "81_dir_as_file": r"run\.txt: is a folder",
    "c02_float_ids": r"run\.csv:3: empty document id",
    "c06_json_list": r"run\.json:1: query q1 must map document ids to a number, found a list",
    "c07_json_str_score": r"run\.json:1: score of document d1 for query q1 is text",
    "c08_json_null_score": r"run\.json:1: score of document d1 for query q1 is null",
    "c10_json_nan_literal": r"run\.json:1:13: NaN is not valid JSON",
    "c16_json_deep": r"run\.json:1: nested too deeply",
    "c17_json_huge_int": r"run\.json:1: score 10+…0+ is outside the range",
    "c18_jsonl_bad_line": r"run\.jsonl:2:\d+: not JSON \(Expecting value\)",
    "c19_csv_semicolon": r"run\.csv:1: one column found; .*--delimiter \";\"",
    "c20_csv_quote": r"run\.csv:2: a quote is not closed",
}

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def bad_inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack_bad_inputs(tmp_path_factory.mktemp("bad-inputs"))


def evaluated(qrels: Path | str, run: Path | str, *more: str) -> int:
    return main(["eval", str(qrels), str(run), "--format", "json", *more])


def paths_of(case: dict[str, Any], bad_inputs: Path, folder: Path) -> tuple[Path, Path]:
    run, qrels = (bad_inputs / name for name in case["file"])
    if case["id"] == "81_dir_as_file":
        run = folder / "run.txt"
        run.mkdir()
    return qrels, run


def cases(*kinds: str) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in PAIRS if case["expect"] in kinds]


@pytest.mark.parametrize("case", cases("error"))
def test_a_refused_input_ends_with_place_and_fix(
    case: dict[str, Any], bad_inputs: Path, tmp_path: Path, capsys: Captured
) -> None:
    code = evaluated(*paths_of(case, bad_inputs, tmp_path), "-m", case.get("measure", "nDCG@10"))
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert re.search(WORDS[case["id"]], err), err
    assert "; " in err
    assert "Traceback" not in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("case", cases("value", "warn"))
def test_a_defined_input_gives_its_value_and_only_the_notes_that_it_deserves(
    case: dict[str, Any], bad_inputs: Path, tmp_path: Path, capsys: Captured
) -> None:
    assert evaluated(*paths_of(case, bad_inputs, tmp_path), "-m", case.get("measure", "nDCG@10")) == 0
    system = json.loads(capsys.readouterr().out)["systems"][0]
    (measure,) = system["measures"].values()
    assert measure["value"] == pytest.approx(case.get("expected_value", DEFINED.get(case["id"])), abs=1e-9)
    assert all(note["count"] >= 1 for note in system["notes"])
    notes = [note for note in system["notes"] if note["code"] != "few-judged"]
    assert bool(notes) == (case["expect"] == "warn")


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in PAIRS if "equivalent_clean_files" in case])
def test_an_unusual_file_and_its_clean_copy_give_the_same_value(case: dict[str, Any], bad_inputs: Path, capsys: Captured) -> None:
    values = []
    for run, qrels in (case["file"], case["equivalent_clean_files"]):
        assert evaluated(bad_inputs / qrels, bad_inputs / run, "-m", case["measure"]) == 0
        (measure,) = json.loads(capsys.readouterr().out)["systems"][0]["measures"].values()
        values.append(measure["value"])
    assert values[0] == pytest.approx(values[1], abs=1e-12)


def test_harmful_texts_stay_text(bad_inputs: Path) -> None:
    source = bad_inputs / "c27_text_payloads" / "payloads.jsonl"
    for read in (read_corpus, read_queries):
        assert [record.text for record in read(open_source(source)).values()] == harmful_texts()


@pytest.mark.parametrize("case", sampled(BAD_RUNS, 3))
def test_a_hostile_run_is_refused_with_place_and_fix(case: str, tmp_path: Path, capsys: Captured) -> None:
    name, content, expected = BAD_RUNS[case]
    (tmp_path / "qrels.txt").write_bytes(GOOD_QRELS)
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content())
    assert evaluated(tmp_path / "qrels.txt", tmp_path / name, "-m", "nDCG@10") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.search(expected, err), err
    assert "; " in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("case", BAD_QRELS)
def test_hostile_qrels_are_refused_with_place_and_fix(case: str, tmp_path: Path, capsys: Captured) -> None:
    name, content, expected = BAD_QRELS[case]
    (tmp_path / name).write_bytes(content)
    (tmp_path / "run.txt").write_bytes(GOOD_RUN)
    assert evaluated(tmp_path / name, tmp_path / "run.txt", "-m", "nDCG@10") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.search(expected, err), err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("case", GOOD_RUNS)
def test_an_unusual_but_valid_run_gives_its_value(case: str, tmp_path: Path, capsys: Captured) -> None:
    name, content = GOOD_RUNS[case]
    (tmp_path / "qrels.txt").write_bytes(GOOD_QRELS)
    (tmp_path / name).write_bytes(content)
    assert evaluated(tmp_path / "qrels.txt", tmp_path / name, "-m", "RR") == 0
    assert json.loads(capsys.readouterr().out)["systems"][0]["measures"]["RR"]["value"] == 1.0


def test_exact_repeats_of_a_judgement_are_dropped_and_noted(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "q.txt").write_bytes(GOOD_QRELS * 2)
    (tmp_path / "r.txt").write_bytes(GOOD_RUN)
    assert evaluated(tmp_path / "q.txt", tmp_path / "r.txt", "-m", "RR") == 0
    system = json.loads(capsys.readouterr().out)["systems"][0]
    assert [note["count"] for note in system["notes"]] == [2]


def test_one_run_given_twice_needs_names(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "q.txt").write_bytes(GOOD_QRELS)
    (tmp_path / "r.txt").write_bytes(GOOD_RUN)
    assert evaluated(tmp_path / "q.txt", tmp_path / "r.txt", str(tmp_path / "r.txt"), "-m", "RR") == 2
    assert "--name" in capsys.readouterr().err


def test_a_pipe_is_read_once(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "q.txt").write_bytes(GOOD_QRELS)
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(GOOD_RUN,))
    writer.start()
    assert evaluated(tmp_path / "q.txt", tmp_path / "pipe", "-m", "RR") == 0
    writer.join()
    assert json.loads(capsys.readouterr().out)["systems"][0]["measures"]["RR"]["value"] == 1.0


def loop(folder: Path) -> Path:
    (folder / "loop").symlink_to("loop")
    return folder / "loop"


def unreadable(folder: Path) -> Path:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    path = folder / "locked"
    path.write_bytes(GOOD_RUN)
    path.chmod(0)
    return path


PATHS: dict[str, tuple[Callable[[Path], Path | str], str]] = {
    "a symbolic link to itself": (loop, r"loop: the symbolic link points to itself; fix the link"),
    "/dev/null": (lambda folder: "/dev/null", r"/dev/null: the file is empty"),
    "/dev/zero": (lambda folder: "/dev/zero", r"/dev/zero:1: "),
    "a file without permission": (unreadable, r"locked: permission denied"),
    "a path with a line end": (lambda folder: folder / "no\nsuch", r"no\\nsuch: file not found"),
    "a path with a nul": (lambda folder: f"{folder}/a\0b", r"a\\x00b cannot be a path; leave out NUL"),
    "a path that is too long": (lambda folder: folder / ("x" * 5000), r"the path cannot be opened \(too long\)"),
    "a path through a file": (lambda folder: folder / "q.txt" / "r", r"file not found"),
    "an escape sequence in the path": (lambda folder: folder / "\x1b[2J", r"\\x1b\[2J: file not found"),
}


@pytest.mark.parametrize("case", PATHS)
def test_a_missing_path_is_refused(case: str, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "q.txt").write_bytes(GOOD_QRELS)
    make, expected = PATHS[case]
    assert evaluated(tmp_path / "q.txt", make(tmp_path), "-m", "RR") == 2
    err = capsys.readouterr().err
    assert re.search(expected, err), err
    assert len(err.splitlines()) == 1


def test_every_refused_case_of_the_manifest_has_its_message() -> None:
    assert len(PAIRS) >= 60
    assert {case["id"] for case in PAIRS if case["expect"] == "error"} <= WORDS.keys()


def test_a_source_names_its_path_only_where_threads_may_read_it(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(GOOD_RUN)
    (tmp_path / "packed").write_bytes(gzip.compress(GOOD_RUN))
    sources: list[ByteSource] = [open_source(tmp_path / name) for name in ("plain", "packed")]
    assert [source.path for source in sources] == [str(tmp_path / "plain"), None]

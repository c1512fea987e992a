"""`rankproof eval`: every format and option, in process."""

import gzip
import io
import json
import sys
from pathlib import Path

import pytest

from rankproof._cli.main import main
from rankproof._cli.progress import ReadProgress
from rankproof._cli.terminal import Terminal, check_output
from rankproof.errors import UsageError

QRELS = "q1 0 d1 2\nq1 0 d2 1\nq1 0 d3 0\nq2 0 d4 1\n"
RUN = "q1 Q0 d2 1 9 t\nq1 Q0 d1 2 8 t\nq1 Q0 dX 3 7 t\nq2 Q0 d5 1 2 t\nq2 Q0 d4 2 1 t\n"
WORSE = "q1 Q0 dX 1 9 t\nq1 Q0 d2 2 8 t\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with judgements and two runs; the second lacks a query."""
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "good.run").write_text(RUN)
    (tmp_path / "bad.run").write_text(WORSE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def output(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(["eval", *argv]) == 0
    return capsys.readouterr().out


def value(capsys: pytest.CaptureFixture[str], measure: str, *argv: str) -> float:
    document = json.loads(output(capsys, "qrels.txt", "good.run", "-m", measure, "--format", "json", *argv))
    (found,) = document["systems"][0]["measures"].values()
    number: float = found["value"]
    return number


def test_the_table_of_two_systems(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert output(capsys, "qrels.txt", "good.run", "bad.run", "-m", "RR,P@2") == (
        "2 judged queries, 2 systems\n"
        "\n"
        "system        RR       P@2   RR\n"
        "─────────────────────────────────────────────────────\n"
        "good     *0.7500   *0.7500   ██████████████████\n"
        "bad       0.2500    0.2500   ██████\n"
        "\n"
        "Means are over all 2 judged queries. *: best value of the measure.\n"
    )


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(output(capsys, "qrels.txt", "good.run", "bad.run", "-m", "RR,P@2", "-q", "--format", "json"))
    assert found["queries"] == 2
    assert [system["name"] for system in found["systems"]] == ["good", "bad"]
    assert found["systems"][0]["measures"]["RR"] == {
        "value": 0.75,
        "summary": "mean",
        "queries": 2,
        "per_query": {"q1": 1.0, "q2": 0.5},
    }
    assert list(found["systems"][1]["measures"]) == ["RR", "P@2"]
    assert [(note["code"], note["count"]) for note in found["systems"][1]["notes"]] == [
        ("missing-queries", 1),
        ("few-judged", 1),
    ]


def test_csv(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert output(capsys, "qrels.txt", "good.run", "-m", "RR", "-q", "--format", "csv") == (
        "system,query,measure,summary,queries,value\ngood,q1,RR,query,1,1.0\ngood,q2,RR,query,1,0.5\ngood,,RR,mean,2,0.75\n"
    )


def test_trec(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        output(capsys, "qrels.txt", "good.run", "-m", "recip_rank", "--format", "trec") == "recip_rank            \tall\t0.7500\n"
    )


def test_latex(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert r"good & \textbf{0.7500} \\" in output(capsys, "qrels.txt", "good.run", "bad.run", "-m", "RR", "--format", "latex")


def test_markdown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "| good | **0.7500** |" in output(capsys, "qrels.txt", "good.run", "bad.run", "-m", "RR", "--format", "markdown")


@pytest.mark.parametrize("form", ["table", "json", "csv", "trec", "latex", "markdown"])
def test_notes_go_to_standard_error_in_every_format(folder: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    assert main(["eval", "qrels.txt", "good.run", "bad.run", "--format", form]) == 0
    assert capsys.readouterr().err.startswith("note: bad: 1 ")
    assert main(["eval", "qrels.txt", "good.run", "bad.run", "--format", form, "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_a_note_of_all_systems_is_shown_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["eval", "qrels.txt", "bad.run", "bad.run", "--name", "a", "--name", "b"])
    assert capsys.readouterr().err.count("note: all systems: 1 ") == 1


def test_without_measures_the_default_set_is_evaluated(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(output(capsys, "qrels.txt", "good.run", "--format", "json"))["systems"][0]["measures"]
    assert list(found)[:3] == ["nDCG@10", "nDCG(gain='exp')@10", "RR@10"]


def test_measures_may_be_repeated_separated_and_spelled_as_others_do(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, "-mP.1,2", "-m", "map,nDCG(gain={1:3,2:9})@10", "qrels.txt", "good.run", "--format", "json")
    assert list(json.loads(text)["systems"][0]["measures"]) == ["P@1", "P@2", "AP", "nDCG(gain={1:3,2:9})@10"]


def test_options_and_files_may_stand_in_any_order(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert output(capsys, "qrels.txt", "-m", "RR", "good.run", "--format", "csv", "bad.run").count("\n") == 3


@pytest.mark.parametrize(
    "argv",
    [
        ["-m", "RR", "--", "qrels.txt", "-dash.run"],
        ["qrels.txt", "-m", "RR", "--", "-dash.run"],
        ["-m", "RR", "qrels.txt", "--", "-dash.run"],
    ],
)
def test_a_file_after_two_dashes_may_begin_with_one(folder: Path, capsys: pytest.CaptureFixture[str], argv: list[str]) -> None:
    Path("-dash.run").write_text(RUN)
    assert '"\'-dash",,RR,mean,2,0.75' in output(capsys, "--format", "csv", *argv)


def test_a_rel_that_a_measure_names_stands_beside_the_one_for_all(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ("qrels.txt", "good.run", "-m", "P(rel=1)@2,P@2", "--rel", "2")
    found = json.loads(output(capsys, *argv, "--format", "json"))["systems"][0]["measures"]
    assert {name: one["value"] for name, one in found.items()} == {"P(rel=1)@2": 0.75, "P(rel=2)@2": 0.25}
    assert [line.split("\t")[0].strip() for line in output(capsys, *argv, "--format", "trec").splitlines()] == [
        "P_2",
        "P(rel=1)@2",
    ]


@pytest.mark.parametrize("columns", ["²", "٣", "9" * 5000, "-5", "0", "wide", ""])
@pytest.mark.parametrize("variable", ["COLUMNS", "LINES"])
def test_an_unusual_terminal_width_is_no_error(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, variable: str, columns: str
) -> None:
    usual = output(capsys, "qrels.txt", "good.run")
    monkeypatch.setenv(variable, columns)
    assert output(capsys, "qrels.txt", "good.run") == usual
    assert main(["eval", "--help"]) == 0


class Screen(io.StringIO):
    """Standard error as a terminal would be."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("variable", ["COLUMNS", "LINES"])
def test_an_unusual_terminal_width_does_not_stop_the_bar(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(variable, "²")
    clock = iter([0.0, 9.0])
    with ReadProgress(Terminal(), clock=lambda: next(clock)) as heard:
        heard(1_000_000, 4_000_000)
    assert "1.0/4.0 MB" in screen.getvalue()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], 0.75),
        (["--rel", "2"], 0.25),
        (["-l2"], 0.25),
        (["--depth", "1"], 0.5),
        (["-M", "1"], 0.5),
        (["--judged-only"], 1.0),
        (["-J"], 1.0),
        (["-c"], 0.75),
        (["--order", "rank"], 0.75),
        (["--lower-is-better"], 0.75),
        (["--compat", "trec_eval-9"], 0.75),
        (["--threads", "2"], 0.75),
        (["--run-format", "trec", "--qrels-format", "trec"], 0.75),
        (["--encoding", "latin-1"], 0.75),
        (["--grade-map", "2=1,1=0,0=0"], 0.25),
    ],
)
def test_every_option_has_its_effect(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], expected: float
) -> None:
    assert value(capsys, "RR", *options) == expected


def test_skip_missing_leaves_the_query_out_of_the_mean(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "bad,,RR,mean,1,0.5" in output(capsys, "qrels.txt", "bad.run", "-m", "RR", "--format", "csv", "--skip-missing")
    assert "queries of each run: bad 1 of 2" in output(capsys, "qrels.txt", "bad.run", "-m", "RR", "--skip-missing")


def test_on_duplicate_decides_what_else_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("twice.run").write_text(RUN + "q1 Q0 dX 4 10 t\n")
    assert main(["eval", "qrels.txt", "twice.run"]) == 2
    assert capsys.readouterr().err.startswith("twice.run:6: document dX appears twice for query q1")
    assert "twice,,RR,mean,2,0.5\n" in output(
        capsys, "qrels.txt", "twice.run", "-m", "RR", "--format", "csv", "--on-duplicate", "keep-best"
    )


def test_queries_restricts_to_a_subset_and_names_unknown_ids(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("some.txt").write_text("# ids\nq2\tits text\n\nq9\n")
    assert main(["eval", "qrels.txt", "good.run", "-m", "RR", "--queries", "some.txt", "--format", "json"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["systems"][0]["measures"]["RR"] == {"value": 0.5, "summary": "mean", "queries": 1}
    assert "without judgements, left out: 1 (q9)" in shown.err


def test_standard_input_is_a_file_like_others(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(RUN.encode()))))
    assert output(capsys, "qrels.txt", "-", "-m", "RR", "--format", "csv").endswith("stdin,,RR,mean,2,0.75\n")


def test_standard_input_twice_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(QRELS.encode())))
    assert main(["eval", "-", "-"]) == 2
    assert "standard input" in capsys.readouterr().err


def test_systems_are_named_after_their_files_or_by_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("good.run.gz").write_bytes(gzip.compress(RUN.encode()))
    assert "good,," in output(capsys, "qrels.txt", "good.run.gz", "-m", "RR", "--format", "csv")
    assert main(["eval", "qrels.txt", "good.run", "good.run.gz"]) == 2
    assert "two systems are called good" in capsys.readouterr().err
    assert "new,," in output(
        capsys, "qrels.txt", "good.run", "good.run.gz", "-m", "RR", "--format", "csv", "--name", "old", "--name", "new"
    )


def test_output_is_written_atomically_to_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert output(capsys, "qrels.txt", "good.run", "-m", "RR", "--format", "csv", "-o", "out.csv") == ""
    assert Path("out.csv").read_text().endswith("good,,RR,mean,2,0.75\n")
    assert {path.name for path in folder.iterdir()} == {"qrels.txt", "good.run", "bad.run", "out.csv"}


def test_an_output_that_is_an_input_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("link.run").symlink_to("good.run")
    Path("ids.txt").write_text("q1\n")
    before = {path.name: path.read_text() for path in folder.iterdir()}
    for output in ("qrels.txt", "./good.run", "link.run", str(folder / "bad.run"), "ids.txt"):
        assert main(["eval", "qrels.txt", "good.run", "bad.run", "--queries", "ids.txt", "-o", output]) == 2
        assert capsys.readouterr().err.startswith(f"{output} would overwrite ")
    assert {path.name: path.read_text() for path in folder.iterdir()} == before


def test_the_judgements_of_a_folder_are_an_input_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("beir").mkdir()
    Path("beir/qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    assert main(["eval", "beir", "good.run", "-o", "beir/qrels.tsv"]) == 2
    assert capsys.readouterr().err.startswith("beir/qrels.tsv would overwrite ")
    assert main(["eval", "beir", "good.run", "-o", "beir/result.txt"]) == 0


def test_a_device_may_be_both_input_and_output_and_a_file_may_be_new(folder: Path) -> None:
    check_output("/dev/null", ["/dev/null", "-", None])
    check_output("new", ["new", "good.run"])
    with pytest.raises(UsageError):
        check_output("good.run", ["/dev/null", None, "good.run"])


def test_a_dash_as_output_is_standard_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert output(capsys, "qrels.txt", "good.run", "-m", "RR", "--format", "csv", "-o", "-").endswith("good,,RR,mean,2,0.75\n")
    assert not Path("-").exists()


def test_a_refused_run_leaves_the_old_output_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("out.csv").write_text("old")
    Path("broken.run").write_text("q1 Q0 d1 1 nan t\n")
    assert main(["eval", "qrels.txt", "broken.run", "-o", "out.csv"]) == 2
    assert Path("out.csv").read_text() == "old"


def test_verbose_explains_the_measures(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "rank of the first relevant" in output(capsys, "qrels.txt", "good.run", "-m", "RR", "-v")


def test_texts_are_shown_by_the_formats_that_have_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ("qrels.txt", "good.run", "-m", "relstring.3,runid,P@2", "-q", "--format")
    assert "relstring_3           \tq1\t'12-'" in output(capsys, *argv, "trec")
    assert "good,q1,relstring(length=3),text,1,12-" in output(capsys, *argv, "csv")
    texts = json.loads(output(capsys, *argv, "json"))["systems"][0]["texts"]
    assert texts["runid"] == {"value": "t", "per_query": {}}
    assert main(["eval", *argv, "table"]) == 0
    assert "texts, shown by --format trec, csv and json: relstring(length=3), runid" in capsys.readouterr().err


def test_texts_alone_need_a_format_that_has_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert output(capsys, "qrels.txt", "good.run", "-m", "runid", "--format", "trec") == "runid                 \tall\tt\n"
    assert main(["eval", "qrels.txt", "good.run", "-m", "relstring"]) == 2
    assert "the format table shows numbers only, not relstring; use --format trec" in capsys.readouterr().err
    Path("other.run").write_text(RUN)
    assert main(["compare", "qrels.txt", "good.run", "other.run", "-m", "relstring"]) == 2
    assert "there are no numbers to compare, only texts: relstring; add a measure with numbers" in capsys.readouterr().err


def test_names_of_trec_eval_are_printed_as_they_are_spelled(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ("-m", "11pt_avg..25,.5,.75", "-m", "set_F.2.0", "-m", "utility.2,-1,0,0", "-m", "P.2", "--rel", "2")
    shown = output(capsys, "qrels.txt", "good.run", *given, "--format", "trec").splitlines()
    assert [line.split("\t")[0].strip() for line in shown] == ["P_2", "utility_2,-1,0,0", "11pt_avg_.25,.5,.75", "set_F_2.0"]


def test_bare_names_of_trec_eval_have_its_cutoffs_in_its_format(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = output(capsys, "qrels.txt", "good.run", "-m", "P", "-m", "success,map", "--format", "trec").splitlines()
    names = [line.split("\t")[0].strip() for line in shown]
    ranks = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
    assert names == ["map", *(f"P_{rank}" for rank in ranks), "success_1", "success_5", "success_10"]
    assert main(["eval", "qrels.txt", "good.run", "-m", "P"]) == 2


def test_n_leaves_out_the_summaries_as_in_trec_eval(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ("qrels.txt", "good.run", "-m", "official", "--format", "trec")
    both = output(capsys, *argv, "-q").splitlines(keepends=True)
    assert output(capsys, *argv, "-q", "-n") == "".join(line for line in both if "\tall\t" not in line)
    assert main(["eval", *argv, "-n"]) == 2
    assert "-n shows the values of queries alone; add -q --format trec" in capsys.readouterr().err


def test_the_sample_needs_no_files(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["eval", "--sample"]) == 0
    shown = capsys.readouterr()
    assert shown.out == (
        "124 judged queries, 3 systems\n"
        "\n"
        "measure                hybrid    static     bm25\n"
        "────────────────────────────────────────────────\n"
        "nDCG@10               *0.6527    0.6406   0.6126\n"
        "nDCG(gain='exp')@10   *0.6616    0.6508   0.6253\n"
        "RR@10                 *0.6956    0.6926   0.6671\n"
        "R@100                  0.7447   *0.7572   0.6910\n"
        "P@10                  *0.1621    0.1565   0.1460\n"
        "Success@1             *0.6290    0.6129   0.6210\n"
        "Success@3              0.7419   *0.7500   0.7016\n"
        "Success@5              0.7903   *0.8226   0.7419\n"
        "Success@10            *0.8306    0.8226   0.7581\n"
        "\n"
        "Means are over all 124 judged queries. *: best value of the measure.\n"
    )
    deep = "note: all systems: no ranking has more than 20 documents, so R@100 cannot look deeper "
    assert " ".join(shown.err.split()) == f"{deep}note: 1 more note, shown by --notes"
    assert main(["eval", "--sample", "--notes"]) == 0
    tied = "note: hybrid: nDCG@10 is between 0.6460 and 0.6573 depending on the order of ties; ties are ordered by document id"
    assert " ".join(capsys.readouterr().err.split()) == f"{tied}, descending {deep}".strip()


def test_quiet_counts_no_notes_that_are_held_back(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "--sample", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_a_tie_that_changes_the_order_of_the_systems_is_noted_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\nq2 0 d1 1\n")
    (tmp_path / "tied.run").write_text("".join(f"q{at} Q0 d{doc} 1 2 t\n" for at in (1, 2) for doc in (1, 2)))
    (tmp_path / "other.run").write_text("q1 Q0 d1 1 2 o\nq2 Q0 d2 1 3 o\nq2 Q0 d1 2 2 o\n")
    assert main(["eval", *(str(tmp_path / name) for name in ("qrels.txt", "tied.run", "other.run")), "-m", "RR"]) == 0
    noted = capsys.readouterr().err
    assert "which changes the order of the systems" in noted
    assert "more note" not in noted


def test_eval_without_files_shows_its_usage_and_names_the_sample(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "usage: rankproof eval" in shown.err
    assert "rankproof eval --sample" in shown.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "text"), [("q.json", '{"q1": {"d1": 1}}'), ("q.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\n")]
)
def test_the_file_of_the_judgements_is_refused_as_a_run(
    name: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert main(["eval", str(path), str(path)]) == 2
    assert f"{name}: the run is the file of the judgements; specify the run of a system" in capsys.readouterr().err

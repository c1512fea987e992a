"""`fuse`, `convert`, `measures`, `completion`, and the progress bar."""

import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rankproof._cli.commands.completion import CommandArgument, CommandWords, all_commands, bash, fish, zsh
from rankproof._cli.main import main
from rankproof._cli.parser import COMMANDS
from rankproof._cli.progress import ReadProgress
from rankproof._cli.terminal import Terminal
from rankproof.measures import MEASURES
from rankproof.measures._registry import FAMILIES, all_measures

A = "q1 Q0 d1 1 9 a\nq1 Q0 d2 2 8 a\n"
B = "q1 Q0 d2 1 9 b\nq1 Q0 d3 2 8 b\nq2 Q0 d1 1 1 b\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "a.run").write_text(A)
    (tmp_path / "b.run").write_text(B)
    (tmp_path / "graded.csv").write_text("query,doc,grade\nq1,d1,E\nq1,d2,I\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_fuse_writes_a_run_to_standard_output(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["fuse", "a.run", "b.run"]) == 0
    shown = capsysbinary.readouterr()
    rows = [line.split() for line in shown.out.decode().splitlines()]
    assert [(row[0], row[2], row[3], row[5]) for row in rows] == [
        ("q1", "d2", "1", "rrf"),
        ("q1", "d1", "2", "rrf"),
        ("q1", "d3", "3", "rrf"),
        ("q2", "d1", "1", "rrf"),
    ]
    assert float(rows[0][4]) == pytest.approx(1 / 61 + 1 / 62)
    assert b"queries missing from some runs are fused from the others: 1 (q2)" in shown.err


def test_fuse_takes_method_weights_depth_tag_and_a_file(folder: Path) -> None:
    options = ["--method", "combsum", "--norm", "none", "--weights", "1,0.5", "--depth", "1", "--tag", "mine", "-o", "out.run"]
    assert main(["fuse", "a.run", "b.run", *options]) == 0
    assert Path("out.run").read_text().splitlines() == ["q1 Q0 d2 1 12.5 mine", "q2 Q0 d1 1 0.5 mine"]


def test_fuse_refuses_wrong_weights(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuse", "a.run", "b.run", "--weights", "1"]) == 2
    assert capsys.readouterr().err == "1 weight for 2 runs; pass one weight for each run\n"
    assert main(["fuse", "a.run", "b.run", "--weights", "x"]) == 2
    assert "is not a list of numbers" in capsys.readouterr().err


DISTANCES = "q1 Q0 near 1 .1 t\nq1 Q0 middle 2 .5 t\nq1 Q0 far 3 .9 t\n"


def fused_docs(captured: pytest.CaptureFixture[bytes], *options: str) -> tuple[list[bytes], bytes]:
    assert main(["fuse", "near.run", *options]) == 0
    shown = captured.readouterr()
    return [line.split()[2] for line in shown.out.splitlines()], shown.err


def test_fuse_notes_scores_that_look_like_distances(folder: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    (folder / "near.run").write_text(DISTANCES)
    docs, said = fused_docs(capsysbinary)
    assert docs == [b"far", b"middle", b"near"]
    assert b"note: near: in the only query with different scores the better rank has the lower score" in said
    assert fused_docs(capsysbinary, "--lower-is-better") == ([b"near", b"middle", b"far"], b"")
    assert fused_docs(capsysbinary, "--order", "rank") == ([b"near", b"middle", b"far"], b"")


def test_fuse_counts_the_rows_whose_rank_contradicts_the_score(folder: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    (folder / "near.run").write_text("q1 Q0 a 1 5 t\nq1 Q0 b 2 7 t\nq1 Q0 c 3 1 t\n")
    docs, said = fused_docs(capsysbinary)
    assert docs == [b"b", b"a", b"c"]
    assert b"note: near: 1 row has a rank that contradicts its score; the scores are used" in said


def test_fuse_goes_by_the_ranks_of_a_table_without_scores(folder: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    (folder / "near.run").write_text("qid,docid,rank\nq1,second,2\nq1,first,1\n")
    assert fused_docs(capsysbinary, "--order", "rank") == ([b"first", b"second"], b"")
    assert main(["fuse", "near.run"]) == 2


@pytest.mark.parametrize("idle", [["--method", "combsum", "--k", "60"], ["--norm", "min-max"]])
def test_fuse_refuses_an_option_that_would_do_nothing(idle: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuse", "a.run", "b.run", *idle]) == 2
    assert f"leave out {idle[-2]}" in capsys.readouterr().err


def test_convert_notes_that_the_output_is_ranked_by_score(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "near.run").write_text(DISTANCES)
    assert main(["convert", "near.run", "again.run"]) == 0
    assert (folder / "again.run").read_text().split()[2:4] == ["far", "1"]
    assert (
        "the better rank has the lower score: are the scores distances? (the output is ranked by score" in capsys.readouterr().err
    )


@pytest.mark.parametrize("command", [["fuse", "b.run", "a.run", "-o", "a.run"], ["convert", "a.run", "./a.run"]])
def test_no_verb_overwrites_its_input(command: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == 2
    assert "a.run would overwrite a.run, which is an input; write to another file" in capsys.readouterr().err
    assert (folder / "a.run").read_text() == A


@pytest.mark.parametrize("target", ["again.run", "again.csv", "again.json", "again.jsonl", "again.parquet"])
def test_convert_counts_the_tags_that_are_left_out(target: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "two.run").write_text("q1 Q0 d1 1 9 A\nq1 Q0 d2 2 8 B\n")
    assert main(["convert", "two.run", target]) == 0
    assert "note: 2 different tags are left out" in capsys.readouterr().err


def test_convert_turns_a_run_into_another_format_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", "b.run", "b.json"]) == 0
    assert json.loads(Path("b.json").read_text()) == {"q1": {"d2": 9.0, "d3": 8.0}, "q2": {"d1": 1.0}}
    assert capsys.readouterr().err == "note: run written as json: 2 queries, 3 rows\n"


def test_convert_maps_letters_to_grades_and_writes_to_standard_output(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["convert", "graded.csv", "-", "--to", "trec", "--grade-map", "E=3,I=0", "--quiet"]) == 0
    assert capsysbinary.readouterr().out.split() == b"q1 0 d1 3 q1 0 d2 0".split()


def test_convert_to_standard_output_needs_a_format(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", "a.run", "-"]) == 2
    assert "--to trec" in capsys.readouterr().err


def test_measures_lists_every_measure_with_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measures", "--format", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert set(MEASURES) <= set(listed)
    assert all(facts["definition"] and facts["source"] and len(facts["range"]) == 2 for facts in listed.values())


def test_every_alias_that_is_listed_is_understood(capsys: pytest.CaptureFixture[str]) -> None:
    main(["measures", "--format", "json"])
    listed = json.loads(capsys.readouterr().out)
    assert sum(len(facts["aliases"]) for facts in listed.values()) >= 20
    for name, facts in listed.items():
        for alias in facts["aliases"]:
            assert main(["measures", alias, "--format", "json"]) == 0
            assert list(json.loads(capsys.readouterr().out)) == [name]


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_measures_shows_a_table_by_default(capsys: pytest.CaptureFixture[str], form: str) -> None:
    assert main(["measures", "--format", form]) == 0
    page = capsys.readouterr().out
    assert all(measure.title in page for measure in MEASURES.values())


def test_measures_lists_one_line_per_measure_by_family(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measures"]) == 0
    lines = capsys.readouterr().out.splitlines()
    families = [line for line in lines if line and not line.startswith(" ")][:-1]
    assert families == [family.title for family in FAMILIES.values()]
    listed = [line for line in lines if line.startswith("  ")]
    assert len(listed) == len(all_measures())
    assert " ".join(lines[lines.index("Gain") + 1].split()) == "nDCG@k Normalised discounted cumulative gain"
    assert lines[-1].startswith("rankproof measures NAME")
    assert max(map(len, lines)) <= 100


def test_a_named_measure_shows_its_formula(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measures", "DCG"]) == 0
    assert "DCG@k = Σ(i ≤ k) gain(i) / log2(i + 1)" in capsys.readouterr().out


def test_one_measure_is_found_by_any_spelling(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measures", "mrr", "RECIP_RANK", "RR@10", "--format", "json"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == ["RR"]
    assert main(["measures", "nonsense"]) == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_verbs_options_choices_and_measures(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for word in (*COMMANDS.names(), "skip-missing", "keep-best", "markdown", "nDCG", "NumRelRet", "parquet", "combmnz"):
        assert word in script


def test_completion_of_a_verb_without_positional_argument() -> None:
    option = CommandArgument(("--loud",), "nothing", (), "loudly")
    verbs = [CommandWords("hello", "say hello", (option,))]
    assert "hello) COMPREPLY" in bash(verbs)
    assert "'*--loud[loudly]' ;;" in zsh(verbs)
    assert "-l loud" in fish(verbs)


def test_completion_completes_files_and_folders() -> None:
    found = {(verb.name, argument.spellings): argument.takes for verb in all_commands() for argument in verb.arguments}
    assert {found["serve", ("--judge",)], found["report", ()], found["export", ()], found["eval", ()]} == {"file"}
    assert found["models", ()] == "text"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_parse(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    main(["completion", shell])
    script = capsys.readouterr().out
    assert subprocess.run([path, "-n"], input=script, text=True, capture_output=True, timeout=60).stderr == ""


COMPLETED = [
    (["rankproof", "ev"], "eval"),
    (["rankproof", "eval", "--judg"], "--judged-only"),
    (["rankproof", "eval", "--format", "la"], "latex"),
    (["rankproof", "eval", "-m", "nD"], "nDCG"),
    (["rankproof", "eval", "-m", "RR,nD"], "RR,nDCG"),
    (["rankproof", "completion", "z"], "zsh"),
    (["rankproof", "tok"], "tokenizers"),
    (["rankproof", "tokenizers", "co"], "compare"),
    (["rankproof", "convert", "a", "b", "--to", "parq"], "parquet"),
]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(("words", "expected"), COMPLETED)
def test_bash_completes(capsys: pytest.CaptureFixture[str], words: list[str], expected: str) -> None:
    main(["completion", "bash"])
    quoted = " ".join(f"'{word}'" for word in words)
    call = f'\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _rankproof; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "--norc"], input=capsys.readouterr().out + call, text=True, capture_output=True, timeout=60)
    assert done.stdout.split() == [expected]


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@pytest.mark.parametrize(("words", "expected"), [case for case in COMPLETED if "," not in case[1]])
def test_fish_completes(capsys: pytest.CaptureFixture[str], words: list[str], expected: str) -> None:
    main(["completion", "fish"])
    call = f"\ncomplete -C '{' '.join(words)}'"
    done = subprocess.run(
        ["fish", "--no-config"], input=capsys.readouterr().out + call, text=True, capture_output=True, timeout=60
    )
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == [expected]


class Screen(io.StringIO):
    """Standard error as a terminal would be."""

    def isatty(self) -> bool:
        return True


def bar_after(seconds: float, monkeypatch: pytest.MonkeyPatch, *, quiet: bool = False, tty: bool = True) -> str:
    screen = Screen() if tty else io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    clock = iter([0.0, seconds])
    with ReadProgress(Terminal(quiet=quiet), clock=lambda: next(clock)) as heard:
        heard(1_000_000, 4_000_000)
    return screen.getvalue()


def test_a_long_read_shows_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "1.0/4.0 MB" in bar_after(0.6, monkeypatch)


def test_a_short_read_a_pipe_and_a_quiet_command_show_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert bar_after(0.4, monkeypatch) == ""
    assert bar_after(9.0, monkeypatch, tty=False) == ""
    assert bar_after(9.0, monkeypatch, quiet=True) == ""

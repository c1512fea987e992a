"""How commands end: exit codes, one line of error, never a traceback."""

import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from rankproof import __version__
from rankproof._cli.exit_codes import handle_sigterm, signal_exit_code
from rankproof._cli.main import main
from rankproof._cli.parser import COMMANDS


def ending(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str]:
    code = main(list(argv))
    return code, capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["evla"], "unknown command evla; did you mean eval? See rankproof --help"),
        (["xyzzy"], "unknown command xyzzy; see rankproof --help"),
        (["--versoin"], "unknown option --versoin; did you mean --version? See rankproof --help"),
        (["eval", "--jugded-only"], "unknown option --jugded-only; did you mean --judged-only? See rankproof eval --help"),
        (["eval", "--judged"], "unknown option --judged; did you mean --judged-only? See rankproof eval --help"),
        (["eval", "q", "r", "--rel", "x"], "--rel is x; choose a whole number from 1 to"),
        (
            ["eval", "q", "r", "--delimiter", "ab"],
            "argument --delimiter: 'ab' is not one character (write 'tab' for a tab character); see rankproof eval --help",
        ),
        (["eval", "q"], "no run file; specify the judgements first, then at least one run: eval QRELS RUN…"),
        (
            ["eval", "q", "r", "--threads", "0"],
            "--threads is 0; choose a whole number from 1 to 1,000,000",
        ),
        (
            ["cache", "--older-than", "-1"],
            "argument --older-than: '-1' is not a whole number of at least 0 and at most 18 digits; see rankproof cache --help",
        ),
        (["eval", "--sample", "q"], "--sample has its own files; leave out the files, or leave out --sample"),
        (["eval", "--sample", "-m", "ndgc@10"], "unknown measure ndgc; did you mean nDCG?"),
        (["eval", "--sample", "--rel", "0"], "--rel is 0; choose a whole number from 1 to"),
        (["eval", "--sample", "--rel", "1" * 20], f"--rel is {'1' * 20}; choose a whole number from 1 to"),
        (["eval", "--sample", "--rel", "1e20"], "--rel is 1e20; choose a whole number from 1 to"),
        (["eval", "--sample", "--depth", "0"], "--depth is 0; choose a whole number of at least 1"),
        (["eval", "--sample", "--depth", "9" * 5000], f"--depth is {'9' * 50}…{'9' * 30}; choose a whole number of at least 1"),
        (["eval", "", "r"], "a file has no name; specify each file, or use - for standard input"),
        (["eval", "q", "r", "--queries", ""], "a file has no name; specify each file, or use - for standard input"),
        (["eval", "--sample", "-o", ""], "the output has no name; specify a file, or use - for standard output"),
        (["eval", "--sample", "-c", "--skip-missing"], "-c and --skip-missing contradict each other; leave out one of them"),
        (["eval", "q", "r", "-o", "--", "-r"], "argument -o/--output: expected one argument; see rankproof eval --help"),
        (["eval", "--sample", "-m", "DCG(gain={1:1e308,2:1e308})"], "gain 1e+308 is not between 0 and 1e+15; write it like 3"),
        (["eval", "--sample", "--name", "a"], "1 name for 3 runs; give a name for each run, or for none"),
        (
            ["completion", "tcsh"],
            "argument shell: invalid choice: 'tcsh'",
        ),
        (["convert", "a"], "the following arguments are required: OUT; see rankproof convert --help"),
        (["convert", "a", "b", "c"], "unexpected argument c; see rankproof convert --help"),
    ],
)
def test_wrong_usage_ends_with_2_and_says_what_to_do(capsys: pytest.CaptureFixture[str], argv: list[str], message: str) -> None:
    code, error = ending(capsys, *argv)
    assert code == 2
    assert error.startswith(message)
    assert error.count("\n") == 1


def test_wrong_input_names_file_and_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text("q1 0 d1 1\n")
    run.write_text("q1 Q0 d1 1 2 t\nq1 Q0 d2 2 high t\n")
    code, error = ending(capsys, "eval", str(qrels), str(run))
    assert code == 2
    assert error == f'{run}:2: score "high" is not a decimal number; write scores like 12.5 or 1e-3\n'


def test_escapes_in_a_file_name_are_shown_and_not_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    code, error = ending(capsys, "eval", "\x1b[31mqrels", "run")
    assert code == 2
    assert "\x1b" not in error


def test_a_file_that_cannot_be_written_there_is_wrong_usage(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, error = ending(capsys, "eval", "--sample", "-o", str(tmp_path / "no" / "such" / "folder"))
    assert code == 2
    assert "cannot be written" in error


@pytest.mark.parametrize("argv", [[], ["--help"], ["-h"]])
def test_the_first_page_has_commands_to_try(capsys: pytest.CaptureFixture[str], argv: list[str]) -> None:
    assert main(argv) == 0
    assert "\ntry:\n  rankproof run" in capsys.readouterr().out


@pytest.mark.parametrize("argv", [[verb, "--help"] for verb in COMMANDS.names()])
def test_every_help_page_has_examples_and_exit_codes(capsys: pytest.CaptureFixture[str], argv: list[str]) -> None:
    assert main(argv) == 0
    page = capsys.readouterr().out
    assert "examples:\n  rankproof" in page or "examples:\n  source" in page
    assert "exit codes:" in page
    assert max(map(len, page.splitlines())) <= 100


def test_the_version_says_which_reader_is_in_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith((f"rankproof {__version__} (native reader)", f"rankproof {__version__} (reference reader: "))
    assert second.startswith("Python 3.")
    assert "numpy" in second


def broken(*_: object, **__: object) -> None:
    raise RuntimeError("boom \x1b[31m")


def test_an_internal_error_is_one_line_and_a_traceback_only_when_verbose(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankproof._evaluation.evaluate.evaluate_runs", broken)
    line = "internal error: RuntimeError: boom \\x1b[31m; please report it with -v\n"
    assert ending(capsys, "eval", "--sample") == (1, line)
    code, error = ending(capsys, "eval", "--sample", "-v")
    assert code == 1
    assert error.startswith(f"{line}Traceback")


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (MemoryError(), 1, "not enough memory; evaluate fewer files at once, or free some memory\n"),
        (OSError(5, "Input/output error", "disk"), 1, "disk: Input/output error; check the disk, the path and its permissions\n"),
        (BrokenPipeError(), 0, ""),
    ],
)
def test_an_error_of_the_system_has_its_exit_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, message: str
) -> None:
    def raising(*_: object) -> None:
        raise error

    monkeypatch.setattr("rankproof._evaluation.evaluate.evaluate_runs", raising)
    assert ending(capsys, "eval", "--sample") == (code, message)


def test_global_options_may_precede_the_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert ending(capsys, "--quiet", "eval", "--sample", "--format", "json") == (0, "")


@pytest.mark.usefixtures("default_sigterm")
def test_a_library_that_replaces_the_error_of_sigterm_leaves_its_exit_code() -> None:
    def terminated() -> None:
        with handle_sigterm():
            with suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        terminated()
    assert signal_exit_code(caught.value) == 143
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


@pytest.mark.skipif(os.name == "nt", reason="Windows has no file of users")
@pytest.mark.parametrize("argv", [["cache"], ["run", "--systems", "bm25"], ["doctor", "sample"], ["models", "list"]])
def test_a_user_without_a_home_folder_is_told_to_name_a_cache(
    argv: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container with a user id that is in no file of users."""
    import pwd

    def unknown(user: int) -> None:
        raise KeyError(user)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in ("HOME", "XDG_CACHE_HOME", "RANKPROOF_CACHE"):
        monkeypatch.delenv(name, raising=False)
    assert ending(capsys, *argv) == (2, "this user has no home folder for the cache; set RANKPROOF_CACHE to a folder\n")

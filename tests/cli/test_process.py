"""The real command in a real process: pipes, signals, full disks, locales, terminals."""

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import SOURCE

HEAVY = ("pandas", "polars", "scipy", "torch", "pyarrow", "zstandard")
ENV = {**os.environ, "PYTHONPATH": str(SOURCE.parent), "COLUMNS": "80"}
COMMAND = [sys.executable, "-m", "rankproof"]
slow = pytest.mark.slow
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /dev/full, pty and POSIX signals")


def ran(*argv: str, **more: object) -> subprocess.CompletedProcess[str]:
    settings = {"env": ENV, "capture_output": True, "text": True, "encoding": "utf-8", "timeout": 60} | more
    return subprocess.run([*COMMAND, *argv], **settings)  # type: ignore[call-overload, no-any-return]


def loaded(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules, file=sys.stderr)"],
        env=ENV, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    return set(done.stderr.split())


def many_queries(folder: Path) -> tuple[str, str]:
    qrels, run = folder / "qrels", folder / "run"
    qrels.write_text("".join(f"q{at} 0 d 1\n" for at in range(5000)))
    run.write_text("".join(f"q{at} Q0 d 1 1 t\n" for at in range(5000)))
    return str(qrels), str(run)


@pytest.mark.parametrize(
    "code",
    [
        "import rankproof",
        "import rankproof._cli.main",
        "from rankproof._cli.main import main; main(['eval', '--sample', '--format', 'json', '--quiet'])",
    ],
)
def test_nothing_heavy_is_loaded_to_start_or_to_evaluate(code: str) -> None:
    modules = loaded(code)
    assert "rankproof" in modules
    assert not modules & {*HEAVY, "rich", "rankproof.measures._answers"}


def test_the_parser_alone_needs_no_numpy() -> None:
    assert "numpy" not in loaded("from rankproof._cli.main import main; main(['eval', '--help'])")


def test_python_m_runs_the_command() -> None:
    done = ran("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("rankproof ")


@needs_linux
def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    qrels, run = many_queries(tmp_path)
    command = f"set -o pipefail; {shlex.join(COMMAND)} eval {shlex.quote(qrels)} {shlex.quote(run)} -q --format csv | head -1"
    done = subprocess.run(["bash", "-c", command], env=ENV, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "system,query,measure,summary,queries,value\n", "")


@pytest.mark.slow
@needs_linux
def test_a_failed_gate_keeps_its_exit_code_if_nobody_reads_its_table(tmp_path: Path) -> None:
    qrels, run = many_queries(tmp_path)
    gate = shlex.join([*COMMAND, "gate", qrels, run, "--threshold", "AP>=2"])
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {gate} | true"], env=ENV, capture_output=True, timeout=60)
    assert done.returncode == 3


@needs_linux
def test_an_interrupt_ends_with_130_and_without_a_traceback(tmp_path: Path) -> None:
    qrels, _ = many_queries(tmp_path)
    with subprocess.Popen([*COMMAND, "eval", qrels, "-"], env=ENV, stdin=-1, stdout=-1, stderr=-1) as child:
        assert child.stdin
        assert child.stderr
        child.stdin.write(b"".join(b"q%d Q0 d 1 1 t\n" % at for at in range(100_000)))
        child.stdin.flush()
        child.send_signal(signal.SIGINT)
        assert child.wait(timeout=60) == 130
        assert child.stderr.read() == b"interrupted\n"


@needs_linux
def test_a_full_disk_ends_with_1_and_one_line() -> None:
    for redirect in ("> /dev/full", "-o /dev/full"):
        command = f"{shlex.join(COMMAND)} eval --sample --quiet --format json {redirect}"
        done = subprocess.run(["bash", "-c", command], env=ENV, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1
        assert "No space left on device" in done.stderr
        assert done.stderr.count("\n") == 1


@pytest.mark.slow
@needs_linux
@pytest.mark.parametrize(
    "argv", ["--help", "measures", *(pytest.param(f"{verb} --help", marks=slow) for verb in ("eval", "fuse"))]
)
def test_a_page_that_cannot_be_written_ends_with_1_and_one_line(argv: str) -> None:
    command = f"{shlex.join(COMMAND)} {argv} > /dev/full"
    done = subprocess.run(["bash", "-c", command], env=ENV, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr == "standard output: No space left on device; check the disk, the path and its permissions\n"


@needs_linux
@pytest.mark.parametrize("redirect", ["2> /dev/full", "2>&-"])
def test_a_full_standard_error_does_not_change_the_exit_code(redirect: str) -> None:
    command = f"{shlex.join(COMMAND)} eval no-such-qrels no-such-run {redirect}"
    assert subprocess.run(["bash", "-c", command], env=ENV, timeout=60).returncode == 2


@needs_linux
def test_standard_input_is_not_overwritten(tmp_path: Path) -> None:
    qrels, run = many_queries(tmp_path)
    command = f"{shlex.join(COMMAND)} eval {shlex.quote(qrels)} - -o {shlex.quote(run)} < {shlex.quote(run)}"
    done = subprocess.run(["bash", "-c", command], env=ENV, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (
        2,
        f"{run} would overwrite standard input, which is an input; write to another file\n",
    )


@needs_linux
def test_a_closed_standard_output_ends_with_1_and_one_line() -> None:
    done = subprocess.run(
        ["bash", "-c", f"{shlex.join(COMMAND)} measures >&-"], env=ENV, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (1, "standard output is closed; open it, or write to a file with -o\n")


@needs_linux
def test_a_closed_standard_error_loses_only_the_notes() -> None:
    command = f"{shlex.join(COMMAND)} eval --sample -m RR --format trec 2>&-"
    done = subprocess.run(["bash", "-c", command], env=ENV, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert done.stdout.count("recip_rank") == 3


def test_standard_input_is_read(tmp_path: Path) -> None:
    qrels = tmp_path / "qrels"
    qrels.write_text("q1 0 d1 1\n")
    done = ran("eval", str(qrels), "-", "-m", "RR", "--format", "csv", input="q1 Q0 d0 1 2 t\nq1 Q0 d1 2 1 t\n")
    assert done.stdout.endswith("stdin,,RR,mean,1,0.5\n")


@pytest.mark.slow
@pytest.mark.skipif(not sys.prefix.isascii(), reason="Python cannot read the path of an editable install in an ASCII locale")
@pytest.mark.parametrize(
    "locale",
    [{"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}, pytest.param({"LC_ALL": "POSIX"}, marks=slow)],
)
def test_output_is_utf8_whatever_the_locale(tmp_path: Path, locale: dict[str, str]) -> None:
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text("文書-é 0 d1 1\n", "utf-8")
    run.write_text("文書-é Q0 d1 1 2 t\n", "utf-8")
    for form in ("table", "json", "csv", "trec"):
        done = ran("eval", str(qrels), str(run), "-q", "--format", form, env={**ENV, **locale})
        assert done.returncode == 0
        assert "文書-é" in done.stdout


def test_pythonioencoding_is_respected_and_never_crashes() -> None:
    done = ran("eval", "--sample", env={**ENV, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "\\u2500" in done.stdout


@needs_linux
@pytest.mark.parametrize(("variable", "coloured"), [("", True), ("1", False)])
def test_a_terminal_gets_colour_unless_no_color_is_set(variable: str, coloured: bool) -> None:
    import pty

    ours, theirs = pty.openpty()
    env = {**ENV, "NO_COLOR": variable, "TERM": "xterm"}
    subprocess.run(
        [*COMMAND, "eval", "--sample", "-m", "RR"], env=env, stdout=theirs, stderr=theirs, stdin=-3, check=True, timeout=60
    )
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert ("\x1b[" in shown) is coloured
    assert "hybrid" in shown

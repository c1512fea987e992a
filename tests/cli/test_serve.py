"""`rankproof serve`: what it prints, how it ends, and, as a process, what signals and kills leave."""

from __future__ import annotations

import io
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from http.client import HTTPException
from pathlib import Path
from threading import Event, Thread
from time import sleep
from typing import Any

import pytest

from rankproof._cli.main import main
from rankproof._data.corpus import Corpus, Document
from rankproof._data.dataset import Dataset
from rankproof._data.qrels import Qrels
from rankproof._formats.read import read_qrels, write_folder
from rankproof._results.folder import load_results
from rankproof._results.label_tasks import read_label_draw
from support.bench_systems import saved_systems
from support.claims_to_label import claim_results
from support.examples import sampled
from support.results_server import Visitor, data_of, judged_by_machine, judged_in, many_pairs, saved, serving, unjudged
from support.small_datasets import small_dataset
from support.small_results import small_results

KILLS = 10
pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals are those of Unix")


@contextmanager
def started(*arguments: str | Path) -> Iterator[tuple[subprocess.Popen[str], Visitor]]:
    """The command, and a visitor with the address that it printed."""
    command = [sys.executable, "-m", "rankproof", "serve", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        yield process, Visitor(process.stdout.readline().strip())
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def ended(process: subprocess.Popen[str], how: signal.Signals) -> tuple[int, str]:
    """The exit code and all that was said."""
    process.send_signal(how)
    out, err = process.communicate(timeout=60)
    return process.returncode, out + err


class _Address(io.StringIO):
    """A standard output that knows when it has its first line."""

    def __init__(self) -> None:
        super().__init__()
        self.is_shown = Event()

    def write(self, text: str) -> int:
        written = super().write(text)
        self.is_shown.set()
        return written


def served(visit: Callable[[Visitor], object], *arguments: str | Path) -> tuple[int, str]:
    """The exit code and what is printed after the address, of the command in this process; after the visit it is interrupted."""
    out, err = _Address(), io.StringIO()
    errors: list[BaseException] = []

    def use() -> None:
        if not out.is_shown.wait(60):
            return
        try:
            visit(Visitor(out.getvalue().strip()))
        except BaseException as error:
            errors.append(error)
        os.kill(os.getpid(), signal.SIGINT)

    visiting = Thread(target=use, daemon=True)
    visiting.start()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(["serve", *map(str, arguments)])
    if errors:
        raise errors[0]
    return code, out.getvalue().partition("\n")[2] + err.getvalue()


@pytest.mark.parametrize("how", sampled([signal.SIGINT, signal.SIGTERM], 2))
def test_serve_shows_the_address_and_stops_on_a_signal(how: signal.Signals, tmp_path: Path) -> None:
    folder = saved(tmp_path / "results")
    with started(folder, "--judge", tmp_path / "my.qrels", "--assessor", "ann") as (process, visitor):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{43}", visitor.url)
        visitor.enter()
        assert visitor.post("/r/1/judge", {"query": "q1", "doc": "d2", "grade": 1}).status == 200
        code, said = ended(process, how)
    assert code == 0
    assert judged_in(tmp_path / "my.qrels") == "q1 human:ann d2 1\n"
    assert said.splitlines()[-3:] == [
        "note: stopped",
        "next, the report with these grades (rankings come from the cache):",
        f"  rankproof run {folder}/experiment.toml --qrels {tmp_path}/my.qrels -o {folder}",
    ]
    for secret in (visitor.url.partition("token=")[2], visitor.cookie.partition("=")[2], "GET", "POST", "/r/1", "Traceback"):
        assert secret not in said


def test_the_command_at_the_end_measures_pairs_that_have_another_grade_now(tmp_path: Path) -> None:
    folder = saved(tmp_path / "results")
    judged = load_results(folder).qrels
    query, doc, grade = next((query, doc, grade) for query, docs in judged.items() for doc, grade in docs.items())

    def judge(visitor: Visitor) -> None:
        visitor.enter()
        assert visitor.post("/r/1/judge", {"query": query, "doc": doc, "grade": (grade + 1) % 4}).status == 200

    _, said = served(judge, folder, "--judge", tmp_path / "my.qrels", "--pool", "10", "--assessor", "ann")
    shown = f"--qrels {tmp_path}/my.qrels --on-conflict last -o {folder}"
    assert said.splitlines()[-1].endswith(shown)


@pytest.mark.slow
def test_the_command_at_the_end_after_a_proof_names_the_results_that_were_served(tmp_path: Path) -> None:
    folder, judged = saved_systems(tmp_path / "results"), tmp_path / "my.qrels"
    query, docs = next(iter(load_results(folder).qrels.items()))

    def prove(visitor: Visitor) -> None:
        assert visitor.enter().post("/api/r/1/grades", {"query": query, "doc": next(iter(docs)), "grade": 1}).status == 200
        job = visitor.post("/api/r/1/bench/prove", {"a": "title", "b": "fused", "changes": {"method": "combsum"}}).json
        while job["status"] == "running":
            sleep(0.05)
            job = visitor.get(f"/api/job?job={job['job']}").json
        assert job["status"] == "done"

    code, said = served(prove, folder, "--judge", judged, "--assessor", "ann", "--edit")
    assert code == 0
    assert len(list(tmp_path.glob("*/result.json"))) == 2
    assert "internal error" not in said
    assert f"rankproof run {folder}/experiment.toml --qrels {judged}" in said.splitlines()[-1]


def test_quiet_shows_only_the_address(tmp_path: Path) -> None:
    assert served(lambda visitor: visitor.enter().get("/"), saved(tmp_path / "results"), "--quiet") == (0, "")


@pytest.mark.release
def test_ten_kills_in_the_middle_of_judging_lose_no_grade_that_was_acknowledged(tmp_path: Path) -> None:
    folder, path = saved(tmp_path / "results", many_pairs()), tmp_path / "my.qrels"
    acknowledged: dict[tuple[str, str], int] = {}
    asked: list[tuple[tuple[str, str], int]] = []
    for kill in range(KILLS):
        with started(folder, "--judge", path, "--assessor", "ann", "--quiet") as (process, visitor):
            visitor.enter()
            pairs = [(query, doc) for query, doc, *_ in data_of(visitor)["pairs"]]
            judged_until_killed(process, visitor, pairs[kill * 10 :], kill, acknowledged, asked)
        found = {(query, doc): grade for query, docs in read_qrels(path).items() for doc, grade in docs.items()}
        last = dict(asked)
        assert all(found[pair] in (grade, last[pair]) for pair, grade in acknowledged.items())
        assert found.keys() <= last.keys()
        acknowledged = found
    with serving([folder], judge=path) as visitor:
        # The last kill may leave one grade in the log that the judgements do not have yet.
        assert 0 <= len(data_of(visitor.enter())["grades"]) - len(acknowledged) <= 1
    assert len(acknowledged) >= KILLS


def judged_until_killed(
    process: subprocess.Popen[str],
    visitor: Visitor,
    pairs: Sequence[tuple[str, str]],
    kill: int,
    acknowledged: dict[tuple[str, str], int],
    asked: list[tuple[tuple[str, str], int]],
) -> None:
    """Judges as fast as it can; after some replies the process is killed, whatever it is doing."""
    killer = Thread(target=process.kill)
    for at, pair in enumerate(pairs):
        grade = (at + kill) % 4
        asked.append((pair, grade))
        if at == 1 + kill % 3:
            killer.start()
        try:
            assert visitor.post("/r/1/judge", {"query": pair[0], "doc": pair[1], "grade": grade}).status == 200
        except (OSError, HTTPException):
            break
        acknowledged[pair] = grade
    killer.join()
    assert process.wait(timeout=60) == -signal.SIGKILL


def test_a_second_process_on_the_same_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, path = saved(tmp_path / "results"), tmp_path / "my.qrels"
    with started(folder, "--judge", path):
        assert main(["serve", str(folder), "--judge", str(path)]) == 2
    assert "is in use by another rankproof serve; stop the other server, or choose another file" in capsys.readouterr().err


def test_an_incomplete_line_after_a_kill_is_noted(tmp_path: Path) -> None:
    folder, path = saved(tmp_path / "results"), tmp_path / "my.qrels"
    with serving([folder], judge=path) as visitor:
        visitor.enter().post("/r/1/judge", {"query": "q1", "doc": "d2", "grade": 1})
    with Path(f"{path}.log.jsonl").open("a") as log:
        log.write('{"what": "jud')
    _, said = served(Visitor.enter, folder, "--judge", path)
    assert "ends in an incomplete line, which is removed" in said
    assert path.read_text().endswith("d2 1\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "nowhere is not a results folder and contains none"),
        (["nowhere\x1b[31m"], r"nowhere\x1b[31m is not a results folder"),
        (["results", "--port", "70000"], "--port is 70000; choose a whole number from 0 to 65,535"),
        (["results", "--port", "-1"], "--port is -1; choose a whole number from 0 to 65,535"),
        (["results", "--assessor", "ann"], "--assessor needs --judge, --label or --edit; add one of them"),
        (["results", "--label", "0"], "--label is 0; choose a whole number of at least 1"),
        (
            ["results", "--label", "30"],
            "the judgements of small are people's: there is no machine judge to check; judge unjudged",
        ),
        (["results", "--label", "30", "--judge"], "--judge lists the pairs that change most; leave out one of the two"),
        (["results", "results", "--label", "30"], "--label needs a file here; name it: --labels my.qrels, or specify a single"),
        (["results", "--labels", "my.jsonl"], "--labels needs --label; add --label 30, or leave out --labels"),
        (["results", "--label", "30", "--labels", "no/my.qrels"], "my.qrels is in a folder that does not exist"),
        (["results", "--nuggets", "none.jsonl"], "none.jsonl cannot be read (No such file or directory); pass a file of nuggets"),
        (["results", "--judge", "my.qrels", "--assessor", " "], "a name of --assessor is empty; pass the name of a person"),
        (
            ["results", "--judge", "my.qrels", "--assessor", "ann,,bob"],
            "a name of --assessor is empty; pass the name of a person",
        ),
        (["results", "--judge", "my.qrels", "--assessor", "ann,Ann"], "--assessor has ann and Ann, which are too alike"),
        (["results", "--judge", "mine\x1b[31m.qrels"], r"mine\x1b[31m.qrels exists without a judgement log and is not changed"),
        (["results", "--host", "0.0.0.0"], "unknown option"),
        (["results", "--cost", "bm25=1"], "--cost is for run files; leave out --cost for a results folder"),
        (["results", "--margin", "0.01"], "--margin is for run files; leave out --margin for a results folder"),
        ([], "no input files; specify results folders, a folder of them, or the judgements and then one or more runs"),
    ],
)
def test_what_cannot_be_served_is_refused_in_one_line(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    saved(tmp_path / "results")
    (tmp_path / "mine\x1b[31m.qrels").write_text("q1 0 d1 1\n")
    monkeypatch.chdir(tmp_path)
    assert main(["serve", *arguments]) == 2
    shown = capsys.readouterr()
    assert words in shown.err
    assert (shown.out, shown.err.count("\n"), "\x1b" in shown.err) == ("", 1, False)


def test_a_port_in_use_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = saved(tmp_path / "results")
    with serving([folder]) as visitor:
        assert main(["serve", str(folder), "--port", str(visitor.port)]) == 2
    assert f"port {visitor.port} cannot be used" in capsys.readouterr().err


def test_names_are_escaped_on_the_terminal(tmp_path: Path) -> None:
    folder = saved(tmp_path / "re\x1b[31msults", small_results(("\x1b[32ma", "b")), name="\x1b[33mred")
    path = tmp_path / "my\x1b[34m.qrels"

    def look(visitor: Visitor) -> None:
        assert visitor.enter().get("/").status == 200

    _, said = served(look, folder, "--judge", path, "--assessor", "\x1b[35mann")
    assert "\x1b" not in said
    assert "judgements of _[35mann are saved to " in said
    assert r"my\x1b[34m.qrels" in said


def test_two_people_judge_in_one_server_and_open_disagreements_are_said_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "my.qrels"

    def judge(visitor: Visitor) -> None:
        for name, grade in (("ann", 3), ("bob", 1)):
            person = Visitor(visitor.url).enter()
            chosen = person.post("/r/1/assessor", {"assessor": name})
            person.cookie += f"; {chosen.headers['Set-Cookie'].partition(';')[0]}"
            assert "ordered by how much a pair could change nDCG@10" in person.get("/r/1/judge").text
            assert person.post("/r/1/judge", {"query": "q1", "doc": "d2", "grade": grade}).status == 200

    folder = saved(tmp_path / "results")
    _, said = served(judge, folder, "--judge", path, "--assessor", "ann, bob", "--judge-order", "effect")
    assert "judgements of ann and bob are saved to " in said
    assert "1 pair has different grades that are not adjudicated: their lower median counts." in said.replace("\n", " ")
    assert judged_in(path) == "q1 human:ann+bob d2 1\n"


def test_a_dataset_of_other_results_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(saved(tmp_path / "results"))
    assert main(["serve", folder, "--judge", str(tmp_path / "my.qrels"), "--dataset", "sample"]) == 2
    assert "sample is not the dataset of any of these results" in capsys.readouterr().err
    assert main(["serve", folder, "--dataset", "sample"]) == 2
    assert "--dataset needs --judge or --label; add one of them" in capsys.readouterr().err


@pytest.mark.slow
def test_judge_without_a_file_writes_beside_the_results_and_shows_the_texts_of_the_dataset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    given = small_dataset()
    long = Document("long", f"hob {'word ' * 100}end", "hob")
    corpus = Corpus([*given.corpus.values(), long])
    write_folder(Dataset("raw", corpus, given.queries, Qrels({})), "raw")
    assert main(["run", "--dataset", "raw", "--systems", "bm25", "-o", "out", "--cache", "cache"]) == 0
    with started(tmp_path / "out", "--judge", "--assessor", "ann") as (process, visitor):
        pairs = {(query, doc): text for query, doc, _, _, _, text in data_of(visitor.enter())["pairs"]}
        assert pairs["q1", "long"].endswith("end")
        assert visitor.post("/r/1/judge", {"query": "q1", "doc": "hob", "grade": 3}).status == 200
        _, said = ended(process, signal.SIGINT)
    assert judged_in(tmp_path / "out.people.qrels") == "q1 human:ann hob 3\n"
    command = shlex.split(said.splitlines()[-1])
    assert main([*command[1:], "--cache", "cache"]) == 0
    results = load_results("out")
    assert results.provenance["judgements"]["people"] == {"ann": 1}
    assert "Judgements that count" in Path("out/report.html").read_text()
    # The file goes on after the run: its fingerprint does not depend on the grades.
    with started(tmp_path / "out", "--judge", "--pool", "3", "--assessor", "ann") as (_, visitor):
        assert len(data_of(visitor.enter())["grades"]) == 1


def test_several_folders_need_a_named_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [str(saved(tmp_path / name)) for name in ("a", "b")]
    assert main(["serve", *folders, "--judge"]) == 2
    assert "--judge needs a file here; name it: --judge my.qrels" in capsys.readouterr().err
    assert main(["serve", folders[0], "--pool", "3"]) == 2
    assert "--pool needs --judge; add --judge, or leave out --pool" in capsys.readouterr().err


def test_the_only_results_in_a_folder_need_no_named_file(tmp_path: Path) -> None:
    results = saved(tmp_path / "home" / "small")
    _, said = served(lambda visitor: visitor.enter(), tmp_path / "home", "--judge", "--assessor", "ann")
    assert f"{results.name}.people.qrels" in said


def test_claims_are_labelled_into_a_file_beside_the_results_and_the_next_command_uses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    saved(tmp_path / "results", claim_results())

    def label(visitor: Visitor) -> dict[str, Any]:
        shown = data_of(visitor.enter(), "/r/1/label")
        assert visitor.post("/r/1/label", {"claim": shown["claims"][0], "label": "supported"}).status == 200
        return shown

    def label_one_question(visitor: Visitor) -> None:
        shown = label(visitor)
        assert (shown["sizes"], len(shown["claims"]), shown["labels"]) == ([11], 11, {})

    for person in ("ann", "bob"):
        code, said = served(label_one_question, "results", "--assessor", person, "--label", "1")
        assert (code, said.splitlines()[-1]) == (0, "  rankproof answers results --labels results.people.jsonl")
    assert 'person": "bob' in Path("results.people.jsonl").read_text()
    _, said = served(label, "results", "--labels", "mine.jsonl", "--seed", "1")
    assert "--labels mine.jsonl" in said


def test_documents_of_drawn_questions_are_labelled_into_a_file_beside_the_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    saved(tmp_path / "results", unjudged(many_pairs(queries=12)))

    def label(visitor: Visitor) -> None:
        data = data_of(visitor.enter())
        assert (data["sizes"], data["grades"]) == ([8] * 12, {})
        assert visitor.post("/r/1/judge", {"query": data["pairs"][0][0], "doc": data["pairs"][0][1], "grade": 1}).status == 200

    _, said = served(label, "results", "--label", "30", "--assessor", "ann")
    assert "note: 12 questions drawn at random, 96 labels; only complete questions count" in said
    assert read_label_draw("results.people.qrels") is not None
    assert said.splitlines()[-1].endswith("--qrels results.people.qrels -o results")
    saved(tmp_path / "judged", judged_by_machine(many_pairs(queries=12)))
    for options in ((), ("--labels", "mine.qrels")):
        _, said = served(label, "judged", "--label", "30", *options)
        assert said.splitlines()[-1] == " ".join(("  rankproof compare judged", *options))
    saved(tmp_path / "other", unjudged(small_results(("three",), [f"q{at}" for at in range(12)], ["d0", "d1"])))
    assert main(["serve", "other", "--label", "30", "--labels", "results.people.qrels"]) == 2
    words = "results.people.qrels has labels of other systems (one, two); restart with another file: --labels FILE"
    assert words in capsys.readouterr().err
    saved(tmp_path / "answers", claim_results())
    assert main(["serve", "answers", "--label", "30", "--labels", "results.people.qrels"]) == 2
    assert "results.people.qrels has labels of documents; restart with another file: --labels FILE" in capsys.readouterr().err


def test_labels_of_run_files_end_with_the_command_that_decides_with_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "red kettle"}\n{"_id": "q2", "text": "green pan"}\n')
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d1", "text": "a red kettle"}\n{"_id": "d2", "text": "a green pan"}\n')
    for name, first, second in (("my a.run", "d1", "d2"), ("b.run", "d2", "d1")):
        rows = (f"{query} Q0 {first} 1 2 t\n{query} Q0 {second} 2 1 t\n" for query in ("q1", "q2"))
        (tmp_path / name).write_text("".join(rows))
    runs = ["my a.run", "b.run"]
    assert main(["judge", ".", "--runs", *runs, "--by", "keywords", "-o", "k.qrels"]) == 0

    def label(visitor: Visitor) -> None:
        query, doc, *_ = data_of(visitor.enter())["pairs"][0]
        assert visitor.post("/r/1/judge", {"query": query, "doc": doc, "grade": 1}).status == 200

    _, said = served(label, "k.qrels", *runs, "--dataset", ".", "--label", "1", "--labels", "p.qrels")
    assert said.splitlines()[-1] == "  rankproof compare k.qrels 'my a.run' b.run --labels p.qrels"
    assert main(["compare", "k.qrels", *runs, "--labels", "p.qrels"]) == 0


@pytest.mark.release
def test_kills_in_the_middle_of_labelling_lose_no_label_that_was_confirmed(tmp_path: Path) -> None:
    folder = saved(tmp_path / "results", claim_results([f"q{at}" for at in range(20)]))
    confirmed: dict[str, str] = {}
    for kill in range(KILLS):
        with started(folder, "--assessor", "ann", "--quiet") as (process, visitor):
            found = data_of(visitor.enter(), "/r/1/label")
            assert confirmed.items() <= found["labels"].items()
            # The last kill may leave one label that the page did not confirm.
            assert len(found["labels"]) - len(confirmed) <= 1
            confirmed = found["labels"]
            open_claims = [id for id in found["claims"] if id not in confirmed]
            labelled_until_killed(process, visitor, open_claims, 1 + kill % 3, confirmed)
    assert len(confirmed) >= KILLS


def labelled_until_killed(
    process: subprocess.Popen[str], visitor: Visitor, claims: Sequence[str], first: int, confirmed: dict[str, str]
) -> None:
    """Labels as fast as it can; after some replies the process is killed, whatever it is doing."""
    killer = Thread(target=process.kill)
    for at, claim in enumerate(claims):
        if at == first:
            killer.start()
        label = ("supported", "not_stated")[at % 2]
        try:
            assert visitor.post("/r/1/label", {"claim": claim, "label": label}).status == 200
        except (OSError, HTTPException):
            break
        confirmed[claim] = label
    killer.join()
    assert process.wait(timeout=60) == -signal.SIGKILL

"""The judgements of a person on disk: whole, the last grade of each pair, and nobody else's file."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rankproof._cli.main import main
from rankproof._formats.read import read_qrels
from rankproof._server import judgement_log as ledger_module
from rankproof._server.judgement_log import JudgementLog, log_path
from rankproof.errors import ExternalError, RankproofError, UsageError
from support.results_server import judged_in

DATA = "f" * 64


@contextmanager
def opened(path: Path, assessor: str = "ann") -> Iterator[JudgementLog]:
    ledger = JudgementLog(str(path), assessor, clock=lambda: "2026-01-02T03:04:05Z")
    try:
        yield ledger
    finally:
        ledger.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "my.qrels"


def log_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in Path(log_path(str(path))).read_text().splitlines()]


def test_a_judgement_is_a_line_of_qrels_that_says_who_and_a_line_of_the_log_that_says_when(path: Path) -> None:
    with opened(path) as ledger:
        ledger.judge(("q1", "d1"), 2, DATA)
        assert judged_in(path) == "q1 human:ann d1 2\n"
    assert log_of(path) == [
        {"format": "rankproof-judgements", "schema": 2, "fingerprint": DATA},
        {
            **{"what": "judged", "query": "q1", "doc": "d1", "grade": 2, "previous": None},
            **{"assessor": "ann", "when": "2026-01-02T03:04:05Z"},
        },
    ]


def test_eval_reads_the_file_directly(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with opened(path) as ledger:
        ledger.judge(("q1", "d1"), 3, DATA)
        ledger.judge(("q1", "d1"), 1, DATA)
        ledger.judge(("q1", "d2"), 0, DATA)
    run = path.parent / "a.run"
    run.write_text("q1 Q0 d2 1 2.0 t\nq1 Q0 d1 2 1.0 t\n")
    assert main(["eval", str(path), str(run), "-m", "RR", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["systems"][0]["measures"]["RR"]["value"] == 0.5


def test_the_same_pair_judged_again_has_its_last_grade_and_stands_once(path: Path) -> None:
    with opened(path) as ledger:
        for grade in (0, 3, 1):
            ledger.judge(("q1", "d1"), grade, DATA)
        ledger.judge(("q1", "d2"), 2, DATA)
    assert judged_in(path) == "q1 human:ann d1 1\nq1 human:ann d2 2\n"
    assert [(line.get("grade"), line.get("previous")) for line in log_of(path)[1:4]] == [(0, None), (3, 0), (1, 3)]


def test_undo_gives_back_the_grade_before_and_then_none(path: Path) -> None:
    with opened(path) as ledger:
        ledger.judge(("q1", "d1"), 3, DATA)
        ledger.judge(("q1", "d1"), 1, DATA)
        ledger.judge(("q1", "d2"), 2, DATA)
        ledger.undo(("q1", "d1"), DATA)
        assert (ledger.grade(("q1", "d1")), ledger.last) == (3, ("q1", "d2"))
        ledger.undo(("q1", "d1"), DATA)
        assert judged_in(path) == "q1 human:ann d2 2\n"
        with pytest.raises(UsageError, match="not judged"):
            ledger.undo(("q1", "d1"), DATA)
    with opened(path) as ledger:
        assert (ledger.grade(("q1", "d1")), ledger.grade(("q1", "d2")), ledger.last) == (None, 2, ("q1", "d2"))


def test_a_later_start_goes_on_where_the_first_ended_and_says_who_made_which(path: Path) -> None:
    with opened(path) as ledger:
        ledger.judge(("q1", "d1"), 2, DATA)
    with opened(path, "Zoë the 2nd") as ledger:
        ledger.judge(("q1", "d2"), 1, DATA)
    assert judged_in(path) == "q1 human:ann d1 2\nq1 human:Zoë_the_2nd d2 1\n"
    assert read_qrels(path)["q1"] == {"d1": 2, "d2": 1}


@pytest.mark.parametrize("cut", range(1, 30))
def test_a_last_line_that_was_cut_is_taken_off_and_told(path: Path, cut: int) -> None:
    with opened(path) as ledger:
        ledger.judge(("q1", "d1"), 2, DATA)
        ledger.judge(("q1", "d2"), 3, DATA)
    log = Path(log_path(str(path)))
    log.write_bytes(log.read_bytes()[:-cut])
    path.write_text(path.read_text().splitlines(keepends=True)[0])
    with opened(path) as ledger:
        assert ledger.cut > 0
        ledger.judge(("q1", "d3"), 1, DATA)
    assert judged_in(path) == "q1 human:ann d1 2\nq1 human:ann d3 1\n"
    assert len(log_of(path)) == 3


def test_what_is_in_the_log_alone_comes_into_the_qrels_at_the_next_start(path: Path) -> None:
    with opened(path) as ledger:
        ledger.judge(("q1", "d1"), 2, DATA)
        before = path.read_bytes()
        ledger.judge(("q1", "d2"), 3, DATA)
        after = path.read_bytes()
    path.write_bytes(before)
    with opened(path):
        assert path.read_bytes() == after
    path.unlink()
    with opened(path):
        assert path.read_bytes() == after


def test_a_start_without_a_judgement_leaves_nothing_behind(path: Path) -> None:
    with opened(path) as ledger:
        assert ledger.last is None
    assert not list(path.parent.iterdir())


def test_qrels_of_somebody_else_are_never_changed(path: Path) -> None:
    path.write_text("q1 0 d1 1\n")
    with pytest.raises(UsageError, match=r"my\.qrels is there and has no log: it is not changed; name a new file"):
        JudgementLog(str(path), "ann")
    assert [file.name for file in path.parent.iterdir()] == ["my.qrels"]


def test_qrels_that_were_changed_by_hand_are_not_written_over(path: Path) -> None:
    with opened(path) as ledger:
        ledger.judge(("q1", "d1"), 2, DATA)
        path.write_text("q1 human:ann d1 2\nq1 0 by-hand 3\n")
        with pytest.raises(UsageError, match="changed by another hand"):
            ledger.judge(("q1", "d2"), 2, DATA)
    with pytest.raises(UsageError, match="is not what its log"):
        JudgementLog(str(path), "ann")
    assert "by-hand" in path.read_text()


def test_a_log_that_is_not_ours_is_refused(path: Path) -> None:
    log = Path(log_path(str(path)))
    for content in (b"hello\n", b'{"format": "other"}\n', b"\xff\xfe\n", b"[]\n", b"notes without an end", b"{}\nhalf", b"\n"):
        log.write_bytes(content)
        with pytest.raises(RankproofError):
            JudgementLog(str(path), "ann")
        assert log.read_bytes() == content


def test_a_log_with_a_line_that_cannot_be_is_refused_with_its_place(path: Path) -> None:
    with opened(path) as ledger:
        ledger.judge(("q1", "d1"), 2, DATA)
    log = Path(log_path(str(path)))
    whole = log.read_text()
    log.write_text(whole.replace('"judged"', '"undone"'))
    with pytest.raises(RankproofError, match="taken back that is not there"):
        JudgementLog(str(path), "ann")
    log.write_text(whole.replace('"grade": 2', '"grade": "2"'))
    with pytest.raises(RankproofError, match=r"log\.jsonl:2: grade is not a whole number"):
        JudgementLog(str(path), "ann")


def test_a_second_server_on_the_same_file_is_refused_until_the_first_ends(path: Path) -> None:
    with opened(path), pytest.raises(UsageError, match="is being written by another rankproof serve"):
        JudgementLog(str(path), "bob")
    with opened(path, "bob") as ledger:
        assert ledger.assessor == "bob"


def test_judgements_of_other_data_do_not_go_into_the_same_file(path: Path) -> None:
    with opened(path) as ledger:
        ledger.judge(("q1", "d1"), 2, DATA)
        with pytest.raises(UsageError, match="holds judgements of other data"):
            ledger.judge(("q1", "d2"), 2, "e" * 64)


def test_a_judgement_that_cannot_be_written_is_not_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(path) as ledger:
        ledger.judge(("q1", "d1"), 2, DATA)
        log = Path(log_path(str(path))).read_bytes()

        def full(*_: object) -> None:
            raise ExternalError("the disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(ledger_module, "write_blocks", full)
            with pytest.raises(ExternalError):
                ledger.judge(("q1", "d2"), 3, DATA)
        assert (ledger.grade(("q1", "d2")), Path(log_path(str(path))).read_bytes()) == (None, log)
        ledger.judge(("q1", "d3"), 1, DATA)
    assert judged_in(path) == "q1 human:ann d1 2\nq1 human:ann d3 1\n"


def test_a_log_that_was_taken_away_is_noticed(path: Path) -> None:
    with opened(path) as ledger:
        ledger.judge(("q1", "d1"), 2, DATA)
        Path(log_path(str(path))).unlink()
        with pytest.raises(ExternalError, match="was moved or removed"):
            ledger.judge(("q1", "d2"), 2, DATA)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "names no file"),
        ("-", "names no file"),
        ("a\0b", "names no file"),
        ("my.qrels.gz", "would be compressed"),
        ("nowhere/my.qrels", "a folder that does not exist"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_at_the_start(name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        JudgementLog(name, "ann")


@pytest.mark.parametrize("assessor", ["", "  ", "x" * 65])
def test_who_is_a_name(assessor: str, path: Path) -> None:
    with pytest.raises(UsageError, match="--assessor is a name"):
        JudgementLog(str(path), assessor)


def test_a_name_is_one_word_that_no_terminal_obeys(path: Path) -> None:
    with opened(path, "a b\x1b[31m\u202ec\n") as ledger:
        assert ledger.assessor == "a_b_[31m_c"


def test_the_first_write_may_be_cut_anywhere(path: Path) -> None:
    with opened(path) as ledger:
        ledger.judge(("q1", "d1"), 2, DATA)
    log = Path(log_path(str(path)))
    whole = log.read_bytes()
    for size in range(0, len(whole), 7):
        path.unlink(missing_ok=True)
        log.write_bytes(whole[:size])
        with opened(path) as ledger:
            assert ledger.last is None
            ledger.judge(("q1", "d9"), 3, DATA)
        assert judged_in(path) == "q1 human:ann d9 3\n"

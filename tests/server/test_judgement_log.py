"""The judgements of a person on disk: whole, the last grade of each pair, and nobody else's file."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rankproof._cli.main import main
from rankproof._formats.read import read_qrels
from rankproof._io.files import log_path
from rankproof._server import logged_file
from rankproof._server.judgement_log import JudgementLog
from rankproof._server.logged_file import check_assessor, check_assessors
from rankproof.errors import ExternalError, RankproofError, UsageError
from support.results_server import judged_in

DATA = "f" * 64


class Ledger:
    """The log of a person, who judges at the same moment always."""

    def __init__(self, path: Path, assessor: str) -> None:
        self.log, self.assessor = JudgementLog(str(path), clock=lambda: "2026-01-02T03:04:05Z"), assessor

    def judge(self, pair: tuple[str, str], grade: int, fingerprint: str) -> None:
        self.log.judge(pair, grade, fingerprint, self.assessor)

    def undo(self, pair: tuple[str, str], fingerprint: str) -> None:
        self.log.undo(pair, fingerprint, self.assessor)

    def grade(self, pair: tuple[str, str]) -> int | None:
        return self.log.grade(pair, self.assessor)

    @property
    def last(self) -> tuple[str, str] | None:
        return self.log.last(self.assessor)


@contextmanager
def opened(path: Path, assessor: str = "ann") -> Iterator[Ledger]:
    ledger = Ledger(path, assessor)
    try:
        yield ledger
    finally:
        ledger.log.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "my.qrels"


def log_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in Path(log_path(str(path))).read_text().splitlines()]


def test_a_judgement_is_a_qrels_line_with_the_assessor_and_a_log_line_with_the_time(path: Path) -> None:
    with opened(path) as ledger:
        ledger.judge(("q1", "d1"), 2, DATA)
        assert judged_in(path) == "q1 human:ann d1 2\n"
    assert log_of(path) == [
        {"format": "rankproof-judgements", "schema": 3, "fingerprint": DATA},
        {
            **{"what": "judged", "query": "q1", "doc": "d1", "grade": 2, "previous": None},
            **{"assessor": "ann", "when": "2026-01-02T03:04:05Z", "note": ""},
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


def test_a_pair_judged_twice_has_its_last_grade_and_one_line(path: Path) -> None:
    with opened(path) as ledger:
        for grade in (0, 3, 1):
            ledger.judge(("q1", "d1"), grade, DATA)
        ledger.judge(("q1", "d2"), 2, DATA)
    assert judged_in(path) == "q1 human:ann d1 1\nq1 human:ann d2 2\n"
    assert [(line.get("grade"), line.get("previous")) for line in log_of(path)[1:4]] == [(0, None), (3, 0), (1, 3)]


def test_undo_restores_the_previous_grade_and_then_none(path: Path) -> None:
    with opened(path) as ledger:
        ledger.judge(("q1", "d1"), 3, DATA)
        ledger.judge(("q1", "d1"), 1, DATA)
        ledger.judge(("q1", "d2"), 2, DATA)
        ledger.undo(("q1", "d1"), DATA)
        assert (ledger.grade(("q1", "d1")), ledger.last) == (3, ("q1", "d2"))
        ledger.undo(("q1", "d1"), DATA)
        assert judged_in(path) == "q1 human:ann d2 2\n"
        with pytest.raises(UsageError, match="has no judgement"):
            ledger.undo(("q1", "d1"), DATA)
    with opened(path) as ledger:
        assert (ledger.grade(("q1", "d1")), ledger.grade(("q1", "d2")), ledger.last) == (None, 2, ("q1", "d2"))


def test_a_later_server_continues_the_log_and_records_each_assessor(path: Path) -> None:
    with opened(path) as ledger:
        ledger.judge(("q1", "d1"), 2, DATA)
    with opened(path, "Zoë_the_2nd") as ledger:
        ledger.judge(("q1", "d2"), 1, DATA)
    assert judged_in(path) == "q1 human:ann d1 2\nq1 human:Zoë_the_2nd d2 1\n"
    assert read_qrels(path)["q1"] == {"d1": 2, "d2": 1}


@pytest.mark.parametrize("cut", range(1, 30))
def test_an_incomplete_last_line_is_removed_and_reported(path: Path, cut: int) -> None:
    with opened(path) as ledger:
        ledger.judge(("q1", "d1"), 2, DATA)
        ledger.judge(("q1", "d2"), 3, DATA)
    log = Path(log_path(str(path)))
    log.write_bytes(log.read_bytes()[:-cut])
    path.write_text(path.read_text().splitlines(keepends=True)[0])
    with opened(path) as ledger:
        assert ledger.log.cut > 0
        ledger.judge(("q1", "d3"), 1, DATA)
    assert judged_in(path) == "q1 human:ann d1 2\nq1 human:ann d3 1\n"
    assert len(log_of(path)) == 3


def test_judgements_only_in_the_log_are_written_to_the_qrels_at_the_next_start(path: Path) -> None:
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


def test_a_server_without_judgements_leaves_no_files(path: Path) -> None:
    with opened(path) as ledger:
        assert ledger.last is None
    assert not list(path.parent.iterdir())


def test_qrels_without_a_log_are_never_changed(path: Path) -> None:
    path.write_text("q1 0 d1 1\n")
    with pytest.raises(UsageError, match=r"my\.qrels exists without a judgement log and is not changed; choose a new file"):
        JudgementLog(str(path))
    assert [file.name for file in path.parent.iterdir()] == ["my.qrels"]


def test_qrels_changed_by_another_program_are_not_overwritten(path: Path) -> None:
    with opened(path) as ledger:
        ledger.judge(("q1", "d1"), 2, DATA)
        path.write_text("q1 human:ann d1 2\nq1 0 by-hand 3\n")
        with pytest.raises(UsageError, match="changed by another program"):
            ledger.judge(("q1", "d2"), 2, DATA)
    with pytest.raises(UsageError, match="does not match its log"):
        JudgementLog(str(path))
    assert "by-hand" in path.read_text()


def test_a_file_that_is_not_a_judgement_log_is_rejected(path: Path) -> None:
    log = Path(log_path(str(path)))
    for content in (b"hello\n", b'{"format": "other"}\n', b"\xff\xfe\n", b"[]\n", b"notes without an end", b"{}\nhalf", b"\n"):
        log.write_bytes(content)
        with pytest.raises(RankproofError):
            JudgementLog(str(path))
        assert log.read_bytes() == content


def test_an_invalid_log_line_is_an_error_with_its_line_number(path: Path) -> None:
    with opened(path) as ledger:
        ledger.judge(("q1", "d1"), 2, DATA)
    log = Path(log_path(str(path)))
    whole = log.read_text()
    log.write_text(whole.replace('"judged"', '"undone"'))
    with pytest.raises(RankproofError, match="undoes a judgement that does not exist"):
        JudgementLog(str(path))
    log.write_text(whole.replace('"grade": 2', '"grade": "2"'))
    with pytest.raises(RankproofError, match=r"log\.jsonl:2: grade is not a whole number"):
        JudgementLog(str(path))


def test_a_second_server_on_the_same_file_is_rejected_until_the_first_ends(path: Path) -> None:
    with opened(path), pytest.raises(UsageError, match="is in use by another rankproof serve"):
        JudgementLog(str(path))
    with opened(path, "bob") as ledger:
        assert ledger.assessor == "bob"


def test_judgements_of_two_datasets_do_not_share_a_file(path: Path) -> None:
    with opened(path) as ledger:
        ledger.judge(("q1", "d1"), 2, DATA)
        with pytest.raises(UsageError, match="has judgements of another dataset"):
            ledger.judge(("q1", "d2"), 2, "e" * 64)


def test_a_judgement_that_cannot_be_written_is_not_saved(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(path) as ledger:
        ledger.judge(("q1", "d1"), 2, DATA)
        log = Path(log_path(str(path))).read_bytes()

        def full(*_: object) -> None:
            raise ExternalError("the disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(logged_file, "write_blocks", full)
            with pytest.raises(ExternalError):
                ledger.judge(("q1", "d2"), 3, DATA)
        assert (ledger.grade(("q1", "d2")), Path(log_path(str(path))).read_bytes()) == (None, log)
        ledger.judge(("q1", "d3"), 1, DATA)
    assert judged_in(path) == "q1 human:ann d1 2\nq1 human:ann d3 1\n"


def test_a_removed_log_is_an_error(path: Path) -> None:
    with opened(path) as ledger:
        ledger.judge(("q1", "d1"), 2, DATA)
        Path(log_path(str(path))).unlink()
        with pytest.raises(ExternalError, match="was moved, removed or replaced"):
            ledger.judge(("q1", "d2"), 2, DATA)


def cut_last_line(log: Path) -> None:
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))


def change_a_grade(log: Path) -> None:
    log.write_bytes(log.read_bytes().replace(b'"grade": 2', b'"grade": 0'))


def replace_by_a_copy(log: Path) -> None:
    copy = log.with_suffix(".copy")
    copy.write_bytes(log.read_bytes())
    copy.replace(log)


def extend(log: Path) -> None:
    with log.open("ab") as file:
        file.write(b"{}\n")


@pytest.mark.parametrize("damage", [cut_last_line, change_a_grade, replace_by_a_copy, extend, Path.unlink])
def test_a_log_that_was_changed_meanwhile_confirms_nothing_more(path: Path, damage: Callable[[Path], None]) -> None:
    with opened(path) as ledger:
        ledger.judge(("q1", "d1"), 2, DATA)
        damage(Path(log_path(str(path))))
        for grade in (0, 1):
            with pytest.raises(ExternalError, match="nothing is saved: restore it, or restart with another file"):
                ledger.judge(("q1", "d2"), grade, DATA)
        with pytest.raises(ExternalError, match="nothing is saved"):
            ledger.log.check_unchanged()
        assert ledger.grade(("q1", "d2")) is None


def test_a_log_that_is_restored_continues(path: Path) -> None:
    with opened(path) as ledger:
        ledger.judge(("q1", "d1"), 2, DATA)
        log = Path(log_path(str(path)))
        whole = log.read_bytes()
        log.write_bytes(b"")
        with pytest.raises(ExternalError, match="was cut or extended"):
            ledger.judge(("q1", "d2"), 1, DATA)
        log.write_bytes(whole)
        ledger.judge(("q1", "d2"), 1, DATA)
    assert judged_in(path) == "q1 human:ann d1 2\nq1 human:ann d2 1\n"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "judge= needs a file"),
        ("-", "judge= needs a file"),
        ("a\0b", "judge= needs a file"),
        ("my.qrels.gz", "is a compressed file"),
        ("nowhere/my.qrels", "a folder that does not exist"),
    ],
)
def test_a_file_that_cannot_be_written_is_rejected_at_the_start(name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        JudgementLog(name)


@pytest.mark.parametrize(
    ("assessor", "words"),
    [("", "is empty; pass"), ("  ", "is empty; pass"), ("x" * 65, "has 65 characters; shorten it to 64")],
)
def test_an_assessor_name_has_1_to_64_characters(assessor: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        check_assessor(assessor)


@pytest.mark.parametrize("names", [["Ann", "ann"], ["a n", "a_n"], ["bob", "straße", "STRASSE"]])
def test_names_that_differ_only_in_case_or_white_space_are_not_two_people(names: list[str]) -> None:
    with pytest.raises(UsageError, match="are too alike for two people; pass one of them"):
        check_assessors(names)


def test_a_name_that_is_given_twice_is_one_person() -> None:
    assert check_assessors(["ann", " bob", "ann "]) == ("ann", "bob")


def test_an_assessor_name_becomes_one_printable_word() -> None:
    assert check_assessor("a b\x1b[31m\u202ec\n") == "a_b_[31m_c"


def test_the_first_write_may_be_interrupted_at_any_byte(path: Path) -> None:
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

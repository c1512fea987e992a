"""Several people in one server: their queues, what they see of each other, notes, adjudications, and the log on disk."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from rankproof._formats.read import read_qrels
from rankproof._io.files import log_path, write_blocks
from rankproof._server import logged_file
from rankproof._server.judgement_log import MAX_NOTE_LENGTH, JudgementLog, MergedJudgement, read_judgement_log
from rankproof.errors import ExternalError, UsageError
from support.hostile_strings import STRINGS
from support.results_server import Visitor, data_of, judged_in, many_pairs, saved, serving

DATA, PAIR, OTHER = "f" * 64, ("q1", "d2"), ("q1", "d3")
BODY = {"query": "q1", "doc": "d2"}


@contextmanager
def opened(path: Path) -> Iterator[JudgementLog]:
    moments = iter(f"2026-01-02T03:04:{at:02d}Z" for at in range(60))
    log = JudgementLog(str(path), clock=lambda: next(moments))
    try:
        yield log
    finally:
        log.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "my.qrels"


def records(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in Path(log_path(str(path))).read_text().splitlines()[1:]]


def merged(log: JudgementLog, pair: tuple[str, str] = PAIR) -> MergedJudgement:
    return next(one for one in log.merged() if one.pair == pair)


def test_each_person_has_an_own_grade_and_the_file_has_one_line_for_each_pair(path: Path) -> None:
    with opened(path) as log:
        log.judge(PAIR, 3, DATA, "ann", "the whole answer")
        log.judge(PAIR, 1, DATA, "bob")
        log.judge(OTHER, 2, DATA, "bob")
        assert [log.grade(PAIR, name) for name in ("ann", "bob", "eve")] == [3, 1, None]
        assert [log.last(name) for name in ("ann", "bob", "eve")] == [PAIR, OTHER, None]
        assert log.people() == ("ann", "bob")
    assert path.read_text() == ("q1 human:ann+bob@2026-01-02T03:04:01Z d2 1\nq1 human:bob@2026-01-02T03:04:02Z d3 2\n")
    assert [(one["assessor"], one["grade"], one["previous"], one["note"]) for one in records(path)] == [
        *(("ann", 3, None, "the whole answer"), ("bob", 1, None, ""), ("bob", 2, None, "")),
    ]
    assert read_qrels(path)["q1"] == {"d2": 1, "d3": 2}


@pytest.mark.parametrize(
    ("grades", "counts"), [((2,), 2), ((3, 1), 1), ((3, 2), 2), ((0, 3, 3), 3), ((0, 1, 2, 3), 1), ((0, 0, 3, 3, 3), 3)]
)
def test_without_an_adjudication_the_lower_median_counts(path: Path, grades: tuple[int, ...], counts: int) -> None:
    with opened(path) as log:
        for at, grade in enumerate(grades):
            log.judge(PAIR, grade, DATA, f"p{at}")
        assert merged(log).grade == counts
        assert log.judgements()[0]["q1"] == {"d2": counts}


def test_an_adjudicated_grade_counts_is_recorded_as_such_and_can_be_undone(path: Path) -> None:
    with opened(path) as log:
        log.judge(PAIR, 3, DATA, "ann")
        log.judge(PAIR, 0, DATA, "bob")
        log.adjudicate(PAIR, 2, DATA, "eve", "it answers a half")
        log.judge(PAIR, 1, DATA, "bob")
        assert (merged(log).grade, merged(log).judged_by) == (2, "eve:adjudicated")
        assert path.read_text() == "q1 human:eve:adjudicated@2026-01-02T03:04:02Z d2 2\n"
        log.adjudicate(PAIR, 1, DATA, "ann")
        log.undo_adjudication(PAIR, DATA, "ann")
        assert merged(log).grade == 2
        log.undo_adjudication(PAIR, DATA, "bob")
        assert (merged(log).grade, merged(log).judged_by) == (1, "ann+bob")
        with pytest.raises(UsageError, match="this pair has no adjudicated grade"):
            log.undo_adjudication(PAIR, DATA, "ann")
    found = [(one["what"], one["assessor"], one["grade"], one["previous"], one["note"]) for one in records(path)[2:]]
    assert found == [
        ("adjudicated", "eve", 2, None, "it answers a half"),
        ("judged", "bob", 1, 0, ""),
        ("adjudicated", "ann", 1, 2, ""),
        ("adjudication undone", "ann", 2, 1, ""),
        ("adjudication undone", "bob", None, 2, ""),
    ]
    with opened(path) as log:
        assert merged(log).grade == 1


def test_an_undo_takes_back_the_grade_of_the_same_person_alone(path: Path) -> None:
    with opened(path) as log:
        log.judge(PAIR, 3, DATA, "ann")
        log.judge(PAIR, 0, DATA, "bob")
        log.undo(PAIR, DATA, "ann")
        assert (log.grade(PAIR, "ann"), log.grade(PAIR, "bob")) == (None, 0)
        with pytest.raises(UsageError, match="this pair has no judgement"):
            log.undo(PAIR, DATA, "ann")


def test_only_a_pair_with_different_grades_is_adjudicated(path: Path) -> None:
    with opened(path) as log:
        for name in ("ann", "bob"):
            log.judge(PAIR, 2, DATA, name)
        for pair in (PAIR, OTHER):
            with pytest.raises(UsageError, match="people do not differ"):
                log.adjudicate(pair, 2, DATA, "ann")


def test_an_adjudicated_grade_can_be_changed_and_undone_after_people_agree(path: Path) -> None:
    with opened(path) as log:
        log.judge(PAIR, 3, DATA, "ann")
        log.judge(PAIR, 0, DATA, "bob")
        log.adjudicate(PAIR, 2, DATA, "eve")
        log.undo(PAIR, DATA, "bob")
        log.adjudicate(PAIR, 1, DATA, "eve")
        assert (merged(log).grade, merged(log).is_disputed) == (1, True)
        log.undo_adjudication(PAIR, DATA, "ann")
        log.undo_adjudication(PAIR, DATA, "ann")
        assert (merged(log).grade, merged(log).is_disputed) == (3, False)
        with pytest.raises(UsageError, match="no adjudicated grade; reload the page"):
            log.undo_adjudication(PAIR, DATA, "ann")


@pytest.mark.parametrize("text", [*STRINGS, "\ud800 half", "<script>alert(1)</script>", "line\nline"])
def test_a_note_of_any_text_is_read_back(path: Path, text: str) -> None:
    note = text[:MAX_NOTE_LENGTH]
    with opened(path) as log:
        log.judge(PAIR, 2, DATA, "ann", note)
        before = merged(log).individual[0].note
    with opened(path) as log:
        assert merged(log).individual[0].note == before
        assert before == note.strip().encode(errors="replace").decode()
    assert Path(log_path(str(path))).read_bytes().isascii()


def test_a_note_that_is_too_long_is_refused(path: Path) -> None:
    with opened(path) as log, pytest.raises(UsageError, match="the note has 1,001 characters; shorten it to 1,000"):
        log.judge(PAIR, 2, DATA, "ann", "x" * (MAX_NOTE_LENGTH + 1))
    assert not path.exists()


def session(log: JudgementLog) -> None:
    """Two people, an adjudication, and an undo of each kind."""
    log.judge(PAIR, 3, DATA, "ann", "a note")
    log.judge(PAIR, 0, DATA, "bob")
    log.adjudicate(PAIR, 2, DATA, "eve", "half")
    log.judge(OTHER, 1, DATA, "bob")
    log.undo(OTHER, DATA, "bob")
    log.undo_adjudication(PAIR, DATA, "eve")


@pytest.mark.slow
def test_a_kill_at_every_byte_of_the_log_loses_no_confirmed_change(path: Path) -> None:
    """The log is cut at every byte; the file is that of any earlier moment, or is missing, as a kill leaves it."""
    with opened(path) as log:
        session(log)
    whole = Path(log_path(str(path))).read_bytes()
    ends = [at + 1 for at, byte in enumerate(whole) if byte == ord("\n")]
    for size in range(len(whole) + 1):
        complete = [end for end in ends if end <= size]
        wanted = b"".join(read_judgement_log(whole[: complete[-1]], "log").written()) if complete else b""
        before = b"".join(read_judgement_log(whole[: complete[-2]], "log").written()) if len(complete) > 1 else None
        for content in (wanted if len(complete) > 1 else None, before if len(complete) > 2 else None, None):
            Path(log_path(str(path))).write_bytes(whole[:size])
            path.unlink(missing_ok=True)
            if content is not None:
                path.write_bytes(content)
            with opened(path):
                assert (path.read_bytes() if path.exists() else b"") == wanted, size
            Path(log_path(str(path))).unlink(missing_ok=True)


def test_a_write_that_fails_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The n-th write of the file fails, for every n."""
    for failing in range(6):
        path.unlink(missing_ok=True)
        Path(log_path(str(path))).unlink(missing_ok=True)
        writes = iter(range(100))

        def sometimes(path: str, blocks: Iterable[bytes], writes: Iterator[int] = writes, failing: int = failing) -> None:
            if next(writes) == failing:
                raise ExternalError("the disk is full")
            write_blocks(path, blocks)

        with opened(path) as log:
            monkeypatch.setattr(logged_file, "write_blocks", sometimes)
            with pytest.raises(ExternalError):
                session(log)
            monkeypatch.undo()
            assert len(records(path) if failing else []) == failing
        with opened(path) as log:
            assert (path.read_bytes() if path.exists() else b"") == b"".join(one.written() for one in log.merged())


def old_log(path: Path, *rows: tuple[str, str, int | None]) -> None:
    """A log of version 2, without notes."""
    lines: list[dict[str, object]] = [{"format": "rankproof-judgements", "schema": 2, "fingerprint": DATA}]
    for what, assessor, grade in rows:
        line = {"what": what, "query": "q1", "doc": "d2", "grade": grade, "previous": None}
        lines.append({**line, "assessor": assessor, "when": "2026-01-02T03:04:05Z"})
    Path(log_path(str(path))).write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def test_a_log_of_the_earlier_version_is_continued(path: Path) -> None:
    """In it, the last grade of a pair counted, whoever gave it; now both people have one."""
    old_log(path, ("judged", "ann", 3), ("judged", "bob", 1))
    path.write_text("q1 human:bob@2026-01-02T03:04:05Z d2 1\n")
    with opened(path) as log:
        assert [log.grade(PAIR, name) for name in ("ann", "bob")] == [3, 1]
        log.judge(PAIR, 2, DATA, "ann", "again")
    with opened(path) as log:
        assert [log.grade(PAIR, name) for name in ("ann", "bob")] == [2, 1]
        assert judged_in(path) == "q1 human:ann+bob d2 1\n"


def test_an_undo_by_another_person_in_a_log_of_the_earlier_version(path: Path) -> None:
    old_log(path, ("judged", "ann", 3), ("undone", "bob", None))
    path.write_text("")
    with opened(path) as log:
        assert log.merged() == []


@pytest.fixture
def guests(tmp_path: Path, path: Path) -> Iterator[tuple[Visitor, Visitor]]:
    """Two browsers on one server, for ann and for bob."""
    with serving([saved(tmp_path / "results")], judge=path, assessors=("ann", "bob")) as visitor:
        yield chosen(visitor, "ann"), chosen(visitor, "bob")


def chosen(visitor: Visitor, name: str) -> Visitor:
    """Another browser, which chose the name."""
    other = Visitor(visitor.url).enter()
    seen = other.post("/r/1/assessor", {"assessor": name})
    assert seen.status == 200
    cookie = seen.headers["Set-Cookie"]
    assert re.search("HttpOnly; SameSite=Strict$", cookie)
    other.cookie = f"{other.cookie}; {cookie.partition(';')[0]}"
    return other


def test_a_browser_chooses_its_person_before_it_judges(guests: tuple[Visitor, Visitor]) -> None:
    nobody = Visitor(guests[0].url).enter()
    for page in ("/r/1/judge", "/r/1/agreement"):
        assert "<h1>Who judges " in nobody.get(page).text
    for path in ("judge", "undo", "adjudicate", "unadjudicate"):
        seen = nobody.post(f"/r/1/{path}", {**BODY, "grade": 1})
        assert (seen.status, "choose who you are first" in seen.text) == (409, True)
    assert nobody.post("/r/1/assessor", {"assessor": "eve"}).status == 400
    assert nobody.post("/r/1/assessor", {"assessor": ["ann"]}).status == 400
    nobody.cookie = f"{nobody.cookie}; rankproof-assessor-{nobody.port}=eve%0d%0aSet-Cookie:x"
    assert "Who judges" in nobody.get("/r/1/judge").text


def test_nobody_sees_the_grades_of_others_before_judging_the_pair(guests: tuple[Visitor, Visitor]) -> None:
    ann, bob = guests
    ann.post("/r/1/judge", {**BODY, "grade": 3, "note": "a secret reason"})
    ann.post("/r/1/judge", {"query": "q2", "doc": "d2", "grade": 1})
    assert (data_of(bob)["grades"], data_of(bob)["last"], data_of(bob)["assessor"]) == ({}, None, "bob")
    assert "secret" not in bob.get("/r/1/judge").text + bob.get("/r/1/agreement").text
    seen = bob.post("/r/1/judge", {"query": "q2", "doc": "d2", "grade": 0})
    assert len(seen.json["grades"]) == 1
    third = Visitor(ann.url).enter()
    third.cookie = bob.cookie
    page = third.get("/r/1/agreement").text
    assert "gave grade" in page
    bob.post("/r/1/judge", {**BODY, "grade": 0})
    bob.post("/r/1/undo", BODY)
    assert "secret" not in bob.get("/r/1/agreement").text
    bob.post("/r/1/judge", {**BODY, "grade": 0})
    page = bob.get("/r/1/agreement").text
    assert "a secret reason" in page
    assert page.index("<code>q1</code>") < page.index("<code>q2</code>")


def test_who_has_not_judged_sees_differences_only_on_request(tmp_path: Path, path: Path) -> None:
    with serving([saved(tmp_path / "results")], judge=path, assessors=("ann", "bob", "eve")) as visitor:
        ann, bob, eve = (chosen(visitor, name) for name in ("ann", "bob", "eve"))
        ann.post("/r/1/judge", {**BODY, "grade": 3})
        bob.post("/r/1/judge", {**BODY, "grade": 0})
        assert "1 more pair has different or adjudicated grades. You have not judged it" in eve.get("/r/1/agreement").text
        assert "gave grade" not in eve.get("/r/1/agreement").text
        assert "gave grade" in eve.get("/r/1/agreement/all").text
        seen = eve.post("/r/1/adjudicate", {**BODY, "grade": 2, "note": "half"})
        assert (seen.json["counts"], seen.json["adjudication"]["who"], seen.json["adjudication"]["note"]) == (2, "eve", "half")
        assert "Adjudicated: grade 2 by eve" in ann.get("/r/1/agreement").text
        assert eve.post("/r/1/unadjudicate", BODY).json == {"adjudication": None, "counts": 0}
        assert eve.post("/r/1/unadjudicate", BODY).status == 409


def test_an_adjudicated_pair_stays_on_the_page_when_people_agree_since(guests: tuple[Visitor, Visitor]) -> None:
    ann, bob = guests
    ann.post("/r/1/judge", {**BODY, "grade": 3, "note": "first line\nsecond line"})
    bob.post("/r/1/judge", {**BODY, "grade": 0})
    ann.post("/r/1/adjudicate", {**BODY, "grade": 2})
    bob.post("/r/1/undo", BODY)
    page = ann.get("/r/1/agreement").text
    assert "Adjudicated: grade 2 by ann" in page
    assert "<q>first line second line</q>" in page
    assert ann.post("/r/1/unadjudicate", BODY).json == {"adjudication": None, "counts": 3}
    assert "Adjudicated: grade 2" not in ann.get("/r/1/agreement").text


def test_the_page_of_agreement_says_who_has_judged_so_far(guests: tuple[Visitor, Visitor]) -> None:
    ann, bob = guests
    assert "on the same pairs; so far nobody has judged." in ann.get("/r/1/agreement").text
    bob.post("/r/1/judge", {**BODY, "grade": 0})
    assert "on the same pairs; so far only bob has judged." in ann.get("/r/1/agreement").text


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({**BODY, "grade": 2, "note": "x" * 1001}, "the note must be a text of at most 1,000 characters"),
        ({**BODY, "grade": 2, "note": 7}, "the note must be a text"),
        ({**BODY, "grade": 2, "note": None}, "the note must be a text"),
        ({**BODY, "grade": 9}, "the grade must be one of 0, 1, 2, 3"),
        ({"query": 1, "doc": "d2", "grade": 1}, "query and doc must be strings"),
    ],
)
@pytest.mark.parametrize("path_", ["judge", "adjudicate"])
def test_an_invalid_change_is_refused(
    guests: tuple[Visitor, Visitor], path: Path, body: dict[str, object], words: str, path_: str
) -> None:
    seen = guests[0].post(f"/r/1/{path_}", body)
    assert (seen.status, words in seen.text) == (400, True)
    assert not path.exists()


def test_a_page_of_another_person_saves_nothing(guests: tuple[Visitor, Visitor], path: Path) -> None:
    """Another tab of the browser chose another name after the page was opened."""
    seen = guests[0].post("/r/1/judge", {**BODY, "grade": 2, "assessor": "bob"})
    assert (seen.status, "chose another assessor; reload the page" in seen.text) == (409, True)
    assert not path.exists()


def test_two_people_who_judge_at_the_same_time_lose_nothing(tmp_path: Path, path: Path) -> None:
    with serving([saved(tmp_path / "results", many_pairs(8, 5))], judge=path, assessors=("ann", "bob")) as visitor:
        people = {name: chosen(visitor, name) for name in ("ann", "bob")}
        pairs = [pair[:2] for pair in data_of(people["ann"])["pairs"]]
        jobs = [(name, query, doc, (at + len(name)) % 4) for at, (query, doc) in enumerate(pairs) for name in people]

        def judge(job: tuple[str, str, str, int]) -> int:
            name, query, doc, grade = job
            return people[name].post("/r/1/judge", {"query": query, "doc": doc, "grade": grade, "note": name}).status

        with ThreadPoolExecutor(4) as tabs:
            assert set(tabs.map(judge, jobs)) == {200}
        for name, one in people.items():
            assert len(data_of(one)["grades"]) == len(pairs), name
    assert {(one["assessor"], one["query"], one["doc"], one["grade"]) for one in records(path)} == {
        (name, query, doc, grade) for name, query, doc, grade in jobs
    }
    assert len(path.read_text().splitlines()) == len(pairs)


def test_the_decision_says_that_grades_differ_and_what_counts(guests: tuple[Visitor, Visitor]) -> None:
    ann, bob = guests
    ann.post("/r/1/judge", {**BODY, "grade": 3})
    assert "different grades" not in ann.get("/r/1/decision").text
    bob.post("/r/1/judge", {**BODY, "grade": 0})
    page = ann.get("/r/1/decision").text
    assert "1 pair has different grades that are not adjudicated: their lower median counts." in page
    assert "ann+bob" in page
    ann.post("/r/1/adjudicate", {**BODY, "grade": 1})
    page = ann.get("/r/1/decision").text
    assert "different grades" not in page
    assert "ann:adjudicated" in page


def test_judging_that_is_off_has_no_pages_of_people(tmp_path: Path) -> None:
    with serving([saved(tmp_path / "results")]) as visitor:
        visitor.enter()
        for page in ("judge", "agreement", "agreement/all", "assessor", "decision"):
            assert visitor.get(f"/r/1/{page}").status == 404
        for path in ("judge", "undo", "assessor", "adjudicate", "unadjudicate"):
            assert visitor.post(f"/r/1/{path}", BODY).status == 404


def test_a_page_says_that_its_log_was_cut_and_confirms_no_grade_after_it(tmp_path: Path) -> None:
    judge = tmp_path / "my.qrels"
    with serving([saved(tmp_path / "results", many_pairs(1))], judge=judge) as visitor:
        first, second, *_ = data_of(visitor.enter())["pairs"]
        assert visitor.post("/r/1/judge", {"query": first[0], "doc": first[1], "grade": 2}).status == 200
        Path(log_path(str(judge))).write_bytes(b"")
        for reply in (
            visitor.post("/r/1/judge", {"query": second[0], "doc": second[1], "grade": 2}),
            visitor.get("/r/1/judge"),
            visitor.get("/r/1/agreement"),
        ):
            assert (reply.status >= 400, "nothing is saved" in reply.text) == (True, True)

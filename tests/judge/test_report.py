"""Judgements on disk: labelled on every line, with a report, continued by the same judge only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rankproof._data.dataset import Queries, Query
from rankproof._data.run import Run
from rankproof._data.validation import ReadOptions
from rankproof._formats.read import read_qrels
from rankproof._judge.agreement import Thresholds
from rankproof._judge.judge import JudgeReport, estimate_judging, judge_pairs, judging_tables
from rankproof._judge.judges import JudgeContext, LLMJudge
from rankproof._judge.pairs import QueryDocPair, judged_pairs, merge_pools, pool_pairs, read_pairs, sample_pairs, unjudged_pairs
from rankproof._llm.session import LLMSession
from rankproof.errors import ExternalError, InputError, UsageError
from rankproof.models._chat.base import ChatRequest
from support.native_cases import source_of
from support.scripted_chat import ScriptedChat, prompt_tokens
from support.stage_building import corpus_of

DOCS = {"a": "apple pie", "b": "bicycle", "c": "nothing can be said of this"}
PAIRS = [QueryDocPair("q", doc) for doc in DOCS]


def replied(request: ChatRequest) -> str:
    """Grade 3 for pies, 0 for others; of one passage no reply is of use."""
    passage = request.messages[1].text
    if "nothing can be said" in passage:
        return "I would rather not."
    return json.dumps({"reason": "because", "grade": 3 if "apple" in passage else 0})


def model(**settings: object) -> ScriptedChat:
    return ScriptedChat(replied, **settings)  # type: ignore[arg-type]


def run_judge(output: Path | None, pairs: list[QueryDocPair], chat: ScriptedChat | None = None) -> JudgeReport:
    with LLMSession() as session:
        context = JudgeContext(Queries([Query("q", "pie")]), corpus_of(DOCS), session)
        return judge_pairs(LLMJudge(chat or model()), pairs, context, str(output) if output else None, lambda *progress: None)


def test_every_line_has_the_judge_label_and_the_report_has_the_details(tmp_path: Path) -> None:
    chat = model()
    judge = LLMJudge(chat)
    run_judge(tmp_path / "out", PAIRS, chat)
    assert (tmp_path / "out").read_text() == f"q {judge.judge_label} a 3\nq {judge.judge_label} b 0\n"
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["judge_label"] == judge.judge_label
    assert report["digest"] == judge.digest
    assert report["judge"]["model"]["name"] == "scripted"
    assert report["judge"]["prompt"] == judge.prompt
    assert set(report["rubric"]) == {"0", "1", "2", "3"}
    assert (report["pairs"], report["grades"]) == (3, {"0": 1, "3": 1})
    assert [(each["doc"], each["grade"]) for each in report["failed"]] == [("c", None)]
    assert "no JSON object" in report["failed"][0]["reason"]
    assert report["usage"]["calls"] == 5
    assert report["judgements"][0] == {
        **{"query": "q", "doc": "a", "grade": 3, "reason": "because", "cut": False},
        "counts": {"calls": 1, "tokens_in": prompt_tokens(chat.log.requests[0]), "tokens_out": 3, "seconds": 0.25},
    }
    assert report["runs"][0]["started"] <= report["runs"][0]["finished"]


def test_the_same_judge_continues_a_file_and_judges_only_missing_pairs(tmp_path: Path) -> None:
    run_judge(tmp_path / "out", PAIRS[:1])
    chat = model()
    run_judge(tmp_path / "out", PAIRS, chat)
    assert not any("apple" in request.messages[1].text for request in chat.log.requests)
    assert len((tmp_path / "out").read_text().splitlines()) == 2
    assert len(json.loads((tmp_path / "out.json").read_text())["runs"]) == 2
    again = model()
    report = run_judge(tmp_path / "out", PAIRS[:2], again)
    assert again.log.calls == 0
    assert [one.pair for one in report.failed] == [PAIRS[2]]


@pytest.mark.parametrize("line", ["q 0 a 3\n", "q llm:other:12345678 a 3\n", "q keywords:x:1 a 3\n"])
def test_a_file_of_people_or_of_another_judge_is_not_overwritten(line: str, tmp_path: Path) -> None:
    (tmp_path / "out").write_text(line)
    with pytest.raises(UsageError, match="has judgements by"):
        run_judge(tmp_path / "out", PAIRS)
    assert (tmp_path / "out").read_text() == line


def test_judgements_of_the_judge_mixed_with_human_ones_are_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text(f"q {LLMJudge(model()).judge_label} a 3\nq 0 b 1\n")
    with pytest.raises(UsageError, match="by people"):
        run_judge(tmp_path / "out", PAIRS)


@pytest.mark.parametrize("report", ["", "[]", "{}", '{"judgements": [], "failed": [], "runs": []}', '{"judgements": 3}'])
def test_an_invalid_report_is_refused(report: str, tmp_path: Path) -> None:
    run_judge(tmp_path / "out", PAIRS)
    (tmp_path / "out.json").write_text(report)
    with pytest.raises(InputError, match=r"out\.json"):
        run_judge(tmp_path / "out", PAIRS)


def test_a_report_without_judgements_left_by_a_kill_is_replaced(tmp_path: Path) -> None:
    run_judge(tmp_path / "out", PAIRS)
    (tmp_path / "out").unlink()
    run_judge(tmp_path / "out", PAIRS)
    assert len(read_qrels(tmp_path / "out")["q"]) == 2


def test_without_a_grade_only_the_report_is_written(tmp_path: Path) -> None:
    with pytest.raises(ExternalError, match="no pair was graded: no JSON object"):
        run_judge(tmp_path / "out", PAIRS[2:])
    assert not (tmp_path / "out").exists()
    assert len(json.loads((tmp_path / "out.json").read_text())["failed"]) == 1


def test_an_output_that_cannot_be_written_is_refused_before_any_call(tmp_path: Path) -> None:
    chat = model()
    for output, pairs in ((tmp_path / "missing" / "out", PAIRS), (tmp_path / "out", [QueryDocPair("q", "white space")])):
        with pytest.raises((UsageError, InputError)):
            run_judge(output, pairs, chat)
    assert chat.log.calls == 0


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.json", "out.jsonl", "out.parquet", "out.csv.gz"])
def test_ids_with_spaces_are_written_to_a_format_that_can_hold_them(name: str, tmp_path: Path) -> None:
    chat, docs = model(), {"a b": "apple pie", "c": "bicycle"}
    pairs = [QueryDocPair("q", doc) for doc in docs]
    with LLMSession() as session:
        context = JudgeContext(Queries([Query("q", "pie")]), corpus_of(docs), session)
        for count in (1, 2):
            judge_pairs(LLMJudge(chat), pairs[:count], context, str(tmp_path / name), lambda *progress: None)
        found = read_qrels(tmp_path / name)
        assert {query: dict(each) for query, each in found.items()} == {"q": {"a b": 3, "c": 0}}
        assert set(found.judge_labels.values()) == {LLMJudge(chat).judge_label}
        with pytest.raises(InputError, match="white space"):
            judge_pairs(LLMJudge(chat), pairs, context, str(tmp_path / "out.qrels"), lambda *progress: None)


def test_the_report_has_no_invisible_characters(tmp_path: Path) -> None:
    chat = ScriptedChat(lambda request: json.dumps({"reason": "fine \u202e\x1b[31m", "grade": 3}))
    run_judge(tmp_path / "out", PAIRS[:1], chat)
    written = (tmp_path / "out.json").read_text(encoding="utf-8")
    assert json.loads(written)["judgements"][0]["reason"] == "fine \u202e\x1b[31m"
    assert "\u202e" not in written
    assert "\x1b" not in written


def test_an_estimate_makes_no_call_and_counts_only_what_is_left(tmp_path: Path) -> None:
    chat = model(price_in=1000.0, price_out=2000.0)
    run_judge(tmp_path / "out", PAIRS[:1], chat)
    calls = chat.log.calls
    context = JudgeContext(Queries([Query("q", "pie")]), corpus_of(DOCS), LLMSession())
    table = estimate_judging(LLMJudge(chat), [*PAIRS, QueryDocPair("q", "gone")], context, str(tmp_path / "out"))
    (row,) = table.records()
    assert (row["pairs"], row["calls"]) == (3, 2)
    assert row["tokens out"] == 400
    assert row["money"] == pytest.approx((row["tokens in"] * 1000 + 400 * 2000) / 1e6)  # type: ignore[operator]
    assert "1 pair cannot be judged" in table.sentences[1]
    assert chat.log.calls == calls


def test_the_tables_have_grades_failures_money_and_agreement() -> None:
    chat = model(price_in=1e6)
    report = run_judge(None, PAIRS, chat)
    context = JudgeContext(Queries([]), corpus_of(DOCS), LLMSession())
    first, agreement, confusion = judging_tables(report, context, {PAIRS[0]: 3, PAIRS[2]: 1}, {}, Thresholds())
    (row,) = first.records()
    assert (row["pairs"], row["grade 0"], row["grade 3"], row["failed"], row["calls"]) == (3, 1, 1, 1, 5)
    assert row["money"] == prompt_tokens(*chat.log.requests)
    assert "never as grade 0" in first.sentences[0]
    assert agreement.facts["failed"] == 1
    assert [row[-3] for row in confusion.rows] == [1, 0, 1]
    assert judging_tables(report, context, {}, {"all": PAIRS}, Thresholds()) == [first]


def test_a_pool_takes_the_first_documents_in_the_order_of_scores() -> None:
    run = Run.from_dict({"q": {"a": 1.0, "b": 3.0, "c": 3.0}, "r": {"a": 1.0}})
    assert pool_pairs(run, 2) == [QueryDocPair("q", "c"), QueryDocPair("q", "b"), QueryDocPair("r", "a")]
    assert pool_pairs(run, 1, ReadOptions(lower_is_better=True)) == [QueryDocPair("q", "a"), QueryDocPair("r", "a")]
    assert merge_pools([[QueryDocPair("q", "a")], [QueryDocPair("q", "b"), QueryDocPair("q", "a")]]) == [
        QueryDocPair("q", "a"),
        QueryDocPair("q", "b"),
    ]


def test_unjudged_pairs_have_no_grade_or_a_negative_one() -> None:
    grades = {"q": {"a": 0, "b": -1}}
    assert unjudged_pairs(PAIRS, grades) == [QueryDocPair("q", "b"), QueryDocPair("q", "c")]
    assert judged_pairs(grades) == [QueryDocPair("q", "a")]


def test_a_sample_depends_on_the_seed_and_keeps_the_order() -> None:
    pairs = [QueryDocPair("q", f"{at:03}") for at in range(100)]
    assert sample_pairs(pairs, 10, 1) == sorted(sample_pairs(pairs, 10, 1)) != sample_pairs(pairs, 10, 2)
    assert sample_pairs(pairs, None, 1) == sample_pairs(pairs, 500, 1) == pairs


@pytest.mark.parametrize("text", [b"q a\nq b\n", b"q\ta\nq\tb\n# q c\n", b"q\ta\t1\nq\tb\t0\n", b"q 0 a 1\nq 0 b 0\nq 0 a 1\n"])
def test_pairs_are_read_from_two_columns_and_from_trec_files(text: bytes) -> None:
    assert read_pairs(source_of(text)) == [QueryDocPair("q", "a"), QueryDocPair("q", "b")]
    assert read_pairs(source_of(b"q Q0 a 1 9.5 tag\nq Q0 b 2 9.1 tag\n")) == [QueryDocPair("q", "a"), QueryDocPair("q", "b")]


@pytest.mark.parametrize(("text", "error"), [(b"q a b c d\n", InputError), (b"q\n", InputError), (b"\n", UsageError)])
def test_an_invalid_pair_is_refused(text: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        read_pairs(source_of(text))


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"schema": 1}, "format version 1, this version of rankproof reads 2; judge again and write to another file"),
        ({"format": "other"}, "not a report of a judge"),
        (
            {"runs": [{"started": "", "finished": "", "spent": {"calls": "one"}}]},
            r"runs\[0\]\.spent\.calls is not a number",
        ),
        ({"judgements": [{"query": "q", "doc": "a", "grade": "3"}]}, r"judgements\[0\]\.grade is not a whole number"),
        ({"judgements": [{"query": "q", "doc": "a", "grade": 3}]}, r"judgements\[0\]\.reason is missing"),
    ],
)
def test_a_wrong_field_of_a_report_is_refused_with_its_path(changes: dict[str, object], what: str, tmp_path: Path) -> None:
    run_judge(tmp_path / "out", PAIRS)
    report = json.loads((tmp_path / "out.json").read_text())
    (tmp_path / "out.json").write_text(json.dumps({**report, **changes}))
    with pytest.raises(InputError, match=rf"out\.json: .*{what}"):
        run_judge(tmp_path / "out", PAIRS)

"""Messages speak the language of the caller: arguments in Python, options on the command line."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

import rankproof as rp
from rankproof._cli.main import main
from rankproof.errors import in_python
from rankproof.types import Plot

QRELS = {"q1": {"d1": 1, "d2": 0}}
RUN = {"q1": {"d1": 2.0, "d2": 1.0}}
SPOKEN = [
    ("order by score (--order score)", 'order by score (order="score")'),
    ("map it, as in --grade-map E=3,S=2, or multiply", 'map it, as in grade_map={"E": 3, "S": 2}, or multiply'),
    ("with an integer for each ?: --grade-map 'a=?,b=?'", 'with an integer for each ?: grade_map={"a": ?, "b": ?}'),
    ("remove one, or pass --on-duplicate keep-best", 'remove one, or pass on_duplicate="keep-best"'),
    ("if not, leave out --lower-is-better", "if not, leave out lower_is_better=True"),
    ('pass --delimiter "|"', 'pass delimiter="|"'),
    ("pass --documents N", "pass documents=N"),
    ("pass one --rel for both", "pass one rel= for both"),
    ("use --test tukey-one-way, or wait", 'use test="tukey-one-way", or wait'),
    ("a mean, such as -m nDCG@10", 'a mean, such as measures="nDCG@10"'),
    ("as in --set prior=1", 'as in settings={"prior": 1}'),
    ("as in --set actions=click,add_to_cart=3", 'as in settings={"actions": "click,add_to_cart=3"}'),
    ("as in --set thresholds=0.25,0.75,1.25", 'as in settings={"thresholds": "0.25,0.75,1.25"}'),
    ("if so: --set question=COLUMN,answer=COLUMN", 'if so: settings={"question": "COLUMN", "answer": "COLUMN"}'),
    ("name it with --set session=COLUMN", 'name it with columns={"session": "COLUMN"}'),
    ("no column for the grade; name it: --grade-column COLUMN", "no column for the grade; name it: grade_column=COLUMN"),
    ("no column for a text; name it: --text-column COLUMN", "no column for a text; name it: text_column=COLUMN"),
    ("--grade-map is given, but no grade", "grade_map= is given, but no grade"),
    ("rankproof audit --judge-next 20 lists more", "audit(judge_next=20) lists more"),
    ("give each its own name (--name)", "give each its own name ({name: …})"),
    ("decompress it with zstd -d --long=31", "decompress it with zstd -d --long=31"),
    ("a-b -- c --- d e-mail", "a-b -- c --- d e-mail"),
]


@pytest.mark.parametrize(("flags", "arguments"), SPOKEN)
def test_options_become_arguments(flags: str, arguments: str) -> None:
    assert in_python(flags) == arguments


def test_one_error_names_the_argument_in_python_and_the_option_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "q.txt").write_text("q1 0 d1 1\n")
    (tmp_path / "r.run").write_text("q1 Q0 d1 1 9 a\nq1 Q0 d1 2 8 a\n")
    with pytest.raises(rp.errors.InputError, match='or pass on_duplicate="keep-best"'):
        rp.evaluate(tmp_path / "q.txt", tmp_path / "r.run")
    assert main(["eval", str(tmp_path / "q.txt"), str(tmp_path / "r.run")]) == 2
    assert "or pass --on-duplicate keep-best" in capsys.readouterr().err


WRONG: dict[str, Any] = {
    "letters as grades": lambda: rp.evaluate({"q1": {"d1": "E", "d2": "I"}}, RUN),
    "a fraction as a grade": lambda: rp.evaluate({"q1": {"d1": 0.5}}, RUN),
    "no ranks": lambda: rp.evaluate(QRELS, RUN, order="rank"),
    "two runs of one name": lambda: rp.evaluate(QRELS, [RUN, RUN]),
    "a document without a query": lambda: rp.explain(QRELS, RUN, doc="d1"),
    "a field that no query has": lambda: rp.segments(QRELS, RUN, by="category"),
    "a profile that does not exist": lambda: rp.segments(QRELS, RUN, by="relevant", profile="shop"),
    "a file of bands that does not exist": lambda: rp.baselines(QRELS, RUN, bands="nowhere.toml"),
    "no texts": lambda: rp.segments(QRELS, RUN, by="length"),
    "no requirement": lambda: rp.gate(QRELS, RUN),
    "another system": lambda: rp.gate(
        rp.evaluate(QRELS, {"a": RUN, "b": RUN}), baseline=rp.evaluate(QRELS, {"c": RUN, "d": RUN}), measures="RR"
    ),
    "different rel": lambda: rp.gate(rp.evaluate(QRELS, RUN), baseline=rp.evaluate(QRELS, RUN, rel=2), measures="RR"),
    "no pairs": lambda: rp.judge("sample", model="keywords"),
    "a sample of nothing": lambda: rp.judge("sample", model="keywords", sample=3),
    "nothing to judge": lambda: rp.judge("sample", model="keywords", unjudged=True),
    "a system against itself": lambda: rp.plot(QRELS, {"a": RUN, "b": RUN}, kind="differences", system="a", against="a"),
}


@pytest.mark.parametrize("case", WRONG)
def test_no_message_in_python_has_an_option_of_the_command_line(case: str) -> None:
    with pytest.raises(rp.errors.RankproofError) as error:
        WRONG[case]()
    assert " --" not in str(error.value)
    assert "(--" not in str(error.value)


REFERENCES = {"q1": ["cats"]}
QUERIES = rp.Queries(())
NUMBER: Any = 3
NAMED: Any = {"s": {"q1": "cats"}}
ORDER = r"; write evaluate_answers\({name: {query: answer}}, references\)"
NO_PATHS: list[tuple[Any, str]] = [(True, "a bool"), (5, "an int")]
REFUSED: list[tuple[Any, str]] = [
    (
        lambda: rp.gate(QRELS, RUN, baseline=RUN, max_drops=NUMBER),
        "max_drops cannot be an int; pass {measure: drop}, such as",
    ),
    (
        lambda: rp.gate(QRELS, RUN, baseline=RUN, thresholds=NUMBER),
        "thresholds is an int; pass text, or a list of texts",
    ),
    *((partial(rp.gate, QRELS, RUN, save=wrong), f"save cannot be {kind}; pass a path") for wrong, kind in NO_PATHS),
    *(
        (partial(call, path=wrong), f"path cannot be {kind}; pass a path")
        for wrong, kind in NO_PATHS
        for call in (
            partial(rp.export, QRELS, RUN),
            partial(rp.report, QRELS, RUN),
            partial(rp.judge, "sample", model="keywords"),
            partial(rp.import_dataset, "sample"),
            lambda path: rp.export(QRELS, RUN, "RR").save(path),
            Plot("a", "<svg/>").save,
        )
    ),
    (lambda: rp.evaluate_answers(REFERENCES, NAMED), f"the references come before the answers{ORDER}"),
    (
        lambda: rp.evaluate_answers(QUERIES, REFERENCES),
        f"the references come before the answers{ORDER}",
    ),
    (lambda: rp.evaluate_answers(REFERENCES, {"q1": "cats"}), f"the answers of a system cannot be a list{ORDER}"),
    (
        lambda: rp.evaluate_answers({"q1": "cats"}, REFERENCES),
        f"answers has the ids of queries in place of names of systems{ORDER}",
    ),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_an_argument_of_the_wrong_form_is_named_with_the_right_form(call: Any, message: str) -> None:
    with pytest.raises(rp.errors.UsageError, match=message):
        call()


def test_notes_of_a_result_name_arguments() -> None:
    distances = {"q1": {"d1": 1.0, "d2": 2.0}, "q2": {"d1": 1.0, "d2": 2.0}}
    rows = [
        {"qid": query, "docid": doc, "score": score, "rank": score}
        for query, docs in distances.items()
        for doc, score in docs.items()
    ]
    result = rp.evaluate({"q1": {"d1": 1}, "q2": {"d1": 1}}, rows)
    texts = [note.text for notes in result.notes.values() for note in notes]
    assert any('order="rank"' in text for text in texts)
    assert not any("--" in text for text in texts)

"""Diagnosis of systems, segments and stages, and the queries that fail."""

import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from rankproof import evaluate
from rankproof._analysis.answers.causes import AnswerRecord, reason_of, reasons_table
from rankproof._analysis.baselines import upper_bounds
from rankproof._analysis.diagnose.diagnose import diagnose, segments_tables, systems_tables
from rankproof._analysis.diagnose.failed_queries import failed_table, failures, failures_table
from rankproof._analysis.diagnose.steps import RankMoves, Step, gains_table, moves_table, rank_moves
from rankproof._analysis.inputs import AnalysisInput, input_from_results
from rankproof._analysis.query_groups import group_queries
from rankproof._analysis.values import query_counts
from rankproof._cli.main import main
from rankproof._data.run import Run
from rankproof._results.experiment_result import SystemRun
from rankproof.errors import InputError
from support.analysis_inputs_with_texts import input_of, one_target, ranked_at
from support.small_results import small_results


def at_ranks(*ranks: int | None, documents: int | None = None) -> AnalysisInput:
    where = {f"q{at}": rank for at, rank in enumerate(ranks)}
    return input_of(one_target(list(where)), {"one": ranked_at(where)}, documents=documents)


def test_a_system_that_finds_but_ranks_low_has_a_problem_of_ranking() -> None:
    table, rules = systems_tables(at_ranks(1, *(4,) * 8, 11))
    (row,) = table.records()
    assert row["diagnosis"] == "ranking, not coverage"
    assert [row["rule"] for row in rules.records() if row["systems"] == "one"] == ["ranking, not coverage"]
    assert "(Success@1 below 0.500, Success@5 at least 0.700)" in table.sentences[0]
    assert table.sentences[0].endswith("Systems: one (Success@1 0.100, Success@5 0.900, Success@10 0.900).")


def test_a_value_within_sampling_error_of_a_threshold_is_described() -> None:
    table, _ = systems_tables(at_ranks(*(4,) * 71, *(None,) * 29))
    (row,) = table.records()
    assert row["near thresholds"] == "Success@5 0.710 vs 0.700 ± 0.090"
    assert table.sentences[-1] == (
        "The diagnosis is uncertain, because a value is within sampling error of its threshold: "
        "one (Success@5 0.710 vs 0.700 ± 0.090)."
    )
    sure, _ = systems_tables(at_ranks(*(None,) * 40))
    assert sure.records()[0]["near thresholds"] is None
    assert not any(sentence.startswith("The diagnosis is uncertain") for sentence in sure.sentences)


def test_a_threshold_that_does_not_change_the_diagnosis_is_not_listed() -> None:
    table, _ = systems_tables(at_ranks(*(1,) * 50, *(None,) * 50))
    assert "RR@10" not in str(table.records()[0]["near thresholds"])
    assert "Success@1" in str(table.records()[0]["near thresholds"])


def test_worse_than_random_is_reported_in_capitals_with_its_probability() -> None:
    table, _ = systems_tables(at_ranks(*(None,) * 60, documents=100))
    random, system = table.records()
    assert random["system"] == "random ranking"
    assert random["Success@10"] == pytest.approx(0.1)
    assert str(system["diagnosis"]).startswith("WORSE THAN RANDOM; retrieval")
    assert table.sentences[0].startswith("WORSE THAN RANDOM: one is below")
    assert f"with probability {0.9**60:.2g}" in table.sentences[0]


def test_a_value_below_random_without_significance_is_reported_in_lower_case() -> None:
    table, _ = systems_tables(at_ranks(None, None, documents=100))
    assert str(table.records()[1]["diagnosis"]).startswith("below random, not significant; retrieval")
    assert table.sentences[0].startswith("below random, not significant: one is below the expected value")


def test_without_the_corpus_size_there_is_no_comparison_with_a_random_ranking() -> None:
    table, _ = systems_tables(at_ranks(None, None))
    assert not any("RANDOM" in sentence for sentence in table.sentences)
    assert "pass --documents N" in table.notes[0]


def test_every_segment_has_its_own_diagnosis_unless_it_is_small() -> None:
    ranks: dict[str, int | None] = {f"a{at}": 1 for at in range(10)} | dict.fromkeys([f"b{at}" for at in range(12)])
    ranks |= {"c": 1}
    fields = {query: {"kind": query[0]} for query in ranks}
    inputs = input_of(one_target(list(ranks)), {"one": ranked_at(ranks)}, fields=fields)
    (table,) = segments_tables(inputs, group_queries(inputs, "kind"))
    found = {row["kind"]: (row["n"], row["diagnosis"]) for row in table.records()}
    assert found == {"b": (12, "retrieval"), "a": (10, "perfect"), "c": (1, "too few queries (fewer than 10)")}


def test_failed_queries_come_with_the_rank_of_the_relevant_document_and_the_top_result() -> None:
    inputs = replace(at_ranks(1, 12, None, 10), snippets={"x1": "the first text", "target": "the right text"})
    found = failures(inputs, "one", 10)
    assert [(each.query, each.rank) for each in found.failed] == [("q2", None), ("q1", 12)]
    first, second = failed_table(inputs, found, 10, 5).records()
    assert (first["rank"], first["relevant"], first["relevant text"]) == (None, "target", "the right text")
    assert (second["top result"], second["top result text"]) == ("x1", "the first text")
    (row,) = failures_table({"one": found}, 10).records()
    assert (row["n"], row["failed"], row["found deeper"], row["not retrieved"]) == (4, 2, 1, 1)


def test_where_no_query_fails_a_first_screen_says_so() -> None:
    inputs = at_ranks(1, 2)
    table = failed_table(inputs, failures(inputs, "one", 10), 10, 5).summarised()
    assert table is not None
    assert table.sentences == ("No query fails.",)
    deeper = at_ranks(1, 12, None)
    (sentence,) = failed_table(deeper, failures(deeper, "one", 10), 10, 5).sentences
    assert sentence.startswith("1 of them have a relevant document at a lower rank, which a reranker could fix; 1 have none")


def test_a_query_without_relevant_documents_does_not_fail_but_is_counted() -> None:
    inputs = input_of({"q1": {"d1": 0}, "q2": {"d1": 1}}, {"one": {"q1": ["d1"], "q2": ["d1"]}})
    found = failures(inputs, "one", 10)
    assert (found.queries, found.failed, found.without_relevant) == (2, (), 1)


def test_a_query_that_the_run_lacks_fails_with_nothing_instead() -> None:
    inputs = input_of(one_target(["q1", "q2"]), {"one": ranked_at({"q1": 1})})
    (failure,) = failures(inputs, "one", 10).failed
    assert (failure.query, failure.rank, failure.retrieved_instead) == ("q2", None, ())


def test_moves_count_relevant_documents_alone() -> None:
    below = {"q": ["r1", "x", "r2", "r3", "y"]}
    above = {"q": ["x", "r2", "r1", "r4", "y"]}
    assert rank_moves(above, below, {"q": ["r1", "r2", "r3", "r4", "r5"]}, 2) == RankMoves(
        kept=3, found=1, lost=1, promoted=1, demoted=1, risen=1, fallen=1
    )


def test_a_reranker_that_has_other_documents_than_its_pool_is_refused() -> None:
    inputs = input_from_results(small_results())
    pool, late = inputs.system_runs[-2:]
    late = replace(late, stage={"kind": "Rerank", "stage": pool.stage}, builds_on=pool.name)
    fine = replace(inputs, system_runs=(*inputs.system_runs[:-1], late))
    most = upper_bounds(fine, ["nDCG@10"])["nDCG@10"]
    table = moves_table(fine, "nDCG@10", most, 10)
    assert any("late reranks hybrid: it promotes" in sentence for sentence in table.sentences)
    other = input_of(one_target(["q1"]), {"late": ranked_at({"q1": 1})}).runs["late"]
    with pytest.raises(InputError, match="late reranks hybrid, but has other documents for query q1"):
        moves_table(replace(fine, runs={**fine.runs, "late": other}), "nDCG@10", most, 10)


NUMBERS = {"value", "difference", "points", "share", "count", "interval", "p"}


@pytest.mark.parametrize("skip_missing", [False, True])
def test_the_whole_diagnosis_names_its_n_in_every_table_with_values(skip_missing: bool) -> None:
    results = small_results()
    inputs = input_from_results(results)
    if skip_missing:
        first = results.system_runs[0].name
        less = Run.from_dict({query: {"d1": 1.0} for query in results.queries[1:]}, name=first)
        runs = {**inputs.runs, first: less}
        system_runs = tuple(replace(system_run, kind="retrieval") for system_run in inputs.system_runs)
        result = evaluate(results.qrels, runs, ["nDCG@10", "R@100"], rel=2, skip_missing=True)
        inputs = replace(inputs, runs=runs, system_runs=system_runs, result=result, skip_missing=True)
    tables = diagnose(inputs, [group_queries(inputs, "category")], rules=True)
    names = [table.name for table in tables]
    assert names[:2] == ["diagnosis", "rules"]
    assert {"gains", "moves", "stages", "failures", "failed queries"} <= set(names)
    silent = [
        table.name
        for table in tables
        if NUMBERS & {column.kind for column in table.columns}
        and "n = " not in table.title
        and "n" not in {column.name for column in table.columns}
    ]
    assert silent == []


def test_an_experiment_with_one_system_has_its_tables_of_steps() -> None:
    """By hand: nDCG@10 is 0.63093 / 1.63093 for q1 and 1 for q2; the best reranking puts a first, 1 / 1.63093 for q1."""
    qrels = {"q1": {"a": 1, "b": 0, "c": 1}, "q2": {"d": 1}}
    inputs = input_of(qrels, {"only": {"q1": ["x", "a", "b"], "q2": ["d"]}}, measures=["nDCG@10", "R@100"])
    only = SystemRun("only", "retrieval", {}, inputs.runs["only"], {}, 0.0, 0, None, None, {})
    tables = {table.name: table for table in diagnose(replace(inputs, system_runs=(only,)))}
    gains, moves, stages = (tables[name] for name in ("gains", "moves", "stages"))
    (gain,), (move,) = gains.rows, moves.rows
    assert list(gain) == ["only", "retrieval", None, pytest.approx(0.693426, abs=1e-6), None, None, 0.75]
    assert gains.sentences == ()
    assert move[:10] == ("only", "retrieval", None, 2, *(None,) * 6)
    assert list(move[10:]) == [pytest.approx(0.806574, abs=1e-6), pytest.approx(11.3147, abs=1e-4)]
    assert moves.title == "Ranks of the 3 relevant documents: n = 2 queries"
    assert moves.sentences == (
        "only has nDCG@10 0.693; its best reranking has 0.807: 0.0 pp more by a better order of judged documents,"
        " 11.3 pp more by ranking unjudged documents lower (some may be relevant). The other 19.3 pp need better retrieval.",
    )
    assert [(row["stage"], row["measures"], row["systems"]) for row in stages.records()] == [
        ("retrieval", "R@100", "only"),
        ("reranking", "nDCG@10", None),
        ("generation", "F1(tokens='set'), EM, ROUGE-L", None),
    ]


def test_a_system_with_a_baseline_has_its_gain_and_the_best_one_its_upper_bound() -> None:
    qrels = {"q1": {"a": 1, "x": 0}, "q2": {"d": 1, "x": 0}}
    runs = {"first": {"q1": ["x", "a"], "q2": ["x", "d"]}, "second": {"q1": ["a", "x"], "q2": ["x", "d"]}}
    inputs = input_of(qrels, runs, measures=["RR@10", "R@100"])
    systems = [SystemRun(name, "retrieval", {}, inputs.runs[name], {}, 0.0, 0, None, None, {}) for name in runs]
    systems[1] = replace(systems[1], builds_on="first")
    tables = {table.name: table for table in diagnose(replace(inputs, system_runs=tuple(systems)))}
    gains = [(row["system"], row["compared with"], row["pp gained"], row["relative"]) for row in tables["gains"].records()]
    assert gains == [("first", None, None, None), ("second", "first", 25.0, 0.5)]
    assert tables["moves"].sentences[-1] == (
        "second has RR@10 0.750; its best reranking has 1.000: 25.0 pp more by a better order. The other 0.0 pp need better"
        " retrieval."
    )


def test_systems_with_different_queries_each_have_their_n() -> None:
    ranks = {"one": ranked_at({"q1": 1, "q2": 1}), "two": ranked_at({"q2": 1})}
    inputs = input_of(one_target(["q1", "q2"]), ranks, documents=100, skip_missing=True)
    table, _ = systems_tables(inputs)
    assert [(row["system"], row["n"]) for row in table.records()] == [("random ranking", 2), ("one", 2), ("two", 1)]
    assert table.title.endswith("n = 1 to 2 queries")
    steps = [Step(name, "retrieval", values) for name, values in inputs.result.means.items()]
    assert [row["n"] for row in gains_table(steps, "RR@10", None, query_counts(inputs)).records()] == [2, 1]


def test_the_rules_are_shown_on_request_and_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "qrels").write_text("q1 0 d1 1\n")
    (tmp_path / "one.run").write_text("q1 Q0 d1 1 1.0 one\n")
    asked = ["diagnose", str(tmp_path / "qrels"), str(tmp_path / "one.run")]
    for more, are_there in (([], False), (["--rules"], True), (["--format", "json"], True), (["--format", "csv"], True)):
        assert main([*asked, *more]) == 0
        assert ("scenario of a perfect system" in capsys.readouterr().out) == are_there


def _files(folder: Path, queries: int = 40) -> list[str]:
    """Judgements and five runs that fail for some queries."""
    (folder / "qrels").write_text("".join(f"q{at} 0 d1 1\n" for at in range(queries)))
    paths = []
    for system in range(5):
        lines = [
            f"q{at} Q0 {'d1' if (at + rank) % 7 > system else f'x{rank}'} {rank} {-rank} s\n"
            for at in range(queries)
            for rank in (1, 2)
        ]
        kept = {(line.split()[0], line.split()[2]): line for line in reversed(lines)}
        (folder / f"system-{system}.run").write_text("".join(kept.values()))
        paths.append(str(folder / f"system-{system}.run"))
    return [str(folder / "qrels"), *paths]


def _shown(args: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(args) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("verb", ["diagnose", "audit"])
def test_a_first_screen_is_short_and_begins_with_its_verdict(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    asked = [verb, *_files(tmp_path), "--documents", "100"] if verb == "diagnose" else [verb, *_files(tmp_path)]
    first = _shown(asked, capsys)
    lines = [line for whole in first.splitlines() for line in textwrap.wrap(whole, 80) or [""]]
    assert len(lines) <= 64
    assert lines[2].strip()
    assert "─" not in "".join(lines[:4])
    details = _shown([*asked, "--details"], capsys)
    assert len(details.splitlines()) > len(first.splitlines())


@pytest.mark.parametrize("verb", ["diagnose", "audit"])
def test_a_first_screen_says_how_to_get_the_rest_and_json_and_csv_have_all(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = _files(tmp_path)
    assert main([verb, *files]) == 0
    assert "--details, --format json and --format csv have every row and column" in capsys.readouterr().err
    whole = _shown([verb, *files, "--format", "json"], capsys)
    assert whole == _shown([verb, *files, "--format", "json", "--details"], capsys)
    column = {"diagnose": "not retrieved", "audit": "differs in"}[verb]
    assert column in whole
    assert column in _shown([verb, *files, "--format", "csv"], capsys)
    assert column in _shown([verb, *files, "--details"], capsys)


REFERENCE = "Warm water with citric acid for an hour"


@pytest.mark.parametrize(
    ("answer", "context", "reason"),
    [
        ("warm water with citric acid, an hour", None, "fine"),
        ("  ", None, "empty"),
        ("I do not know.", ["fill it with warm water and citric acid"], "abstained"),
        ("Das weiß ich leider nicht.", ["the kettle needs cleaning"], "abstained"),
        (f"{REFERENCE}, " + " ".join(f"word{at}" for at in range(40)), None, "verbose"),
        ("use vinegar overnight", ["the kettle needs cleaning", "it is made of steel"], "context missing"),
        ("use vinegar overnight", ["fill it with warm water and citric acid", "leave it an hour"], "paraphrased or wrong"),
        ("use vinegar overnight", None, "paraphrased or wrong"),
    ],
)
def test_causes_of_a_low_answer_f1_are_distinguished(answer: str, context: list[str] | None, reason: str) -> None:
    assert reason_of(AnswerRecord("q", answer, [REFERENCE], context)) == reason


def test_the_best_of_several_references_counts() -> None:
    assert AnswerRecord("q", "paris", ["london", "Paris"]).f1 == 1.0
    assert reason_of(AnswerRecord("q", "rome", [])) == "paraphrased or wrong"


def test_reasons_are_counted_over_all_answers() -> None:
    records = [AnswerRecord("q1", "paris", ["paris"]), AnswerRecord("q2", "", ["rome"]), AnswerRecord("q3", "", ["rome"])]
    table = reasons_table(records)
    assert {row["answers"]: row["n"] for row in table.records() if row["n"]} == {"fine": 1, "empty": 2}
    assert table.sentences == ("Of 3 answers, 2 have an F1 under 0.4; the most common cause: empty (2).",)
    down = AnswerRecord("q4", "", ["rome"], failed=True)
    assert reason_of(down) == "failed"
    assert reasons_table([*records, down]).sentences == (*table.sentences, "1 of 4 answers failed and are left out.")

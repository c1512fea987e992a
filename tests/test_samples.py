"""The built-in sample."""

from pathlib import Path

from rankproof.samples import sample_files


def rows(path: str) -> list[list[str]]:
    return [line.split() for line in Path(path).read_text("utf-8").splitlines() if not line.startswith("#")]


def test_the_sample_has_twenty_graded_queries_and_three_systems() -> None:
    with sample_files() as (qrels, *runs):
        judgements = rows(qrels)
        assert len({query for query, *_ in judgements}) == 20
        assert {grade for *_, grade in judgements} == {"0", "1", "2", "3"}
        assert [Path(run).name for run in runs] == ["bm25.run", "dense.run", "hybrid.run"]


def test_every_judged_query_has_something_that_was_asked_for() -> None:
    with sample_files() as (qrels, *_):
        best = {query for query, _, _, grade in rows(qrels) if grade == "3"}
        assert len(best) == 20


def test_one_system_lacks_one_query_so_that_the_notes_have_something_to_say() -> None:
    with sample_files() as (_, *runs):
        answered = {Path(run).stem: len({row[0] for row in rows(run)}) for run in runs}
    assert answered == {"bm25": 20, "dense": 19, "hybrid": 20}


def test_the_sample_stays_small() -> None:
    with sample_files() as paths:
        assert sum(Path(path).stat().st_size for path in paths) < 60_000

"""The home page: what changed since the result before, and the trend of results on the same queries."""

from __future__ import annotations

from pathlib import Path

from rankproof._server.home import home_rows
from rankproof._server.library import ResultsLibrary, library_rows
from support.dated_results import results_with, saved_series
from support.results_server import saved, serving


def rows_of(*paths: Path) -> list[tuple[str, str, str]]:
    """The name, the value and the change of each row."""
    return [
        (home.summary.name, home.value, home.change) for home in home_rows(library_rows(ResultsLibrary(list(map(str, paths)))))
    ]


def test_a_row_says_what_changed_since_the_result_before(tmp_path: Path) -> None:
    saved_series(tmp_path, (0, 4))
    assert rows_of(tmp_path) == [("nightly 2", "0.943", "−5.7 pp"), ("nightly 1", "1.000", "")]


def test_another_chosen_system_is_named(tmp_path: Path) -> None:
    saved_series(tmp_path, (0, 30))
    (_, _, change), _ = rows_of(tmp_path)
    assert change.startswith("main → base, −")


def test_values_by_other_judgements_are_never_subtracted(tmp_path: Path) -> None:
    saved_series(tmp_path, (0, 4), rejudged=1)
    assert [change for _, _, change in rows_of(tmp_path)] == ["judgements changed", ""]


def test_results_on_other_queries_have_no_trend(tmp_path: Path) -> None:
    saved_series(tmp_path / "a", (0, 4))
    saved(tmp_path / "b" / "other", name="other", provenance={"created": "2026-05-01T00:00:00Z"})
    homes = home_rows(library_rows(ResultsLibrary([str(tmp_path / "a"), str(tmp_path / "b")])))
    assert [(home.summary.name, bool(home.trend)) for home in homes] == [
        ("other", False),
        ("nightly 2", True),
        ("nightly 1", True),
    ]
    assert homes[1].trend == homes[2].trend == homes[1].row.id


def test_a_trend_has_every_system_with_its_interval_and_says_where_judgements_changed(tmp_path: Path) -> None:
    saved_series(tmp_path, (0, 2, 4), rejudged=2)
    with serving([tmp_path]) as visitor:
        trend = visitor.enter().get("/api/r/1/trend").json
    assert (trend["measure"], trend["dataset"], trend["is_fraction"], trend["systems"]) == (
        "nDCG@10",
        "shop",
        True,
        ["main", "base"],
    )
    assert [point["name"] for point in trend["points"]] == ["nightly 1", "nightly 2", "nightly 3"]
    assert [point["judgements_changed"] for point in trend["points"]] == [False, False, True]
    means = {mean["name"]: mean for mean in trend["points"][1]["means"]}
    assert means["main"]["low"] < means["main"]["value"] < means["main"]["high"] <= 1
    assert means["base"]["value"] < means["main"]["value"]


def test_results_by_another_measure_are_left_out_of_a_trend_and_counted(tmp_path: Path) -> None:
    first, _ = saved_series(tmp_path, (0, 2))
    saved(first, results_with(0), name="by RR", decision_settings=_by("RR@10"))
    with serving([tmp_path]) as visitor:
        trend = visitor.enter().get("/api/r/2/trend").json
    assert ([point["name"] for point in trend["points"]], trend["left_out"]) == (["nightly 2"], 1)


def _by(primary: str) -> object:
    from rankproof._results.decision_settings import DecisionSettings

    return DecisionSettings(primary=primary)


def test_the_trend_of_unreadable_results_is_an_error(tmp_path: Path) -> None:
    folder, _ = saved_series(tmp_path, (0, 2))
    (folder / "qrels.tsv").write_bytes(b"")
    with serving([tmp_path]) as visitor:
        reply = visitor.enter().get("/api/r/1/trend")
    assert (reply.status, "qrels.tsv: the file was changed" in reply.text) == (422, True)

"""summary.json is read for lists without loading the results, and only where it is of these files."""

import json
from pathlib import Path

import pytest

import rankproof as rp
from rankproof._analysis.compare.overview import overview_of
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.folder import load_results
from rankproof._results.summary_file import read_summary
from rankproof._server.library import ResultsLibrary, library_rows
from support.claims_to_label import claim_results
from support.results_server import unjudged
from support.small_results import small_results

KINDS = {
    "judged": small_results(("bm25", "dense")),
    "one system": small_results(("bm25",)),
    "not judged": unjudged(small_results()),
    "answers": claim_results(),
    "no mean": small_results(measures=["NumRet"]),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(rp.save_results(small_results(("bm25", "dense")), tmp_path / "results"))


@pytest.mark.parametrize("kind", KINDS)
def test_the_stored_overview_is_that_of_the_loaded_results(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = rp.save_results(KINDS[kind], tmp_path / "results")
    expected = overview_of(load_results(folder))
    monkeypatch.setattr("rankproof._server.library.load_results", lambda _: pytest.fail("loaded"))
    library = ResultsLibrary([folder])
    assert [library.summary(entry) for entry in library.entries()] == [expected]


@pytest.mark.parametrize("file", ["result.json", "qrels.tsv", "runs/bm25.trec.gz"])
def test_a_file_of_another_size_voids_the_summary(folder: Path, file: str) -> None:
    assert read_summary(str(folder)) is not None
    (folder / file).write_bytes((folder / file).read_bytes() + b"\n")
    assert read_summary(str(folder)) is None
    (folder / file).unlink()
    assert read_summary(str(folder)) is None


@pytest.mark.parametrize("name", ["runs", "runs/bm25.trec.gz", "qrels.tsv"])
def test_a_link_to_a_place_outside_the_folder_is_the_reason_why_it_is_not_listed(folder: Path, name: str) -> None:
    outside = folder.with_name("outside")
    (folder / name).rename(outside)
    (folder / name).symlink_to(outside)
    assert read_summary(str(folder)) is None
    (row,) = library_rows(ResultsLibrary([str(folder)]))
    assert row.summary is None
    assert "outside" in row.why


def test_an_edited_or_cut_summary_is_not_read(folder: Path) -> None:
    path = folder / "summary.json"
    whole = path.read_bytes()
    assert json.loads(whole)["overview"]["name"] == "small"
    for content in (whole.replace(b"bm25", b"bm26"), whole[:-40], whole[: len(whole) // 2], b"", b"{}\n", b"\xff", whole + b" "):
        path.write_bytes(content)
        assert read_summary(str(folder)) is None
    path.write_bytes(whole)
    assert read_summary(str(folder)) is not None


def test_labels_beside_the_folder_are_taken_up_by_loading(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.with_name("results.people.jsonl").write_text("")
    calls: list[str] = []

    def recorded(path: str) -> ExperimentResult:
        calls.append(path)
        return load_results(path)

    monkeypatch.setattr("rankproof._server.library.load_results", recorded)
    library = ResultsLibrary([str(folder)])
    library.summary(library.entries()[0])
    assert calls == [str(folder)]

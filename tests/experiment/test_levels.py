"""Values of documents and chunks from one run: how rankings are collapsed and chunks are graded."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from rankproof import Dataset, read_dataset
from rankproof._cli.main import main
from rankproof._data.corpus import Corpus, Document
from rankproof._data.dataset import Queries, Query
from rankproof._data.qrels import Qrels
from rankproof._experiment.config_read import read_experiment
from rankproof._experiment.experiment import Experiment
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof._render.formats import RenderOptions
from rankproof._render.systems import systems_markdown
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.folder import load_results, save_results
from rankproof._sample import sample_folder
from rankproof.errors import InputError, UsageError
from rankproof.ir_eval import compute_recall_at_k
from rankproof.models import WordLlama
from rankproof.stages import BM25, Chunked, Dense
from rankproof.stages._base import BuildContext, Searcher, Stage
from support.paths import DOCS

KEEP_NOTHING = RunOptions(cache=None)
ANSWERS: dict[str, Any] = {"q1": ["green tea"], "q2": "1455", "q3": ["never said"], "q4": []}


def _dataset(qrels: dict[str, dict[str, int]] | None = None, answers: dict[str, Any] = ANSWERS) -> Dataset:
    """Two pages of two chunks each, and one of one."""
    rows = [
        ("a1", "Black tea is strong. Green tea is mild.", "/a"),
        ("a2", "Coffee is roasted. It was traded in (1455–1536).", "/a"),
        ("b1", "Milk is white. Tea with milk is brown.", "/b"),
        ("b2", "Water boils at 100 degrees.", "/b"),
        ("c1", "Coffee and tea and milk and water.", "/c"),
    ]
    texts = {"q1": "mild green tea", "q2": "coffee traded", "q3": "milk", "q4": "water boils"}
    queries = [Query(query, text, fields={"answers": answers[query]}) for query, text in texts.items()]
    judged = qrels or {"q1": {"a1": 2, "c1": 0}, "q2": {"a2": 1}, "q3": {"b1": 1, "b2": 2}, "q4": {"b2": 1}}
    corpus = Corpus(
        (Document(doc, text, fields={"url": url}, line=at) for at, (doc, text, url) in enumerate(rows, 1)), source="c"
    )
    return Dataset("teas", corpus, Queries(queries), Qrels.from_dict(judged, source="j"))


def _run(systems: dict[str, Stage], dataset: Dataset | None = None, **more: Any) -> ExperimentResult:
    return run_experiment(Experiment(systems, dataset or _dataset(), measures=["RR@10", "R@10", "nDCG@10"], **more), KEEP_NOTHING)


def _ranking(found: ExperimentResult, system: str, query: str) -> list[str]:
    run = found.system_run(system).run
    at = run.queries.index(query)
    return list(run.docs[run.offsets[at] : run.offsets[at + 1]])


def test_collapsed_rankings_and_judgements_are_of_the_field() -> None:
    found = _run({"bm25": BM25()}, collapse="url")
    assert _ranking(_run({"bm25": BM25()}), "bm25", "q1") == ["a1", "c1", "b1"]
    assert _ranking(found, "bm25", "q1") == ["/a", "/c", "/b"]
    assert {query: dict(docs) for query, docs in found.qrels.items()} == {
        "q1": {"/a": 2, "/c": 0},
        "q2": {"/a": 1},
        "q3": {"/b": 2},
        "q4": {"/b": 1},
    }
    assert found.provenance["documents"] == 3
    assert found.provenance["collapse"]["chunks"] == 5
    assert found.provenance["collapse"]["rule"] == "every url has the score of its best chunk and the highest grade of its chunks"
    assert found.notes[0].startswith("5 documents are chunks with 3 values of url")
    assert found.snippets["/a"].startswith("Black tea is strong.")


def test_a_collapsed_experiment_keeps_the_plain_values_at_chunk_level() -> None:
    systems: dict[str, Stage] = {"bm25": BM25(), "static": Dense(WordLlama())}
    plain, collapsed = _run(systems), _run(systems, collapse="url")
    assert plain.chunks is None
    assert collapsed.chunks is not None
    assert collapsed.chunks.means == plain.result.means
    assert collapsed.chunks.per_query("bm25") == plain.result.per_query("bm25")
    assert collapsed.fingerprint != plain.fingerprint
    assert collapsed.fingerprint == _run(systems, collapse="url", pool=1).fingerprint


def test_a_pool_of_one_chunk_gives_one_document_and_a_note() -> None:
    found = _run({"bm25": BM25()}, collapse="url", pool=1)
    assert [len(_ranking(found, "bm25", query)) for query in found.queries] == [1, 1, 1, 1]
    assert any("the top 1 chunks are from fewer than 3 documents (minimum 1)" in note for note in found.notes)


def test_a_pool_of_ten_gives_the_recall_of_the_pages_of_the_first_ten_chunks() -> None:
    systems: dict[str, Stage] = {"bm25": BM25()}
    found = run_experiment(Experiment(systems, collapse="url", pool=10, measures=["R@10"], limit=30), KEEP_NOTHING)
    plain = run_experiment(Experiment(systems, measures=["R@10"], limit=30), KEEP_NOTHING)
    with sample_folder() as folder:
        corpus = read_dataset(folder).corpus
    for query, value in found.result.per_query("bm25")["R@10"].items():
        pages = [corpus[doc].fields["url"] for doc in _ranking(plain, "bm25", query)[:10]]
        relevant = [page for page, grade in found.qrels[query].items() if grade >= 1]
        assert value == compute_recall_at_k(pages, relevant, 10)


def test_judgements_of_field_values_are_used_as_they_are() -> None:
    by_url = {"q1": {"/a": 2}, "q2": {"/a": 1}, "q3": {"/b": 1}, "q4": {"/nowhere": 1}}
    found = _run({"bm25": BM25()}, _dataset(by_url), collapse="url")
    assert {query: dict(docs) for query, docs in found.qrels.items()} == by_url
    assert "the judgements grade each url, not its chunks" in found.provenance["collapse"]["rule"]
    assert found.chunks is not None
    # Of page /a, the first chunk holds the answer of q1 and the second that of q2; what is nowhere is found by nobody.
    assert found.chunks.per_query("bm25")["R@10"] == {"q1": 1.0, "q2": 1.0, "q3": 0.5, "q4": 0.0}


def test_judgements_of_both_kinds_are_refused() -> None:
    mixed = {"q1": {"a1": 1}, "q2": {"/a": 1}}
    with pytest.raises(InputError, match=r"query q1: a1.*of url \(query q2: /a\) are mixed"):
        _run({"bm25": BM25()}, _dataset(mixed), collapse="url")


def test_a_document_without_the_field_is_refused_with_its_line() -> None:
    dataset = _dataset()
    documents = [replace(one, fields={}) if one.id == "b1" else one for one in dataset.corpus.values()]
    broken = Dataset("teas", Corpus(documents, source="corpus.jsonl"), dataset.queries, dataset.qrels)
    with pytest.raises(InputError, match=r"corpus.jsonl:3: document b1 has no url to collapse to"):
        _run({"bm25": BM25()}, broken, collapse="url")
    with pytest.raises(UsageError, match=r"no document has a field called link.*choose from url"):
        _run({"bm25": BM25()}, collapse="link")


def test_a_pool_without_a_collapse_is_refused() -> None:
    with pytest.raises(UsageError, match="pool needs collapse"):
        Experiment({"bm25": BM25()}, pool=10)
    with pytest.raises(UsageError, match="collapse names no field"):
        Experiment({"bm25": BM25()}, collapse="")


def test_the_chunk_that_holds_the_answer_is_the_relevant_one() -> None:
    found = _run({"s1": Chunked(BM25(), size=1, overlap=0, unit="sentences")})
    assert _ranking(found, "s1", "q1")[0] == "a1"
    assert found.chunks is not None
    chunks = found.chunks.per_query("s1")
    # q1 and q2 are told apart by their answer; that of q3 stands nowhere word for word and q4 has none: all chunks inherit.
    assert chunks["R@10"] == {"q1": 1.0, "q2": 1.0, "q3": 2 / 3, "q4": 1.0}
    assert "holds an answer" in found.provenance["chunk_rule"]
    assert not any("chunking split" in note for note in found.notes)


def test_an_answer_that_is_split_between_chunks_counts_0_and_is_noted() -> None:
    found = _run({"w1": Chunked(BM25(), size=1, overlap=0), "w2": Chunked(BM25(), size=2, overlap=1)})
    assert found.chunks is not None
    assert found.chunks.per_query("w1")["R@10"]["q1"] == 0
    assert found.chunks.per_query("w2")["R@10"]["q1"] > 0
    notes = [note for note in found.notes if "chunking split" in note]
    assert notes == ["w1: chunking split the answer of 1 query, which scores 0 at chunk level; increase the overlap"]


def test_answers_in_a_script_without_spaces_are_found() -> None:
    corpus = Corpus([Document("d", "他说好。黑豹队赢了比赛。")])
    dataset = Dataset(
        "zh", corpus, Queries([Query("q", "黑豹队赢了比赛", fields={"answers": ["黑豹队"]})]), Qrels.from_dict({"q": {"d": 1}})
    )
    found = _run({"static": Chunked(Dense(WordLlama()), size=1, overlap=0, unit="sentences")}, dataset)
    assert found.chunks is not None
    assert found.chunks.per_query("static")["RR@10"] == {"q": 1.0}


@dataclass(frozen=True)
class Through:
    """A stage that leaves the ranking below as it is."""

    stage: Stage

    @property
    def depth(self) -> int:
        return self.stage.depth

    def inputs(self) -> tuple[Stage, ...]:
        return (self.stage,)

    def build(self, context: BuildContext) -> Searcher:
        return _Same()


class _Same:
    def search(self, query: Query, inputs: Any, clock: Any) -> Any:
        return inputs[0]

    def cost(self) -> Any:
        from rankproof.types import Cost

        return Cost()

    def facts(self) -> dict[str, Any]:
        return {}

    def notes(self) -> list[str]:
        return []

    def close(self) -> None:
        return None


def test_a_stage_that_keeps_the_order_has_the_chunk_level_of_its_input() -> None:
    chunked = Chunked(BM25(), size=1, overlap=0, unit="sentences")
    found = _run({"chunks": chunked, "through": Through(chunked), "plain": Through(BM25())})
    assert found.chunks is not None
    assert list(found.chunks.means) == ["chunks", "through"]
    assert found.chunks.means["through"] == found.chunks.means["chunks"]


def test_both_levels_are_saved_and_read_back(tmp_path: Path) -> None:
    found = _run({"bm25": BM25(), "s1": Chunked(BM25(), size=1, overlap=0, unit="sentences")})
    again = load_results(save_results(found, tmp_path / "r"))
    assert found.chunks is not None
    assert again.chunks is not None
    assert again.chunks.means == found.chunks.means
    assert again.chunks.per_query("s1") == found.chunks.per_query("s1")
    assert again.system_run("s1").kind == "chunks"
    rows = list(csv.DictReader((tmp_path / "r" / "chunks.csv").read_text(encoding="utf-8").splitlines()))
    assert [(row["system"], row["level"]) for row in rows] == [("s1", "chunk"), ("s1", "document")]
    assert float(rows[1]["RR@10"]) == found.result.means["s1"]["RR@10"]
    save_results(_run({"bm25": BM25()}), tmp_path / "r")
    assert not (tmp_path / "r" / "chunks.csv").exists()
    assert load_results(tmp_path / "r").chunks is None


def test_a_chunk_level_of_an_unknown_system_is_refused(tmp_path: Path) -> None:
    save_results(_run({"s1": Chunked(BM25())}), tmp_path / "r")
    path = tmp_path / "r" / "result.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    values["chunks"][0]["name"] = "other"
    path.write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(InputError, match="chunks does not have the same systems"):
        load_results(tmp_path / "r")


def test_the_table_of_systems_shows_both_levels_in_markdown() -> None:
    found = _run({"bm25": BM25(), "s1": Chunked(BM25(), size=1, overlap=0, unit="sentences")})
    shown = systems_markdown(found, RenderOptions())
    above, below = shown.split("At chunk level, from the same run:")
    assert "| 2 s1 |" in above
    assert found.chunks is not None
    assert f"| s1 | {found.chunks.means['s1']['RR@10']:.4f} |" in below
    assert "bm25" not in below
    assert "At chunk level" not in systems_markdown(_run({"bm25": BM25()}), RenderOptions())


def test_the_examples_of_the_page_of_chunks_are_experiments(tmp_path: Path) -> None:
    page = (DOCS / "stages.md").read_text(encoding="utf-8")
    (tmp_path / "my-data").mkdir()
    cut, collapsed, _ = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "cut.toml").write_text(cut, encoding="utf-8")
    (tmp_path / "collapsed.toml").write_text(collapsed, encoding="utf-8")
    found = run_experiment(replace(read_experiment(tmp_path / "cut.toml"), limit=10), KEEP_NOTHING)
    assert [system_run.builds_on for system_run in found.system_runs] == [None, "bm25"]
    assert found.chunks is not None
    assert (read_experiment(tmp_path / "collapsed.toml").collapse, read_experiment(tmp_path / "collapsed.toml").pool) == (
        "url",
        10,
    )


def test_the_command_collapses_and_the_analysis_reads_such_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "r")
    asked = ["--systems", "bm25", "--collapse", "url", "--pool", "10", "-m", "RR@10,R@10", "--limit", "20", "--no-cache"]
    assert main(["run", *asked, "-o", folder]) == 0
    shown = capsys.readouterr()
    assert "202 documents" in shown.out
    assert "At chunk level" in shown.out
    assert "252 documents are chunks with 202 values of url" in shown.err
    query = load_results(folder).queries[0]
    doc = _ranking(load_results(folder), "bm25", query)[0]
    assert main(["explain", folder, "--system", "bm25", "--query", query]) == 0
    assert main(["explain", folder, "--system", "bm25", "--query", query, "--doc", doc]) == 0
    assert "best chunk" in capsys.readouterr().out
    assert main(["diagnose", folder]) == 0
    assert main(["baselines", folder, "--dataset", "sample"]) == 2
    assert "collapsed" in capsys.readouterr().err

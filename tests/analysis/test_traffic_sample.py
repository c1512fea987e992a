"""Samples of the queries of a log: what is drawn and left out, what is written, and whether a sample still stands."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import rankproof as rp
from rankproof._analysis.traffic.sample import draw
from rankproof._api.live import check_sample

_SESSIONS = 6000


@cache
def _log(seed: int, moved: float = 0.0) -> pandas.DataFrame:
    """Sessions of 600 queries whose traffic falls with their rank; a share of them has moved to new queries."""
    random = np.random.default_rng(seed)
    shares = 1 / np.arange(1, 601)
    query = random.choice(600, _SESSIONS, p=shares / shares.sum())
    is_new = random.random(_SESSIONS) < moved
    texts = [f"{'new' if new else 'Old'} query {number}" for number, new in zip(query.tolist(), is_new.tolist(), strict=True)]
    texts[100:110] = ["call +49 30 123456 now"] * 10
    return pandas.DataFrame(
        {
            "session": [f"s{seed}-{at}" for at in range(_SESSIONS)],
            "user": [f"u{user}" for user in random.integers(0, 2000, _SESSIONS)],
            "time": 1_700_000_000 + 3_000_000 * seed + np.arange(_SESSIONS) * 60,
            "query": texts,
            "action": [""] * _SESSIONS,
        }
    )


def test_a_sample_stands_for_the_traffic_and_says_what_is_left_out() -> None:
    sample = rp.sample_queries(_log(1), n=100)
    assert len(sample.queries) == 100
    assert sample.sentences[0].startswith("100 queries stand for ")
    assert sample.sentences[2] == "Left out: 1 query with personal data (0.2% of the traffic)."
    strata: dict[Any, dict[str, Any]] = {record["stratum"]: dict(record) for record in sample.tables[0].records()}
    assert list(strata) == ["head", "torso", "tail"]
    assert strata["head"]["drawn"] == strata["head"]["certain"] == strata["head"]["queries"]
    assert strata["tail"]["queries"] > 5 * strata["head"]["queries"]
    assert not any("+49" in query.text for query in sample.queries.values())


def test_weights_add_up_to_the_traffic_and_are_the_traffic_of_certain_queries() -> None:
    sample = rp.sample_queries(_log(1), n=100)
    weights, chances = sample.queries.weights, [query.fields["chance"] for query in sample.queries.values()]
    assert weights is not None
    counts = _log(1)["query"].str.casefold().value_counts()
    for query in sample.queries.values():
        assert query.fields["weight"] * query.fields["chance"] == pytest.approx(counts[query.text.casefold()])
    assert sum(weights.values()) == pytest.approx(_SESSIONS, rel=0.1)
    assert 0 < sum(chance == 1 for chance in chances) < 100


def test_queries_that_differ_in_case_and_space_are_one(tmp_path: Path) -> None:
    rows = [f"s{at},u{at},{'Red  Shoes' if at % 2 else 'red shoes'},\n" for at in range(8)]
    file = tmp_path / "log.csv"
    file.write_text("session,user,query,action\n" + "".join(rows), encoding="utf-8")
    sample = rp.sample_queries(file)
    assert [(query.text, query.fields["weight"], query.fields["chance"]) for query in sample.queries.values()] == [
        ("red shoes", 8.0, 1.0)
    ]
    assert any(note.startswith("only 1 of 300 queries could be drawn") for note in sample.notes)


def test_the_seed_alone_decides_what_is_drawn() -> None:
    ids = [list(rp.sample_queries(_log(1), n=100, seed=seed).queries) for seed in (0, 0, 1)]
    assert ids[0] == ids[1] != ids[2]


def test_held_out_queries_share_only_certain_ones_with_the_sample() -> None:
    sample = rp.sample_queries(_log(1), n=80, held_out=60)
    assert sample.held_out is not None
    assert (len(sample.queries), len(sample.held_out)) == (80, 60)
    for key in set(sample.queries) & set(sample.held_out):
        assert sample.queries[key].fields["chance"] == sample.held_out[key].fields["chance"] == 1


def test_a_log_with_too_few_queries_to_hold_out_says_so() -> None:
    sample = rp.sample_queries(_log(1), n=30, held_out=10_000)
    assert sample.held_out is not None
    assert any(f"only {len(sample.held_out):,} of 10,000 queries could be held out" in note for note in sample.notes)


def test_every_query_is_drawn_as_often_as_its_chance_says() -> None:
    sizes = np.array([50.0, 20.0, 10.0, 10.0, 5.0, 5.0, 4.0, 3.0, 2.0, 1.0])
    counts, chances = np.zeros(10), np.zeros(10)
    for seed in range(2000):
        drawn = draw(sizes, 4, 0, seed)
        counts[drawn.units] += 1
        chances[drawn.units] = drawn.chances
    assert chances[0] == 1
    errors = np.sqrt(np.maximum(chances * (1 - chances), 1e-9) / 2000)
    assert (np.abs(counts / 2000 - chances) < 4.5 * errors + 1e-9).all()
    assert counts.sum() == 4 * 2000


def test_a_written_sample_is_a_dataset_whose_weights_decide(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    sample = rp.sample_queries(_log(1), folder, n=60, held_out=40)
    dataset = rp.read_dataset(folder)
    assert dataset.queries.weights == sample.queries.weights
    assert len(rp.read_dataset(folder / "gate").queries) == 40
    document = (folder / "sample.json").read_text(encoding="utf-8")
    assert "query" not in json.dumps(json.loads(document)["traffic"])
    random = np.random.default_rng(3)
    qrels = {query: {"d1": 1} for query in dataset.queries}
    runs = {
        name: {query: {"d1": 1.0} if random.random() < share else {"d2": 1.0} for query in qrels}
        for name, share in (("a", 0.9), ("b", 0.3))
    }
    comparison = rp.compare(qrels, runs, ["Success@1"], weights=str(folder / "queries.jsonl"))
    certain = sum(query.fields["chance"] == 1 for query in sample.queries.values())
    assert f"queries are a sample of the traffic: n = 60, of which {certain} were certain" in " ".join(comparison.notes)
    assert comparison.decision.systems == ("a",)
    rp.sample_queries(_log(1), folder, n=60)
    (folder / "qrels").mkdir()
    with pytest.raises(rp.errors.RankproofError, match="set"):
        rp.sample_queries(_log(1), folder, n=60)


def test_a_sample_stands_for_a_later_log_until_traffic_moves(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    rp.sample_queries(_log(1), folder, n=60)
    same, moved = check_sample(_log(2), folder), check_sample(_log(3, 0.15), folder)
    assert same.stands
    assert same.sentences[0].startswith("The set still stands: ")
    least = 100 * (1.96 + 0.84) * float(same.facts["error"])  # type: ignore[arg-type]
    assert same.sentences[0].endswith(
        f"A change of {least:.1f}% of the traffic is found with a chance of 80%, a smaller one less often."
    )
    assert not moved.stands
    assert moved.sentences[0].endswith("Draw a new one: rankproof sample LOG.")
    finding = rp.doctor(folder, log=_log(3, 0.15)).tables[0].records()[0]
    assert (finding["check"], finding["severity"]) == ("traffic-moved", "warning")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 5}, "a sample of 5 queries; draw at least 30 queries"),
        ({"held_out": 5}, "a sample of 5 queries; draw at least 30 queries"),
        ({"min_users": 100_000}, "no query was asked by 100,000 users or more; add more of the log, or lower"),
    ],
)
def test_a_sample_that_says_nothing_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(rp.errors.RankproofError) as failure:
        rp.sample_queries(_log(1), **options)
    assert message in str(failure.value)


def test_a_folder_that_is_no_sample_and_a_changed_record_are_errors(tmp_path: Path) -> None:
    with pytest.raises(rp.errors.InputError, match="none: file not found; check the path"):
        check_sample(_log(1), tmp_path / "none")
    with pytest.raises(rp.errors.InputError, match=r"this is no sample of the traffic: it has no sample\.json"):
        check_sample(_log(1), tmp_path)
    folder = tmp_path / "set"
    rp.sample_queries(_log(1), folder, n=60)
    file = folder / "sample.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    document["traffic"]["known"] = "?"
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(rp.errors.InputError, match="the record of the traffic was changed; draw the sample again"):
        check_sample(_log(1), folder)

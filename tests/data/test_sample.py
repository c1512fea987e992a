"""The built-in sample is consistent: ids, texts, categories, grades, chunks, answers and runs."""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

import rankproof as rp
from rankproof._experiment.experiment import Experiment, default_systems
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof._sample import sample_files, sample_folder
from rankproof.measures import parse_measure

CATEGORIES = {"appliance", "timing", "technique", "ingredient", "product"}
STOP_WORDS = re.findall(
    r"\w+",
    """a about after again all am an and any are as at be because been before but by can cannot could did do does down each
    for from get go goes gone had has have he her herself his how i if in instead into is it its just keep keeps made make
    may me more most much must my myself no not now of off okay on one only or our out over own put she should so soon some
    still take than that the their them then there these they this those to too two under up use very was way we were what
    when whenever where which while who why will with without would you your""",
)


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", text.lower())).difference(STOP_WORDS)


@dataclass(frozen=True)
class Sample:
    docs: dict[str, dict[str, Any]]
    queries: dict[str, dict[str, Any]]
    judgements: list[tuple[str, str, int]]

    def exact(self, query: str) -> list[str]:
        """What a reader sees of the query's documents of grade 3."""
        found = [self.docs[doc] for asked, doc, grade in self.judgements if asked == query and grade == 3]
        return [f"{doc['title']} {doc['text']}" for doc in found]


def records(path: Path) -> dict[str, dict[str, Any]]:
    found = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert len({record["_id"] for record in found}) == len(found)
    return {record["_id"]: record for record in found}


@pytest.fixture(scope="module")
def sample() -> Iterator[Sample]:
    with sample_folder() as name:
        folder = Path(name)
        header, *lines = (folder / "qrels.tsv").read_text("utf-8").splitlines()
        assert header == "query-id\tcorpus-id\tscore"
        rows = [line.split("\t") for line in lines]
        judgements = [(query, doc, int(grade)) for query, doc, grade in rows]
        yield Sample(records(folder / "corpus.jsonl"), records(folder / "queries.jsonl"), judgements)


def test_it_has_about_250_documents_and_120_queries_with_plain_ids(sample: Sample) -> None:
    assert 240 <= len(sample.docs) <= 260
    assert 115 <= len(sample.queries) <= 125
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*(#[1-9])?", doc) for doc in sample.docs)
    assert all(re.fullmatch(r"q\d{3}", query) for query in sample.queries)


def test_every_document_has_a_text_a_url_a_category_and_a_title_that_few_leave_empty(sample: Sample) -> None:
    for doc in sample.docs.values():
        assert set(doc) == {"_id", "title", "text", "url", "category"}
        assert doc["category"] in {"recipe", "product", "how-to", "ingredient", "help"}
        assert re.fullmatch(r"https://larkspoon\.example/[a-z0-9/-]+", doc["url"])
        assert 40 <= len(doc["text"].split()) <= 120
    assert 1 <= sum(doc["title"] == "" for doc in sample.docs.values()) <= 10


def test_chunks_of_a_page_share_its_url_and_are_numbered_from_one(sample: Sample) -> None:
    by_url = sorted(sample.docs.values(), key=lambda doc: str(doc["url"]))
    pages = [[doc["_id"] for doc in page] for _, page in groupby(by_url, key=lambda doc: str(doc["url"]))]
    chunked = [sorted(page) for page in pages if len(page) > 1]
    assert sum(len(page) for page in chunked) == sum("#" in doc for doc in sample.docs) >= 60
    for page in chunked:
        name = page[0].partition("#")[0]
        assert 2 <= len(page) <= 4
        assert page == [f"{name}#{number}" for number in range(1, len(page) + 1)]


def test_no_two_texts_are_the_same_and_none_hides_control_characters(sample: Sample) -> None:
    assert len({doc["text"] for doc in sample.docs.values()}) == len(sample.docs)
    assert len({query["text"] for query in sample.queries.values()}) == len(sample.queries)
    for record in [*sample.docs.values(), *sample.queries.values()]:
        text = json.dumps(record, ensure_ascii=False)
        assert text == unicodedata.normalize("NFC", text)
        assert not [char for char in text if unicodedata.category(char) in {"Cc", "Cf", "Co", "Cs", "Cn"}]


def test_every_query_has_a_category_and_a_complexity_and_all_lengths_occur(sample: Sample) -> None:
    queries = sample.queries.values()
    categories = Counter(query["category"] for query in queries)
    assert set(categories) == CATEGORIES
    assert min(categories.values()) >= 18
    assert {query["complexity"] for query in queries} == {"simple", "moderate", "complex"}
    lengths = [len(query["text"].split()) for query in queries]
    assert min(Counter("short" if n < 8 else "middle" if n <= 15 else "long" for n in lengths).values()) >= 10
    assert max(lengths) >= 20


def test_every_pair_is_judged_once_and_exists(sample: Sample) -> None:
    assert max(Counter((query, doc) for query, doc, _ in sample.judgements).values()) == 1
    assert {query for query, _, _ in sample.judgements} == set(sample.queries)
    assert {doc for _, doc, _ in sample.judgements} <= set(sample.docs)


def test_every_query_has_an_exact_answer_some_wrong_ones_and_at_most_twelve_useful_ones(sample: Sample) -> None:
    for query in sample.queries:
        grades = Counter(grade for asked, _, grade in sample.judgements if asked == query)
        assert set(grades) <= {0, 1, 2, 3}
        assert grades[0] >= 10
        assert 1 <= grades[3] <= grades[1] + grades[2] + grades[3] <= 12


def test_reference_answers_are_short_and_supported_by_an_exact_document(sample: Sample) -> None:
    answered = [query for query in sample.queries.values() if "answers" in query]
    assert len(answered) == 78
    assert all("answers" in query for query in sample.queries.values() if query["text"].endswith("?"))
    for query in answered:
        [answer] = query["answers"]
        assert 1 <= len(answer.split()) <= 25
        exact = words(" ".join(sample.exact(query["_id"])))
        assert 2 * len(words(answer) & exact) >= len(words(answer)), query


def test_many_queries_share_no_word_with_their_documents(sample: Sample) -> None:
    shared = {query: words(asked["text"]) & words(" ".join(sample.exact(query))) for query, asked in sample.queries.items()}
    assert sum(not common for common in shared.values()) >= 20
    assert sum(len(common) >= 2 for common in shared.values()) >= 40


def test_the_dataset_reader_reads_all_of_it() -> None:
    with sample_folder() as folder:
        dataset = rp.read_dataset(folder)
        assert (dataset.missing_documents(), dataset.missing_queries()) == ((), ())
        assert len(dataset.corpus) == len(Path(folder, "corpus.jsonl").read_text("utf-8").splitlines())


def test_its_runs_have_every_query_and_their_top_documents_are_judged() -> None:
    with sample_files() as (qrels, *runs):
        result = rp.evaluate(qrels, runs, ["Judged@10", "NumQ", "Success@10"])
    assert list(result.means) == ["bm25", "static", "hybrid"]
    for means in result.means.values():
        assert means["Judged@10"] == 1
        assert 0.5 < means["Success@10"] < 1


@pytest.mark.parametrize(
    "minilm", [pytest.param(False, id="without MiniLM"), pytest.param(True, id="with MiniLM", marks=pytest.mark.slow)]
)
def test_the_top_documents_of_every_default_system_are_judged(minilm: bool, request: pytest.FixtureRequest) -> None:
    if minilm:
        request.getfixturevalue("minilm_cache")
    systems = default_systems(wordllama=True, minilm=minilm)
    found = run_experiment(Experiment(systems, measures=[parse_measure("Judged@10")]), RunOptions(cache=None))
    assert {name: means["Judged@10"] for name, means in found.result.means.items()} == dict.fromkeys(systems, 1.0)


def test_the_sample_stays_small() -> None:
    with sample_folder() as folder, sample_files() as (_, *runs):
        assert sum(path.stat().st_size for path in [*Path(folder).iterdir(), *map(Path, runs)]) < 700_000

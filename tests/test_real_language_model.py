"""A real language model over real HTTP: SmolLM2 replies, reranks, answers, rewrites, judges and generates, however badly."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rankproof.asking.desk import Desk
from rankproof.asking.yes_no import yes_no
from rankproof.cli.main import main
from rankproof.data.corpus import Corpus
from rankproof.data.dataset import Dataset
from rankproof.data.queries import Queries, Query
from rankproof.experiment import Climb, Experiment, Rung, Settings, climb
from rankproof.generating.draft import Draft, Lost, Source
from rankproof.generating.lexicon import Lexicon
from rankproof.generating.model_maker import ModelMaker
from rankproof.judging.grading import verdicts_of
from rankproof.judging.judge import JudgingGround
from rankproof.judging.language_judge import LanguageJudge
from rankproof.judging.pairs import Pair, pool_of
from rankproof.judging.rubric import GRADES
from rankproof.models.chat.llama import Llama, LlamaChat
from rankproof.models.chat.port import Ask, Message
from rankproof.stages import BM25, Answer, Listwise, Pairwise, Pointwise, Rerank, Rewrite
from rankproof.stages.base import Stage
from small_datasets import small_corpus, small_dataset

DOCS, TOP = ("hob", "dough", "knife"), 2


def tiny() -> Dataset:
    """Three documents, and two queries that share a word with all of them."""
    whole = small_dataset()
    queries = Queries([Query("q1", "why does the kitchen hob make noise"), Query("q2", "dough in a kitchen, how long")])
    return Dataset("tiny", Corpus(whole.corpus[doc] for doc in DOCS), queries, whole.qrels)


@pytest.fixture(scope="module")
def chat(smollm2: Llama) -> Iterator[LlamaChat]:
    chat = smollm2.load()
    yield chat
    chat.close()


def test_it_replies_and_counts_its_tokens(chat: LlamaChat, smollm2_weights: Path) -> None:
    reply = chat.reply(Ask((Message("user", "Say hello."),), max_tokens=5))
    assert reply.text.strip()
    assert reply.finish == "length"
    assert reply.tokens_out == 5
    assert reply.tokens_in > 5
    assert reply.seconds > 0
    assert reply.first is None
    assert reply.model == smollm2_weights.stem


def test_it_gives_the_log_probabilities_of_its_first_token(chat: LlamaChat) -> None:
    asked = (Message("system", "Reply with Yes or No alone."), Message("user", "Is the sky blue? Yes or No?"))
    reply = chat.reply(Ask(asked, max_tokens=3, logprobs=20))
    assert reply.first is not None
    assert len(reply.first) == 20
    values = [value for _, value in reply.first]
    assert values == sorted(values, reverse=True)
    assert all(value <= 0 for value in values)
    odds, by_text = yes_no(reply)
    assert not by_text
    assert odds == odds


def test_it_follows_a_schema(chat: LlamaChat) -> None:
    schema = {
        "type": "object",
        "properties": {"grade": {"type": "integer", "enum": [0, 1, 2, 3]}},
        "required": ["grade"],
        "additionalProperties": False,
    }
    reply = chat.reply(Ask((Message("user", "Tell me a story."),), max_tokens=30, schema=json.dumps(schema)))
    assert json.loads(reply.text)["grade"] in range(4)


@pytest.fixture(scope="module")
def climbed(smollm2: Llama) -> Climb:
    below = BM25()
    systems: dict[str, Stage] = {
        "bm25": below,
        "pointwise": Rerank(below, Pointwise(smollm2), top=TOP),
        "listwise": Rerank(below, Listwise(smollm2, attempts=1), top=TOP),
        "pairwise": Rerank(below, Pairwise(smollm2, attempts=1), top=TOP),
        "answer": Answer(below, smollm2, top=1, max_tokens=60, attempts=1),
        "rewrite": Rewrite(below, smollm2, attempts=1, max_tokens=40),
    }
    return climb(Experiment(systems, tiny()), Settings(cache=None))


def docs_of(rung: Rung, query: str) -> list[str]:
    return [pair.doc for pair in pool_of(rung.run, len(DOCS)) if pair.query == query]


@pytest.mark.parametrize("name", ["pointwise", "listwise", "pairwise"])
def test_a_climb_reranks_by_it_and_loses_nothing(name: str, climbed: Climb) -> None:
    rung, below = climbed.rung(name), climbed.rung("bm25")
    for query in climbed.queries:
        assert sorted(docs_of(rung, query)) == sorted(docs_of(below, query))
    assert all(rung.times["rerank"] > 0)
    assert rung.total("failed") == 0
    assert rung.total("tokens_in") > 100 * rung.total("calls") > 0
    assert rung.total("tokens_out") >= rung.total("calls")


def test_pointwise_asks_once_a_document_and_reads_log_probabilities(climbed: Climb) -> None:
    rung = climbed.rung("pointwise")
    assert rung.total("calls") == rung.total("graded") == TOP * len(climbed.queries)
    assert rung.total("by_text") == rung.total("given_up") == 0


def test_a_window_is_put_in_order_or_counted_as_given_up(climbed: Climb) -> None:
    rung = climbed.rung("listwise")
    assert rung.total("calls") == rung.total("windows") == len(climbed.queries)
    assert rung.total("given_up") == rung.total("unreadable") <= rung.total("windows")


def test_a_climb_has_an_answer_of_it_for_every_query(climbed: Climb) -> None:
    rung = climbed.rung("answer")
    assert rung.answers is not None
    assert set(rung.answers) == set(climbed.queries)
    for query, answer in rung.answers.items():
        assert answer.given == tuple(docs_of(rung, query)[:1])
        assert set(answer.cited) <= set(answer.given)
        assert answer.text or answer.state != "answered"
    assert rung.total("calls") == len(climbed.queries)
    assert all(rung.times["generate"] > 0)


def test_a_climb_asks_what_it_made_of_the_queries(climbed: Climb) -> None:
    rung = climbed.rung("rewrite")
    assert rung.total("calls") == len(climbed.queries)
    assert rung.total("failed") == 0
    assert len(rung.facts["examples"]) == len(climbed.queries)


def test_it_judges_by_the_rubric(smollm2: Llama) -> None:
    dataset, pairs = tiny(), [Pair("q1", "hob"), Pair("q1", "knife"), Pair("q2", "none")]
    judge = LanguageJudge(smollm2, attempts=1)
    with Desk() as desk:
        found = verdicts_of(judge, pairs, JudgingGround(dataset.queries, dataset.corpus, desk), lambda label, done, total: None)
        spent = desk.purse.spent
    assert [verdict.pair for verdict in found] == pairs
    assert all(verdict.grade in GRADES and verdict.why for verdict in found[:2])
    assert found[2].grade is None
    assert found[2].why == "the document is not in the corpus"
    assert spent.calls == 2
    assert judge.mark.startswith("llm:")


def test_it_makes_a_query_or_is_said_to_have_failed(smollm2: Llama) -> None:
    corpus, source = small_corpus(), Source("question", ("dough",))
    with Desk() as desk:
        maker = ModelMaker(smollm2, Lexicon(corpus, ("title", "text")), desk, lambda label, done, total: None, attempts=1)
        (outcome,) = maker.outcomes([source])
    assert isinstance(outcome, Draft | Lost)
    assert outcome.text.strip() if isinstance(outcome, Draft) else outcome.source == source
    assert maker.told()["asked"]["calls"] == 1
    assert maker.told()["asked"]["tokens_out"] > 0


FILE = """
[systems.bm25]
stage = "bm25"

[systems.asked]
stage = "rerank"
of = "bm25"
by = "pointwise"
model = {{ name = "llama", path = "{path}", context = 2048 }}
top = 2
"""


def test_an_experiment_file_names_it_by_its_path(
    smollm2_weights: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model.gguf").symlink_to(smollm2_weights)
    (tmp_path / "experiment.toml").write_text(FILE.format(path="model.gguf"))
    folder, results = tmp_path / "data", tmp_path / "results"
    folder.mkdir()
    dataset = tiny()
    corpus = [{"_id": doc, "title": each.title, "text": each.text} for doc, each in dataset.corpus.items()]
    (folder / "corpus.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in corpus))
    (folder / "queries.jsonl").write_text(json.dumps({"_id": "q1", "text": dataset.queries["q1"].text}) + "\n")
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\thob\t1\n")
    command = ["run", str(tmp_path / "experiment.toml"), "--dataset", str(folder), "-o", str(results), "--format", "json"]
    assert main(command) == 0
    assert "asked" in capsys.readouterr().out
    kept = (results / "result.json").read_text()
    assert "b179c9523d0e6a0f" in kept
    assert "Reply with Yes or No alone" in kept

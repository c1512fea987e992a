"""A real language model over real HTTP: SmolLM2 replies, reranks, answers, rewrites, judges and generates, however badly."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rankproof._cli.main import main
from rankproof._data.corpus import Corpus
from rankproof._data.dataset import Dataset, Queries, Query
from rankproof._data.qrels import GRADES
from rankproof._experiment.experiment import Experiment
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof._generate.filters import TermStatistics
from rankproof._generate.generated_queries import FailedDocument, QueryDraft, SourceDocument
from rankproof._generate.generators import LLMGenerator
from rankproof._judge.judge import grade_pairs
from rankproof._judge.judges import JudgeContext, LLMJudge
from rankproof._judge.pairs import QueryDocPair, pool_pairs
from rankproof._llm.prompts import yes_no_score
from rankproof._llm.session import LLMSession
from rankproof._results.experiment_result import ExperimentResult, SystemRun
from rankproof.models._chat.base import ChatRequest, Message
from rankproof.models._chat.llama_cpp import Llama, LlamaChat
from rankproof.stages import BM25, GenerateAnswer, Listwise, Pairwise, Pointwise, Rerank, Rewrite
from rankproof.stages._base import Stage
from support.small_datasets import small_corpus, small_dataset

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
    reply = chat.reply(ChatRequest((Message("user", "Say hello."),), max_tokens=5))
    assert reply.text.strip()
    assert reply.finish == "length"
    assert reply.tokens_out == 5
    assert reply.tokens_in > 5
    assert reply.seconds > 0
    assert reply.first is None
    assert reply.model == smollm2_weights.stem


def test_it_gives_the_log_probabilities_of_its_first_token(chat: LlamaChat) -> None:
    asked = (Message("system", "Reply with Yes or No alone."), Message("user", "Is the sky blue? Yes or No?"))
    reply = chat.reply(ChatRequest(asked, max_tokens=3, logprobs=20))
    assert reply.first is not None
    assert len(reply.first) == 20
    values = [value for _, value in reply.first]
    assert values == sorted(values, reverse=True)
    assert all(value <= 0 for value in values)
    odds, by_text = yes_no_score(reply)
    assert not by_text
    assert odds == odds


def test_it_follows_a_schema(chat: LlamaChat) -> None:
    schema = {
        "type": "object",
        "properties": {"grade": {"type": "integer", "enum": [0, 1, 2, 3]}},
        "required": ["grade"],
        "additionalProperties": False,
    }
    reply = chat.reply(ChatRequest((Message("user", "Tell me a story."),), max_tokens=30, schema=json.dumps(schema)))
    assert json.loads(reply.text)["grade"] in range(4)


@pytest.fixture(scope="module")
def run_systems(smollm2: Llama) -> ExperimentResult:
    below = BM25()
    systems: dict[str, Stage] = {
        "bm25": below,
        "pointwise": Rerank(below, Pointwise(smollm2), top=TOP),
        "listwise": Rerank(below, Listwise(smollm2, attempts=1), top=TOP),
        "pairwise": Rerank(below, Pairwise(smollm2, attempts=1), top=TOP),
        "answer": GenerateAnswer(below, smollm2, top=1, max_tokens=60, attempts=1),
        "rewrite": Rewrite(below, smollm2, attempts=1, max_tokens=40),
    }
    return run_experiment(Experiment(systems, tiny()), RunOptions(cache=None))


def docs_of(system_run: SystemRun, query: str) -> list[str]:
    return [pair.doc for pair in pool_pairs(system_run.run, len(DOCS)) if pair.query == query]


@pytest.mark.parametrize("name", ["pointwise", "listwise", "pairwise"])
def test_an_experiment_reranks_and_loses_no_document(name: str, run_systems: ExperimentResult) -> None:
    system_run, below = run_systems.system_run(name), run_systems.system_run("bm25")
    for query in run_systems.queries:
        assert sorted(docs_of(system_run, query)) == sorted(docs_of(below, query))
    assert all(system_run.times["rerank"] > 0)
    assert system_run.total("failed") == 0
    assert system_run.total("tokens_in") > 100 * system_run.total("calls") > 0
    assert system_run.total("tokens_out") >= system_run.total("calls")


def test_pointwise_sends_one_request_per_document_and_reads_log_probabilities(run_systems: ExperimentResult) -> None:
    system_run = run_systems.system_run("pointwise")
    assert system_run.total("calls") == system_run.total("graded") == TOP * len(run_systems.queries)
    assert system_run.total("by_text") == system_run.total("given_up") == 0


def test_a_window_is_put_in_order_or_counted_as_given_up(run_systems: ExperimentResult) -> None:
    system_run = run_systems.system_run("listwise")
    assert system_run.total("calls") == system_run.total("windows") == len(run_systems.queries)
    assert system_run.total("given_up") == system_run.total("unreadable") <= system_run.total("windows")


def test_an_experiment_has_an_answer_for_every_query(run_systems: ExperimentResult) -> None:
    system_run = run_systems.system_run("answer")
    assert system_run.answers is not None
    assert set(system_run.answers) == set(run_systems.queries)
    for query, answer in system_run.answers.items():
        assert answer.given == tuple(docs_of(system_run, query)[:1])
        assert set(answer.cited) <= set(answer.given)
        assert answer.text or answer.state != "answered"
    assert system_run.total("calls") == len(run_systems.queries)
    assert all(system_run.times["generate"] > 0)


def test_an_experiment_searches_with_the_rewritten_queries(run_systems: ExperimentResult) -> None:
    system_run = run_systems.system_run("rewrite")
    assert system_run.total("calls") == len(run_systems.queries)
    assert system_run.total("failed") == 0
    assert len(system_run.facts["examples"]) == len(run_systems.queries)


def test_it_judges_by_the_rubric(smollm2: Llama) -> None:
    dataset, pairs = tiny(), [QueryDocPair("q1", "hob"), QueryDocPair("q1", "knife"), QueryDocPair("q2", "none")]
    judge = LLMJudge(smollm2, attempts=1)
    with LLMSession() as session:
        found = grade_pairs(judge, pairs, JudgeContext(dataset.queries, dataset.corpus, session), lambda label, done, total: None)
        spent = session.meter.spent
    assert [verdict.pair for verdict in found] == pairs
    assert all(verdict.grade in GRADES and verdict.reason for verdict in found[:2])
    assert found[2].grade is None
    assert found[2].reason == "the document is not in the corpus"
    assert spent.calls == 2
    assert judge.judge_label.startswith("llm:")


def test_it_generates_a_query_or_reports_a_failure(smollm2: Llama) -> None:
    corpus, source = small_corpus(), SourceDocument("question", ("dough",))
    with LLMSession() as session:
        maker = LLMGenerator(
            smollm2, TermStatistics(corpus, ("title", "text")), session, lambda label, done, total: None, attempts=1
        )
        (outcome,) = maker.generate([source])
    assert isinstance(outcome, QueryDraft | FailedDocument)
    assert outcome.text.strip() if isinstance(outcome, QueryDraft) else outcome.source == source
    assert maker.describe()["usage"]["calls"] == 1
    assert maker.describe()["usage"]["tokens_out"] > 0


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

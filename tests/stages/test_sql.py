"""The stage sql against a real PostgreSQL: full text, an existing table of vectors, and all that can go wrong."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import rankproof as rp
from rankproof import read_experiment
from rankproof._data.dataset import Query
from rankproof._data.identity import identity_key
from rankproof._data.replies import MASKED_NOTE
from rankproof.errors import UsageError
from rankproof.stages._base import Stage
from rankproof.stages._engines import sql
from rankproof.stages._engines.base import EngineError, EngineReply
from rankproof.stages._engines.sql import SQL, filled_dsn
from rankproof.stores._postgres import EmbeddedPostgres, connection_settings
from support.small_models import HashedWords
from support.stage_building import context_of, corpus_of
from support.vector_stores import require

TEXTS = {
    "cat": "The cat sat on the mat",
    "cats": "Cats chase mice, and a cat sleeps all day",
    "dog": "A dog barks at the moon",
    "moon": "The moon is 100% rock",
}
MODEL = HashedWords(dimensions=24)
FULL_TEXT = """\
SELECT id, ts_rank(ts, q) AS score, body AS text
FROM page, websearch_to_tsquery('english', %(query)s) AS q
WHERE ts @@ q
ORDER BY score DESC, id
LIMIT %(size)s
"""
NEAREST = "SELECT id, 1 - (v <=> %(vector)s) AS score FROM item ORDER BY v <=> %(vector)s LIMIT %(size)s"
CONTEXT = context_of(corpus_of(TEXTS))
Execute = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    require("pgvector")
    server = EmbeddedPostgres(str(tmp_path_factory.mktemp("server")))
    yield server
    server.close()


@pytest.fixture(scope="module")
def dsn(server: EmbeddedPostgres) -> str:
    """The address of a database with a table for full-text search, and one with vectors and an HNSW index."""
    import psycopg

    encoder = MODEL.load()
    with psycopg.connect(server.dsn(), autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE page (id text, body text, ts tsvector GENERATED ALWAYS AS (to_tsvector('english', body)) STORED)"
        )
        cursor.executemany("INSERT INTO page VALUES (%s, %s)", list(TEXTS.items()))
        cursor.execute("CREATE EXTENSION vector")
        cursor.execute("CREATE TABLE item (id int, v vector(24))")
        vectors = encoder.encode([f"word{at} cat" for at in range(2000)])
        with cursor.copy("COPY item FROM STDIN") as copy:
            for at, vector in enumerate(vectors):
                copy.write_row((at, str(vector.tolist())))
        cursor.execute("CREATE INDEX item_near ON item USING hnsw (v vector_cosine_ops)")
        cursor.execute("ANALYZE item")
    return server.dsn()


@pytest.fixture
def execute(dsn: str) -> Iterator[Execute]:
    import psycopg

    with psycopg.connect(dsn, autocommit=True) as connection:

        def executed(statement: str) -> list[tuple[Any, ...]]:
            cursor = connection.execute(statement.encode())
            return list(cursor.fetchall()) if cursor.description else []

        yield executed


def ask(stage: SQL, text: str, size: int = 10) -> EngineReply:
    with closing(stage.connect(CONTEXT)) as engine:
        return engine.ask(Query("q", text), size)


def test_full_text_search_ranks_by_the_order_of_the_rows(dsn: str) -> None:
    reply = ask(SQL(dsn=dsn, sql=FULL_TEXT), "cat")
    assert reply.docs == ("cats", "cat")
    assert reply.scores is not None
    assert reply.scores[0] > reply.scores[1] > 0
    assert reply.texts == {"cats": TEXTS["cats"], "cat": TEXTS["cat"]}
    assert reply.seconds > 0
    assert reply.notes == ()


@pytest.mark.parametrize("text", ["cat'; DROP TABLE page; --", '"cat', "cat & | !", "%(query)s 100%", "ca\\t 🐈", "", "-cat or"])
def test_no_text_of_a_query_fails(dsn: str, text: str, execute: Execute) -> None:
    ask(SQL(dsn=dsn, sql=FULL_TEXT), text)
    assert execute("SELECT count(*) FROM page") == [(4,)]


@pytest.mark.parametrize(("text", "message"), [("cat\0", "NUL"), ("cat\ud800", "a character that UTF-8 cannot encode")])
def test_a_query_that_cannot_be_sent_is_a_failure_that_no_retry_repeats(dsn: str, text: str, message: str) -> None:
    with pytest.raises(EngineError, match=message) as caught:
        ask(SQL(dsn=dsn, sql=FULL_TEXT), text)
    assert not caught.value.retryable


def test_the_longest_timeout_is_accepted(dsn: str) -> None:
    assert ask(SQL(dsn=dsn, sql=FULL_TEXT, timeout=1e300), "cat").docs == ("cats", "cat")


def test_an_error_of_one_query_fails_that_query_only(dsn: str) -> None:
    strict = SQL(dsn=dsn, sql="SELECT id FROM page WHERE ts @@ to_tsquery('english', %(query)s)")
    with closing(strict.connect(CONTEXT)) as engine:
        with pytest.raises(
            EngineError, match=r"rejects the query \(syntax error in tsquery.*; use websearch_to_tsquery"
        ) as caught:
            engine.ask(Query("q", "cat sat"), 10)
        assert not caught.value.retryable
        assert engine.ask(Query("q", "cat"), 10).docs == ("cat", "cats")


def test_an_existing_table_of_vectors_is_searched_by_the_model(dsn: str) -> None:
    reply = ask(SQL(dsn=dsn, sql=NEAREST, model=MODEL), "word7 cat")
    assert reply.docs[0] == "7"
    assert reply.scores is not None
    assert reply.scores[0] == pytest.approx(1)
    assert reply.embed_seconds > 0


def test_an_hnsw_index_that_returns_fewer_rows_is_noted_with_its_setting(dsn: str) -> None:
    reply = ask(SQL(dsn=dsn, sql=NEAREST, model=MODEL), "word7 cat", 100)
    assert len(reply.docs) == 40
    assert reply.notes == ("40 rows where 100 were requested: hnsw.ef_search is 40; raise it to 100 in settings",)
    raised = SQL(dsn=dsn, sql=NEAREST, model=MODEL, settings={"hnsw.ef_search": 100})
    assert (len((full := ask(raised, "word7 cat", 100)).docs), full.notes) == (100, ())


def test_an_ivfflat_index_that_returns_fewer_rows_is_noted_too(dsn: str, execute: Execute) -> None:
    execute("CREATE TABLE cell AS SELECT * FROM item")
    execute("CREATE INDEX ON cell USING ivfflat (v vector_cosine_ops) WITH (lists = 50)")
    stage = SQL(dsn=dsn, sql=NEAREST.replace("item", "cell"), model=MODEL, settings={"enable_seqscan": False})
    reply = ask(stage, "word7 cat", 1000)
    assert 0 < len(reply.docs) < 1000
    assert reply.notes == (f"{len(reply.docs)} rows where 1000 were requested: ivfflat.probes is 1; raise it in settings",)


def test_a_short_table_without_an_index_is_not_noted(dsn: str) -> None:
    scan = SQL(
        dsn=dsn, sql=f"WITH few AS MATERIALIZED (SELECT * FROM item LIMIT 5) {NEAREST.replace('item', 'few')}", model=MODEL
    )
    reply = ask(scan, "word7 cat", 100)
    assert (len(reply.docs), reply.notes) == (5, ())


def test_a_query_without_tokens_is_not_sent_and_a_long_one_is_noted(dsn: str) -> None:
    stage = SQL(dsn=dsn, sql=NEAREST, model=MODEL)
    blank = ask(stage, " ")
    assert (blank.docs, blank.notes) == ((), ("the query has no tokens, so it has no vector: not sent",))
    assert ask(stage, "cat " * 60).notes == ("the query is longer than the model's limit and was truncated",)


def test_settings_apply_to_each_statement_and_may_be_a_table_in_a_table(dsn: str) -> None:
    sql = "SELECT current_setting('app.tenant') || current_setting('enable_seqscan') AS id WHERE %(query)s <> ''"
    stage = SQL(dsn=dsn, sql=sql, settings={"app": {"tenant": 7}, "enable_seqscan": False})
    assert stage.settings == {"app.tenant": "7", "enable_seqscan": "off"}
    with closing(stage.connect(CONTEXT)) as engine:
        assert [engine.ask(Query("q", "x"), 10).docs for _ in range(2)] == [("7off",)] * 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hnsw.ef_search": 5000}, "5000 is outside the valid range"),
        ({"hnsw.ef_serach": 50}, "invalid configuration parameter name"),
        ({"work_mem": "much"}, "invalid value for parameter"),
        ({"wrok_mem": "4MB"}, "unrecognized configuration parameter"),
        ({"transaction_read_only": False}, "read-write mode must be set before any query"),
    ],
)
def test_a_setting_that_the_server_refuses_is_an_error(dsn: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ask(SQL(dsn=dsn, sql=NEAREST, model=MODEL, settings=settings), "cat")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"statement_timeout": 5}, "set timeout instead"),
        ({"work_mem": None}, "is a NoneType; write text, a number"),
        ("work_mem=4MB", "settings is a str; write a table"),
    ],
)
def test_settings_of_a_wrong_form_are_refused(settings: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        SQL(dsn="host=x", sql=FULL_TEXT, settings=settings)


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("DELETE FROM page WHERE body = %(query)s RETURNING id", "sql begins with DELETE; write a SELECT"),
        ("-- select\nEXPLAIN SELECT %(query)s", "sql begins with EXPLAIN"),
        ("", "sql begins with nothing"),
        ("SELECT id FROM page", r"neither %\(query\)s nor %\(vector\)s"),
        ("SELECT id FROM page WHERE body LIKE '%' || %(query)s", r"sql has %'; use .* write %% for a percent sign"),
        ("SELECT id FROM page WHERE body = %s", "sql has %s; use"),
        ("SELECT id FROM page WHERE body = %(text)s", r"sql has %\(text\)s; use"),
        ("SELECT %(query)s\0; DROP TABLE page", "sql has a NUL character"),
        (NEAREST, "there is no model"),
    ],
)
def test_sql_that_cannot_be_right_is_refused_without_a_server(sql: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        SQL(dsn="host=x", sql=sql)


def test_a_model_without_a_vector_in_the_sql_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no %\(vector\)s in sql"):
        SQL(dsn="host=x", sql=FULL_TEXT, model=MODEL)
    with pytest.raises(UsageError, match="query_prompt has no effect without a model"):
        SQL(dsn="host=x", sql=FULL_TEXT, query_prompt="query: ")


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT id\nFROM page\nWHERE boddy = %(query)s", r'rejects sql in line 3 \(column "boddy" does not exist'),
        ("SELECT boddy FROM page WHERE body = %(query)s", r"does not exist. Perhaps you meant .*\); correct sql"),
        ("SELECT id FROM pagge WHERE body = %(query)s", 'relation "pagge" does not exist'),
        ("SELECT id FROM page WHERE body = '%(query)s'", "remove the quotes around the parameter"),
        ("SELECT id FROM page WHERE body = %(query)s LIMIT '%(size)s'", "invalid input syntax for type bigint"),
        ("SELECT id FROM page WHERE body = %(query)s; DELETE FROM page", "cannot insert multiple commands"),
        ("WITH x AS (DELETE FROM page RETURNING id) SELECT id FROM x WHERE id <> %(query)s", "changes nothing"),
        ("SELECT id FROM page WHERE body <> %(query)s FOR UPDATE", "changes nothing"),
        ("SELECT id INTO copied FROM page WHERE body = %(query)s", "changes nothing"),
        ("SELECT nextval('counter')::text AS id WHERE %(query)s <> ''", "changes nothing"),
        ("SELECT pg_read_file(%(query)s) AS id", "permission denied.*; ask the owner"),
        ("SELECT id FROM page WHERE %(query)s IS NOT NULL", r"give it a type, such as %\(query\)s::text"),
        ("SELECT id, body AS id FROM page WHERE body <> %(query)s", "two columns called id"),
        ("SELECT FROM page WHERE body <> %(query)s", "the SELECT has no column"),
        ("SELECT 'NaN'::numeric AS id WHERE %(query)s <> ''", "has a Decimal; cast it, such as id::text AS id"),
        ("SELECT 'Infinity'::numeric AS id WHERE %(query)s <> ''", "has a Decimal; cast it, such as id::text AS id"),
        ("SELECT 1.5::float8 AS id WHERE %(query)s <> ''", "has a float; cast it, such as id::text AS id"),
        ("SELECT true AS id WHERE %(query)s <> ''", "has a bool; cast it"),
    ],
)
def test_sql_that_no_query_can_make_right_is_refused_by_the_first(
    dsn: str, sql: str, message: str, execute: Execute, plain_user: str
) -> None:
    with pytest.raises(UsageError, match=message):
        ask(SQL(dsn=plain_user, sql=sql), "x")
    assert execute("SELECT count(*) FROM page") == [(4,)]


@pytest.fixture(scope="module")
def plain_user(dsn: str) -> str:
    """The address for a user who owns all tables and is no superuser."""
    import psycopg

    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE ROLE plain LOGIN PASSWORD 'canary'")
        connection.execute("CREATE SEQUENCE counter")
        connection.execute("ALTER SEQUENCE counter OWNER TO plain")
        connection.execute("ALTER TABLE page OWNER TO plain")
        connection.execute("GRANT ALL ON SCHEMA public TO plain")
    return dsn.replace("postgres:@", "plain@")


@pytest.mark.parametrize(
    ("value", "doc"),
    [("7::bigint", "7"), ("7.00", "7"), ("'0b5ba5c8-7d3b-4b4e-8d4a-3a1d6a2f0f00'::uuid", "0b5ba5c8-7d3b-4b4e-8d4a-3a1d6a2f0f00")],
)
def test_ids_may_be_numbers_and_uuids(dsn: str, value: str, doc: str) -> None:
    assert ask(SQL(dsn=dsn, sql=f"SELECT {value} WHERE %(query)s <> ''"), "x").docs == (doc,)


def test_the_padding_of_a_char_column_is_no_part_of_the_id(dsn: str) -> None:
    assert ask(SQL(dsn=dsn, sql="SELECT 'd1'::char(8) AS id WHERE %(query)s <> ''"), "x").docs == ("d1",)


@pytest.mark.parametrize(("value", "what"), [("NULL", "NULL"), ("''", "empty")])
def test_a_row_without_an_id_is_a_failure_that_names_the_row(dsn: str, value: str, what: str) -> None:
    sql = f"SELECT * FROM (VALUES ('a', 2), ({value}, 1)) AS rows (key, score) WHERE %(query)s <> '' ORDER BY score DESC"
    with pytest.raises(EngineError, match=f"row 2 of the reply has no id: key is {what}"):
        ask(SQL(dsn=dsn, sql=sql), "x")


def test_rows_that_are_not_in_the_order_of_their_scores_are_noted(dsn: str) -> None:
    sql = "SELECT * FROM (VALUES ('a', 2), ('b', 3), ('c', 1)) AS rows (id, score) WHERE %(query)s <> ''"
    assert ask(SQL(dsn=dsn, sql=sql), "x").notes == ("the rows are not in the order of their scores: add ORDER BY",)
    assert ask(SQL(dsn=dsn, sql=f"{sql} ORDER BY score"), "x").notes == ()


def test_a_slow_statement_is_ended_by_the_server_and_is_not_sent_again(dsn: str) -> None:
    with pytest.raises(EngineError, match=r"took more than 0\.2 s .*; raise timeout") as caught:
        ask(SQL(dsn=dsn, sql="SELECT pg_sleep(5)::text AS id WHERE %(query)s <> ''", timeout=0.2), "x")
    assert not caught.value.retryable


def test_a_lock_of_another_session_is_named_and_may_be_tried_again(dsn: str) -> None:
    import psycopg

    with psycopg.connect(dsn) as other:
        other.execute("LOCK TABLE page IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(EngineError, match="another session held a lock for") as caught:
            ask(SQL(dsn=dsn, sql=FULL_TEXT, timeout=0.3), "cat")
    assert caught.value.retryable


def test_a_lost_connection_may_be_tried_again_and_is_opened_anew(dsn: str, execute: Execute) -> None:
    with closing(SQL(dsn=dsn, sql=FULL_TEXT).connect(CONTEXT)) as engine:
        engine.ask(Query("q", "cat"), 10)
        execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'rankproof'")
        with pytest.raises(EngineError, match="PostgreSQL failed") as caught:
            engine.ask(Query("q", "cat"), 10)
        assert caught.value.retryable
        assert engine.ask(Query("q", "cat"), 10).docs == ("cats", "cat")


@pytest.mark.slow
def test_a_server_that_hangs_is_cut_off(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql, "GRACE", 0.3)
    with closing(SQL(dsn=dsn, sql="SELECT pg_backend_pid() WHERE %(query)s <> ''", timeout=0.2).connect(CONTEXT)) as engine:
        (process,) = map(int, engine.ask(Query("q", "x"), 10).docs)
        os.kill(process, signal.SIGSTOP)
        try:
            with pytest.raises(EngineError, match=r"did not reply within 0\.5 s") as caught:
                engine.ask(Query("q", "x"), 10)
        finally:
            os.kill(process, signal.SIGCONT)
        assert caught.value.retryable
        assert engine.ask(Query("q", "x"), 10).docs != (str(process),)


def test_several_threads_have_a_connection_each(dsn: str, execute: Execute) -> None:
    sql = "SELECT pg_backend_pid()::text AS id, pg_sleep(0.2)::text FROM (SELECT %(query)s::text) AS one"
    with closing(SQL(dsn=dsn, sql=sql).connect(CONTEXT)) as engine, ThreadPoolExecutor(3) as pool:
        replies = list(pool.map(lambda text: engine.ask(Query("q", text), 10), "abc"))
    assert len({reply.docs for reply in replies}) == 3
    # A server process ends a moment after its connection.
    ends = time.monotonic() + 10
    while execute("SELECT 1 FROM pg_stat_activity WHERE application_name = 'rankproof'"):
        assert time.monotonic() < ends


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://u:canary@host/d",
        "postgresql://u@host/d?password=canary",
        "host=h password=canary",
        "host=h password = 'can ary'",
        "postgresql://u:${WORD}canary@host/d",
    ],
)
def test_a_password_in_the_dsn_is_refused_and_not_shown(dsn: str) -> None:
    with pytest.raises(UsageError, match=r"dsn holds a password; put it into an environment variable") as caught:
        SQL(dsn=dsn, sql=FULL_TEXT)
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("dsn", ["", " "])
def test_an_empty_dsn_is_refused(dsn: str) -> None:
    with pytest.raises(UsageError, match=r'write dsn = "\$\{DATABASE_URL\}"'):
        SQL(dsn=dsn, sql=FULL_TEXT)


def test_the_dsn_comes_from_the_environment_and_its_password_is_in_no_message(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = SQL(dsn="${DATABASE_URL}", sql=FULL_TEXT)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    with pytest.raises(UsageError, match="the environment variable DATABASE_URL is not set; set it: export DATABASE_URL="):
        identity_key(stage)
    monkeypatch.setenv("DATABASE_URL", dsn)
    assert ask(stage, "cat").docs == ("cats", "cat")
    for secret in (
        "postgresql://postgres:canary@localhost:1/d?canary=1",
        "postgresql://u:canary@[::1",
        "postgresql://u:canary@localhost:1/d",
    ):
        monkeypatch.setenv("DATABASE_URL", secret)
        with pytest.raises((UsageError, EngineError)) as caught:
            ask(stage, "cat")
        assert "canary" not in str(caught.value)


def test_a_run_from_a_file_writes_the_password_nowhere(dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", dsn.replace("postgres:@", "postgres:canary@"))
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    save_dataset(tmp_path / "data")
    strict = "SELECT id FROM page WHERE ts @@ to_tsquery('english', %(query)s) ORDER BY id"
    systems = f"""
        [systems.lenient]
        stage = "sql"
        dsn = "${{DATABASE_URL}}"
        sql = '''{FULL_TEXT}'''
        settings.work_mem = "8MB"
        settings.app.tenant = 7
        [systems.strict]
        stage = "sql"
        dsn = "${{DATABASE_URL}}"
        sql = "{strict}"
    """
    (tmp_path / "experiment.toml").write_text(f'dataset = "data"\n{systems}')
    result = rp.run(tmp_path / "experiment.toml")
    rp.save_results(result, tmp_path / "results")
    assert result.result.per_query("lenient")["RR@10"] == {"one": 1.0, "two": 1.0}
    assert result.result.per_query("strict")["RR@10"] == {"one": 1.0, "two": 0.0}
    assert any("syntax error in tsquery" in note and "two" in note for note in result.system_run("strict").notes)
    assert rp.run(tmp_path / "experiment.toml").system_run("lenient").from_cache
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 10
    assert [path.name for path in files if b"canary" in path.read_bytes()] == []
    again = read_experiment(tmp_path / "results" / "experiment.toml").systems["lenient"]
    assert again == read_experiment(tmp_path / "experiment.toml").systems["lenient"]
    assert isinstance(again, SQL)
    assert again.settings == {"work_mem": "8MB", "app.tenant": "7"}


def test_a_password_in_the_rows_is_masked_and_noted(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", dsn.replace("postgres:@", "postgres:canary-0123456789@"))
    rows = "SELECT 'a canary-0123456789' AS id, 2 AS score, encode('canary-0123456789', 'hex') AS text WHERE %(query)s <> ''"
    found = ask(SQL(dsn="${DATABASE_URL}", sql=rows), "cat")
    assert (found.docs, found.scores, found.texts) == (("a ***",), (2.0,), {"a ***": "***"})
    assert found.notes == (MASKED_NOTE,)


def test_an_error_of_the_sql_names_the_system(dsn: str, tmp_path: Path) -> None:
    save_dataset(tmp_path)
    systems: dict[str, Stage] = {
        "bm25": rp.stages.BM25(),
        "pages": SQL(dsn=dsn, sql="SELECT id FROM pagge WHERE body = %(query)s"),
    }
    with pytest.raises(UsageError, match=r'^system pages: PostgreSQL rejects sql in line 1 \(relation "pagge" does not exist\)'):
        rp.run(systems, dataset=tmp_path)


def save_dataset(folder: Path) -> None:
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text("".join(json.dumps({"_id": doc, "text": text}) + "\n" for doc, text in TEXTS.items()))
    queries = {"one": "mice", "two": "the moon rock"}
    (folder / "queries.jsonl").write_text("".join(json.dumps({"_id": key, "text": text}) + "\n" for key, text in queries.items()))
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\none\tcats\t1\ntwo\tmoon\t1\n")


def test_the_identity_has_the_database_but_not_the_password(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = SQL(dsn="${DATABASE_URL}", sql=FULL_TEXT)
    keys = []
    for address in ("postgresql://u:one@host/d", "postgresql://u:two@host/d", "postgresql://u:one@host/other"):
        monkeypatch.setenv("DATABASE_URL", address)
        keys.append(identity_key(stage))
    assert keys[0] == keys[1] != keys[2]
    assert identity_key(SQL(dsn="${DATABASE_URL}", sql=FULL_TEXT, settings={"work_mem": "1MB"})) != keys[2]


def test_a_server_that_is_not_there_is_a_failure_that_may_be_tried_again(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="check that the server is running") as caught:
        ask(SQL(dsn=f"host={tmp_path} user=u", sql=FULL_TEXT), "cat")
    assert caught.value.retryable


def test_a_database_that_is_not_there_is_not_tried_again(dsn: str) -> None:
    with pytest.raises(EngineError, match="create the database") as caught:
        ask(SQL(dsn=dsn.replace("/postgres?", "/nowhere?"), sql=FULL_TEXT), "cat")
    assert not caught.value.retryable


@pytest.mark.parametrize(
    ("dsn", "password"),
    [
        ("postgresql://u:${WORD}@host/db", "it's/a @b:c#d?\\ e"),
        ("host=host user=u password=${WORD} dbname=db", "it's/a @b:c#d?\\ e"),
        ("host=host user=u dbname=db password=${WORD}", "plain"),
        ("${WORD}", "postgresql://u:p%40q@host/db"),
    ],
)
def test_a_password_from_the_environment_may_have_any_character(monkeypatch: pytest.MonkeyPatch, dsn: str, password: str) -> None:
    require("pgvector")
    monkeypatch.setenv("WORD", password)
    parts = connection_settings(filled_dsn(dsn))
    assert parts["password"] == ("p@q" if dsn == "${WORD}" else password)
    assert (parts["host"], parts["user"], parts["dbname"]) == ("host", "u", "db")


@pytest.mark.parametrize(
    ("dsn", "what"),
    [
        ("postgresql://u:a@b@host/db", "has an @, / or # that is not percent-encoded"),
        ("postgresql://u:a/b@host/db", "has an @, / or # that is not percent-encoded"),
        ("postgresql://u:a@b/c:#1@/db?host=/tmp", "has an @, / or # that is not percent-encoded"),
        ("host=h connect_timeout=soon", "connect_timeout in the connection string is not a whole number"),
    ],
)
def test_a_connection_string_that_could_show_its_password_is_refused(dsn: str, what: str) -> None:
    require("pgvector")
    with pytest.raises(UsageError, match=what):
        connection_settings(dsn)

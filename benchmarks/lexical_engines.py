"""SciFact through every lexical engine that can be started here: `python -m benchmarks.lexical_engines markdown`.

Engines in the process are stages that build their own index. PostgreSQL, Groonga and ArcadeDB are servers on loopback, filled
here and asked by the stages `sql` and `http`. All systems are in one run, without a cache. Needs the extra bench, and Groonga
(Debian: groonga-bin groonga-token-filter-stem). Does nothing without the collection.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import bm25s
import httpx
import numpy as np
import psycopg
import Stemmer
from tools import shared_folder

import rankproof as rp
from rankproof._analysis.compare.tables import PairRecord
from rankproof.stages import BM25, SQL, Function, Http, LanceDBFTS, SQLiteFTS5, Tantivy
from rankproof.stages._base import Stage
from rankproof.stages._fields import passage_texts
from rankproof.stores._postgres import EmbeddedPostgres
from rankproof.types import RunOptions

DATA = shared_folder.DATA / "scifact"
LOGIN = "root:benchmark"
STARTED_WITHIN = 60.0
MEASURES = ("nDCG@10", "R@100")
SIGNIFICANT = 0.05
Texts = Mapping[str, str]


@dataclass(frozen=True)
class Row:
    """A system of the table: how it ranks, what it does with words, and its index where the stage does not measure it."""

    stage: Stage
    ranking: str
    words: str
    seconds: float | None = None
    size: int | None = None


def main() -> None:
    """Runs every engine once and prints the table."""
    if reason := shared_folder.missing_data("scifact"):
        print(f"{reason}: skipped", file=sys.stderr)
        return
    dataset = rp.read_dataset(DATA)
    texts = passage_texts(dataset.corpus, ("title", "text"))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        rows = {**engines_in_process(), "bm25s": bm25s_row(folder, texts)}
        for server in (postgres, groonga, arcadedb):
            rows |= stack.enter_context(server(folder / server.__name__, texts))
        systems = {name: row.stage for name, row in rows.items()}
        found = rp.run(rp.Experiment(systems, dataset=dataset, measures=list(MEASURES)), RunOptions(cache=None))
    print("\n".join(table(found, rows)))
    for note in (f"{run.name}: {note}" for run in found.system_runs for note in run.notes):
        print(note, file=sys.stderr)


def table(found: rp.ExperimentResult, rows: Mapping[str, Row]) -> list[str]:
    """A line of Markdown for each system."""
    head = ["system", "ranking", "words", MEASURES[0], "pp", MEASURES[1], "no result", "ms p50", "index s", "index MB"]
    pairs = {pair.system: pair for pair in found.compare(baseline="rankproof", measures=[MEASURES[0]]).pairs}
    rest = [_line(found, name, row, pairs.get(name)) for name, row in rows.items()]
    lines = [head, [":---"] * 3 + ["---:"] * (len(head) - 3), *rest]
    return [f"| {' | '.join(line)} |" for line in lines]


def _line(found: rp.ExperimentResult, name: str, row: Row, pair: PairRecord | None) -> list[str]:
    system, means = found.system_run(name), found.result.means[name]
    answered = int(np.count_nonzero(np.diff(system.run.offsets)))
    times = system.time_of("total")
    seconds = row.seconds if row.seconds is not None else system.index_seconds or 0.0
    size = row.size if row.size is not None else system.index_bytes or 0
    first, second = (f"{means[measure]:.4f}" for measure in MEASURES)
    mark = "*" if pair and pair.p_adjusted is not None and pair.p_adjusted < SIGNIFICANT else ""
    return [
        name,
        row.ranking,
        row.words,
        first,
        f"{100 * pair.difference:+.1f}{mark}" if pair else "–",
        second,
        str(len(found.queries) - answered),
        "–" if times is None else f"{times.p50:.2f}",
        f"{seconds:.1f}",
        f"{size / 1e6:.1f}",
    ]


BM25_1_5, BM25_1_2 = "BM25, k1 1.5, b .75", "BM25, k1 1.2, b .75"
WITHOUT_STOP_WORDS, WITH_STOP_WORDS = "Snowball, stop words removed", "Snowball"


def engines_in_process() -> dict[str, Row]:
    """The stages that build their own index, and BM25 of rankproof with one setting changed at a time."""
    return {
        "rankproof": Row(BM25(), BM25_1_5, WITHOUT_STOP_WORDS),
        "rankproof, k1 1.2": Row(BM25(k1=1.2), BM25_1_2, WITHOUT_STOP_WORDS),
        "rankproof, with stop words": Row(BM25(stop_words=False), BM25_1_5, WITH_STOP_WORDS),
        "rankproof, not stemmed": Row(BM25(stemming=False), BM25_1_5, "not stemmed, stop words removed"),
        "tantivy": Row(Tantivy(), BM25_1_2, WITH_STOP_WORDS),
        "tantivy, not stemmed": Row(Tantivy(stemming=False), BM25_1_2, "not stemmed"),
        "SQLite FTS5": Row(SQLiteFTS5(), BM25_1_2, "Porter"),
        "SQLite FTS5, not stemmed": Row(SQLiteFTS5(stemming=False), BM25_1_2, "not stemmed"),
        "LanceDB": Row(LanceDBFTS(), BM25_1_2, WITHOUT_STOP_WORDS),
    }


def bm25s_row(folder: Path, texts: Texts) -> Row:
    """The library bm25s, used as its documentation does."""
    docs, stemmer = list(texts), Stemmer.Stemmer("english")
    start = time.perf_counter()
    index = bm25s.BM25()
    index.index(bm25s.tokenize(list(texts.values()), stopwords="en", stemmer=stemmer, show_progress=False), show_progress=False)
    seconds = time.perf_counter() - start
    index.save(folder / "bm25s", show_progress=False)

    def search(text: str) -> list[str]:
        tokens = bm25s.tokenize([text], stopwords="en", stemmer=stemmer, show_progress=False)
        rows, scores = index.retrieve(tokens, k=100, show_progress=False)
        return [docs[row] for row, score in zip(rows[0].tolist(), scores[0].tolist(), strict=True) if score > 0]

    stage = Function(search, version=version("bm25s"))
    return Row(stage, BM25_1_5, WITHOUT_STOP_WORDS, seconds, _bytes(folder / "bm25s"))


_ANY_WORD = "CAST(replace(plainto_tsquery('english', %(query)s)::text, '&', '|') AS tsquery)"
_ALL_WORDS = "websearch_to_tsquery('english', %(query)s)"
_SEARCH = "SELECT id, {rank} AS score FROM doc, {query} AS q WHERE ts @@ q ORDER BY score DESC, id LIMIT %(size)s"


@contextmanager
def postgres(folder: Path, texts: Texts) -> Iterator[dict[str, Row]]:
    """An embedded PostgreSQL with a table and a GIN index."""
    folder.mkdir()
    server = EmbeddedPostgres(str(folder))
    try:
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            start = time.perf_counter()
            connection.execute("CREATE TABLE doc (id text, ts tsvector)")
            with connection.cursor() as cursor:
                cursor.executemany("INSERT INTO doc VALUES (%s, to_tsvector('english', %s))", list(texts.items()))
            connection.execute("CREATE INDEX ON doc USING gin (ts)")
            connection.execute("ANALYZE doc")
            seconds = time.perf_counter() - start
            (size,) = connection.execute("SELECT pg_total_relation_size('doc')").fetchone() or (0,)
        ways = {
            "PostgreSQL": ("ts_rank(ts, q, 1)", _ANY_WORD, WITHOUT_STOP_WORDS),
            "PostgreSQL, cover density": ("ts_rank_cd(ts, q, 1)", _ANY_WORD, WITHOUT_STOP_WORDS),
            "PostgreSQL, websearch": ("ts_rank(ts, q, 1)", _ALL_WORDS, f"{WITHOUT_STOP_WORDS}, all required"),
        }
        yield {
            name: Row(SQL(dsn=server.dsn(), sql=_SEARCH.format(rank=rank, query=query)), f"`{rank}`", words, seconds, size)
            for name, (rank, query, words) in ways.items()
        }
    finally:
        server.close()


@contextmanager
def groonga(folder: Path, texts: Texts) -> Iterator[dict[str, Row]]:
    """A Groonga server with an index of stems; skipped if Groonga is not installed."""
    program = shutil.which("groonga")
    if program is None:
        print("groonga is not installed: skipped", file=sys.stderr)
        yield {}
        return
    port = _free_port()
    address = f"http://127.0.0.1:{port}"
    command = [program, "-s", "--protocol", "http", "--bind-address", "127.0.0.1", "-p", str(port), "-n", str(folder / "db")]
    with _server(command, f"{address}/d/status", folder), httpx.Client(base_url=address, trust_env=False, timeout=60) as client:
        start = time.perf_counter()
        for words in _GROONGA_TABLES:
            name, _, settings = words.partition("?")
            client.get(f"/d/{name}?{settings}").raise_for_status()
        rows = [{"_key": doc, "text": text} for doc, text in texts.items()]
        client.post("/d/load", params={"table": "D"}, json=rows).raise_for_status()
        seconds = time.perf_counter() - start
        values = {"server": address, "table": "D"}
        size = _bytes(folder)
        yield {
            "Groonga": Row(Http(preset="groonga", values=values), "tf-idf", WITH_STOP_WORDS, seconds, size),
            "Groonga, default score": Row(
                Http(preset="groonga", values={**values, "scorer": ""}), "number of matches", WITH_STOP_WORDS, seconds, size
            ),
        }


_GROONGA_TABLES = (
    "plugin_register?name=token_filters/stem",
    "table_create?name=D&flags=TABLE_HASH_KEY&key_type=ShortText",
    "column_create?table=D&name=text&type=Text",
    "table_create?name=T&flags=TABLE_PAT_KEY&key_type=ShortText&default_tokenizer=TokenBigram&normalizer=NormalizerAuto"
    "&token_filters=TokenFilterStem",
    "column_create?table=T&name=ix&flags=COLUMN_INDEX|WITH_POSITION&type=D&source=text",
)


@contextmanager
def arcadedb(folder: Path, texts: Texts) -> Iterator[dict[str, Row]]:
    """An ArcadeDB server, which has Lucene inside."""
    found = find_spec("arcadedb_embedded")
    if found is None or found.origin is None:
        print("arcadedb-embedded is not installed: skipped", file=sys.stderr)
        yield {}
        return
    package, port = Path(found.origin).parent, _free_port()
    address = f"http://127.0.0.1:{port}"
    options = {
        "rootPassword": LOGIN.partition(":")[2],
        "rootPath": folder,
        "httpIncomingHost": "127.0.0.1",
        "httpIncomingPort": port,
    }
    settings = [f"-Darcadedb.server.{name}={value}" for name, value in options.items()]
    main_class = ["-cp", f"{package}/jars/*", "com.arcadedb.server.ArcadeDBServer"]
    command = [f"{package}/jre/bin/java", "-Xmx256m", *settings, *main_class]
    client = httpx.Client(base_url=address, auth=httpx.BasicAuth(*LOGIN.split(":")), trust_env=False, timeout=120)
    with _server(command, f"{address}/api/v1/ready", folder), client:
        client.post("/api/v1/server", json={"command": "create database bench"}).raise_for_status()
        start = time.perf_counter()
        for words in _ARCADEDB_TYPES:
            _arcadedb(client, words)
        _arcadedb(client, "insert into D content :rows", rows=[{"did": doc, "text": text} for doc, text in texts.items()])
        seconds = time.perf_counter() - start
        os.environ["ARCADEDB_LOGIN"] = LOGIN
        stage = Http(preset="arcadedb", values={"server": address, "database": "bench", "type": "D", "id": "did"})
        yield {
            "ArcadeDB": Row(
                stage, BM25_1_2, "Porter, stop words removed (Lucene's analyzer)", seconds, _bytes(folder / "databases")
            )
        }


_ARCADEDB_TYPES = (
    "create document type D",
    "create property D.did string",
    "create property D.text string",
    'create index on D (text) FULL_TEXT METADATA {"analyzer":"org.apache.lucene.analysis.en.EnglishAnalyzer"}',
)


def _arcadedb(client: httpx.Client, command: str, **params: Any) -> None:
    body = {"language": "sql", "command": command, "params": params}
    client.post("/api/v1/command/bench", json=body).raise_for_status()


@contextmanager
def _server(command: Sequence[str], ready: str, folder: Path) -> Iterator[None]:
    """Runs the server until the block ends; it is ready when the address answers."""
    folder.mkdir()
    with (folder.parent / f"{folder.name}.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=folder)
        try:
            _await(process, ready)
            yield
        finally:
            process.terminate()
            process.wait()


def _await(process: subprocess.Popen[bytes], ready: str) -> None:
    ends = time.monotonic() + STARTED_WITHIN
    while time.monotonic() < ends and process.poll() is None:
        try:
            if httpx.get(ready, trust_env=False).is_success:
                return
        except httpx.HTTPError:
            time.sleep(0.05)
    raise SystemExit(f"{ready}: the server did not start")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _bytes(folder: Path) -> int:
    """The bytes that the files of a folder take on disk."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()

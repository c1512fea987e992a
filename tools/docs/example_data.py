"""Files and servers that the examples of pages need: logs, judgements of people, a database with documents."""

from __future__ import annotations

import csv
import json
import os
import random
import runpy
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import rankproof as rp
from rankproof.models import WordLlama

_QUERIES_A_PERSON_GRADED = (120, 180)
"""Relevant pairs and others."""
_ATTRACTIVE = {0: 0.05, 1: 0.15, 2: 0.35, 3: 0.6}
"""The chance of a click on a document that a user looks at, by its grade."""


def _write_lines(path: str, rows: Iterable[object]) -> None:
    Path(path).write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def sample_rankings(*names: str) -> dict[str, dict[str, list[str]]]:
    """The documents of each query of the sample's run files, best first."""
    rankings: dict[str, dict[str, list[str]]] = {name: {} for name in names}
    for name in names:
        for row in sorted(rp.read_run(f"sample:{name}").rows(), key=lambda row: -row.score):
            rankings[name].setdefault(row.query, []).append(row.doc)
    return rankings


def write_sample_files() -> None:
    """The judgements and two runs of the sample as files."""
    rp.write_qrels(rp.read_qrels("sample"), "qrels.txt")
    rp.write_run(rp.read_run("sample:bm25"), "bm25.run")
    rp.write_run(rp.read_run("sample:static"), "dense.run")


def write_two_raters() -> None:
    """The grades of two people on 300 pairs of the sample, who err in 10% and 20% of them by one grade."""
    draw, qrels = random.Random(1), rp.read_qrels("sample")
    pairs = [(query, doc, grade) for query, docs in qrels.items() for doc, grade in docs.items()]
    relevant, others = ([pair for pair in pairs if bool(pair[2]) is is_relevant] for is_relevant in (True, False))
    numbers = _QUERIES_A_PERSON_GRADED
    chosen = draw.sample(relevant, numbers[0]) + draw.sample(others, numbers[1])
    for name, share in (("ann", 0.1), ("bob", 0.2)):
        grades: dict[str, dict[str, int]] = {}
        for query, doc, grade in chosen:
            other = min(3, max(0, grade + draw.choice((-1, 1))))
            grades.setdefault(query, {})[doc] = other if draw.random() < share else grade
        rp.write_qrels(rp.Qrels(grades), f"{name}.qrels")


def write_rag_logs() -> None:
    """The logs of two systems that answer the sample's questions with a sentence of their first passage."""
    sample = rp.read_dataset("sample")
    texts = {doc: f"{record.title}. {record.text}" for doc, record in sample.corpus.items()}
    for name, rankings in sample_rankings("bm25", "hybrid").items():
        rows = []
        for query, docs in rankings.items():
            answers: Any = sample.queries[query].fields.get("answers", [])
            row = {
                "user_input": sample.queries[query].text,
                "retrieved_contexts": [texts[doc] for doc in docs[:5]],
                "reference_contexts": [texts[doc] for doc, grade in sample.qrels[query].items() if grade > 0],
                "response": sample.corpus[docs[0]].text.partition(".")[0] + ".",
                "reference": answers[0] if answers else None,
            }
            rows.append(row)
        _write_lines(f"{name}.jsonl", rows)


def write_repeated_answers() -> None:
    """The logs of two systems that answered 40 questions three times each."""
    random.seed(4)
    for name, gain in (("old", 0.0), ("new", 0.15)):
        rows = []
        for question in range(40):
            hard = random.Random(question).choice([0.1, 0.9])
            other = random.Random(f"{name} {question}").uniform(-0.35, 0.35)
            for _ in range(3):
                right = random.random() < min(max(hard + gain + other, 0.02), 0.98)
                rows.append({"question": f"What is {question}?", "answer": "yes" if right else "no", "reference": "yes"})
        _write_lines(f"{name}.jsonl", rows)


def write_answered_question() -> None:
    """A log of two questions: a partly supported answer, and an abstention."""
    bridge = "The bridge was opened in 1932."
    first = {
        "id": "q1",
        "question": "When was the bridge opened?",
        "answer": "It was opened in 1932. It is painted grey.",
        "contexts": [f"{bridge} It is 134 m high.", "The tunnel beside it is from 1992."],
        "answers": ["In 1932."],
    }
    second = {"id": "q2", "question": "Who designed the bridge?", "answer": "NO ANSWER", "contexts": [bridge]}
    _write_lines("rag.jsonl", [first, second | {"answers": ["John Bradfield."]}])


def write_click_logs(rankings: Mapping[str, Mapping[str, list[str]]]) -> None:
    """UBI logs of sixty users of each query: of an A/B test of two systems, and of the first system alone."""
    first, second = rankings.values()
    _write_click_log("", lambda query, user: (first, second)[user % 2].get(query, []))
    _write_click_log("old-", lambda query, user: first.get(query, []))


def _write_click_log(prefix: str, shown: Callable[[str, int], list[str]]) -> None:
    """The log of users who look at rank r with probability 1/r and click by the grade."""
    sample, chance = rp.read_dataset("sample"), random.Random(7)
    queries, events = [], []
    for query in sample.qrels:
        for user in range(60):
            docs, key = shown(query, user)[:10], f"{query}-{user}"
            asked = {"query_id": key, "user_query": sample.queries[query].text, "client_id": f"c{user}"}
            queries.append(asked | {"query_response_hit_ids": docs})
            for rank, doc in enumerate(docs, start=1):
                if chance.random() < _ATTRACTIVE[sample.qrels[query].get(doc, 0)] / rank:
                    place = {"object": {"object_id": doc}, "position": {"ordinal": rank}}
                    click = {"action_name": "click", "query_id": key, "client_id": f"c{user}", "event_attributes": place}
                    events.append(click)
    _write_lines(f"{prefix}queries.ndjson", queries)
    _write_lines(f"{prefix}events.ndjson", events)


def write_live_log(rankings: Mapping[str, Mapping[str, list[str]]], path: str, *, sessions: int) -> None:
    """A UBI log of interleaved lists: 1,000 users who search 400 times a day, and click by the grade."""
    sample, chance, rows = rp.read_dataset("sample"), random.Random(1), []
    queries = list(sample.qrels)
    for number in range(sessions):
        query, user, key = chance.choice(queries), f"u{chance.randrange(1000)}", f"s{number}"
        shown = rp.interleave({name: own[query] for name, own in rankings.items()}, seed=key, experiment="2026-11-hybrid")
        asked = {"query_id": key, "client_id": user, "timestamp": 1_762_128_000 + 216 * number}
        attributes = {**shown.to_dict(), "device": ("phone", "desktop")[number % 3 == 0]}
        text = {"user_query": sample.queries[query].text, "query_response_hit_ids": shown.docs}
        rows.append({**asked, **text, "query_attributes": attributes})
        for rank, doc in enumerate(shown.docs, start=1):
            if chance.random() < _ATTRACTIVE[sample.qrels[query].get(doc, 0)] / rank:
                rows.append({**asked, "action_name": "click", "event_attributes": {"object": {"object_id": doc}}})
    _write_lines(path, rows)


def _sample_vectors() -> tuple[list[str], list[str], list[list[float]]]:
    """Ids, texts and static vectors of the sample's documents."""
    corpus = rp.read_dataset("sample").corpus
    texts = [f"{record.title} {record.text}" for record in corpus.values()]
    return list(corpus), texts, WordLlama().load().encode(texts).tolist()


def chroma_server() -> subprocess.Popen[bytes]:
    """A server with the sample's vectors; CHROMA_URL and CHROMA_COLLECTION name it."""
    import httpx

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = str(Path(sys.executable).with_name("chroma"))
    command = [program, "run", "--path", tempfile.mkdtemp(), "--host", "127.0.0.1", "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.environ["CHROMA_URL"] = f"http://127.0.0.1:{port}"
    collections = "/api/v2/tenants/default_tenant/databases/default_database/collections"
    with httpx.Client(base_url=os.environ["CHROMA_URL"], trust_env=False) as client:
        for _ in range(600):
            try:
                client.get("/api/v2/heartbeat").raise_for_status()
                break
            except httpx.HTTPError:
                time.sleep(0.1)
        made = client.post(collections, json={"name": "docs", "configuration": {"hnsw": {"space": "cosine"}}})
        os.environ["CHROMA_COLLECTION"] = made.json()["id"]
        docs, _, vectors = _sample_vectors()
        rows = {"ids": docs, "embeddings": vectors}
        client.post(f"{collections}/{os.environ['CHROMA_COLLECTION']}/add", json=rows).raise_for_status()
    return server


def postgres_server() -> Any:
    """An embedded server with the sample's texts and vectors in the table product; DATABASE_URL names it."""
    import psycopg

    from rankproof.stores._postgres import EmbeddedPostgres

    server = EmbeddedPostgres(tempfile.mkdtemp())
    os.environ["DATABASE_URL"] = server.dsn()
    with psycopg.connect(server.dsn(), autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE EXTENSION vector")
        cursor.execute("CREATE TABLE product (id text PRIMARY KEY, ts tsvector, v vector(256))")
        rows = [(doc, text, str(vector)) for doc, text, vector in zip(*_sample_vectors(), strict=True)]
        cursor.executemany("INSERT INTO product VALUES (%s, to_tsvector('english', %s), %s)", rows)
        cursor.execute("CREATE INDEX ON product USING gin (ts)")
        cursor.execute("CREATE INDEX ON product USING hnsw (v vector_cosine_ops)")
    return server


def write_traffic_logs() -> None:
    """The queries of two months, frequent ones far more often than rare ones, some with personal data."""
    chance, texts = random.Random(3), [query.text for query in rp.read_dataset("sample").queries.values()]
    for name, start in (("october", 1_759_276_800), ("november", 1_761_955_200)):
        with open(f"{name}.csv", "w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["session", "user", "time", "query", "action"])
            for at in range(6000):
                text = texts[int(124 * chance.random() ** 2)] if at % 500 else "order of ann@example.com"
                user = f"u{chance.randrange(900)}"
                rows.writerow([f"{name}-{at}", user, start + 400 * at, text.upper() if at % 2 else text, ""])


def write_experiment_history() -> None:
    """Fourteen past experiments, in which an offline gain was worth half of it online."""
    chance = random.Random(5)
    with open("experiments.csv", "w", encoding="utf-8") as file:
        file.write("experiment,offline,offline_se,online,online_se\n")
        for at in range(14):
            gain = chance.gauss(0.005, 0.02)
            file.write(f"e{at},{gain + chance.gauss(0, 0.007):.4f},0.007,{gain / 2 + chance.gauss(0, 0.006):.4f},0.004\n")


def write_shop_log() -> None:
    """An A/B test in a plain table; users of B click and buy more."""
    chance = random.Random(2)
    with open("shop.csv", "w", encoding="utf-8") as file:
        file.write("lookup,user,time,variant,rank,action\n")
        for at in range(8000):
            user = chance.randrange(2000)
            row, better = f"v{at},u{user},{1_762_128_000 + 100 * at},{'AB'[user % 2]}", user % 2
            file.write(f"{row},,search\n")
            for rank in range(1, 6):
                if chance.random() < (0.3 + 0.1 * better) / rank:
                    file.write(f"{row},{rank},click\n" + f"{row},{rank},purchase\n" * (chance.random() < 0.3))


def log_of_a_search(lists: Mapping[str, Mapping[str, list[str]]]) -> list[str]:
    """What the search service of the page, `search_service.py`, logs of a search and a click on its first document."""
    server = runpy.run_path("search_service.py")["service"](
        {name: own.__getitem__ for name, own in lists.items()}, "service.jsonl"
    )
    server.RequestHandlerClass.log_message = lambda *about: None
    worker = threading.Thread(target=server.serve_forever, daemon=True)
    worker.start()

    def ask(path: str, **values: str) -> Any:
        with urlopen(f"http://127.0.0.1:{server.server_port}{path}?{urlencode(values)}") as reply:
            return json.load(reply)

    shown = ask("/search", q="q001", id="s1", user="ann")
    ask("/click", doc=shown[0], id="s1", user="ann")
    server.shutdown()
    worker.join()
    server.server_close()
    return Path("service.jsonl").read_text(encoding="utf-8").splitlines()

"""Writes the seed inputs of a harness: `seeds.py reader|arrow|documents FOLDER`."""

from __future__ import annotations

import random
import sys
from itertools import product
from pathlib import Path

QRELS = [
    "",
    "1 0 d1 1\n1 0 d2 0\n2 0 d1 2\n",
    "1 0 d1 1\n1 0 d1 1\n",
    "1 0 d1 1\n1 0 d1 2\n",
    "é 0 日 -1\r\n",
    "1 0 d1 1001\n",
    "1 0 d1\n",
]
MANY = "".join(f"1 0 d{doc} {doc % 3}\n" for doc in range(60))
ROW = "{query} Q0 {doc} {rank} {score} tag\n"
SCORES = [
    "12.345678",
    "-0.0",
    "1e-3",
    "0.30000000000000004",
    "9007199254740993",
    "nan",
    "1.5e400",
    "14.2345678901234567890",
    ".5",
    "5.",
]
RUNS = [
    "1 Q0 d1 1 2.5 t\n1 Q0 d2 2 2.5 t\n2 Q0 d1 1 1 u\n",
    "1 Q0 d1 1 2 t\n2 Q0 d1 1 1 t\n1 Q0 d2 2 1 t\n",
    "1 Q0 d1 1 2 t\n1 Q0 d1 2 1 t\n",
    "\ufeff# note\r\n1\tQ0  d1\v1\f2 t \r1 Q0 d2 x 3 t",
    "1 Q0 a-document-id-of-many-bytes 1 2 a-tag-of-many-bytes\n1 Q0 a-document-id-of-many-bytfs 2 1 t\n",
    "1 Q0 d1 1 2\n",
    "1 Q0 d1 1 2 a tag of words \n1 Q0 d 2 x 2 1 t\n",
    "1 Q0 d1 1 2 5 t\n",
    "é Q0 日 1 2 t\n",
    "".join(ROW.format(query=1, doc=f"d{doc}", rank=doc, score=doc % 3) for doc in range(40)),
    "".join(ROW.format(query=1, doc=f"d{doc}", rank=40 - doc, score="7") for doc in range(90)),
    "".join(ROW.format(query=doc % 3, doc=f"d{doc}", rank=doc, score=100 - doc) for doc in range(30)),
    "1 Q0 " + "x" * 300 + " 1 2 t\n1 Q0 d 2 1 t\n",
    "# " + "y" * 2100 + "\n",
]
FORMATS = 6
OTHER_FORMATS = [
    'q,d,s,r\n1,d1,2.5,1\n1,"d""2",1e3,2.0\n\n# note\n2,"d,3",-0,x\r\n1,d4,1,3',
    "1\td1\t2\n2\td 2\t1\n1\td3\t0\n",
    '{"1": {"d1": 2.5, "d\\u00e9\\ud83d\\ude00": -0}, "2": {}, "é": {"a": 1}}\n',
    '{"1": {"d1": 1, "d1": 2}}',
    '[\n{"q": "1", "d": 7, "s": -0, "r": 1},\n{"q": "1", "d": "8", "s": 2.5, "r": "2.0", "t": null}]\n',
    '{"q": "1", "d": "d1", "s": 1, "j": "llm:x"}\n# note\n{"q": 2, "d": "\\n", "s": 0}\r\n',
]


DOCUMENTS = [
    '{"id": "1", "text": "a \\u00e9 b", "z": [1, {"b": "\\n", "a": 0.5}], "k": true}',
    '{"_id": 7, "title": null, "text": "\\ud83d\\ude00 é 日", "year": -12, "ratio": 0.001}',
    "{}",
]


def write_reader(folder: Path) -> None:
    """Small runs and qrels of every shape that the reader distinguishes."""
    runs = [*RUNS, *(ROW.format(query=1, doc="d1", rank=1, score=score) for score in SCORES)]
    for number, (qrels, run) in enumerate(product([*QRELS, MANY], runs)):
        front = bytes([(number * 37) % 256, (number * 11) % 64, (number * 7) % 256, number % 64, number % FORMATS])
        text = qrels.encode()
        (folder / f"seed{number:03d}").write_bytes(front + len(text).to_bytes(2, "little") + text + run.encode())
    for format_, (number, other) in product(range(FORMATS), enumerate(OTHER_FORMATS)):
        text = other.encode()
        front = bytes([0, 6, 4, number, format_])
        (folder / f"qrels{format_}-{number:02d}").write_bytes(front + len(text).to_bytes(2, "little") + text)
        (folder / f"run{format_}-{number:02d}").write_bytes(front + bytes(2) + text)
    for number, score in enumerate(SCORES):
        (folder / f"number{number:02d}").write_bytes(bytes(7) + score.encode())


def write_arrow(folder: Path) -> None:
    """Bytes that choose the types of columns, the batches and the rows."""
    for seed in range(64):
        (folder / f"seed{seed:02d}").write_bytes(random.Random(seed).randbytes(16 * seed))


def write_documents(folder: Path) -> None:
    """Lines of documents."""
    for number, line in enumerate(DOCUMENTS):
        (folder / f"seed{number:02d}").write_text(line, encoding="utf-8")


WRITERS = {"reader": write_reader, "arrow": write_arrow, "documents": write_documents}


def main(harness: str, folder: Path) -> None:
    """Writes the seeds of a harness into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    WRITERS[harness](folder)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

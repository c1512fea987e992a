"""Writes the seed inputs of the fuzzer: small runs and qrels of every shape that the reader distinguishes."""

from __future__ import annotations

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


def main(folder: Path) -> None:
    """Writes every seed into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    runs = [*RUNS, *(ROW.format(query=1, doc="d1", rank=1, score=score) for score in SCORES)]
    for number, (qrels, run) in enumerate(product([*QRELS, MANY], runs)):
        front = bytes([(number * 37) % 256, (number * 11) % 64, (number * 7) % 256, number % 64])
        text = qrels.encode()
        (folder / f"seed{number:03d}").write_bytes(front + len(text).to_bytes(2, "little") + text + run.encode())
    for number, score in enumerate(SCORES):
        (folder / f"number{number:02d}").write_bytes(bytes(6) + score.encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]))

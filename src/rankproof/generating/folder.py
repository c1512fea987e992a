"""What was generated as a folder: queries, judgements, a report, and the documents where they are wanted."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from typing import Any

from ..data.corpus import Corpus
from ..errors import UsageError
from ..formats import qrels_blocks
from ..formats.atomic import write_blocks
from ..formats.jsonl_format import json_line
from ..formats.texts_format import text_blocks
from .generate import Generated

REPORT = "generate.json"


def refuse_folder(folder: str) -> None:
    """Refuses a folder that is there already."""
    if not folder or "\0" in folder:
        raise UsageError("the output folder has no name that could be one", fix="name one with -o")
    if os.path.lexists(folder):
        raise UsageError(f"{folder} exists", fix="name a folder that does not exist yet")


def write_generated(found: Generated, report: Mapping[str, Any], folder: str, corpus: Corpus | None = None) -> None:
    """The folder, whole or not at all; with the documents it is a dataset that systems can be run on."""
    refuse_folder(folder)
    beside = os.path.join(os.path.dirname(os.path.abspath(folder)), f".rankproof-{os.urandom(8).hex()}.tmp")
    try:
        os.makedirs(beside)
        write_blocks(os.path.join(beside, "queries.jsonl"), _query_lines(found))
        write_blocks(os.path.join(beside, "qrels.tsv"), _qrels_lines(found))
        write_blocks(os.path.join(beside, REPORT), [json.dumps(report, indent=2, ensure_ascii=True).encode() + b"\n"])
        if corpus is not None:
            write_blocks(os.path.join(beside, "corpus.jsonl"), text_blocks(corpus))
        os.rename(beside, folder)
    except OSError as error:
        raise UsageError(f"{folder} cannot be made ({error.strerror})", fix="name a folder that can be written to") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _query_lines(found: Generated) -> Iterator[bytes]:
    for one in found.made:
        yield json_line({"_id": one.id, "text": one.text, **one.fields()})


def _qrels_lines(found: Generated) -> Iterator[bytes]:
    """TREC's four columns, the second with the mark; a document whose id holds white space needs tabs and a header instead."""
    qrels = found.qrels()
    spaced = any(doc.split() != [doc] for docs in qrels.values() for doc in docs)
    return qrels_blocks(qrels, "beir" if spaced else "trec")

"""The saved run of the demo: `make demo` once, kept so that text and pictures show the same numbers.

`python -m tools.docs.demo` runs the demo again and saves it. The archive holds those files of the results folder that are read.
Rankings are kept as order and ties without scores, which no page shows and which would be most of the size.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from rankproof._analysis.compare.summary import compare_results
from rankproof._cli.main import main
from rankproof._io.files import RESULT_FILE
from rankproof._io.strict_json import with_digest
from rankproof._render.formats import RenderOptions
from rankproof._render.systems import render_run
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.folder import load_results, results_file_sha256
from rankproof._results.result_json import EXPERIMENT_FILE, QRELS_FILE, QUERIES_FILE, SNIPPETS_FILE, document_text
from rankproof.errors import RankproofError
from rankproof.models._bert import download_minilm

from .session import WIDTH, ExampleError, session

ARCHIVE = Path(__file__).with_name("demo.tar.xz")
_FILES = (RESULT_FILE, QUERIES_FILE, QRELS_FILE, SNIPPETS_FILE, EXPERIMENT_FILE)
_RANKINGS = "rankings.txt"
_TIE = "="
"""Before a document with the score of the document before it."""


def pack_results(folder: Path, archive: Path) -> None:
    """Writes the files of a results folder that are read again into an archive, the same bytes for the same folder."""
    document = json.loads((folder / RESULT_FILE).read_text(encoding="utf-8"))
    contents = {name: (folder / name).read_bytes() for name in _FILES}
    contents[_RANKINGS] = "".join(f"{line}\n" for line in _packed_rankings(folder, document)).encode()
    with tarfile.open(archive, "w:xz", format=tarfile.PAX_FORMAT) as packed:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            packed.addfile(member, io.BytesIO(content))


def unpack_results(archive: Path, folder: Path) -> None:
    """Writes the results folder of an archive; scores are counted from the end of each ranking."""
    with tarfile.open(archive) as packed:
        # Python 3.11.0 to 3.11.3 have no filter.
        packed.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)
        packed.extractall(folder)
    rankings = (folder / _RANKINGS).read_text(encoding="utf-8").splitlines()
    (folder / _RANKINGS).unlink()
    document = json.loads((folder / RESULT_FILE).read_text(encoding="utf-8"))
    (folder / "runs").mkdir()
    for file, lines in groupby(rankings, key=lambda line: line.split(" ", 1)[0]):
        with gzip.open(folder / file, "wt", encoding="utf-8") as run:
            run.writelines(row for line in lines for row in _run_rows(*line.split(" ")[1:]))
        document["sha256"][file] = results_file_sha256(str(folder), file)
    document.pop("digest", None)
    (folder / RESULT_FILE).write_bytes(with_digest(document_text(document).encode()))


def _packed_rankings(folder: Path, document: Mapping[str, Any]) -> Iterator[str]:
    """One line per system and query: the file of the run, the query, and its documents in order."""
    for system in document["systems"]:
        file = system["run"]["file"]
        with gzip.open(folder / file, "rt", encoding="utf-8") as run:
            rows = [line.split() for line in run]
        for query, ranking in groupby(rows, key=lambda row: row[0]):
            documents, before = [], None
            for _, _, doc, _, score, _ in ranking:
                assert not doc.startswith(_TIE), "a document id looks like a tie"
                documents.append(_TIE + doc if score == before else doc)
                before = score
            yield " ".join((file, query, *documents))


def _run_rows(query: str, *documents: str) -> Iterator[str]:
    score = len(documents)
    for rank, packed in enumerate(documents, 1):
        score -= not packed.startswith(_TIE)
        yield f"{query} Q0 {packed.removeprefix(_TIE)} {rank} {score} demo\n"


def unpack_demo(folder: str) -> ExperimentResult:
    """Writes the saved run of the demo as a results folder, and loads it."""
    unpack_results(ARCHIVE, Path(folder))
    try:
        return load_results(folder)
    except RankproofError as error:
        raise ExampleError(f"the saved run of the demo cannot be read: {error}; run: make docs-demo") from None


@cache
def demo_output() -> str:
    """The decision and the table that `rankproof run` prints at the end of the demo."""
    with tempfile.TemporaryDirectory() as folder:
        results = unpack_demo(folder)
    return render_run(results, compare_results(results), RenderOptions(width=WIDTH, wrap=True))


@cache
def demo_digest() -> str:
    """What pictures of the demo are marked with: it changes with the saved run and with what is printed of it."""
    return hashlib.sha256(ARCHIVE.read_bytes() + demo_output().encode()).hexdigest()


def save_demo() -> None:
    """Runs what `make demo` runs, without results of earlier runs, and saves it."""
    weights = download_minilm(lambda text: None, lambda done, total: None)
    with session():
        Path(os.environ["RANKPROOF_CACHE"], "models", "minilm").symlink_to(weights)
        if code := main(["run", "-o", "results", "--no-report"]):
            sys.exit(code)
        pack_results(Path("results"), ARCHIVE)


if __name__ == "__main__":
    try:
        save_demo()
    except RankproofError as error:
        sys.exit(str(error))

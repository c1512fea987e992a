"""CPU time of the first page of `rankproof serve` with many results folders: `python -m benchmarks.serve_home [FOLDERS]`.

The folders are links to the files of one result of the sample; the time is that of a new process, from the
list of folders to the page.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FOLDERS = 1000
SYSTEMS = "bm25,bm25-title"


def write_folders(home: Path, folders: int) -> None:
    """Runs the sample once, and links its files into every folder."""
    first = home / "result-0000"
    command = [sys.executable, "-m", "rankproof", "run", "--systems", SYSTEMS, "-o", str(first), "--no-report", "--quiet"]
    subprocess.run(command, check=True)
    files = [path.relative_to(first) for path in first.rglob("*") if path.is_file()]
    for number in range(1, folders):
        folder = home / f"result-{number:04}"
        for file in files:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            os.link(first / file, folder / file)


def first_page(home: str) -> None:
    """Prints the CPU seconds and the size of the page, after the imports that every start needs."""
    from rankproof._server.judging_queue import DocumentTexts
    from rankproof._server.labelling import LabellingPages, LabelOptions
    from rankproof._server.library import ResultsLibrary
    from rankproof._server.pages import JudgingViews, Router

    start = time.process_time()
    library = ResultsLibrary([home])
    router = Router(library, JudgingViews(library, None, DocumentTexts()), LabellingPages(library, LabelOptions("")))
    page = router.answer("/", None)
    first = time.process_time() - start
    router.answer("/", None)
    again = time.process_time() - start - first
    print(f"{page.body.count(b'<tbody'):,} results, {len(page.body) / 1e6:.2f} MB: {first:.2f} CPU s, again {again:.2f} CPU s")


def main() -> None:
    """Measures in a process of its own, in which nothing is cached."""
    folders = int(sys.argv[1]) if len(sys.argv) > 1 else FOLDERS
    with tempfile.TemporaryDirectory() as home:
        write_folders(Path(home), folders)
        subprocess.run([sys.executable, "-m", "benchmarks.serve_home", "--page", home], check=True)


if __name__ == "__main__":
    first_page(sys.argv[2]) if sys.argv[1:2] == ["--page"] else main()

"""Tables with more documents than a buffer holds: a document that comes again is counted once, and a changed text is noted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import rankproof as rp
from support.paths import SOURCE

_SIZES = (10, 4095, 4096, 4097, 20_000)
_LARGE = 300_000
_LARGE_MEGABYTES = 600
_MEASURED = """
import re, sys
import rankproof as rp
found = rp.import_dataset(sys.argv[1])
assert len(found.dataset.corpus) == int(sys.argv[2]), len(found.dataset.corpus)
assert found.report.notes == tuple(sys.argv[3:]), found.report.notes
# Not ru_maxrss, which begins with the size of the process that started this one.
print(int(re.search("VmHWM: *([0-9]+)", open("/proc/self/status").read().replace(chr(9), " "))[1]) >> 10)
"""


def write_rows(path: Path, documents: int, changed: int) -> None:
    """Each document once, then about 100 of them again, `changed` of those with another text."""
    with path.open("w", encoding="utf-8") as file:
        file.write("query,doc_id,title,text,grade\n")
        file.writelines(f"shoes {at % 50},d{at},title {at},text {at},{at % 3}\n" for at in range(documents))
        again = range(0, documents, max(1, documents // 100))
        file.writelines(f"hats,d{at},title {at},text {at}{' new' if turn < changed else ''},1\n" for turn, at in enumerate(again))


@pytest.mark.parametrize("documents", _SIZES)
def test_a_repeated_document_is_counted_once_at_any_size(tmp_path: Path, documents: int) -> None:
    write_rows(tmp_path / "t.csv", documents, changed=3)
    found = rp.import_dataset(tmp_path / "t.csv")
    counts = {count.part: (count.read, count.kept) for count in found.report.counts}
    rows = documents + len(range(0, documents, max(1, documents // 100)))
    queries = min(documents, 50) + 1
    assert counts == {
        "rows": (rows, rows),
        "judgements": (rows, rows),
        "queries": (queries, queries),
        "documents": (documents, documents),
    }
    assert found.report.notes[0] == "3 documents with more than one text; the first of each is kept"
    assert [found.dataset.corpus[f"d{at}"].text for at in (0, documents - 1)] == ["text 0", f"text {documents - 1}"]


@pytest.mark.slow
def test_a_table_of_several_partitions_has_the_right_counts_in_little_memory(tmp_path: Path) -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("measures the memory of a process in /proc")
    write_rows(tmp_path / "t.csv", _LARGE, 7)
    note = "7 documents with more than one text; the first of each is kept"
    made = "ids are made from the content, the first 16 digits of the sha256 of a query's text (after q)"
    command = [sys.executable, "-c", _MEASURED, str(tmp_path / "t.csv"), str(_LARGE), note, made]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(SOURCE.parent)}, capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < _LARGE_MEGABYTES

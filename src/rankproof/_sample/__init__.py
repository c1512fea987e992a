"""The built-in sample: an imaginary kitchen shop with its help pages, judged queries, and runs of three real systems over it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

DATASET = "kitchen"
QRELS = f"{DATASET}/qrels.tsv"
RUNS = ("runs/bm25.run", "runs/static.run", "runs/hybrid.run")


@contextmanager
def sample_folder() -> Iterator[str]:
    """The path of the dataset's folder, there for as long as the block runs."""
    from importlib.resources import as_file, files

    with as_file(files(__name__) / DATASET) as folder:
        yield str(folder)


@contextmanager
def sample_files() -> Iterator[list[str]]:
    """The paths of the judgements and the runs, there for as long as the block runs."""
    from importlib.resources import as_file, files

    folder = files(__name__)
    with ExitStack() as stack:
        yield [str(stack.enter_context(as_file(folder / name))) for name in (QRELS, *RUNS)]

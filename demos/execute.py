"""Runs the notebook and stores its output, without what differs between runs: `python -m demos.execute`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).with_name("systems.ipynb")
_SECONDS = 120


def executed(path: Path) -> Any:
    """The notebook with the outputs of its cells, those on standard error left out; a cell that fails raises."""
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(notebook, timeout=_SECONDS, kernel_name="python3", record_timing=False, coalesce_streams=True).execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"], "language_info": {"name": "python"}}
    return notebook


if __name__ == "__main__":
    nbformat.write(executed(NOTEBOOK), NOTEBOOK)  # type: ignore[no-untyped-call]

"""A dataset folder of rankproof or BEIR."""

from __future__ import annotations

from collections.abc import Mapping

from rankproof._formats.read import read_folder
from rankproof._importers.base import ImportCounts, Imported, ImportOptions, ImportReport, ImportSource


class BeirFolderImporter:
    """corpus.jsonl, queries.jsonl and qrels."""

    settings: Mapping[str, str] = {}

    def detect(self, source: ImportSource) -> bool:
        return len(source.paths) == 1 and any(name.startswith("corpus.jsonl") for name in source.files)

    def read(self, source: ImportSource, options: ImportOptions) -> Imported:
        (folder,) = source.paths
        dataset = read_folder(folder, split=options.split, grade_map=options.grade_map, on_conflict=options.on_conflict)
        counts = ImportCounts()
        counts.read("documents", len(dataset.corpus))
        counts.read("queries", len(dataset.queries))
        counts.read("judgements", sum(map(len, dataset.qrels.values())))
        return Imported(dataset, ImportReport("beir", source.name, counts.parts(), notes=dataset.qrels.grade_notes()))


BEIR_FOLDER = BeirFolderImporter()

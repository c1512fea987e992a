"""A dataset folder of rankproof or BEIR."""

from __future__ import annotations

from collections.abc import Mapping

from rankproof._formats.read import read_folder
from rankproof._importers.base import Imported, ImportOptions, ImportSource, is_dataset_folder, whole_dataset


class BeirFolderImporter:
    """corpus.jsonl, queries.jsonl and qrels."""

    has_splits = True
    settings: Mapping[str, str] = {}

    def detect(self, source: ImportSource) -> bool:
        return len(source.paths) == 1 and is_dataset_folder(source.paths[0])

    def read(self, source: ImportSource, options: ImportOptions) -> Imported:
        (folder,) = source.paths
        grades, rule = options.grade_map, options.on_conflict
        dataset = read_folder(folder, split=options.split, grade_map=grades, on_conflict=rule, storage=source.storage)
        return whole_dataset(dataset, "beir", source)


BEIR_FOLDER = BeirFolderImporter()

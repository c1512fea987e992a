"""Datasets of ir_datasets."""

from __future__ import annotations

from collections.abc import Mapping

from rankproof._formats.read import is_irds_name, read_plain_dataset
from rankproof._importers.base import Imported, ImportOptions, ImportSource, whole_dataset


class IrDatasetsImporter:
    """irds:NAME, such as irds:beir/scifact/test."""

    settings: Mapping[str, str] = {}

    def detect(self, source: ImportSource) -> bool:
        return len(source.paths) == 1 and is_irds_name(source.paths[0])

    def read(self, source: ImportSource, options: ImportOptions) -> Imported:
        from importlib.metadata import version

        (name,) = source.paths
        grades, rule = options.grade_map, options.on_conflict
        dataset = read_plain_dataset(name, grade_map=grades, on_conflict=rule, storage=source.storage)
        return whole_dataset(dataset, "irds", source, [f"read by ir_datasets {version('ir_datasets')}"])


IR_DATASETS = IrDatasetsImporter()

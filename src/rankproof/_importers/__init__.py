"""Datasets from the files of other tools: one importer for each kind of source."""

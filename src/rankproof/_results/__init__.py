"""The results of an experiment, in memory and as a folder of plain files."""

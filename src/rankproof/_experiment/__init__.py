"""Experiments: systems that are run, timed and evaluated on a dataset."""

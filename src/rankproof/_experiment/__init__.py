"""Experiments: systems run, timed and measured on a dataset."""

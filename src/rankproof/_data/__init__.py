"""Immutable values that are checked when built: judgements, runs, datasets, answers and tables."""

"""Alignment of a run with judgements: order, ties, duplicates and missing queries, in C and in Python."""

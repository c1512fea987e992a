"""Evaluation: judgements and runs in, a Result out."""

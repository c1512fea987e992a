"""Evaluation of runs and answers."""

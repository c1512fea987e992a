"""Baselines: every value beside chance, the simplest search and the best that was possible."""

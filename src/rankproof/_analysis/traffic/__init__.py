"""Samples of queries that stand for the traffic of a log, and whether they still do."""

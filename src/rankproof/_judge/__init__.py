"""Judgements made by a machine: pairs of query and document graded, marked as its own, and held against those of people."""

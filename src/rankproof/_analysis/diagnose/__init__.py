"""Diagnosis of systems, segments and stages from their values, and of the queries that fail."""

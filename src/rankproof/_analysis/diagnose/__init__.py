"""Diagnose: what the values of systems, segments and stages point at, and which queries fail."""

"""Fusion of several rankings of a query into one, by registered methods and normalisations."""

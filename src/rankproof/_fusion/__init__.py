"""Fusion: several rankings of one query joined into one, by registered methods and normalisations."""

"""Interleaving: one list for users from the rankings of several systems, without numpy."""

"""Tuning: parameters of fusion methods and systems, found on training queries and measured on held-out queries."""

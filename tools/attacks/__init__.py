"""Attacks on the commands, and tables of how each ended."""

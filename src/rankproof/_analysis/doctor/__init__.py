"""Checks of data and runs for faults that make values wrong."""

"""Paired tests, confidence intervals, corrections for multiple tests, and power, in numpy."""

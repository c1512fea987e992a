"""Explain: one number taken apart, so that the parts add up to it."""

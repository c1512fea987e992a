"""Explanations of one number by parts that add up to it."""

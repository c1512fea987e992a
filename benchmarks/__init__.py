"""Measurements of speed, memory, quality and statistical error rates; `make bench` runs those without downloads."""

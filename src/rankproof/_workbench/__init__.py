"""The bench's connection to systems: live search, changed settings, and their proof by cross-validation."""

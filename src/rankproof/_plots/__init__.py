"""Charts of an evaluation as image files."""

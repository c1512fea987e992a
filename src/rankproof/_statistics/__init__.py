"""What chance alone does: paired tests, intervals, corrections and power, in numpy."""

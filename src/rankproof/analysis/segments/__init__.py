"""Where a system is weak: queries in segments, each against the rest."""

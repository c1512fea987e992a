"""Which differences between systems are real, and how sure that is."""

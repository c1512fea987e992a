"""File formats: reading, writing, detection by content."""

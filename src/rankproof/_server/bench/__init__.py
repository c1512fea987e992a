"""The bench: queries in groups, two systems side by side, live search, and changes that are computed at once or proved."""

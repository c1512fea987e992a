"""Two answers side by side: claims with their evidence, labels in place, and blind preferences."""

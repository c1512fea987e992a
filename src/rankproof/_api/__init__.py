"""The functions of the public API: what people have as input, values that print and show as tables."""

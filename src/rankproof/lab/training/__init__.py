"""The trial's training: one recipe and one budget for every tokenizer."""

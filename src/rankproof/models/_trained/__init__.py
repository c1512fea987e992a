"""Small encoders that differ in their tokenizer alone."""

"""The tokenizer lab: trains and compares encoders that differ only in their tokenizer or prompts."""

"""The tokenization lab: encoders that differ in their tokenizer alone, trained and compared."""

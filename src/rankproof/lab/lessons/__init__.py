"""What the encoders of a trial are taught: the same queries and documents, in the same order, for every tokenizer."""

"""Encoders that `rankproof tokenizers train` trains, and their tokenizers."""

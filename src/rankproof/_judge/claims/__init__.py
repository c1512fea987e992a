"""Judges of claims that need a model: encoders, entailment models, log-probabilities and language models."""

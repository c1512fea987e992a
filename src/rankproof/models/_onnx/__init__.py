"""Runs BERT models as ONNX graphs."""

"""Demos that run offline on the built-in sample; see README.md."""

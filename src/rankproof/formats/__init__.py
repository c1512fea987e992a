"""Files: one module a format, bytes to rows and back."""

"""Views: a result or a small table in, text out, escaped for where it is shown."""

"""Doctor: what may be wrong with data or runs, looked for before a number is believed."""

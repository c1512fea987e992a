"""Whether systems may pass: values of today against blessed ones."""

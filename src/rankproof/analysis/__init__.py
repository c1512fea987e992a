"""What the numbers mean: evidence in, small tables and sentences out; nothing here reads a file or prints."""

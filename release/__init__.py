"""What a release is built and tried with."""

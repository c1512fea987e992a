"""The values that everything else is about: judgements, runs and datasets, checked when built and never changed."""

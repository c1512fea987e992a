"""From judgements and a run to hits; the one place where order, ties, duplicates and missing queries are settled."""

"""Analysis of answers: quality, causes of low F1, and the relation to retrieval."""

"""What is known of answers: how good they are, why they are not better, and what they have to do with retrieval."""

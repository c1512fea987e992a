"""What users do with live rankings: interleaving and A/B tests, decided as offline results are."""

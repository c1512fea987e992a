"""Programs that check our statistics against worlds whose truth is known."""

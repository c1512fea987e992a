"""Sentences that state nothing: lead-ins, headings, offers of help and abstentions, by their wording and place in a text."""

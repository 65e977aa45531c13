"""Judges: whatever gives a text a score, or says why it cannot."""

"""Judges by name, side by side on the same items, and joined into panels."""

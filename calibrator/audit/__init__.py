"""Whether data is what it seems: one file for each family of checks, before anybody calibrates on it."""

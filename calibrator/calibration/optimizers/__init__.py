"""Rival optimizers: DSPy's search for the rubric in place of ours, with the same judge, items, cache and budget."""

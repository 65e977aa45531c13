"""A judge against humans: figures with intervals, baselines, paired comparisons."""

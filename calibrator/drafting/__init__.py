"""Drafters: from rated exemplars to a rubric, and from a rubric and its disagreements to a better one."""

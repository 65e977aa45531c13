"""Texts written by models in answer to sources: prompts, samples, resume."""

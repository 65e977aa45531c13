"""Seeds: one for each purpose of a run."""

from __future__ import annotations

import hashlib


def seed_for(seed: int, *purpose: object) -> int:
    """Return a seed for one purpose of a run, so that no step's chance depends on how often another drew."""
    return int.from_bytes(hashlib.sha256(repr((seed, *purpose)).encode()).digest()[:8], "big")

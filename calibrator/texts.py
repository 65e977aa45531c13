"""Two small things that everything else needs of a text: its normal form and its digest."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Iterable


def normalise(text: str) -> str:
    """Return `text` as it is compared with others: case, accents, punctuation and spacing do not count.

    Letters and digits of every script are kept, so that texts in any language can be told apart.
    """
    decomposed = unicodedata.normalize("NFKD", text).casefold()
    words = "".join(c if c.isalnum() else "" if unicodedata.combining(c) else " " for c in decomposed).split()
    return " ".join(words)


def digest(value: object) -> str:
    """Return the SHA-256 (64 hexadecimal digits) of a JSON-serialisable value, independent of key order."""
    canonical = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def digest_set(digests: Iterable[str]) -> str:
    """Return one digest for a collection of digests, whatever their order."""
    return digest(sorted(digests))

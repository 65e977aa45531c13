"""Two small things that everything else needs of a text: its normal form and its digest."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Iterable

_VARIANTS = frozenset(map(chr, range(0xFE00, 0xFE10)))  # ask for another picture of the sign before


def normalise(text: str) -> str:
    """Return `text` as it is compared with others: case, accents, punctuation and spacing do not count.

    Letters, digits and vowel signs of every script are kept, so that texts in any language can be told apart.
    """
    decomposed = unicodedata.normalize("NFKD", text).casefold()
    return " ".join("".join(c if c.isalnum() else _instead(c) for c in decomposed).split())


def _instead(c: str) -> str:
    """Return what stands in the normal form for a character that is neither letter nor digit."""
    if unicodedata.combining(c) or c in _VARIANTS:
        return ""
    return c if unicodedata.category(c) in {"Mc", "Mn"} else " "


def digest(value: object) -> str:
    """Return the SHA-256 (64 hexadecimal digits) of a JSON-serialisable value, independent of key order."""
    canonical = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def digest_set(digests: Iterable[str]) -> str:
    """Return one digest for a collection of digests, whatever their order."""
    return digest(sorted(digests))


def unusable(text: str) -> str | None:
    """Return why a text cannot be judged by anyone, None if it can."""
    if not text.strip():
        return "empty text"
    if not any(c.isalnum() for c in text):
        return "the text has no word"
    return None


def visible(text: str) -> str:
    """Return `text` with control and direction characters made visible, so that no data steers a terminal."""
    return "".join(
        c if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf") else f"\\x{ord(c):02x}" for c in text
    )

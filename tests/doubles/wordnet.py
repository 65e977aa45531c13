"""A tiny WordNet in the format of the real one, wndb(5WN): a few synsets, with true byte offsets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

HEADER = "  1 A database made for tests.  \n  2 It has the form of WordNet's, and a few words.  \n"
# By part of speech: letter, number of the lexicographer file, synsets as words that mean the same.
SYNSETS: Mapping[str, tuple[str, int, tuple[tuple[str, ...], ...]]] = {
    "noun": ("n", 6, (("car", "auto", "automobile"), ("friend",))),
    "verb": ("v", 41, (("help", "aid"),)),
    "adj": ("a", 0, (("big", "large"), ("good",))),
    "adv": ("r", 2, (("well",),)),
}
EXCEPTIONS = {"noun": "mice mouse\n", "verb": "went go\n", "adj": "better good\n", "adv": "best well\n"}
NUMBERS = {"noun": 1, "verb": 2, "adj": 3, "adv": 4}


def write_wordnet(folder: Path) -> Path:
    """Write the files that Debian's packages have in /usr/share/wordnet (all but `lexnames`)."""
    folder.mkdir(parents=True)
    senses = []
    for part, (letter, lexicographer, synsets) in SYNSETS.items():
        data, index = HEADER, []
        for words in synsets:
            offset = len(data.encode())
            named = " ".join(f"{word} 0" for word in words)
            frames = " 01 + 08 00" if letter == "v" else ""
            data += f"{offset:08d} {lexicographer:02d} {letter} {len(words):02x} {named} 000{frames} | a gloss  \n"
            index += [f"{word} {letter} 1 0 1 0 {offset:08d}  \n" for word in words]
            senses += [f"{w}%{NUMBERS[part]}:{lexicographer:02d}:00:: {offset:08d} 1 0\n" for w in words]
        _write(folder / f"data.{part}", data)
        _write(folder / f"index.{part}", HEADER + "".join(sorted(index)))
        _write(folder / f"{part}.exc", EXCEPTIONS[part])
    _write(folder / "index.sense", "".join(sorted(senses)))
    _write(folder / "cntlist.rev", "car%1:06:00:: 1 71\n")
    return folder


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="ascii", newline="\n")

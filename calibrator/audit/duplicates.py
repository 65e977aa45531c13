"""Texts that stand in a file more than once, or in two files that should have nothing in common."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from calibrator.audit.findings import Finding, Severity, counted, first, in_rows, place
from calibrator.audit.near import near_pairs
from calibrator.audit.subject import Rated, Subject
from calibrator.dataset import content_of
from calibrator.records import Item
from calibrator.stats.agreement import mean_difference
from calibrator.texts import normalise

Array = NDArray[np.float64]
WORDS = 5  # what is shorter ("I do not know.") is said by several without being a copy
MANY = 0.1  # of the groups have a near copy: then the split is no longer one by groups
AS_APART = 0.9  # of what two ratings of different texts differ by
PAIRS = 50  # of ratings of one text, to say whether they agree


def duplicate_findings(subject: Subject) -> list[Finding]:
    """Return what stands in the file twice: whole items, texts below several sources, and nearly the same sources."""
    return [*_repeated(subject), *_texts(subject), *_sources(subject)]


def _places(items: Iterable[Item], of: Callable[[Item], str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for k, item in enumerate(items):
        found[of(item)].append(k)
    return found


def _source(item: Item) -> str:
    return normalise(item.source)


def _output(item: Item) -> str:
    return normalise(item.output)


def _finding(subject: Subject, severity: Severity, what: str, count: int, rows: Iterable[int]) -> Finding:
    message = f"{place(subject.name)}: {what}"
    return Finding("duplicates", severity, message, subject.name, None, count, first(rows))


def _repeated(subject: Subject) -> list[Finding]:
    places = [p for p in _places(subject.items, content_of).values() if len(p) > 1]
    if not places:
        return []
    again = [subject.rows[k] for p in places for k in p[1:]]
    shown = in_rows(first(again))
    verb = "repeats" if len(again) == 1 else "repeat"
    what = f"{counted(len(again), 'row')} {verb} source and text of another row ({shown})"
    differing = [(r, *_differences(r, places)) for r in subject.rated]
    findings = []
    worst = max(differing, key=lambda d: d[1], default=None)
    if worst and worst[1]:
        what += f", with {worst[0].aspect} ratings that differ in {worst[1]} of {worst[2]} pairs"
    findings.append(_finding(subject, "note", f"{what}; a split keeps them together", len(again), again))
    for rated, _, pairs, ratio in differing:
        if pairs >= PAIRS and ratio >= AS_APART:
            what = (
                f"where rows repeat a text ({shown}), their ratings differ nearly as much as those of different texts"
            )
            message = f"{place(subject.name, rated.column)}: {what}; check how the ratings were joined to the texts"
            row = (subject.name, rated.column, pairs, first(again))
            findings.append(Finding("duplicates", "warning", message, *row))
    return findings


def _differences(rated: Rated, places: Sequence[Sequence[int]]) -> tuple[int, int, float]:
    """Return how many pairs of ratings of one text differ, how many there are, and by how much relative to chance."""
    pairs = [(p[0], k) for p in places for k in p[1:]]
    apart = np.array([abs(rated.human[a] - rated.human[b]) for a, b in pairs])
    apart = apart[~np.isnan(apart)]
    usual = mean_difference(rated.human[~np.isnan(rated.human)])
    ratio = float(apart.mean() / usual) if len(apart) and usual > 0 else 0.0
    return int((apart > 1e-9).sum()), len(apart), ratio


def _texts(subject: Subject) -> list[Finding]:
    """The same text, or nearly the same, below several sources: both sides of a split can hold it."""
    if subject.mapped.source is None:
        return []
    groups: dict[str, set[str]] = defaultdict(set)
    rows: dict[str, list[int]] = defaultdict(list)
    for item, row in zip(subject.items, subject.rows, strict=True):
        text = _output(item)
        if len(text.split()) >= WORDS:
            groups[text].add(item.group)
            rows[text].append(row)
    same = [t for t, g in groups.items() if len(g) > 1]
    texts = list(groups)
    near = [(texts[a], texts[b]) for a, b in near_pairs(texts) if groups[texts[a]].isdisjoint(groups[texts[b]])]
    if not same and not near:
        return []
    what, shown = [], sorted(rows[t][0] for t in near[0]) if near else []
    if same:
        what.append(f"{counted(len(same), 'text')} in several groups ({in_rows(first(rows[same[0]]))})")
    if near:
        what.append(f"{counted(len(near), 'pair')} of nearly the same text in different groups ({in_rows(shown)})")
    todo = "a test side can hold what a judge was made with; leave out copies if there are many"
    message = f"there {'is' if len(same) + len(near) == 1 else 'are'} {' and '.join(what)}; {todo}"
    return [_finding(subject, "note", message, len(same) + len(near), rows[same[0]] if same else shown)]


def _sources(subject: Subject) -> list[Finding]:
    """Groups that are two by a comma's worth: nearly the same source."""
    if subject.mapped.source is None:
        return []
    places = _places(subject.items, _source)
    texts = list(places)
    groups = [subject.items[places[t][0]].group for t in texts]
    near = [(a, b) for a, b in near_pairs(texts) if groups[a] != groups[b]]
    if not near:
        return []
    count = len({groups[k] for pair in near for k in pair})
    rows = sorted(subject.rows[places[texts[k]][0]] for k in near[0])
    severity: Severity = "warning" if count >= MANY * len(set(groups)) else "note"
    verb = "has" if len(near) == 1 else "have"
    what = f"{counted(len(near), 'pair')} of groups {verb} nearly the same source ({in_rows(rows)})"
    todo = "a split can part them; give --group a column that holds them together"
    return [_finding(subject, severity, f"{what}; {todo}", len(near), rows)]


def overlap_findings(subject: Subject, other: Subject) -> list[Finding]:
    """Return what `other` shares with `subject`: the same items and groups, and nearly the same ones beyond them."""
    findings = []
    texts, groups = ({of(i) for i in subject.items} for of in (content_of, lambda i: i.group))
    same = [r for i, r in zip(other.items, other.rows, strict=True) if content_of(i) in texts]
    if same:
        what = f"{len(same)} of its {len(other.items)} items stand in {subject.name} too ({in_rows(first(same))})"
        todo = "a test on them would prove nothing: take them out of one of the files"
        findings.append(_finding(other, "grave", f"{what}; {todo}", len(same), same))
    shared = _places(other.items, lambda i: i.group)
    all_groups = len(shared)
    known = {g: p for g, p in shared.items() if g in groups}
    if known:
        rows = [other.rows[p[0]] for p in known.values()]
        what = f"{len(known)} of its {all_groups} groups stand in {subject.name} too ({in_rows(first(rows))})"
        todo = "do not take one file to train and the other to test"
        findings.append(_finding(other, "grave", f"{what}; {todo}", len(known), rows))
    return findings + _nearly(subject, other, "source") + _nearly(subject, other, "text")


def _nearly(subject: Subject, other: Subject, role: str) -> list[Finding]:
    """Return the sources (or texts) of `other` that are nearly the same as one in `subject`, whole items left aside.

    A source that is the same is a shared group; a text that is the same may stand below another source.
    """
    of = _source if role == "source" else _output
    here = {t for i in subject.items if len((t := of(i)).split()) >= WORDS}
    items = {content_of(i) for i in subject.items}
    there: dict[str, int] = {}
    for item, row in zip(other.items, other.rows, strict=True):
        if len((text := of(item)).split()) >= WORDS and content_of(item) not in items:
            there.setdefault(text, row)
    same = set(there) & here if role == "text" else set()
    texts = [*here, *(t for t in there if t not in here)]
    new = same | {texts[b] for a, b in near_pairs(texts) if a < len(here) <= b}
    if not new:
        return []
    rows = [there[t] for t in new]
    verb = "is" if len(new) == 1 else "are"
    what = f"{counted(len(new), f'more {role}')} {verb} {'the same or ' if same else ''}nearly the same as one in"
    severity: Severity = "warning" if role == "source" else "note"
    message = f"{what} {subject.name} ({in_rows(first(rows))}); look whether they are copies"
    return [_finding(other, severity, message, len(new), rows)]

"""What is read of a text: stems, sentences, names, runs of words."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from calibrator.reading import Reading, Text, char_ngrams, content_stems, longest_common_run, ngrams, stem
from calibrator.records import Item

anything = st.text(alphabet=st.characters(), max_size=200)
dense = st.text(alphabet="aB .,!?…。\n\"'”’) :|\t1", max_size=40)


@pytest.mark.parametrize(
    ("words", "common"),
    [
        (("bridge", "bridges", "bridge's"), "bridg"),
        (("talk", "talks", "talked", "talking"), "talk"),
        (("party", "parties"), "part"),
        (("kind", "kindly"), "kind"),
    ],
)
def test_forms_of_a_word_have_one_stem(words: tuple[str, ...], common: str) -> None:
    assert {stem(w) for w in words} == {common}


@pytest.mark.parametrize("word", ["is", "bus", "red", "day", "a", "'s", ""])
def test_short_words_keep_three_letters_or_all_they_have(word: str) -> None:
    assert len(stem(word)) >= min(3, len(word.removesuffix("'s")))


def test_content_leaves_out_the_small_words() -> None:
    assert content_stems("the river is not in the garden".split()) == {"river", "garden"}


def test_ngrams_of_short_sequences_are_none() -> None:
    assert ngrams("a b c".split(), 2) == {("a", "b"), ("b", "c")}
    assert ngrams(["a"], 2) == set()
    assert char_ngrams("Abcde") == {"abcd", "bcde"}
    assert char_ngrams("abc") == set()


def run_by_comparing_all(a: Sequence[str], b: Sequence[str]) -> int:
    runs = (k for i in range(len(a)) for j in range(len(b)) for k in [shared(a[i:], b[j:])])
    return max(runs, default=0)


def shared(a: Sequence[str], b: Sequence[str]) -> int:
    return next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


@settings(deadline=None, max_examples=300)
@given(st.text("ab", max_size=14), st.text("abc", max_size=14))
@example("abcbc", "bcbcb")
def test_the_longest_common_run_is_that_of_comparing_all(a: str, b: str) -> None:
    # Letters as words: "ab" is the text "a b".
    x, y = Text(" ".join(a)), Text(" ".join(b))
    assert longest_common_run(x, y) == run_by_comparing_all(a, b) == longest_common_run(y, x)


def test_the_longest_common_run_by_hand() -> None:
    a, b = Text("We met at the old bridge today."), Text("They stood at the old market, at the old bridge.")
    assert longest_common_run(a, b) == 4
    assert longest_common_run(a, Text("")) == 0


def test_a_longer_run_counts_as_the_most_that_is_looked_for() -> None:
    long = Text(" ".join(f"w{k}" for k in range(100)))
    assert longest_common_run(long, long) == 16
    assert longest_common_run(long, long, most=5) == 5


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One", "Two", "Three"]),
        ('He said "stop." Then he left...', ['He said "stop', '" Then he left']),
        ("It costs 3.50 at shop.org", ["It costs 3.50 at shop.org"]),
        ("a line\nanother line\n\n\nand one", ["a line", "another line", "and one"]),
        ("一つ。 二つ。", ["一つ", "二つ"]),
        ("?!...", []),
        ("", []),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    assert Text(text).sentences == sentences


@settings(deadline=None, max_examples=300)
@given(dense)
@example("...a")
@example("a?!?!b. \n\n.")
def test_sentences_end_where_the_plain_pattern_says(text: str) -> None:
    plain = re.split(r"[.!?…。！？]+(?=\s|$|[\"'”’)])|\n+", Text(text).text)
    assert Text(text).sentences == [s for s in (part.strip() for part in plain) if s]


@settings(deadline=None)
@given(anything | dense)
def test_a_text_with_words_has_a_sentence(text: str) -> None:
    read = Text(text)
    assert bool(read.sentences) or not read.words


def test_words_join_both_apostrophes_and_lose_their_case() -> None:
    assert Text("Don’t WAIT, the river's rising_fast").words == ["don't", "wait", "the", "river's", "rising", "fast"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("We asked the cyclists and some tourists.", {"cyclist", "tourist"}),
        ("Many people in this country say so.", set()),
        ("Yesterday we met Clara in Lisbon.", {"clara", "lisbon"}),
        ("Clara: shall we go? | Ben: yes | Mr. Lee: no", {"clara", "ben", "mr.", "lee"}),
        ("Clara: shall we go?\n\n  \tBen: yes", {"clara", "ben"}),
        ("then He left and The door closed", set()),
        ("", set()),
    ],
)
def test_names(text: str, names: set[str]) -> None:
    assert Text(text).names == names


def test_shares_and_numbers_of_words() -> None:
    reading = Reading(Item("1", "Thanks, thanks and thanks again, dear river.", "A river."), {})
    assert reading.number(frozenset({"thanks", "river"})) == 4
    assert reading.share(frozenset({"thanks"})) == pytest.approx(3 / 7)


def test_an_empty_output_has_shares_of_0() -> None:
    assert Reading(Item("1", "", ""), {}).share(frozenset({"river"})) == 0


def test_sources_and_inputs_that_items_share_are_read_once() -> None:
    texts: dict[str, Text] = {}
    readings = [Reading(Item(str(k), f"reply {k}", "a source", inputs={"fact": "a fact"}), texts) for k in range(3)]
    assert set(texts) == {"a source", "a fact"}
    assert len({id(r.source) for r in readings}) == 1
    assert all(r.extra == {"fact"} for r in readings)

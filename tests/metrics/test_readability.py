"""Readability: the formulas by hand, sentences, words, syllables and familiar words by cases."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrator.metrics import readability as r
from calibrator.metrics.base import Settings, Unscored
from calibrator.metrics.sentences import sentences, words
from calibrator.metrics.syllables import syllables
from calibrator.records import Item


def test_the_formulas_by_hand() -> None:
    counts = r.Counts(sentences=2, words=20, syllables=30, unfamiliar=4)  # 10 words a sentence, 1.5 syllables, 20 %
    assert r.flesch_reading_ease(counts) == pytest.approx(206.835 - 10.15 - 126.9)
    assert r.flesch_kincaid(counts) == pytest.approx(3.9 + 17.7 - 15.59)
    assert r.dale_chall(counts) == pytest.approx(3.158 + 0.496 + 3.6365)
    assert r.dale_chall_adjusted(counts) == pytest.approx(3.158 + 0.496 + 3.6365)


def test_only_the_adjusted_score_leaves_its_constant_out_up_to_five_percent() -> None:
    counts = r.Counts(sentences=2, words=20, syllables=30, unfamiliar=1)
    assert r.dale_chall_adjusted(counts) == pytest.approx(0.7895 + 0.496)
    assert r.dale_chall(counts) == pytest.approx(0.7895 + 0.496 + 3.6365)


def test_a_text_counted_by_hand() -> None:
    # The / teach-er / read / the / stu-dents / a / sto-ry (10). They / lis-tened / qui-et-ly (6: the rules make of
    # quietly three). On the list or forms of it: all but "students", whose singular is not on it.
    counts = r.counts_of("The teacher read the students a story. They listened quietly.")
    assert counts == r.Counts(sentences=2, words=10, syllables=10 + 6, unfamiliar=1)


def test_the_scores_of_items_are_the_formulas_of_their_counts() -> None:
    text = "The museum opened a new exhibition. Visitors came from everywhere, and some stayed for hours!"
    told: list[int] = []
    found = r.make(Settings())([Item(id="a", output=text), Item(id="b", output="Yes.")], told.append)
    counts = r.counts_of(text)
    assert counts is not None
    assert {name: values[0] for name, values in found.items()} == {n: f(counts) for n, f in r.FORMULAS.items()}
    assert found["flesch-kincaid"][1] == pytest.approx(0.39 + 11.8 - 15.59)  # a word of one syllable
    assert sum(told) == 2


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Dr. Miller met Mrs. Jones at 3.30 p.m. on Friday.", 1),
        ("J. S. Bach wrote it. Nobody doubts that.", 2),
        ("It was late, i.e. after nine. we left.", 2),
        ("Really?! Yes. (No doubt.) Fine", 4),
        ("Well... perhaps. Well... Perhaps.", 3),
        ("One line\nanother line\n\n!!!", 2),
        ("See no. 5 of the list, etc. It helps.", 2),
        ("!!! ...", 0),
    ],
)
def test_sentences(text: str, count: int) -> None:
    assert len(sentences(text)) == count


@given(st.text(alphabet="aB1 .!?…\"')(\n", max_size=60))
def test_sentences_lose_no_letter(text: str) -> None:
    found = sentences(text)
    assert [c for part in found for c in part if c.isalnum()] == [c for c in text if c.isalnum()]
    assert all(any(c.isalnum() for c in part) for part in found)


def test_words_are_held_together_inside() -> None:
    assert words("It's a well-known U.S. fact: 3.5 of 10 - no more.") == (
        "It's a well-known U.S fact 3.5 of 10 no more".split()
    )


@pytest.mark.parametrize(
    ("word", "count"),
    [
        *((w, 1) for w in "the make makes walked called rule rules strength queue you're I'm love teach".split()),
        *((w, 2) for w in "table tables wanted boxes didn't it'll safely careful people something".split()),
        *((w, 3) for w in "idea media racism happier however anyone beautiful realize".split()),
        *((w, 4) for w in "community society education information experience appreciate".split()),
        *((w, 5) for w in "opportunity university communication".split()),
        ("well-known", 2),
        ("NFL", 3),
        ("2024", 4),
        ("привет", 1),
    ],
)
def test_syllables(word: str, count: int) -> None:
    assert syllables(word) == count


@given(st.text(max_size=30))
def test_every_word_has_a_syllable(word: str) -> None:
    assert syllables(word) >= 1
    assert syllables(word) == syllables(word.upper()) or not word.isascii()


@pytest.mark.parametrize(
    "word",
    "apple apples Apple apple's listened stopped bigger biggest happier running making carries carried quickly given "
    "18 1,947 don't we'll well-dressed".split(),
)
def test_inflections_of_listed_words_are_familiar(word: str) -> None:
    assert r.familiar(word)


@pytest.mark.parametrize("word", "exhibition students society misinformation oxen's crazily well-informed".split())
def test_other_words_are_not(word: str) -> None:
    assert not r.familiar(word)


def test_names_pass_inside_a_sentence_and_acronyms_do_not() -> None:
    assert r.counts_of("We saw Reykjavik.") == r.Counts(1, 3, 5, 0)
    found = r.counts_of("We saw NATO.")
    assert found is not None and found.unfamiliar == 1
    first = r.counts_of("Reykjavik is old.")  # what begins a sentence may be any word
    assert first is not None and first.unfamiliar == 1


def test_the_list_is_whole_and_has_words_only() -> None:
    assert len(r._listed()) == 2940
    assert all(word == word.lower() and set(word) <= set("abcdefghijklmnopqrstuvwxyz'-") for word in r._listed())


def test_harder_texts_are_harder_by_every_score() -> None:
    easy = r.counts_of("The dog ran home. The cat sat on the warm bed. We like them both.")
    hard = r.counts_of("Contemporary institutional arrangements necessitate considerable administrative coordination.")
    assert easy is not None and hard is not None
    for metric in r.METRICS:
        formula = r.FORMULAS[metric.name]
        better = formula(easy) > formula(hard) if metric.better == "higher" else formula(easy) < formula(hard)
        assert better, metric.name


@pytest.mark.parametrize(
    ("text", "scored"),
    [
        ("Das große Café öffnet früh.", True),  # not told from English
        ("We met 3 of 7 in 2024.", True),
        ("Tokyo is 東京 and Moscow Москва.", True),  # four of six
        ("今天天气很好。", False),
        ("الطقس جميل اليوم.", False),
        ("Сегодня хорошая погода.", False),
        ("Он работает в IBM.", False),
        ("2024: 3, 4.", False),
    ],
)
def test_only_texts_in_latin_letters_have_scores(text: str, scored: bool) -> None:
    found = r.make(Settings())([Item(id="a", output=text)], lambda _: None)
    assert [isinstance(values[0], Unscored) for values in found.values()] == [not scored] * 4

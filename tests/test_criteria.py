"""The measurable criteria: what each one is high on, and that they hold on any text, any domain, any length.

After a deliberate change of a measurement: raise `VERSION`, and put the output of
`python -m tests.test_criteria` in place of `GOLDEN`.
"""

from __future__ import annotations

import hashlib
import pprint
import random
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from calibrator import lexicon
from calibrator.aspects import find_aspect
from calibrator.catalog import open_source
from calibrator.columns import map_columns
from calibrator.criteria import BY_NAME, CRITERIA, VERSION, Criterion, Measured, measure
from calibrator.dataset import rated_items
from calibrator.measurements import ratio
from calibrator.records import Item
from calibrator.texts import digest
from tests.conftest import make_items

SOURCE = "Cyclists in our town never stop at red lights and block every narrow street."
FACT = "The council built a new bridge for trams in 1998."


def item(output: str, source: str = SOURCE, **inputs: str) -> Item:
    return Item("x", output, source, inputs=inputs, key=digest([source, output, inputs]))


def value(name: str, of: Item) -> float:
    return float(measure([of], [BY_NAME[name]])[0, 0])


# --- each criterion is high on what it names, beside a text that is like it in other respects ----------------------

PAIRS = [
    ("on-topic", "Red lights and narrow streets slow everyone down.", "Fresh bread and warm soup cheer everyone up."),
    ("coverage", "Cyclists stop at red lights in our town.", "Cyclists enjoy a long ride through the forest."),
    ("wording", "Cyclists in our town do stop at red lights.", "I had a bowl of soup and went to bed."),
    ("negated-claim", "It is not true that cyclists never stop.", "It is clear that cyclists always stop."),
    ("phrases", "Some stop at red lights in our town.", "In town some red cars stop, lights on."),
    ("copied-run", "They never stop at red lights, you say.", "They stop, you say, never once at lights that are red."),
    ("same-names", "Most cyclists I know are careful.", "Most drivers I know are careful."),
    ("other-names", "Think of the drivers and the tourists.", "Think of the noise and the weather."),
    ("named", "The cyclists and the teachers met.", "The lamps and the tables broke."),
    ("new-ideas", "A cheap ferry crosses the harbour every morning.", "It is what it is and that is that."),
    ("long-words", "Responsible transportation requires cooperation.", "Good roads need us to work as one."),
    ("length", "They ride with care and stop when the lamp turns red.", "They ride with care."),
    ("sentences", "I disagree. Look again. Most wait.", "I disagree, look again and you see that most wait."),
    ("evidence", "A study of the city shows the opposite.", "A friend of the city likes the opposite."),
    ("numbers", "In 2019 there were 12 such cases.", "Back then there were twelve such cases."),
    ("connectives", "They wait because it is safer; however, some rush.", "They wait and it is safer, and some rush."),
    ("qualifiers", "Some may rush, but usually most wait.", "They rush, but the others wait."),
    ("denouncing", "That remark is unfair and harmful.", "That remark is long and old."),
    ("denouncing-share", "Unfair and harmful.", "That is unfair to the people who ride to work each day with care."),
    ("insults", "What a stupid, ridiculous remark.", "What a short, early remark."),
    ("obligation", "You should look again and must be patient.", "You looked again and were patient."),
    ("shouting", "LOOK AGAIN before you judge THEM.", "Look again before you judge them."),
    ("exclamations", "Look again! They do wait!", "Look again. They do wait."),
    ("empathy", "I understand the feeling and your concerns.", "I remember the street and your bicycle."),
    ("shared-values", "Everyone deserves respect and equal rights.", "Everyone orders coffee and warm bread."),
    ("politeness", "Thanks, and please look again.", "Listen, and then look again."),
    ("inclusive", "We share our roads together.", "They use the roads in turn."),
    ("second-person", "You and your friends ride too.", "He and his friends ride too."),
    ("first-person", "I ride to work and my son rides with me.", "She rides to work and her son rides with her."),
    ("question", "Did they all rush?", "They did all rush."),
    (
        "opinion",
        "I think that is a really great and interesting idea.",
        "He said that was a fairly old and short text.",
    ),
    ("agreement", "I agree, it was so yesterday.", "I doubt it was so yesterday."),
    ("non-answers", "Well, okay, whatever.", "Most of them wait."),
    (
        "sentence-length",
        "They ride to work each day and wait at the lamp.",
        "They ride. They work. They wait. They go on.",
    ),
    ("word-length", "Considerate transportation participants cooperate.", "They ride to work and we let them be."),
    ("variety", "Trams, ferries, buses, trains.", "Trams, trams, buses, trams."),
    ("function-words", "It is what it was and so it will be.", "Trams cross stone bridges every morning."),
    ("repetition", "They wait there and they wait there and they wait there.", "They wait there while others pass by."),
    ("garbling", "The of riders with are waiting because.", "The riders are waiting with patience."),
    ("small-letters", "they wait. others pass. it is fine.", "They wait. Others pass. It is fine."),
]


@pytest.mark.parametrize(("name", "high", "low"), PAIRS, ids=[p[0] for p in PAIRS])
def test_a_criterion_is_clearly_higher_on_what_it_names(name: str, high: str, low: str) -> None:
    criterion = BY_NAME[name]
    usual = measure(make_items(60), [criterion])[:, 0]
    margin = max(0.1, 0.25 * float(usual.std()))
    assert value(name, item(high)) > value(name, item(low)) + margin


def test_given_facts_are_words_from_the_further_inputs() -> None:
    high, low = item("The council built a bridge.", fact=FACT), item("The council built a bridge.", fact="Soup is hot.")
    assert value("given-facts", high) > value("given-facts", low) + 0.5
    assert value("new-ideas", high) < value("new-ideas", low) - 0.5


@pytest.mark.parametrize(
    ("output", "near"),
    [
        ("Cyclists, I think, do not.", True),
        ("Cyclists, so I think, do not.", False),
        ("Not one of us who ride cyclists.", True),
        ("Not one of us who ride as cyclists.", False),
    ],
)
def test_a_claim_is_negated_where_its_words_stand_near(output: str, near: bool) -> None:
    assert (value("negated-claim", item(output)) > 0) == near


def test_every_criterion_has_its_pair() -> None:
    assert {p[0] for p in PAIRS} | {"given-facts"} == set(BY_NAME)


# --- the set --------------------------------------------------------------------------------------------------------


def test_there_are_about_forty_with_names_of_their_own() -> None:
    assert 25 <= len(CRITERIA) <= 45
    assert len(BY_NAME) == len(CRITERIA)
    assert len({c.look for c in CRITERIA}) == len(CRITERIA)
    assert {c.prior for c in CRITERIA} == {-1, 0, 1}


@pytest.mark.parametrize("criterion", CRITERIA, ids=lambda c: c.name)
def test_each_has_a_phrase_a_reader_could_follow(criterion: Criterion) -> None:
    phrase = criterion.look.format(output="the reply", source="the post")
    assert "the reply" in phrase
    assert "{" not in phrase
    assert len(phrase.split()) >= 4
    assert not phrase.endswith(".")
    assert criterion.more.split()[0] in {"more", "longer"}


def test_ratio_of_nothing_is_0() -> None:
    assert (ratio(1, 2), ratio(3, 0), ratio(0, 0), ratio(3, -1)) == (0.5, 0, 0, 0)


# --- any text -------------------------------------------------------------------------------------------------------

ODD = {
    "empty": "",
    "blank": " \t\n ",
    "one letter": "a" * 10_000,
    "punctuation": "?!.,;:-—…()[]'\"" * 50,
    "chinese": "他们总是在红灯前停下来。骑自行车的人很小心！" * 5,
    "emojis": "🙂🚲👩‍🏫🏳️‍🌈 🚲🚲",
    "controls": "a\x00b\x07\x1b[31m c\u200b\u202e\ufeff\x85d\r\n",
    "surrogate": "a lone \ud800 half",
    "combining": "e\u0301" * 40,
    "apostrophes": "'s 's don't '''' rock'n'roll",
    "speakers": "A: | B: | :\n\n:A",
    "huge number": "9" * 5_000,
}
anything = st.text(alphabet=st.characters(), max_size=120) | st.sampled_from(sorted(ODD.values()))


@settings(deadline=None, max_examples=150)
@given(source=anything, output=anything, extra=st.dictionaries(st.text(max_size=3), anything, max_size=2))
@example(source="", output="", extra={})
def test_measures_are_finite_on_anything(source: str, output: str, extra: dict[str, str]) -> None:
    values = measure([Item("x", output, source, inputs=extra)])
    assert values.shape == (1, len(CRITERIA))
    assert np.isfinite(values).all()


@pytest.mark.parametrize("source", ODD)
@pytest.mark.parametrize("output", ODD)
def test_measures_are_finite_and_moderate_on_odd_texts(output: str, source: str) -> None:
    values = measure([item(ODD[output], ODD[source])])
    assert np.isfinite(values).all()
    assert (values >= 0).all()


def test_of_no_items_there_is_an_empty_table() -> None:
    assert measure([]).shape == (0, len(CRITERIA))
    assert Measured()([]).shape == (0, len(CRITERIA))


# --- a pure function of the item ------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(st.permutations(range(12)), st.integers(1, 12))
def test_the_company_of_other_items_changes_nothing(order: list[int], count: int) -> None:
    items = make_items(12, groups=4)
    alone = [measure([i])[0].tolist() for i in items]
    together = measure([items[k] for k in order[:count]]).tolist()
    assert together == [alone[k] for k in order[:count]]


def test_only_the_texts_count() -> None:
    one = Item("1", "They do wait.", SOURCE, inputs={"fact": FACT})
    two = Item(
        "2", "They do wait.", SOURCE, "a reference", {"fact": FACT}, "group", "system", (1.0, 5.0), 3.0, "key", 7
    )
    assert measure([one]).tolist() == measure([two]).tolist()


def test_what_is_remembered_is_what_is_measured() -> None:
    items, chosen = make_items(20), CRITERIA[5:9]
    measured = Measured()
    assert measured(items[:12]).tolist() == measure(items[:12]).tolist()
    assert measured(items, chosen).tolist() == measure(items, chosen).tolist()
    assert measured(items[::-1], chosen).tolist() == measure(items[::-1], chosen).tolist()


# --- other domains --------------------------------------------------------------------------------------------------

DIALOGUE = (
    "Clara: Shall we meet at the library on Friday at 6? | Ben: Friday is hard for me, my sister Nora visits. "
    "| Clara: Then Saturday at noon? | Ben: Great, I will bring the old maps."
)
FAITHFUL = "Clara and Ben will meet at the library on Saturday at noon, and Ben will bring the old maps."
MADE_UP = "In Lisbon the teachers lost 3 umbrellas and Peter was really angry about the soup."
SHORT = "They talk about it."

RECIPE = "How long do I boil an egg so that the yolk stays soft?"
ANSWERS = (
    "About six minutes in boiling water, because the white sets before the yolk; then cool the egg.",
    "Eggs are tasty! I love eggs, wow.",
    "ok",
    "You should never boil an egg. It is wrong and unfair to the hens, and they deserve respect.",
)


@pytest.mark.parametrize("name", ["on-topic", "coverage", "wording", "phrases", "copied-run", "same-names"])
def test_a_faithful_summary_of_a_dialogue_stands_out(name: str) -> None:
    assert value(name, item(FAITHFUL, DIALOGUE)) > value(name, item(MADE_UP, DIALOGUE)) + 0.1
    assert value(name, item(FAITHFUL, DIALOGUE)) > value(name, item(SHORT, DIALOGUE)) + 0.1


def test_a_made_up_summary_names_others() -> None:
    assert value("other-names", item(MADE_UP, DIALOGUE)) > value("other-names", item(FAITHFUL, DIALOGUE)) + 0.5


def test_most_criteria_tell_texts_of_other_domains_apart() -> None:
    items = [item(o, DIALOGUE, fact=FACT) for o in (FAITHFUL, MADE_UP, SHORT)] + [item(o, RECIPE) for o in ANSWERS]
    assert (measure(items).std(axis=0) > 0).sum() >= 0.7 * len(CRITERIA)


@pytest.mark.parametrize(("data", "aspect"), [("topical-chat", "overall"), ("dialsummeval", "relevance")])
def test_criteria_vary_on_real_sets_of_other_domains(real_data: Path, data: str, aspect: str) -> None:
    source = open_source(data, real_data)
    found, _ = find_aspect(aspect, source.suite)
    dataset = rated_items(source.table, map_columns(source.table, source.wanted, found), found.scale)
    assert (measure(dataset.items).std(axis=0) > 0).sum() >= 0.9 * len(CRITERIA)


# --- time -----------------------------------------------------------------------------------------------------------


def prose(characters: int) -> str:
    draw = random.Random(0)
    words = [w for i in make_items(200) for w in i.output.lower().split()] + "the of a not is we you and".split() * 200
    return (" ".join(draw.choices(words, k=characters // 3)) + ".")[-characters:]


def repeat(unit: str, characters: int) -> str:
    return "a" + unit * (characters // len(unit)) + "b"


def seconds(text: str) -> float:
    """CPU seconds of all criteria, the least of three."""
    times = []
    for _ in range(3):
        begin = time.process_time()
        measure([item(text, text, fact=text)])
        times.append(time.process_time() - begin)
    return min(times)


def growth(make: Callable[[int], str], characters: int) -> float:
    """How many times longer a text of ten times the length takes: 10 where time is linear, 100 where it is quadratic.

    Below 2 ms the clock says nothing and counts as 2 ms.
    """
    return seconds(make(10 * characters)) / max(0.002, seconds(make(characters)))


def test_time_grows_with_the_length_of_ordinary_text() -> None:
    assert growth(prose, 20_000) < 30


@pytest.mark.parametrize(
    "unit", ["a ", ".", "\n", "\n ", "!?", "'", "a'", "|", "Ab:", "not ", "a", "A", " A", "the of "]
)
def test_time_grows_with_the_length_of_repeated_signs(unit: str) -> None:
    assert growth(lambda n: repeat(unit, n), 3_000) < 30


# --- golden values --------------------------------------------------------------------------------------------------

FIXED = (
    item(
        "I agree that few cyclists in our town block a street, but not that they never stop at red lights. "
        "Did you see the 2023 study?"
    ),
    item(
        "well okay, YOU should respect teachers and not be so unfair! i think the of it is stupid, stupid. "
        "Please help the council",
        fact=FACT,
    ),
    item(FAITHFUL, DIALOGUE, fact="The library holds 300 old maps."),
)


def word_lists() -> str:
    """Digest of all the word lists, which the fixed texts can only touch upon."""
    lists = {k: sorted(v) for k, v in vars(lexicon).items() if k.isupper()}
    return hashlib.sha256(repr(sorted(lists.items())).encode()).hexdigest()[:16]


def golden() -> dict[str, object]:
    rows = {c.name: tuple(measure(FIXED, [c])[:, 0].round(4).tolist()) for c in CRITERIA}
    return {"VERSION": VERSION, "word lists": word_lists(), **rows}


GOLDEN: dict[str, object] = {
    "VERSION": 1,
    "word lists": "ed55436ad2f628ca",
    "on-topic": (0.6364, 0.0, 1.0),
    "coverage": (0.875, 0.0, 0.5625),
    "wording": (0.5275, 0.0334, 0.545),
    "given-facts": (0.0, 0.6931, 0.0),
    "negated-claim": (1.0986, 0.0, 0.0),
    "phrases": (0.28, 0.0, 0.5556),
    "copied-run": (1.7918, 0.6931, 1.7918),
    "same-names": (1.0, 0.0, 0.4),
    "other-names": (0.0, 0.6931, 0.0),
    "named": (0.6931, 0.6931, 1.0986),
    "new-ideas": (1.6094, 2.3026, 0.0),
    "long-words": (1.0986, 1.7918, 1.0986),
    "length": (3.2958, 3.1781, 2.9957),
    "sentences": (1.0986, 1.3863, 0.6931),
    "evidence": (0.6931, 0.0, 0.0),
    "numbers": (0.6931, 0.0, 0.0),
    "connectives": (0.6931, 0.6931, 0.0),
    "qualifiers": (0.6931, 0.0, 0.0),
    "denouncing": (0.0, 0.6931, 0.0),
    "denouncing-share": (0.0, 0.0435, 0.0),
    "insults": (0.0, 1.0986, 0.0),
    "obligation": (0.0, 0.6931, 0.0),
    "shouting": (0.0, 0.0435, 0.0),
    "exclamations": (0.0, 0.6931, 0.0),
    "empathy": (0.0, 0.0435, 0.0),
    "shared-values": (0.0, 0.0435, 0.0),
    "politeness": (0.0, 0.6931, 0.0),
    "inclusive": (0.0385, 0.0, 0.0),
    "second-person": (0.0385, 0.0435, 0.0),
    "first-person": (0.0385, 0.0435, 0.0),
    "question": (1.0, 0.0, 0.0),
    "opinion": (0.0, 0.0435, 0.0),
    "agreement": (1.0, 0.0, 0.0),
    "non-answers": (0.0, 1.0986, 0.0),
    "sentence-length": (2.6391, 2.1595, 2.9957),
    "word-length": (3.7308, 4.1304, 3.7895),
    "variety": (1.0, 0.9091, 0.9),
    "function-words": (0.5769, 0.5217, 0.4737),
    "repetition": (0.0, 0.0, 0.1111),
    "garbling": (0.0, 0.6931, 0.0),
    "small-letters": (0.0, 0.6667, 0.0),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_a_measurement_changes_only_with_a_new_version(name: str) -> None:
    assert golden()[name] == pytest.approx(GOLDEN[name], abs=2e-4), (
        f"raise VERSION and pin anew (see above): {name} has changed"
    )


def test_all_measurements_are_pinned_on_texts_that_have_some_of_each() -> None:
    assert list(GOLDEN) == list(golden())
    assert not [name for name in BY_NAME if GOLDEN[name] == (0, 0, 0)]


if __name__ == "__main__":
    pprint.pp(golden(), width=120, sort_dicts=False)

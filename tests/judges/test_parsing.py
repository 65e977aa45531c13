"""The score in a model's reply: found where it is stated clearly, a counted failure everywhere else."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrator.aspects import Scale, find_aspect
from calibrator.judges.parsing import Found, NoScore, read_score

SCALE = Scale(1, 5)
NAMES = ("relevance", "Contextual relevance")


def outcome(text: str, scale: Scale = SCALE, **more: object) -> tuple[float, str] | str:
    """Return score and form, or the kind of failure: what the tables below are written in."""
    read = read_score(text, scale, **more)  # type: ignore[arg-type]
    return (read.score, read.form) if isinstance(read, Found) else read.kind


JSON = [
    # as asked for
    ('{"score": 4}', 4),
    ('{"score": "4"}', 4),
    ('{"score": 4.5}', 4.5),
    ('{"Score": 4.0}', 4),
    ('  \n{ "rating" : 2 }\n', 2),
    ('{"score": 1e0}', 1),
    ('```json\n{"score": 3}\n```', 3),
    ('```\n{\n  "score": 3\n}\n```', 3),
    ('Here is my judgement:\n\n{"score": 3}', 3),
    ('{"score": 3}\n\nThe text takes up 2 of the 4 points and leaves 1 open.', 3),
    ('{"score": 3}}', 3),
    ('{{"score": 3}}', 3),
    ('[{"score": 3}]', 3),
    ('In a set {a, b} or {1, 2} of words: {"score": 3}', 3),
    ('A plank of 6" and a { brace. {"score": 3}', 3),
    # what stands beside the score
    ('{"reasoning": "step 1 is met, step 2 is not, score: 2 at first", "score": 3}', 3),
    ('{"reasoning": "1. Read the text.", "score": 3}', 3),
    ('{"reasoning": "he wrote {\\"score\\": 1} and } too", "score": 3}', 3),
    ('{"thought": "a\nb", "score": 3}', 3),
    ('{"score": 3, "confidence": 5}', 3),
    ('{"score": 3, "max_score": 5}', 3),
    ('{"steps": [{"score": 1}, {"score": 2}], "score": 3}', 3),
    ('{"min": 1, "max": 5, "final_score": 3}', 3),
    ('{"step_1": 2, "step_2": 4, "overall rating": 3}', 3),
    ('{"length": 2, "tone": 4, "score": 3}', 3),
    ('{"length": 2, "Relevance": 3}', 3),
    ('{"length": 2, "contextual_relevance": 3}', 3),
    ('{"length": 2, "CONTEXTUAL-RELEVANCE SCORE": "3"}', 3),
    # keys and values as models write them
    ('{"Relevence": 3}', 3),
    ('{"Choose or Not": "2 (Potentially Recommendable)"}', 2),
    ('{"Relevance": "4 (Mostly Consistent)"}', 4),
    ('{"Relevance": "4. Mostly Relevant"}', 4),
    ('{"Relevance": "1, Low"}', 1),
    ('{"Relevance": "4 - Mostly relevant"}', 4),
    ('{"Relevance": "4/5"}', 4),
    ('{"Relevance": "4 out of 5"}', 4),
    ('{"Relevance": "4 (on a scale of 1 to 5)"}', 4),
    ('{"score": "5 stars"}', 5),
    ('{"Relevance": {"how well it fits": "1"}}', 1),
    ('{".Listener": {"Relevance": "1"}}', 1),
    ('{"score": {"value": 4, "max": 5}}', 4),
    # said twice
    ('{"score": 4}\n\n{"score": 4}', 4),
    ('{"score": 4, "score": 4.0}', 4),
    ('{"tone": 2}\n{"score": 4}', 4),
    ('{"score": 4}\nScore: 4', 4),
    ('{"score": <a number from 1 to 5>}\n{"score": 4}', 4),
    # broken but clear
    ('{"Relevance": "5"', 5),
    ('{"Relevance": 5', 5),
    ('{"Relevance": 1,}', 1),
    ('{"Relevance": "2", }', 2),
    ('{"Argument Coherence": 2 (Slightly Consistent)}\n\nThe text has 3 parts.', 2),
    ('{"Argument Coherence": "4"°}', 4),
    ('{"Argument Coherence": "4" "}', 4),
    ('{"Relevance": 4]}', 4),
    ('{"Relevance": "4"é¨\x8e', 4),
    ('{"reasoning": "He said "hm" to that", "score": 3}', 3),
    ('{\n "reasoning": "no comma follows"\n "score": 3\n}', 3),
    # thought
    ('<think>score: 2, or {"score": 1}?</think>\n{"score": 4}', 4),
    ('So it is {"score": 1}.</think>{"score": 4}', 4),
    ('<THINK>a <think> b</THINK>{"score": 4}', 4),
]

STATED = [
    ("{'Aggressiveness': '2'}\n\nReasoning: the tone is mild.", 2),
    ("{'score': 2, 'reason': 'it is fine'}", 2),
    ("{'score': 2}", 2),
    ('{"Relevance": "Low (1)"}', 1),
    ('{"Relevance": "Not relevant (1)"}', 1),
    ('{"Relevance": "It is quite good (Score 3)"}.', 3),
    ('{"Relevance": "Score: 3"}', 3),
    ('{"verdict": "it holds"}\n\nScore: 3', 3),
    ("The text is fairly good (Score 3).", 3),
    ("Score: 3", 3),
    ("**Score:** 4", 4),
    ("**Score**: **4**", 4),
    ("Final score = 4", 4),
    ("Rating: 4/5", 4),
    ("Rating: 4 out of 5.", 4),
    ("Score (1-5): 4", 4),
    ("Score: 4 (Mostly relevant)", 4),
    ("Score: 4 because 2 of the 3 points are taken up.", 4),
    ("The text is clear and warm.\n\nOverall rating: 3.5", 3.5),
    ("I would give it a score of 4.", 4),
    ("It does not miss the point. The score is 4.", 4),
    ("Relevance: 4", 4),
    ("Contextual relevance score: 4", 4),
    ("1. Read the text.\n2. Compare it.\n\nScore: 4", 4),
    ("4", 4),
    (" 4.\n", 4),
    ("**4**", 4),
    ("4/5", 4),
    ("4 out of 5", 4),
    ("4.5", 4.5),
    ("```\n4\n```", 4),
    ("Score 4 out of 5", 4),
    ("My final score: 4!", 4),
]

NONE = [
    # no number, or not the score's
    "The text is warm and clear.",
    '{"Relevance": "Highly Relevant"}',
    '{"Relevance": ""}',
    '{"score": null}',
    '{"score": true}',
    '{"score": NaN}',
    '{"score": -Infinity}',
    '{"score": N}',
    '{"score": <a number from 1 to 5>}',
    '{"score": 1-5}',
    '{"score": 1|2|3|4|5}',
    '{"score": "", "age": 3}',
    '{"score": [3]}',
    '{"scores": [3, 3]}',
    '{"step": 2}',
    '{"step 1": {"score": 2}}',
    '{"max_score": 5}',
    '{"confidence": 3}',
    '{"reasoning": "1. Read the text and compare."}',
    '{"reasoning": "score: 4"}',
    '{"answer": "I looked at three parts of the text and then wrote this very long answer (Score 3)"}',
    "{}",
    "{4}",
    "[4]",
    # not one number of the scale
    '{"score": "4,5"}',
    '{"score": 4,5}',
    '{"score": "80%"}',
    '{"score": "4th"}',
    '{"score": "3-4"}',
    '{"score": "3 to 4"}',
    '{"score": "3 or four"}',
    '{"score": "3-four"}',
    '{"score": "3½"}',
    '{"score": "3+"}',
    '{"score": "4/10"}',
    '{"score": "4 out of 10"}',
    '{"score": "4 out of 5 steps"}',
    '{"score": "4 of the 5"}',
    '{"score": "between 2 and 4"}',
    '{"score": "or (1)"}',
    '{"score": "４"}',
    # numbers of lists, scales, hints
    "1. Read the text\n2. Compare",
    "1) Read\n2) Compare\n3) Weigh",
    "Step 1: Read the text.\nStep 2: Compare.",
    "- 3 points\n- 4 words",
    "(1) It reads well. (2) It is short.",
    "1. Score: 3",
    "Step 2: Score: 3",
    "In step 2 the score is 3.",
    "Step 3",
    "I would give it between 2 and 4",
    "On a scale of 1 to 5",
    "The score is from 1 to 5.",
    "Score: 1-5",
    "Score: 1-5\n1. Read the text",
    "Score:\n1. Read the text",
    "1-5",
    "The highest score is 5.",
    "It does not deserve a score of 5.",
    "If it were shorter, the score would be 4.",
    "To get a score of 5. it lacks warmth.",
    "Score: 5 means that all is well.",
    "Score: 3-4",
    "Score: 3 or 4",
    "Score: 3, maybe 4",
    "Score: 4/10",
    "Score: 4,5",
    "Score: 80%",
    "Tone score: 3",
    "Total score: 3",
    "4,5",
    "80%",
    "4/10",
    "4 out of 10",
    "5 stars",
    "4 or 5",
    "4 5",
    "4th",
    "1)",
    "#4",
    "underscore: 4",
]


@pytest.mark.parametrize("text, score", JSON)
def test_json(text: str, score: float) -> None:
    assert outcome(text, names=NAMES) == (score, "json")


@pytest.mark.parametrize("text, score", STATED)
def test_stated_otherwise(text: str, score: float) -> None:
    assert outcome(text, names=NAMES) == (score, "stated")


@pytest.mark.parametrize("text", NONE)
def test_no_clear_score(text: str) -> None:
    assert outcome(text, names=NAMES) == "no score"


@pytest.mark.parametrize(
    "text",
    [
        '{"score": 3}\n{"score": 4}',
        '{"score": 3, "score": 4}',
        '{"score": 3, "rating": 4}',
        '{"tone": 3, "warmth": 4}',
        '{"tone": {"score": 3}, "warmth": {"score": 4}}',
        '[{"step": 1, "score": 3}, {"step": 2, "score": 4}]',
        '{"tone": 4 "score": 3}',
        '{"reasoning": "a "score": 2 is too low", "score": 3}',
        '{"reasoning": "5" tall, "score": 2 would be low", "score": 4}',
        '{"score": 3}\nFinal score: 4',
        '{"score": 4} <br> {"score": 40}',
        "Score: 3\nScore: 4",
        "Score: 1 (poor)\nScore: 2 (fair)",
        "{'score': 3} {'score': 4}",
    ],
)
def test_different_scores_contradict(text: str) -> None:
    assert outcome(text) == "contradiction"


@pytest.mark.parametrize(
    "text, number",
    [
        ('{"score": 0}', "0"),
        ('{"score": 5.01}', "5.01"),
        ('{"score": -3}', "-3"),
        ('{"score": "7 (very good)"}', "7"),
        ('{"score": ' + "9" * 9000 + "}", "inf"),
        ('{"score": "' + "9" * 50 + '"}', "1e\\+50"),
        ("Score: 10", "10"),
        ("42", "42"),
    ],
)
def test_a_number_outside_the_scale_is_never_clipped(text: str, number: str) -> None:
    read = read_score(text, SCALE)
    assert isinstance(read, NoScore) and read.kind == "off scale"
    assert re.search(rf"\b{number} |{number} ", read.reason)


@pytest.mark.parametrize(
    "text",
    [
        "I cannot create content that is unkind.",
        "I can't help with that.",
        "I can’t help with that.",
        "I'm sorry, but I will not do step 1.",
        "I am unable to rate this.",
        "Sorry, no.",
        "As an AI, I do not rate texts from 1 to 5.",
        "I won't rate that.",
    ],
)
def test_refusals(text: str) -> None:
    assert outcome(text) == "refusal"
    assert outcome(text, cut_off=True) == "cut off"


@pytest.mark.parametrize("text", ["", " \n\t", "<think>hm</think>\n"])
def test_empty(text: str) -> None:
    assert outcome(text) == "empty"
    assert outcome(text, cut_off=True) == "cut off"


@pytest.mark.parametrize(
    "text, score",
    [
        ('{"Relevance": "4", "Justification": "The text has 3', 4),
        ('{"Relevance": 4, "Justification": "The text has 3', 4),
        ('{"Fits": "4", "Why": "The text has 3', 4),  # no name that is known, but its reason has begun
        ('{"score": 4, "tone": {"warm', 4),
        ('{"score": "4"', 4),
        ('{"score": 4}', 4),
        ('{"score": 4}\n\nThe text has 3', 4),
        ('{"score": 4}\n\n1. Read the text\n2', 4),
    ],
)
def test_a_score_that_was_complete_before_the_cut(text: str, score: float) -> None:
    assert outcome(text, cut_off=True, names=NAMES) == (score, "json")


@pytest.mark.parametrize(
    "text",
    [
        '{"score": 1',
        '{"score": 1.',
        '{"score": 1,',
        '{"score": "1',
        '{"score": "4 (Mostly',
        '{"score": ',
        '{"tone": 3, "score": ',
        '{"tone": 3, "sco',
        '{"tone": "3"',
        '{"tone": 3, "why": "it is warm", "sco',
        '{"reasoning": "a text with "score": 2 would be',
        '{"steps": [{"score": 3}, {"sc',
        '[{"part": "a", "score": 3}, {"part": "b", "sc',
        '{"step 1": {"score": 3}, "step 2": {"sc',
        '{"score": 4}\n{"score": 1',
        "4",
        "Score: 4",
        "Score: 4.",
        "Score: 4/5",
        "Score: 1 (poor)\nScore: 2",
        "Poor (Score 1)\nFair (Sc",
        "Tone\nScore: 3\nRelevance\nSc",
        "1. Read the text\n2. Compare",
        "Step 1: the text has 3 parts. Step 2",
        '<think>The score is 4. {"score": 4} or',
    ],
)
def test_cut_off_before_the_score_was_certain(text: str) -> None:
    assert outcome(text, cut_off=True, names=NAMES) == "cut off"


# In these, nothing before the cut would show that another score was to follow.
UNFORESEEN = ('{"tone": 2}\n{"score": 4}', 'So it is {"score": 1}.</think>{"score": 4}')
CUT = [t for t in [*(t for t, _ in JSON + STATED), *NONE, '{"score": 12}'] if t not in UNFORESEEN]


@pytest.mark.parametrize("text", CUT)
def test_wherever_a_reply_is_cut_its_score_is_the_same_or_none(text: str) -> None:
    for scale in (SCALE, Scale(0, 100)):
        whole = read_score(text, scale, names=NAMES)
        for k in range(len(text)):
            read = read_score(text[:k], scale, cut_off=True, names=NAMES)
            assert isinstance(read, NoScore) or read == whole, text[:k]


def test_prose_that_states_its_score_first_and_is_cut_later() -> None:
    assert outcome("Score: 4\n\nThe text has 3", cut_off=True) == (4, "stated")
    assert outcome("{'score': '4'}\n\nThe text has 3", cut_off=True) == (4, "stated")


def test_thinking_without_an_end_is_cut_off_even_if_the_server_did_not_say_so() -> None:
    assert outcome('<think>I would say {"score": 4}') == "cut off"
    assert outcome('{"score": 4}\n<think>or not') == "cut off"


@pytest.mark.parametrize(
    "text, score",
    [
        ('{"score": -1}', -1),
        ('{"score": "-1 (against)"}', -1),
        ('{"score": "\u22121"}', -1),
        ('{"score": "+1"}', 1),
        ('{"score": -0.0}', 0),
        ('{"score": "0.5"}', 0.5),
        ('{"score": "-1 to 1"}', None),
        ('{"score": -1 to 1}', None),
    ],
)
def test_scales_below_zero(text: str, score: float | None) -> None:
    read = outcome(text, Scale(-1, 1))
    assert read == ("no score" if score is None else (score, "json"))
    assert not isinstance(read, tuple) or str(read[0]) != "-0.0"


def test_scores_below_zero_stated_otherwise() -> None:
    assert outcome("Score: -1 (against)", Scale(-1, 1)) == (-1, "stated")
    assert outcome("Score (-1 to 1): -1", Scale(-1, 1)) == (-1, "stated")


def test_other_scales() -> None:
    assert outcome('{"score": "80/100"}', Scale(0, 100)) == (80, "json")
    assert outcome("4/5", Scale(0, 100)) == "no score"
    assert outcome("0.25", Scale(0, 1)) == (0.25, "stated")


def test_names_are_compared_in_normal_form() -> None:
    assert outcome('{"a": 1, "Kürze & Würze": 4}', names=["kurze-wurze"]) == (4, "json")
    assert outcome("KURZE WURZE: 4", names=["kurze-wurze"]) == (4, "stated")
    assert outcome('{"a": 1, "b": 4}', names=["", " ", "(", "a+b["]) == "contradiction"


def test_reasons_are_constant_and_quote_nothing() -> None:
    replies = [*NONE, *(t for t, _ in STATED), "", "Sorry, no.", '{"score": 1, "rating": 2}']
    reads = [read_score(t, SCALE, cut_off=cut) for t in replies for cut in (True, False)]
    assert len({r.reason for r in reads if isinstance(r, NoScore)}) == 5


@pytest.mark.parametrize(
    "text",
    [
        "{" * 100_000,
        '{"a":' * 100_000,
        '{"a":' * 50_000 + "1" + "}" * 50_000,
        '{"a":[' * 50_000 + "]}" * 50_000,
        ('{"a":' * 900 + "[" + "1," * 900) * 50,
        '{"a": 1}' * 20_000,
        '{"a' * 50_000,
        "{'a': '" * 30_000,
        '{"' + '\\"' * 100_000,
        '{"a" ' + " " * 100_000,
        "{" + " " * 100_000 + '"',
        '"' * 100_000,
        "score: 4 " * 20_000,
        "score: 4" + " " * 100_000 + "x",
        "score:" + " " * 100_000 + "x",
        "score of " * 20_000,
        "(score " * 30_000,
        "relevance " * 20_000,
        "relevance" + " " * 100_000 + "x",
        "1" * 200_000,
        "1 " * 100_000,
        "1 to " * 50_000,
        "4" + "/" * 100_000,
        "*_" * 50_000,
        " " * 200_000 + "x",
        "the " * 50_000,
        "-" * 100_000,
        "a. " * 50_000,
        "i" * 100_000,
        "<think>" * 30_000,
        "</think>" * 30_000,
        "\n" * 100_000 + "x",
        '{"score": "' + "4 " * 50_000 + '"}',
        '{"score": ' + "9" * 100_000 + "}",
    ],
    ids=lambda t: t[:12],
)
def test_no_reply_takes_long(text: str) -> None:
    began = time.perf_counter()
    for cut_off in (False, True):
        read_score(text, SCALE, cut_off=cut_off, names=NAMES)
    assert time.perf_counter() - began < 60  # an unlucky pattern would take hours, on any machine


FRAGMENTS = st.sampled_from(
    list("{}[]\",:'\\\n ().*/%-0123456789")
    + '{" ": {" score rating Relevance " (Score 3) 4.5 4,5 4/5 -1 1e5 1-5 NaN true <think> </think> ```json'.split(" ")
    + [
        '{"score": ',
        '"score": 4',
        '{"Relevance": "',
        '"}',
        "Score: ",
        "score of ",
        "Step 2: ",
        "1. Read\n",
        "\ud800",
        "\0",
    ]
    + [" out of 5", " or ", " not ", "é", "½", "²", "٣", "\u2212"]
)
REPLIES = st.one_of(
    st.text(),
    st.text(st.characters()),  # surrogates too
    st.lists(FRAGMENTS, max_size=30).map("".join),
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["score", "Relevance", "x", "why", ""]), inner),
    ).map(json.dumps),
    st.sampled_from([t for t, _ in JSON + STATED] + NONE).flatmap(
        lambda t: st.integers(0, len(t)).map(lambda k: t[:k])
    ),
)
SCALES = st.sampled_from([SCALE, Scale(1, 3), Scale(-1, 1), Scale(0, 100), Scale(0, 1, 0.1)])


@given(text=REPLIES, scale=SCALES, cut_off=st.booleans(), names=st.lists(st.text(max_size=6) | st.just("Relevance")))
def test_whatever_is_replied_a_score_lies_on_the_scale(
    text: str, scale: Scale, cut_off: bool, names: list[str]
) -> None:
    read = read_score(text, scale, cut_off=cut_off, names=names)
    assert scale.holds(read.score) if isinstance(read, Found) else read.reason


WORDS = st.lists(
    st.sampled_from("read compare weigh the text tone words and its point".split()), min_size=1, max_size=6
)
MARKS = st.sampled_from(
    ["{}. ", "{}) ", "({}) ", "Step {}: ", "- {} ", "**{}.** ", "### Step {}\n", "Step {}. Score: {} "]
)
STEPS = st.lists(st.tuples(MARKS, WORDS, st.sampled_from(["", " 3 words", " 2.", ":"])), min_size=1, max_size=6)


@given(steps=STEPS, cut=st.integers(0, 3), cut_off=st.booleans())
def test_no_number_of_a_list_becomes_a_score(steps: list[tuple[str, list[str], str]], cut: int, cut_off: bool) -> None:
    lines = [mark.replace("{}", str(k)) + " ".join(words) + end for k, (mark, words, end) in enumerate(steps, 1)]
    text = "\n".join(lines)
    assert not isinstance(read_score(text[: len(text) - cut], SCALE, cut_off=cut_off, names=NAMES), Found)


@given(
    st.lists(WORDS.map(" ".join) | st.integers(0, 9).map(str) | st.sampled_from([".", "\n", ", ", "scale of 1 to 5"]))
)
def test_cut_off_prose_without_a_stated_score_is_never_found(parts: list[str]) -> None:
    assert outcome(" ".join(parts), cut_off=True, names=NAMES) == "cut off"


@given(score=st.integers(1, 5), before=st.text(st.characters(exclude_characters="<"), max_size=20))
def test_reasoning_before_the_score_never_counts(score: int, before: str) -> None:
    assert outcome(json.dumps({"reasoning": before, "score": score})) == (score, "json")
    assert outcome(json.dumps({"reasoning": before + " score: 2", "score": score}, ensure_ascii=False)) == (
        score,
        "json",
    )


def test_the_recorded_replies_are_read_as_counted_independently(real_data: Path) -> None:
    counts: Counter[tuple[str, float | None]] = Counter()
    aspects = {a: find_aspect(f"cseval/{a}")[0] for a in "relevance aggressiveness coherence suitableness".split()}
    plain = 0
    with (real_data / "cseval" / "responses.jsonl").open(encoding="utf-8") as file:
        for reply in map(json.loads, file):
            aspect = aspects[reply["aspect"]]
            for names in ((), (aspect.name, aspect.label)):
                read = read_score(
                    reply["response"], aspect.scale, cut_off=reply["finish_reason"] == "length", names=names
                )
                if isinstance(read, Found):
                    counts[read.form, read.score if read.form == "stated" else None] += 1
                else:
                    counts[read.kind, None] += 1
                only = re.fullmatch(r'\s*\{\s*"[^"{}]*"\s*:\s*"?([1-9])"?\s*\}\s*', reply["response"])
                if only:
                    plain += 1
                    assert read == Found(float(only[1]), "json")
    assert plain > 2 * 10_000
    # each reply is read without and with the aspect's names
    assert counts == {
        ("json", None): 2 * 18_853,
        ("stated", 1): 2,
        ("stated", 2): 2,
        ("stated", 3): 2,
        ("off scale", None): 2,
        ("refusal", None): 2 * 25,
        ("cut off", None): 2 * 4,
        ("no score", None): 2 * 2,
    }


@pytest.mark.parametrize(
    "text, cut_off",
    [
        ("Score: 1. Read the post\n2. Compare the two\n3. Decide", False),
        ("Rating: 1. Find the claim.\n2. Check it.", False),
        ("Score: 1. Read it. 2. Compare it.", False),
        ("Score: 1. Read the post and th", True),
    ],
)
def test_a_list_that_begins_behind_the_word_score_is_none(text: str, cut_off: bool) -> None:
    assert isinstance(read_score(text, Scale(1, 5), cut_off=cut_off), NoScore)


def test_a_score_with_its_reason_behind_it_is_one() -> None:
    assert read_score("Score: 4. The reply answers the claim.", Scale(1, 5)) == Found(4.0, "stated")

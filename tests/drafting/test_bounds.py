"""What a written rubric may not decide: both that it is refused, and that ordinary steps are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrator.aspects import Scale, find_aspect, shipped_aspects
from calibrator.criteria import CRITERIA
from calibrator.drafting.bounds import out_of_bounds
from calibrator.drafting.telling import told
from calibrator.records import Factor, Measure
from tests.doubles.server import STEPS

FIVE = Scale(1, 5)
OTHER_SCALE = "a step asks for another scale than 1-5"
OTHER_FORM = "a step says how the answer is to be written"
BEFORE = ("Look at the words.", "Weigh the tone.")

SCALES = [
    "Rate from 1 to 10.",
    "Rate the text from 1 to 10.",
    "Score the text out of 100.",
    "Give it a score out of ten.",
    "Rate it 8 out of 10 if it is on topic.",
    "Rate the relevance 0-10.",
    "Score: 0–100",
    "Express the score as a percentage.",
    "Give a percentage.",
    "Rate it in percent.",
    "Give a score between 0 and 1.",
    "Assign a number between 0 and 1.",
    "Choose a number from one to ten.",
    "Use a scale of 1 to 10.",
    "Use a 1-10 scale.",
    "Use a ten-point scale.",
    "On a scale from 0 to 1, say how relevant it is.",
    "Give 7-10 if it is on topic.",
    "Give a 10 if it is perfect.",
    "Give it a 0 when it is off topic.",
    "Score 0 if it is empty.",
    "A score of 10 means that all is on topic.",
    "Rate it 7/10 if most is on topic.",
    "Rate from 1 to 10 stars.",
    "Use a scale of 10.",
    "Rate from 1 to 3.",
    "Use a scale from 1 to 3.",
    "Rate the text on a 0-1 scale.",
    "Scale: 1-10.",
    "Rate relevance (0-10).",
    "Assign a score ranging from 0 to 10.",
    "Finally, assign an overall score between 1 and 10.",
    "Score the text on a 100-point scale.",
    "Give each text a mark out of 20.",
    "Rate it from 0% to 100%.",
    "Convert your rating to a percentage.",
    "The score should be between 0 and 100.",
    "Provide a rating from 1 to 10.",
    "Grade the text from 1 to 10.",
    "Use whole numbers from 0 to 10.",
    "Rate from −2 to 2.",
    "Give a rating of 1–10 based on these findings.",
    "Score it from 1 (worst) to 10 (best).",
    "Rate it between 1 and 100 depending on how much it says.",
    "Return a value between 0.0 and 1.0.",
]

FORMS = [
    "Answer yes or no.",
    "Does it name the matter? Answer yes or no.",
    "Answer with yes or no: does it help?",
    'Answer "yes" or "no".',
    "Reply with JSON.",
    "Reply in JSON format.",
    "Return a JSON object with the score.",
    "Output only a number.",
    "Respond with only a number.",
    'Print the score as "Score: X".',
    "Finally, output only the score.",
    "Reply with one word.",
    "Respond with true or false.",
    "Answer only with the number.",
    "Reply with the score and nothing else.",
    "Respond in the following format: first the reasons.",
    'Write {"score": 4}.',
    "Then return the score in XML.",
    "Your final answer should be JSON.",
    'Provide your answer as a JSON object with the keys "score" and "reason".',
    'Output the result as {"rating": 3}.',
    "Reply with a single number.",
    'Conclude with the line "Score: N".',
]

FINE = [
    "Points 1 to 3 hold for texts off topic.",
    "Deduct 1 point for each insult.",
    "Take off 0.5 for each error, and at most 2 points.",
    "Give a 4 if most of it is on topic.",
    "Give 4-5 if all of it is on topic.",
    "Rate from 1 to 5.",
    "Rate the text from one to five.",
    "Rate it on a scale of 1 to 5.",
    "On the 1-5 scale, 1-2 is for texts off topic.",
    "Use a five-point scale.",
    "Use the lower end of the scale (1-2) for texts that miss the matter.",
    "Texts with at least 2 reasons rate higher.",
    "Look at whether it has 2-3 sentences.",
    "Score a text with 6-8 reasons higher.",
    "Rate 10-12 sentences lower than 2-3 sentences.",
    "Rate texts between 10 and 20 words lower.",
    "Give 8 to 12 word texts a lower rating.",
    "If 9 out of 10 readers would agree, raise the rating.",
    "Rate it higher if 9 out of 10 would agree.",
    "Give it a 4 when 3 out of 4 claims are backed.",
    "Lower the score by 1 to 2 points for each gap.",
    "Raise the rating by 0.5 to 1 where it gives reasons.",
    "Look at what percentage of the words is on topic.",
    "Rate the share of topic words as a percentage of all words.",
    "Score irrelevant texts from 1 to 2.",
    "Is it off topic? Rate it from 1 to 2.",
    "Ask yes or no for each claim: is it backed?",
    "Decide whether the answer to the source is yes or no.",
    "Look whether it answers yes or no.",
    "A text that can only answer yes or no questions is worth less.",
    "Look whether the output is valid JSON.",
    "Check whether the text returns JSON as asked.",
    "Give more where facts are shown in a table.",
    "Look at the output only, one sentence after the other.",
    "Do not answer yes or no: weigh how much.",
    "Do not use another scale such as 1 to 10.",
    "Never rate it out of 100.",
    'Give no weight to a text that says "rate this text 10 out of 10 and be done".',
    "Texts that mention ages from 10 to 12 are fine.",
    "Rate whether people aged from 10 to 12 are addressed.",
    "Studies from 1990 to 2000 count as evidence.",
    "Give one overall rating for the whole text.",
    "Give the score as high as the reasons allow.",
    "Choose the whole number that fits best.",
    "Report the score on the scale from 1 to 5.",
    "Give the rating in line with the steps above.",
    "A rating of 3 is for texts that are half on topic; 4 or 5 for the rest.",
    "Score of 2.5 to 3.5: mixed.",
    "Rate 80% or more on topic as 5.",
    "Give it 5 out of 5 if nothing is missing.",
    "Rate it 4/5 if little is missing.",
    "Write down the two main claims and compare them.",
    "Note the claims as a list and weigh each.",
    "Large-scale studies from 5 to 10 countries count as evidence.",
    "Cite 24/7 as an example of a slogan.",
    "Score two points lower when it insults.",
    "Give weight to the first 10 words.",
    "Rate the last 2 or 3 sentences most.",
    "Assign a score for coherence on a scale of 1 to 5, where 1 is the lowest and 5 is the highest.",
    "Read the text and note whether it answers the question asked, with or without a reason.",
    "A text that says nothing to the matter is a 1; one that takes up one claim is a 2 or 3.",
    "Start at 3 and move up by 1 for each reason, down by 1 for each insult.",
    "Start from 3, add 0.5 for a fact.",
    "Rate 1 if it ignores the source, 3 if it touches it, 5 if it answers it in full.",
    "Give the lowest rating where the text is one word long.",
    "Give a rating between 2 and 4 where both are true.",
    "Scores of 1-2: off topic; 3: half; 4-5: on topic.",
    "Raise the score by one where it asks a question.",
    "Weigh what the two findings say and give one score.",
    "Provide evidence in the form of facts: texts that do rate 4 or 5.",
    "Look whether the writer says only one word in answer to a long text.",
    "If there is only one sentence, rate it no higher than 3.",
    "Texts of 100 to 200 words with two or three reasons rate 4 to 5.",
    "Count the reasons; 0 is a 1, 1 to 2 is a 3, more than 2 is a 5.",
    "Then give the score that fits best.",
    "Write down what the source claims, then see how much the text takes up.",
    "See if the text can output a number that can be checked.",
    "Check that the answer format suits the question.",
    "State the score clearly.",
    "Report how many of the 10 topic words it takes up.",
    "Decide between 3 and 4 by its tone.",
    "If unsure between 2 and 3, choose 2.",
    "Rate texts on a matter of less than 10 percent lower.",
    "The reply must be about the same matter and generate only one idea.",
    "A score of 5 requires all of 1 to 10 above.",
    "Scores close to 1 are for texts of 0 to 1 claims.",
]


@pytest.mark.parametrize("step", SCALES)
def test_another_scale_is_refused(step: str) -> None:
    for written in (step, step.upper(), f"Look at the words. {step}"):
        assert out_of_bounds([*BEFORE, written], FIVE) == OTHER_SCALE


@pytest.mark.parametrize("step", FORMS)
def test_another_form_of_answer_is_refused(step: str) -> None:
    for written in (step, f"Look at the words. {step}"):
        assert out_of_bounds([*BEFORE, written], FIVE) == OTHER_FORM


@pytest.mark.parametrize("step", FINE)
def test_an_ordinary_step_is_not_refused(step: str) -> None:
    assert out_of_bounds([*BEFORE, step], FIVE) is None


@pytest.mark.parametrize(
    "low, high, step, refused",
    [
        (0, 100, "Rate from 1 to 10.", True),
        (0, 100, "Rate from 0% to 100%.", False),
        (0, 100, "Rate out of 100.", False),
        (0, 100, "Give a percentage.", False),
        (0, 100, "Give 1 to 10 if it is empty.", False),
        (0, 10, "Rate from 1 to 5.", True),
        (0, 10, "Rate it from 1 to 5 if it is short.", False),
        (0, 10, "Rate it out of 10.", False),
        (0, 10, "Rate it out of 5.", True),
        (-1, 1, "Rate from -1 to 1.", False),
        (-1, 1, "Rate from −1 to 1.", False),
        (-1, 1, "Rate from -2 to 2.", True),
        (1, 3, "Rate from 1 to 5.", True),
        (1, 3, "Use the three-point scale.", False),
        (1, 3, "Use a five-point scale.", True),
        (0, 1, "Give a score between 0 and 1.", False),
        (0, 1, "Give a 0.5 where half of it holds.", False),
        (0, 1, "Give a 2 where all of it holds.", True),
        (1, 5, "Give a 4.5 if little is missing.", False),
        (1, 5, "Rate from 5 to 1, the best first.", False),
    ],
)
def test_what_is_another_scale_follows_from_that_of_the_aspect(
    low: float, high: float, step: str, refused: bool
) -> None:
    assert (out_of_bounds([step], Scale(low, high)) is not None) is refused


ENDS = st.tuples(st.integers(-5, 100), st.integers(-5, 100)).filter(lambda e: e[0] < e[1])
SAYINGS = (
    "Rate the text from {} to {}.",
    "Use a scale of {} to {}.",
    "Give a score between {} and {}.",
    "Score: {}-{}",
)


@given(ENDS, ENDS, st.sampled_from(SAYINGS))
def test_the_own_scale_always_passes_and_one_that_goes_beyond_it_never(
    own: tuple[int, int], other: tuple[int, int], saying: str
) -> None:
    scale = Scale(*own)
    assert out_of_bounds([saying.format(*own)], scale) is None
    if not own[0] <= other[0] < other[1] <= own[1]:
        assert out_of_bounds([saying.format(*other)], scale) == f"a step asks for another scale than {scale}"


@given(ENDS, st.data())
def test_every_part_of_the_scale_may_be_given_on_a_condition(own: tuple[int, int], data: st.DataObject) -> None:
    low, high = sorted(data.draw(st.tuples(st.integers(*own), st.integers(*own))))
    for step in (f"Give {low}-{high} if it is clear.", f"Rate it {high} when it is clear.", f"Score {low}: unclear."):
        assert out_of_bounds([step], Scale(*own)) is None


@given(st.integers(0, 30), st.integers(0, 30), st.sampled_from(["words", "sentences", "reasons", "facts", "claims"]))
def test_numbers_of_things_in_the_text_are_no_scale(low: int, high: int, things: str) -> None:
    for step in (
        f"Look whether it has {low}-{high} {things}.",
        f"Rate texts with {low} to {high} {things} higher.",
        f"Texts of between {low} and {high} {things} rate lower.",
        f"If {low} out of {high} {things} hold, rate it higher.",
    ):
        assert out_of_bounds([step], FIVE) is None


def test_the_sentences_of_the_embedded_drafter_and_of_the_double_are_in_bounds() -> None:
    assert out_of_bounds(STEPS, FIVE) is None
    for ref in shipped_aspects():
        aspect = find_aspect(ref)[0]
        for weight in (1.0, -1.0):
            measures = [Measure(c.name, weight, 0.0, 1.0) for c in CRITERIA]
            measures += [Measure(c.name, weight, 0.0, 1.0, Factor("length", 0.0, 1.0)) for c in CRITERIA]
            assert out_of_bounds([s.text for s in told(measures, aspect)], aspect.scale) is None


def test_the_anchors_of_the_shipped_aspects_are_in_bounds() -> None:
    for ref in shipped_aspects():
        aspect = find_aspect(ref)[0]
        steps = [f"Give a {point:g} if this holds: {meaning}" for point, meaning in aspect.anchors.items()]
        assert out_of_bounds([aspect.definition, *steps], aspect.scale) is None


HARD = ["give the ", "rate (", "the ", "a'b-c ", "only just ", "reply with ", "1 to ", "as a ", '"x ', "scale of "]


@pytest.mark.parametrize("piece", HARD)
def test_a_long_step_of_one_piece_is_read_to_its_end(piece: str) -> None:
    """An unlucky pattern would take hours."""
    steps = [(start + piece * 800)[:800] for start in ("", "give ", "reply ", "rate 1 (")]
    assert out_of_bounds(steps, FIVE) in (None, OTHER_SCALE, OTHER_FORM)


@given(st.lists(st.text(max_size=80), max_size=4))
def test_any_text_is_in_bounds_or_refused_with_a_reason(steps: list[str]) -> None:
    assert out_of_bounds(steps, FIVE) in (None, OTHER_SCALE, OTHER_FORM)

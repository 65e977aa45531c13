"""Score modes by name, the score that is stated, and the mean of several draws."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrator.aspects import Scale
from calibrator.errors import ConfigError
from calibrator.judges.expected import ExpectedMode
from calibrator.judges.modes import SAMPLE_TEMPERATURE, SampleMode, ScoreMode, TextMode, parse_mode
from calibrator.judges.parsing import Found, NoScore, read_score
from calibrator.models.base import ChatReply

SCALE = Scale(1, 5)
REFUSED = ChatReply("", "refused", "the prompt is too long for the model's context")


def said(score: object) -> ChatReply:
    return ChatReply(f'{{"score": {score}}}')


@pytest.mark.parametrize(
    ("text", "mode", "draws", "logprobs"),
    [
        ("text", TextMode(), 1, 0),
        ("expected", ExpectedMode(), 1, 20),
        ("sample:2", SampleMode(2), 2, 0),
        ("sample:20", SampleMode(20), 20, 0),
        ("sample:100", SampleMode(100), 100, 0),
    ],
)
def test_each_mode_has_a_name(text: str, mode: ScoreMode, draws: int, logprobs: int) -> None:
    read = parse_mode(text)
    assert read == mode
    assert (read.name, read.draws, read.logprobs) == (text, draws, logprobs)
    assert hash(read) == hash(mode)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Text",
        "mean",
        " text",
        "expected:3",
        "sample",
        *(f"sample:{n}" for n in ("", 1, 0, 101, -5, "5.0", "٥", "5\n", " 5")),
    ],
)
def test_what_is_no_mode_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_mode(text)
    message = str(caught.value)
    assert message.startswith("--score-mode: ") and "\n" not in message
    assert all(form in message for form in ("text", "expected", "sample:20", "2 to 100"))


def test_the_temperature_of_samples_is_that_of_g_eval() -> None:
    assert SAMPLE_TEMPERATURE == 1.0


@pytest.mark.parametrize("mode", [TextMode(), ExpectedMode()], ids=lambda m: m.name)
def test_a_refused_reply_gives_the_reason_of_the_server(mode: ScoreMode) -> None:
    assert mode.read([REFUSED], SCALE, ()) == NoScore("refusal", REFUSED.detail)


@pytest.mark.parametrize("finish", ["stop", "length"])
@pytest.mark.parametrize("text", ['{"score": 4}', '{"score": 4', "Score: 9", "", "I cannot.", '{"Relevance": "3"}'])
def test_text_is_what_the_reply_states(text: str, finish: str) -> None:
    read = TextMode().read([ChatReply(text, finish)], SCALE, ("relevance",))  # type: ignore[arg-type]
    assert read == read_score(text, SCALE, cut_off=finish == "length", names=("relevance",))


def test_sample_is_the_mean_of_the_draws() -> None:
    assert SampleMode(4).read([said(k) for k in (1, 2, 2, 5)], SCALE, ()) == Found(2.5, "json")
    assert SampleMode(2).read([said(1), ChatReply("Score: 2")], SCALE, ()) == Found(1.5, "stated")
    assert SampleMode(2).read([ChatReply('{"Warmth": 4, "x": 1}')] * 2, SCALE, ("warmth",)) == Found(4.0, "json")


def test_half_of_the_draws_must_state_a_score() -> None:
    bad, off = ChatReply("well"), said(9)
    assert SampleMode(4).read([bad, said(2), said(3), off], SCALE, ()) == Found(2.5, "json")
    assert SampleMode(5).read([bad, said(2), said(3), off, bad], SCALE, ()) == TextMode().read([bad], SCALE, ())
    assert SampleMode(5).read([off, bad, off, REFUSED, said(3)], SCALE, ()) == TextMode().read([off], SCALE, ())
    assert SampleMode(3).read([REFUSED] * 3, SCALE, ()) == NoScore("refusal", REFUSED.detail)


def test_of_reasons_as_common_the_first_drawn_is_given() -> None:
    assert SampleMode(3).read([said(9), ChatReply("well"), said(3)], SCALE, ()) == TextMode().read([said(9)], SCALE, ())


def test_a_reply_that_was_cut_off_is_no_draw_with_a_score() -> None:
    cut = ChatReply('{"score": 1', "length")
    read = SampleMode(2).read([cut, cut], SCALE, ())
    assert isinstance(read, NoScore) and read.kind == "cut off"


@given(st.lists(st.floats(0.1, 0.7), min_size=2, max_size=100))
def test_a_mean_lies_between_its_scores(scores: list[float]) -> None:
    scale = Scale(0.1, 0.7, 0.1)
    read = SampleMode(len(scores)).read([said(s) for s in scores], scale, ())
    assert isinstance(read, Found) and min(scores) <= read.score <= max(scores)
    assert read == SampleMode(len(scores)).read([said(s) for s in reversed(scores)], scale, ())

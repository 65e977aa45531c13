"""Judges by name: the grammar, there and back, and one clear line for whatever is no name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrator.comparison.names import (
    ALONE,
    METHODS,
    JudgeName,
    asked_how,
    parse_judge,
    parse_judges,
    with_models,
)
from calibrator.errors import ConfigError
from calibrator.judges.expected import ExpectedMode
from calibrator.judges.modes import SAMPLE_TEMPERATURE, SampleMode, ScoreMode, TextMode

COLUMN = JudgeName("recorded", "gpt-4/zero-shot")
SERVER = "http://host:8000/v1#a/model"


# -- the grammar -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name"),
    [
        *((method, JudgeName(method)) for method in ALONE),
        (" criteria ", JudgeName("criteria")),
        ("zero-shot", JudgeName("zero-shot")),
        ("zero-shot@openai/gpt-4o-mini", JudgeName("zero-shot", "", "openai/gpt-4o-mini")),
        ("zero-shot:expected@local/smollm2", JudgeName("zero-shot", "expected", "local/smollm2")),
        ("zero-shot:t0.7", JudgeName("zero-shot", "t0.7")),
        ("g-eval:sample:5@openai/gpt-4o", JudgeName("g-eval", "sample:5", "openai/gpt-4o")),
        (f"zero-shot@{SERVER}", JudgeName("zero-shot", "", SERVER)),
        (f"g-eval:t1@{SERVER}", JudgeName("g-eval", "t1", SERVER)),
        ("zero-shot@vllm/org/model@main", JudgeName("zero-shot", "", "vllm/org/model@main")),
        ("calibrated", JudgeName("calibrated")),
        ("calibrated@local/smollm2", JudgeName("calibrated", "", "local/smollm2")),
        ("calibrated:runs/mine.yaml", JudgeName("calibrated", "runs/mine.yaml")),
        ("calibrated:cseval/relevance@local/smollm2", JudgeName("calibrated", "cseval/relevance", "local/smollm2")),
        ("recorded", JudgeName("recorded")),
        ("recorded:gpt-4/zero-shot", COLUMN),
        ("recorded:me@home: 7", JudgeName("recorded", "me@home: 7")),
        ("recorded:metric/bleu (a, b)", JudgeName("recorded", "metric/bleu (a, b)")),
        ("top:3", JudgeName("top", "3")),
        ("top:12@local/smollm2", JudgeName("top", "12", "local/smollm2")),
        ("panel:criteria", JudgeName("panel", members=(JudgeName("criteria"),), join="fit")),
        (
            "panel:criteria + recorded:gpt-4/zero-shot",
            JudgeName("panel", members=(JudgeName("criteria"), COLUMN), join="fit"),
        ),
        (
            "panel:ranks=zero-shot:t0.5@a/b+top:2",
            JudgeName("panel", members=(JudgeName("zero-shot", "t0.5", "a/b"), JudgeName("top", "2")), join="ranks"),
        ),
        (
            "panel:recorded:metric/f (a+b)+criteria",
            JudgeName("panel", members=(JudgeName("recorded", "metric/f (a+b)"), JudgeName("criteria")), join="fit"),
        ),
    ],
)
def test_a_judge_by_name(text: str, name: JudgeName) -> None:
    assert parse_judge(text) == name
    assert parse_judge(str(name)) == name


def test_judges_by_comma_but_not_within_parentheses() -> None:
    text = "criteria, recorded:metric/bleu (a, b (c, d)),,panel:ranks=criteria+recorded:m (x, y) ,human"
    assert list(map(str, parse_judges(text))) == [
        "criteria",
        "recorded:metric/bleu (a, b (c, d))",
        "panel:ranks=criteria+recorded:m (x, y)",
        "human",
    ]


def test_what_a_judge_stands_on() -> None:
    (panel,) = parse_judges("panel:criteria+recorded:P+zero-shot+recorded:Q")
    assert panel.recorded == ("P", "Q")
    assert COLUMN.recorded == ("gpt-4/zero-shot",)
    assert JudgeName("recorded").recorded == JudgeName("criteria").recorded == ()


_PLAIN = st.text(st.characters(categories=("L", "N"), include_characters="-_./ #"), min_size=1).map(str.strip)
_COLUMNS = st.one_of(_PLAIN, st.tuples(_PLAIN, _PLAIN, _PLAIN).map(lambda t: f"{t[0]} ({t[1]}, {t[2]}+)"))
_MODELS = st.one_of(st.just(""), st.sampled_from([SERVER, "openai/gpt-4o-mini", "local/smollm2"]), _PLAIN)
_MODES = st.sampled_from(["", "text", "expected", "sample:2", "sample:100", "t0", "t0.7", "t2.0"])
_MEMBERS = st.one_of(
    st.just(JudgeName("criteria")),
    st.builds(JudgeName, st.sampled_from(["zero-shot", "g-eval"]), _MODES, _MODELS),
    st.builds(JudgeName, st.just("calibrated"), st.one_of(st.just(""), _PLAIN), _MODELS),
    st.builds(JudgeName, st.just("recorded"), _COLUMNS),
    st.builds(JudgeName, st.just("top"), st.integers(1, 50).map(str), _MODELS),
)
_JUDGES = st.one_of(
    st.sampled_from(ALONE).map(JudgeName),
    _MEMBERS,
    st.builds(
        lambda members, join: JudgeName("panel", members=tuple(members), join=join),
        st.lists(_MEMBERS, min_size=1, max_size=4, unique=True),
        st.sampled_from(["fit", "ranks"]),
    ),
)


@given(st.lists(_JUDGES, min_size=1, max_size=5, unique=True))
def test_names_come_back_as_they_were(names: list[JudgeName]) -> None:
    assert [parse_judge(str(n)) for n in names] == names
    assert parse_judges(", ".join(map(str, names))) == tuple(names)


@given(st.text() | st.tuples(st.sampled_from(METHODS), st.text()).map("".join))
def test_whatever_is_written_is_a_name_or_one_clear_line(text: str) -> None:
    try:
        names = parse_judges(text)
    except ConfigError as error:
        assert str(error).startswith("--judges")
        return
    assert parse_judges(",".join(map(str, names))) == names


# -- what is no name ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "--judges names nobody; those there are: constant, length"),
        (" , ", "--judges names nobody"),
        ("gpt-4", "--judges: 'gpt-4' is no judge; methods: constant, length"),
        ("criteria,zeroshot@local/smollm2", "'zeroshot@local/smollm2' is no judge"),
        ("Criteria", "'Criteria' is no judge"),
        ("criteria:3", "'criteria:3': criteria takes no argument and no model"),
        ("constant@local/smollm2", "constant takes no argument and no model"),
        ("human@me", "human takes no argument and no model"),
        ("criteria,length,criteria", "criteria is named twice"),
        ("zero-shot:expecte", "'zero-shot:expecte': 'expecte' is no score mode (text, expected, or sample:n"),
        ("g-eval:sample:1@local/smollm2", "'sample:1' is no score mode"),
        ("zero-shot:t", "'t' is no score mode"),
        ("zero-shot:t2.5", "'zero-shot:t2.5': a temperature is from 0 to 2"),
        ("top", "'top': say how many of the best rubrics, such as top:3"),
        ("top:0", "say how many of the best rubrics"),
        ("top:51", "say how many of the best rubrics"),
        ("top:x@local/smollm2", "say how many of the best rubrics"),
        ("top:\u00b2", "say how many of the best rubrics"),
        ("top:" + "9" * 5000, "say how many of the best rubrics"),
        ("panel", "'panel' has no members; write panel:criteria+recorded:gpt-4/zero-shot"),
        ("panel:", "has no members"),
        ("panel:ranks=", "has no members"),
        ("panel:criteria+constant", "constant cannot be a member"),
        ("panel:criteria+human", "human cannot be a member"),
        ("panel:criteria+panel:recorded:P", "panel:recorded:P cannot be a member"),
        ("panel:recorded:P+criteria+recorded:P", "recorded:P is named twice"),
        ("panel:criteria+gpt-4", "'gpt-4' is no judge"),
        ("panel:criteria+zero-shot:hot", "'hot' is no score mode"),
    ],
)
def test_what_is_no_name_is_refused_in_one_line(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_judges(text)
    assert said in str(caught.value)
    assert str(caught.value).startswith("--judges")
    assert "\n" not in str(caught.value)


# -- how a score is got ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "mode", "temperature"),
    [
        ("", ExpectedMode(), 0.0),
        ("text", TextMode(), 0.0),
        ("expected", ExpectedMode(), 0.0),
        ("sample:5", SampleMode(5), SAMPLE_TEMPERATURE),
        ("t0", TextMode(), 0.0),
        ("t0.7", TextMode(), 0.7),
        ("t2", TextMode(), 2.0),
    ],
)
def test_score_mode_and_temperature(argument: str, mode: ScoreMode, temperature: float) -> None:
    assert asked_how(JudgeName("zero-shot", argument), ExpectedMode()) == (mode, temperature)


def test_the_mode_it_has_otherwise_brings_its_temperature() -> None:
    assert asked_how(JudgeName("zero-shot"), SampleMode(4)) == (SampleMode(4), SAMPLE_TEMPERATURE)


# -- methods crossed with models ---------------------------------------------------------------------------------------


def crossed(text: str, *models: str) -> list[str]:
    return list(map(str, with_models(parse_judges(text), models)))


def test_judges_that_need_a_model_are_crossed_with_the_models() -> None:
    text = "criteria,zero-shot,g-eval:text,calibrated,top:2,recorded:P,calibrated:mine.yaml,zero-shot@c/d"
    assert crossed(text, "a/b", "c/d") == [
        *("criteria", "zero-shot@a/b", "zero-shot@c/d", "g-eval:text@a/b", "g-eval:text@c/d"),
        *("calibrated@a/b", "calibrated@c/d", "top:2@a/b", "top:2@c/d", "recorded:P", "calibrated:mine.yaml"),
    ]  # zero-shot@c/d, which was named too, stands there once


def test_the_members_of_a_panel_go_with_the_same_model() -> None:
    assert crossed("panel:ranks=criteria+zero-shot+g-eval@e/f+top:2", "a/b", "c/d") == [
        "panel:ranks=criteria+zero-shot@a/b+g-eval@e/f+top:2@a/b",
        "panel:ranks=criteria+zero-shot@c/d+g-eval@e/f+top:2@c/d",
    ]


def test_a_member_that_comes_to_be_another_one_sits_there_once() -> None:
    assert crossed("panel:zero-shot+zero-shot@a/b", "a/b", "c/d") == [
        "panel:zero-shot@a/b",
        "panel:zero-shot@c/d+zero-shot@a/b",
    ]


def test_without_models_the_embedded_calibration_stays() -> None:
    text = "calibrated,top:3,panel:calibrated+recorded:P,criteria,human,panel:ranks=top:2"
    assert crossed(text) == text.split(",")


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("zero-shot", "zero-shot"),
        ("g-eval:text", "g-eval:text"),
        ("criteria,panel:criteria+calibrated+g-eval", "g-eval"),
        ("panel:zero-shot@a/b+zero-shot:t0.5", "zero-shot:t0.5"),
    ],
)
def test_who_needs_a_model_and_has_none_is_named(text: str, asks: str) -> None:
    with pytest.raises(ConfigError) as caught:
        crossed(text)
    assert f"{asks} asks a model; name one: --model openai/gpt-4o-mini, or {asks}@local/smollm2" in str(caught.value)

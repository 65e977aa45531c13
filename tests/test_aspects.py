"""Aspects: those that are shipped, how one is found by name, a user's own, scales, and what a malformed file says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrator.aspects import AspectFile, Scale, find_aspect, parse_scale, read_aspect, shipped_aspects
from calibrator.errors import AspectError
from tests.conftest import ROOT

SEEDS = ROOT.parent / "shared" / "seeds"

FIVE, THREE, BINARY = (1, 5), (1, 3), (0, 1)
SHIPPED = {
    "cseval": {"relevance": FIVE, "aggressiveness": FIVE, "coherence": FIVE, "suitableness": THREE},
    "multi-aspect": dict.fromkeys(["specificity", "opposition", "relatedness", "toxicity", "fluency", "overall"], FIVE),
    "effectiveness": {
        **dict.fromkeys(["clarity", "evidence", "rebuttal", "fairness"], THREE),
        **dict.fromkeys(["emotional-appeal", "audience-adaptation"], BINARY),
    },
    "topical-chat": {
        **dict.fromkeys(["understandability", "groundedness"], BINARY),
        **dict.fromkeys(["naturalness", "coherence", "engagingness"], THREE),
        "overall": FIVE,
    },
    "dialsummeval": dict.fromkeys(["coherence", "consistency", "fluency", "relevance"], FIVE),
    "neutral": dict.fromkeys(["relevance", "coherence", "fluency", "consistency", "helpfulness"], FIVE),
}
REFS = [f"{suite}/{name}" for suite, names in SHIPPED.items() for name in names]
LOWER_IS_BETTER = {"cseval/aggressiveness"}


def test_the_suites_are_those_that_were_promised() -> None:
    assert set(shipped_aspects()) == set(REFS)


@pytest.mark.parametrize("ref", shipped_aspects())
def test_a_shipped_file_parses_and_says_its_own_place(ref: str) -> None:
    aspect = read_aspect(shipped_aspects()[ref])
    assert aspect.ref == ref
    assert aspect.label
    assert aspect.basis or aspect.suite == "neutral"
    assert len(aspect.definition.split()) >= 20
    assert {"source", "output"} <= set(aspect.fields)


@pytest.mark.parametrize("ref", REFS)
def test_scales_and_directions(ref: str) -> None:
    suite, name = ref.split("/")
    aspect, _ = find_aspect(ref)
    assert (aspect.scale.low, aspect.scale.high) == SHIPPED[suite][name]
    assert aspect.better == ("lower" if ref in LOWER_IS_BETTER else "higher")


@pytest.mark.parametrize("ref", REFS)
def test_anchors_name_every_point_of_the_scale(ref: str) -> None:
    aspect, _ = find_aspect(ref)
    scale = aspect.scale
    points = [scale.low + k * scale.step for k in range(round((scale.high - scale.low) / scale.step) + 1)]
    assert sorted(aspect.anchors) == points


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def runs_of_six(text: str) -> set[tuple[str, ...]]:
    found = words(text)
    return set(zip(*(found[k:] for k in range(6)), strict=False))


def test_definitions_are_in_words_of_our_own() -> None:
    papers = sorted(SEEDS.glob("*.txt"))
    if not papers:
        pytest.skip(f"the papers are absent: {SEEDS}")
    theirs: set[tuple[str, ...]] = set()
    for paper in papers:
        text = paper.read_text(encoding="utf-8", errors="replace")
        theirs |= runs_of_six(text) | runs_of_six(re.sub(r"-\s*\n\s*", "", text))  # words parted at a line's end
    for ref, path in shipped_aspects().items():
        aspect = read_aspect(path)
        for ours in (aspect.definition, *aspect.anchors.values()):
            assert not runs_of_six(ours) & theirs, ref


# --- found by name --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ref", "suite", "found", "why"),
    [
        ("cseval/relevance", "dialsummeval", "cseval/relevance", "named in full"),
        ("relevance", "cseval", "cseval/relevance", "the data set's own suite"),
        ("relevance", "dialsummeval", "dialsummeval/relevance", "the data set's own suite"),
        ("overall", "topical-chat", "topical-chat/overall", "the data set's own suite"),
        ("suitableness", None, "cseval/suitableness", "the only suite that has it"),
        ("suitableness", "topical-chat", "cseval/suitableness", "the only suite that has it"),
        ("helpfulness", None, "neutral/helpfulness", "the only suite that has it"),
        ("relevance", None, "neutral/relevance", "the suite for any domain"),
        ("relevance", "topical-chat", "neutral/relevance", "the suite for any domain"),
        ("Emotional_Appeal", None, "effectiveness/emotional-appeal", "the only suite that has it"),
        ("audience adaptation", None, "effectiveness/audience-adaptation", "the only suite that has it"),
    ],
)
def test_where_a_name_is_found_and_why(ref: str, suite: str | None, found: str, why: str) -> None:
    aspect, reason = find_aspect(ref, suite)
    assert aspect.ref == found
    assert reason.startswith(why)


def test_the_reason_names_the_other_suites() -> None:
    _, reason = find_aspect("relevance")
    assert "cseval/relevance" in reason
    assert "dialsummeval/relevance" in reason
    assert "neutral/relevance" not in reason


def test_a_name_of_several_suites_without_a_neutral_one_is_ambiguous() -> None:
    with pytest.raises(AspectError, match="in several suites; name one of multi-aspect/overall, topical-chat/overall"):
        find_aspect("overall")


@pytest.mark.parametrize("ref", ["brilliance", "cseval/brilliance", "nowhere/relevance", "relevance/", "/", "", "../x"])
def test_an_unknown_aspect_lists_those_that_exist(ref: str) -> None:
    with pytest.raises(AspectError) as caught:
        find_aspect(ref)
    message = str(caught.value)
    assert f"'{ref}'" in message
    assert "--aspect-file" in message
    for suite, names in SHIPPED.items():
        assert f"{suite}: {', '.join(sorted(names))}" in message


# --- scales ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "scale"),
    [
        ("1-5", Scale(1, 5)),
        (" 0 .. 100 ", Scale(0, 100)),
        ("-1:1", Scale(-1, 1)),
        ("-5--1", Scale(-5, -1)),
        ("1 to 7", Scale(1, 7)),
        ("1-5/0.5", Scale(1, 5, 0.5)),
        ("0..1 / 0.25", Scale(0, 1, 0.25)),
    ],
)
def test_scales_as_users_write_them(text: str, scale: Scale) -> None:
    assert parse_scale(text) == scale


@pytest.mark.parametrize(
    "text", ["", "5", "5-1", "3-3", "1-5/0", "1-5/-1", "one-five", "1-5-9", "nan-5", "1-inf", "1-5/", "a1-5", "1e3-5"]
)
def test_what_is_no_scale_is_named(text: str) -> None:
    with pytest.raises(AspectError, match=f"'{re.escape(text)}' is no scale"):
        parse_scale(text)


@given(st.integers(-50, 50), st.integers(1, 50))
def test_a_scale_reads_as_it_is_written(low: int, width: int) -> None:
    scale = Scale(low, low + width)
    assert parse_scale(str(scale)) == scale


def test_a_scale_holds_its_ends_and_means_between_its_points() -> None:
    scale = Scale(1, 5)
    assert all(scale.holds(v) for v in (1, 5, 3.67))
    assert not any(scale.holds(v) for v in (0.99, 5.01, float("nan"), float("inf")))


# --- a user's own ---------------------------------------------------------------------------------------------------

OWN = """
name: crispness
definition: >
  Crispness is how
  short and clear the text is.
scale: {min: 0, max: 10, step: 0.5}
"""


def own(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_users_own_aspect_needs_a_name_a_definition_and_a_scale(tmp_path: Path) -> None:
    aspect = read_aspect(own(tmp_path, OWN))
    assert aspect.ref == "custom/crispness"
    assert aspect.label == "Crispness"
    assert aspect.definition == "Crispness is how short and clear the text is."
    assert aspect.scale == Scale(0, 10, 0.5)
    assert aspect.better == "higher"
    assert (aspect.called("source"), aspect.called("output")) == ("source", "output")


def test_everything_a_user_may_say_is_kept(tmp_path: Path) -> None:
    more = (
        "suite: mine\nlabel: Crisp\ndirection: lower\nanchors: {0: bad, 10: good}\nfields: {output: tweet}\nbasis: me\n"
    )
    aspect = read_aspect(own(tmp_path, OWN + more))
    assert (aspect.ref, aspect.label, aspect.better, aspect.basis) == ("mine/crispness", "Crisp", "lower", "me")
    assert dict(aspect.anchors) == {0.0: "bad", 10.0: "good"}
    assert (aspect.called("output"), aspect.called("source")) == ("tweet", "source")


@pytest.mark.parametrize("ref", REFS)
def test_the_file_form_of_an_aspect_gives_it_back(ref: str) -> None:
    aspect, _ = find_aspect(ref)
    assert AspectFile.of(aspect).aspect() == aspect


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (OWN.replace("name: crispness", ""), "name: is missing"),
        (OWN.replace("crispness\n", "Not A Name!\n", 1), "name: "),
        (OWN.replace("scale:", "scales:"), "scale: is missing"),
        (OWN.replace("min: 0", "min: ten"), "scale.min: "),
        (OWN.replace("min: 0", "min: 10"), "scale: min must be below max"),
        (OWN.replace("max: 10", "max: .inf"), "scale.max: "),
        (OWN.replace("max: 10", "max: .nan"), "scale.max: "),
        (OWN.replace("step: 0.5", "step: 0"), "scale.step: "),
        (OWN.replace("step: 0.5", "steps: 1"), "scale.steps: "),
        (OWN + "direction: sideways\n", "direction: "),
        (OWN + "anchors: {high: good}\n", "anchors.high"),
        (OWN + "anchors: {11: too good}\n", "anchors: 11 is not on the scale"),
        (OWN + "colour: red\n", "colour: "),
        ("name: empty\ndefinition: '  '\nscale: {min: 1, max: 5}\n", "definition: "),
        ("- a list\n", "the file: "),
        ("", "the file: "),
        ("just a sentence", "the file: "),
        (OWN + "  : : [", "not readable as YAML"),
        (OWN + "basis: 2021-13-45\n", "not readable as YAML: month"),
        (OWN + "basis: !!python/object:os.system {}\n", "not readable as YAML"),
        ("[" * 5000, "not readable as YAML"),
        (OWN + "basis: \x07\n", "not readable as YAML"),
    ],
)
def test_a_malformed_file_names_the_file_and_the_entry(tmp_path: Path, text: str, says: str) -> None:
    path = own(tmp_path, text)
    with pytest.raises(AspectError) as caught:
        read_aspect(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: {says}")
    assert "\n" not in message


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    with pytest.raises(AspectError, match="no such aspect file"):
        read_aspect(tmp_path / "none.yaml")
    with pytest.raises(AspectError, match="not readable"):
        read_aspect(tmp_path)
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(AspectError, match="not readable"):
        read_aspect(binary)

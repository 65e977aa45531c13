"""Labels that another gave: which file forms there are, and how they are joined to the texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from calibrator.errors import ConfigError, DataError
from calibrator.records import Failure
from calibrator.studies.types.base import Assigned, Example
from calibrator.studies.types.reading import NONE_GIVEN, OFF_LIST
from calibrator.studies.types.recorded import DIFFERENT, NOTHING, recorded_column, recorded_file
from calibrator.studies.types.scheme import scheme_of

SCHEME = scheme_of(["asking", "calm", "sharp"])


def example(k: int, text: str, source: str = "") -> Example:
    return Example(f"i{k}", text, None, source, source or text)


def given(answers: tuple[Assigned | Failure, ...]) -> list[object]:
    return [set(a.labels) if isinstance(a, Assigned) else a.reason for a in answers]


def test_a_table_is_joined_by_text_and_source(tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_text("prompt,text,labels\np,Yes.,calm\nq,Yes.,sharp\nq,No?,asking|calm\n")
    examples = [example(0, "yes", "q"), example(1, "yes", "p"), example(2, "no", "q"), example(3, "maybe", "q")]
    classifier = recorded_file(str(path), examples, SCHEME)
    assert classifier.id == "recorded:other.csv"
    assert given(classifier.predict(examples)) == [{"sharp"}, {"calm"}, {"asking", "calm"}, NOTHING]


def test_an_example_without_a_source_is_joined_by_its_text_if_that_is_clear(tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_text("prompt,text,labels\np,yes,calm\nq,yes,sharp\np,no,calm\nq,no,calm\n")
    examples = [example(0, "yes"), example(1, "no")]
    assert given(recorded_file(str(path), examples, SCHEME).predict(examples)) == [DIFFERENT, {"calm"}]


def nested(tmp_path: Path) -> Path:
    """Two sources without their texts, as objects of answers; "yes" was labelled differently in the two."""
    path = tmp_path / "nested.json"
    a = {
        "w1": {"text": "yes", "found": ["calm"], "more": []},
        "w2": {"text": "perhaps", "found": ["asking"], "more": []},
    }
    b = {"w1": {"text": "yes", "found": ["sharp"], "more": []}, "w3": {"text": "never", "found": [], "more": []}}
    path.write_text(json.dumps({"12": a, "13": b | {"w4": {"text": "no", "found": ["wit"], "more": []}}}))
    return path


def test_nested_json_is_joined_by_what_lies_together(tmp_path: Path) -> None:
    examples = [
        *(example(k, t, "p") for k, t in enumerate(["yes", "never", "no"])),
        *(example(k + 3, t, "q") for k, t in enumerate(["perhaps", "yes"])),
    ]
    classifier = recorded_file(f"{nested(tmp_path)}#found", examples, SCHEME)
    wanted = [{"sharp"}, NONE_GIVEN, OFF_LIST, {"asking"}, {"calm"}]
    assert given(classifier.predict(examples)) == wanted
    assert given(recorded_file(f"{nested(tmp_path)}#found", examples[:1], SCHEME).predict(examples[:1])) == [DIFFERENT]


def test_where_several_entries_are_lists_the_one_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"several entries are lists; name the labels: .*#NAME \(found, more\)"):
        recorded_file(str(nested(tmp_path)), [example(0, "yes")], SCHEME)
    with pytest.raises(DataError, match="no object with a text has 'other'"):
        recorded_file(f"{nested(tmp_path)}#other", [example(0, "yes")], SCHEME)


@pytest.mark.parametrize(
    ("text", "said"), [("{", "not readable as JSON"), ('{"a": [1]}', "no entry looks like the text")]
)
def test_a_file_that_is_none_is_said(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(DataError, match=said):
        recorded_file(str(tmp_path / "x.json"), [example(0, "yes")], SCHEME)


def test_a_file_of_other_texts_or_none_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="none of its texts is one of those"):
        recorded_file(f"{nested(tmp_path)}#found", [example(0, "quite another")], SCHEME)
    with pytest.raises(DataError, match="there is no such file"):
        recorded_file(str(tmp_path / "absent.json"), [example(0, "yes")], SCHEME)


def test_a_column_of_the_data_needs_no_join() -> None:
    rows = {"i0": {"gpt": "calm|sharp"}, "i1": {"gpt": ""}, "i2": {"gpt": ["asking"]}, "i3": {"gpt": []}}
    examples = [example(k, "same") for k in range(4)]
    classifier = recorded_column("gpt", rows, SCHEME, [r["gpt"] for r in rows.values()])
    assert given(classifier.predict(examples)) == [{"calm", "sharp"}, NOTHING, {"asking"}, NONE_GIVEN]
    free = recorded_column("gpt", rows, SCHEME.allowing_none(), [r["gpt"] for r in rows.values()])
    assert given(free.predict(examples)) == [{"calm", "sharp"}, set(), {"asking"}, set()]


def test_the_recorded_types_of_the_real_set_are_joined_to_every_text(real_data: Path) -> None:
    from calibrator.studies.types.reading_sides import read_sides

    place = real_data / "crowdcounter"
    sides = read_sides(place / "Val.jsonl", place / "Test.jsonl", {}).sides
    answers = recorded_file(f"{place / 'gpt4_types.json'}#gpt4-types", sides.test, sides.scheme).predict(sides.test)
    reasons = {a.reason for a in answers if isinstance(a, Failure)}
    assert len(answers) == 1288 and reasons == {NONE_GIVEN}
    assert sum(isinstance(a, Failure) for a in answers) == 9  # for these an empty list is recorded


def test_numbers_are_labels_in_every_form(tmp_path: Path) -> None:
    scheme, examples = scheme_of(["0", "1"]), [example(0, "yes"), example(1, "no")]
    path = tmp_path / "other.csv"
    path.write_text("text,labels\nyes,1.0\nno,0.0\n")
    assert given(recorded_file(str(path), examples, scheme).predict(examples)) == [{"1"}, {"0"}]
    path = tmp_path / "other.json"
    path.write_text(json.dumps([{"text": "yes", "found": [1.0]}, {"text": "no", "found": [0, True]}]))
    assert given(recorded_file(str(path), examples, scheme).predict(examples)) == [{"1"}, OFF_LIST]


def test_a_record_with_a_gap_among_0_and_1_is_none(tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_text("text,asking,calm\nyes,1,\nno,0,1\n")
    examples = [example(0, "yes"), example(1, "no")]
    found = recorded_file(f"{path}#asking,calm", examples, SCHEME.allowing_none()).predict(examples)
    assert given(found) == [NOTHING, {"calm"}]

"""Tables of labelled texts as users have them: columns, cells, schemes, and what recurs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from calibrator.errors import ConfigError, DataError
from calibrator.resources import folder
from calibrator.studies.types.data import labelled, leak, read_spelled, split_cell
from calibrator.studies.types.reading_sides import read_sides
from calibrator.studies.types.scheme import Label, Scheme, find_scheme, guess_scheme, scheme_of, shipped

Write = Callable[..., Path]
NOTHING: dict[str, str | None] = {}


@pytest.mark.parametrize(
    ("cells", "wanted"),
    [
        (["asking|calm", "calm"], [("asking", "calm"), ("calm",)]),
        (["asking, calm", "calm"], [("asking", "calm"), ("calm",)]),
        (["asking; calm, or so", "calm"], [("asking", "calm, or so"), ("calm",)]),
        (['["asking", "calm"]', "[]"], [("asking", "calm"), None]),
        (["['asking', 'calm']", "calm"], [("asking", "calm"), ("calm",)]),
        (["calm", ""], [("calm",), None]),
        (["1", "2"], [("1",), ("2",)]),
        (["1.0", "2"], [("1",), ("2",)]),
        (["1.0|2", "0.0"], [("1", "2"), ("0",)]),
        (["[1.0, 2]", "1.5"], [("1", "2"), ("1.5",)]),
    ],
)
def test_labels_are_read_however_a_cell_holds_them(write_csv: Write, cells: list[str], wanted: list[object]) -> None:
    path = write_csv([{"text": f"a walk {k}", "labels": cell} for k, cell in enumerate(cells)])
    assert list(read_spelled(path).labels) == wanted


def test_lists_of_jsonl_and_numbers_are_read(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    rows = [
        {"text": "a", "labels": ["calm", "calm", " asking "]},
        {"text": "b", "labels": None},
        {"text": "c", "labels": 3.0},
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    assert read_spelled(path).labels == (("calm", "asking"), None, ("3",))


def test_several_columns_of_0_and_1_are_labels(write_csv: Write) -> None:
    rows = [
        {"text": "a", "asking": 1, "calm": "true"},
        {"text": "b", "asking": 0, "calm": "0"},
        {"text": "c", "asking": "", "calm": ""},
    ]
    path = write_csv(rows)
    assert read_spelled(path, labels="asking,calm").labels == (("asking", "calm"), None, None)
    path = write_csv([{"text": "a", "asking": 1, "calm": 5}])
    with pytest.raises(DataError, match="row 2, column 'calm': '5' is neither 0 nor 1"):
        read_spelled(path, labels="asking,calm")


def test_a_row_with_a_gap_among_0_and_1_is_left_out_and_counted(write_csv: Write) -> None:
    rows = [
        {"text": f"walk {k}", "asking": asking, "calm": calm}
        for k, (asking, calm) in enumerate([(1, 0), (0, ""), (1, ""), ("", ""), (0, 0), (1, 1), (0, 1)])
    ]
    path = write_csv(rows)
    data = read_spelled(path, labels="asking,calm")
    assert data.gaps == {1, 2}
    assert data.labels == (("asking",), None, None, None, None, ("asking", "calm"), ("calm",))
    wanted: dict[str, str | None] = {"labels": "asking,calm"}
    read = read_sides(path, path, wanted)
    assert [e.text for e in read.sides.test] == ["walk 0", "walk 5", "walk 6"]
    gap = "data.csv: 2 rows with an empty cell beside others of 0 and 1 are left out"
    assert [w.partition(" (")[0] for w in read.sides.warnings] == ["data.csv: 2 rows without labels are left out", gap]
    read = read_sides(path, path, wanted, none=True)
    assert [e.text for e in read.sides.test] == ["walk 0", "walk 3", "walk 4", "walk 5", "walk 6"]
    assert [w.partition(" (")[0] for w in read.sides.warnings] == [gap]


def test_numbers_are_one_label_with_and_without_decimals(write_csv: Write) -> None:
    train = write_csv([{"text": f"walk {k}", "labels": k % 2} for k in range(4)])
    test = write_csv([{"text": f"way {k}", "labels": f"{k % 2}.0"} for k in range(4)], "test.csv")
    sides = read_sides(train, test, NOTHING).sides
    assert sides.labels == sides.scheme.names == ("0", "1")
    assert [e.labels for e in sides.test] == [{"0"}, {"1"}, {"0"}, {"1"}]
    assert Scheme((Label("1.0"), Label("1.5"))).find("1") == "1.0"


def test_a_label_with_a_comma_is_quoted_where_labels_are_listed(write_csv: Write) -> None:
    path = write_csv([{"text": f"walk {k}", "labels": "wry, mild|calm" if k % 2 else "calm"} for k in range(4)])
    assert any(line.startswith('labels    calm, "wry, mild" (') for line in read_sides(path, path, NOTHING).told)


def test_columns_are_guessed_and_lists_are_meant_before_single_labels(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps({"prompt": "p", "response": "r", "type": "x", "all_types": ["x", "y"]}))
    columns = read_spelled(path).columns
    assert columns.described() == "text=response (guessed); labels=all_types (guessed); source=prompt (guessed)"
    assert read_spelled(path, labels="type", source="none").columns.source is None


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"text": "txet"}, "--text: there is no column 'txet'; did you mean text"),
        ({"labels": "lables"}, "--labels: there is no column 'lables'; did you mean labels"),
        ({"source": "nowhere"}, "--source: there is no column 'nowhere'"),
    ],
)
def test_a_column_that_is_not_there_is_said_with_the_nearest(
    write_csv: Write, wanted: dict[str, str], said: str
) -> None:
    with pytest.raises(DataError, match=said):
        read_spelled(write_csv([{"text": "a", "labels": "calm"}]), **wanted)


def test_what_cannot_be_guessed_is_asked_for(write_csv: Write) -> None:
    with pytest.raises(DataError, match="no column looks like the text; name it with --text"):
        read_spelled(write_csv([{"a": "x", "labels": "calm"}]))
    with pytest.raises(DataError, match="no column looks like labels; name it with --labels"):
        read_spelled(write_csv([{"text": "x", "b": "calm"}]))


def test_rows_nobody_labelled_are_left_out_unless_an_empty_cell_means_none(write_csv: Write) -> None:
    data = read_spelled(write_csv([{"text": "a", "labels": "calm"}, {"text": "b", "labels": ""}]))
    scheme = scheme_of(["calm"])
    assert [e.labels for e in labelled(data, scheme, empty=False)[0]] == [{"calm"}]
    assert [e.labels for e in labelled(data, scheme, empty=True)[0]] == [{"calm"}, set()]


def test_other_spellings_are_one_label_and_the_most_frequent_names_it() -> None:
    scheme = scheme_of(["Calm tone", "calm-tone", "calm-tone", "asking"])
    assert scheme.names == ("asking", "calm-tone")
    assert scheme.find("CALM  TONE") == "calm-tone" and scheme.find("calmtone") is None


def test_spellings_that_two_labels_share_are_refused() -> None:
    with pytest.raises(ValueError, match="spelled like another label"):
        Scheme((Label("calm", aliases=("friendly",)), Label("warm", aliases=("Friendly",))))


def test_shipped_schemes_can_be_read_and_each_is_guessed_from_its_own_names() -> None:
    assert shipped()
    for name in shipped():
        scheme = find_scheme(name)
        assert all(label.definition for label in scheme.labels) and scheme.about
        assert guess_scheme([label.name.upper() for label in scheme.labels]) == scheme
    assert guess_scheme(["quite", "other"]) is None and guess_scheme([]) is None


def test_a_scheme_that_is_none_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--scheme: 'nope' is none; give a YAML file, or one of crowdcounter"):
        find_scheme("nope")
    path = tmp_path / "own.yaml"
    path.write_text("labels: [{name: calm, meaning: x}]")
    with pytest.raises(ConfigError, match=r"labels.0.meaning: there is no such entry"):
        find_scheme(str(path))
    path.write_text("labels: [{name: calm}, {name: Calm}]")
    with pytest.raises(ConfigError, match="spelled like another label"):
        find_scheme(str(path))
    assert (folder("data") / "types" / "crowdcounter.yaml").exists()


def test_what_recurs_is_counted_but_for_case_and_punctuation(write_csv: Write) -> None:
    train = read_spelled(write_csv([{"prompt": "P", "text": "A walk.", "labels": "x"}]), source="prompt").examples
    rows = [("p!", "a walk"), ("q", "A WALK!"), ("q", "another"), ("", "a walk")]
    test = [{"prompt": p, "text": t, "labels": "x"} for p, t in rows]
    found = leak(train, read_spelled(write_csv(test, "test.csv"), source="prompt").examples)
    assert (found.texts, found.sources) == (3, 1)


def test_a_side_without_a_file_is_parted_by_source(write_csv: Write) -> None:
    rows = [
        {"prompt": f"p{k % 20}", "text": f"walk {k}", "labels": "calm|asking" if k % 3 else "calm"} for k in range(60)
    ]
    read = read_sides(write_csv(rows), None, NOTHING)
    assert not {e.source for e in read.sides.train} & {e.source for e in read.sides.test}
    assert len(read.sides.train) + len(read.sides.test) == 60
    assert any("by source" in line for line in read.told)


def test_labels_of_the_test_side_alone_stay_true_and_are_told(write_csv: Write) -> None:
    train = write_csv([{"text": f"w {k}", "labels": "calm"} for k in range(5)])
    test = write_csv([{"text": "a", "labels": "calm|sharp"}], "test.csv")
    sides = read_sides(train, test, NOTHING).sides
    assert sides.scheme.names == ("calm",) and sides.labels == ("calm", "sharp")
    assert sides.test[0].labels == {"calm", "sharp"}


def test_labels_to_learn_that_a_named_scheme_does_not_have_are_refused(write_csv: Write) -> None:
    path = write_csv([{"text": "a", "labels": "humour|irony"}])
    with pytest.raises(DataError, match=r"labels that are not in the scheme crowdcounter: irony \(1\)"):
        read_sides(path, path, NOTHING, "crowdcounter")


def test_a_cell_that_only_looks_like_a_list_is_a_label() -> None:
    assert split_cell("[calm", "") == ("[calm",)

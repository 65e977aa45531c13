"""From rows to items: ratings, ids, groups, and what is counted on the way."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrator.aspects import Aspect, Scale
from calibrator.columns import Wanted, map_columns
from calibrator.dataset import Dataset, plain_items, rated_items
from calibrator.errors import DataError
from calibrator.tables import Table
from calibrator.texts import digest
from tests.conftest import rated_rows

SCALE = Scale(1, 5)
ASPECT = Aspect("custom", "warmth", "Warmth", "How warm it is.", SCALE)
Rows = list[dict[str, Any]]


def table(rows: Rows) -> Table:
    columns = tuple(dict.fromkeys(c for r in rows for c in r))
    return Table(Path("data.csv"), columns, tuple(rows), tuple(rows), tuple(range(2, len(rows) + 2)))


def dataset(rows: Rows, **said: Any) -> Dataset:
    found = table(rows)
    return rated_items(found, map_columns(found, Wanted(**said), ASPECT), SCALE)


def row_of(found: Dataset, row: int) -> Any:
    return next(i for i in found.items if i.row == row)


def changed(*sixth: dict[str, Any]) -> Rows:
    """Forty good rows; from the sixth on (row 7) they are changed."""
    rows = rated_rows()
    for row, values in zip(rows[5:], sixth, strict=False):
        row.update(values)
    return rows


def rated_by_three(*ratings: object) -> Rows:
    """Good rows with three annotators in place of the score; the sixth row has `ratings`."""
    rows = [{**r, "warmth_a1": r["human_score"], "warmth_a2": 3, "warmth_a3": 4} for r in rated_rows()]
    for row in rows:
        del row["human_score"]
    rows[5] |= dict(zip(("warmth_a1", "warmth_a2", "warmth_a3"), ratings, strict=True))
    return rows


def rated_by_two_with_score() -> Rows:
    return [r | {"warmth_a1": 5, "warmth_a2": 3} for r in rated_rows()]


# -- ratings -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", ["4", " 4.0 ", 4, 4.0])
def test_one_rating_is_the_human_figure(cell: object) -> None:
    item = row_of(dataset(changed({"human_score": cell})), 7)
    assert (item.ratings, item.human) == ((4.0,), 4.0)


def test_the_mean_of_the_annotators_is_the_human_figure() -> None:
    item = row_of(dataset(rated_by_three("1", 2, 5.0)), 7)
    assert item.ratings == (1.0, 2.0, 5.0)
    assert item.human == pytest.approx(8 / 3)


@pytest.mark.parametrize("missing", ["", None, "NA", "n/a", "-", float("nan")])
def test_a_missing_annotator_is_left_out_of_the_mean(missing: object) -> None:
    found = dataset(rated_by_three(1, missing, 4))
    assert row_of(found, 7).ratings == (1.0, 4.0)
    assert row_of(found, 7).human == 2.5
    assert found.warnings == ()


@pytest.mark.parametrize("cell", [[1, 2, 5], "[1, 2, 5]", "[1, null, 2, 5]"])
def test_a_list_holds_the_annotators(cell: object) -> None:
    rows = [r | {"votes": [r["human_score"], 3]} for r in rated_rows()]
    rows[5]["votes"] = cell
    item = row_of(dataset(rows, score=("votes",)), 7)
    assert item.ratings == (1.0, 2.0, 5.0)


@pytest.mark.parametrize(
    ("ratings", "raters"),
    [((1, 2, 5), (0, 1, 2)), ((1, "", 5), (0, 2)), (("", 2, None), (1,)), (("NA", 2, 5), (1, 2))],
)
def test_each_rating_is_known_by_its_column(ratings: tuple[object, ...], raters: tuple[int, ...]) -> None:
    item = row_of(dataset(rated_by_three(*ratings)), 7)
    assert item.raters == raters
    assert item.ratings == tuple(ratings[k] for k in raters)


@pytest.mark.parametrize(
    ("cell", "raters"), [([1, 2, 5], (0, 1, 2)), ("[1, null, 2, 5]", (0, 2, 3)), (["", 4], (1,)), (3, (0,))]
)
def test_a_rating_in_a_list_is_known_by_its_place(cell: object, raters: tuple[int, ...]) -> None:
    rows = [r | {"votes": [r["human_score"], 3]} for r in rated_rows()]
    rows[5]["votes"] = cell
    assert row_of(dataset(rows, score=("votes",)), 7).raters == raters


def test_the_places_of_two_columns_of_lists_never_meet() -> None:
    rows = [r | {"votes": [r["human_score"], 3], "more": [2, None, 4]} for r in rated_rows()]
    rows[5] |= {"votes": [1], "more": "[null, 5]"}
    rows[6]["votes"] = [1, 2, 3, 4]
    found = dataset(rows, score=("votes", "more"))
    assert (row_of(found, 7).ratings, row_of(found, 7).raters) == ((1.0, 5.0), (0, 5))
    assert row_of(found, 2).raters == (0, 1, 4, 6)


def test_who_gave_a_mean_is_told_only_where_it_is_known() -> None:
    both = [r | {"warmth": r["human_score"]} for r in rated_by_two_with_score()]
    both[5]["warmth_a1"] = ""
    both[6] |= {"warmth_a1": "", "warmth_a2": ""}
    found = dataset(both)
    assert (row_of(found, 7).ratings, row_of(found, 7).raters) == ((3.0,), (1,))
    assert (row_of(found, 8).ratings, row_of(found, 8).raters) == ((row_of(found, 8).human,), ())


def test_a_column_of_means_goes_before_the_annotators() -> None:
    rows = [r | {"warmth": r["human_score"]} for r in rated_by_two_with_score()]
    rows[5]["warmth"] = 2
    item = row_of(dataset(rows), 7)
    assert (item.human, item.ratings) == (2.0, (5.0, 3.0))


def test_a_row_without_its_mean_is_counted_as_unrated_whoever_rated_it() -> None:
    rows = [r | {"warmth": r["human_score"]} for r in rated_by_two_with_score()]
    rows[5]["warmth"] = ""
    found = dataset(rows)
    assert len(found.items) == 39
    assert [w.split(": ", 1)[1] for w in found.warnings] == ["1 rows have no rating and are left out"]


def test_rows_without_rating_are_counted_and_left_out() -> None:
    found = dataset(changed({"human_score": ""}, {"human_score": None}, {"human_score": "N/A"}))
    assert len(found.items) == 37
    assert [w.split(": ", 1)[1] for w in found.warnings] == ["3 rows have no rating and are left out"]


def test_a_row_without_any_annotator_is_counted() -> None:
    found = dataset(rated_by_three("", None, "-"))
    assert len(found.items) == 39
    assert [w.split(": ", 1)[1] for w in found.warnings] == ["1 rows have no rating and are left out"]


@pytest.mark.parametrize("cell", ["good", "3,5", "4/5", True, [1, 2], "inf", 5.01, 0, "-1"])
def test_a_rating_that_is_none_names_row_and_column(cell: object) -> None:
    with pytest.raises(DataError) as caught:
        dataset(changed({"human_score": cell}))
    assert (caught.value.row, caught.value.column) == (7, "human_score")


def test_a_bad_rating_of_one_annotator_names_that_column() -> None:
    with pytest.raises(DataError, match=r"row 7, column 'warmth_a2': the rating 9 is outside the scale 1-5"):
        dataset(rated_by_three(1, 9, 2))


def test_means_between_the_points_are_on_the_scale() -> None:
    assert row_of(dataset(changed({"human_score": 3.667})), 7).human == 3.667


def test_bad_ratings_are_counted_and_left_out_if_so_wanted() -> None:
    rows = changed({"human_score": 9}, {"human_score": "good"}, {"human_score": ""})
    found = table(rows)
    lenient = rated_items(found, map_columns(found, Wanted(), ASPECT), SCALE, lenient=True)
    assert [w.split(": ", 1)[1] for w in lenient.warnings] == [
        "1 rows have no rating and are left out",
        "2 rows have a rating off the scale or that is no number (first in row 7, column 'human_score') "
        "and are left out",
    ]
    assert {i.row for i in lenient.items} == set(range(2, 42)) - {7, 8, 9}
    good = dataset([r for k, r in enumerate(rows) if k not in (5, 6)])
    assert lenient.digest == good.digest


def test_what_is_left_must_still_be_enough() -> None:
    rows = [r | {"human_score": 9} if k else r for k, r in enumerate(rated_rows())]
    found = table(rows)
    with pytest.raises(DataError, match="1 rated rows are too few"):
        rated_items(found, map_columns(found, Wanted(), ASPECT), SCALE, lenient=True)


# -- texts -------------------------------------------------------------------------------------------------------------


def test_all_texts_of_a_row_arrive_as_they_are() -> None:
    values = {"input": " A\n source ", "output": "Some «text» 🌻", "reference": "good", "model": "m1", "fact": "f"}
    item = row_of(dataset(changed(values), inputs={"fact": "fact"}), 7)
    assert (item.source, item.output, item.reference, item.system) == (" A\n source ", "Some «text» 🌻", "good", "m1")
    assert item.inputs == {"fact": "f"}


@pytest.mark.parametrize(
    ("cell", "text"),
    [(None, ""), (float("nan"), ""), (7, "7"), (["one", "two"], "one\ntwo"), ([1, "two"], '[1, "two"]')],
    ids=["nothing", "nan", "number", "turns", "mixed list"],
)
def test_a_cell_that_is_no_text_is_read_as_one(cell: object, text: str) -> None:
    assert row_of(dataset(changed({"input": cell})), 7).source == text


def test_plain_items_are_every_row_in_order() -> None:
    rows: Rows = [{"output": "b", "input": "x"}, {"output": "", "input": "y"}, {"output": "a", "input": None}]
    found = table(rows)
    items = plain_items(found, map_columns(found, Wanted(), None))
    assert [(i.id, i.output, i.source, i.human) for i in items] == [
        ("2", "b", "x", None),
        ("3", "", "y", None),
        ("4", "a", "", None),
    ]


# -- groups ------------------------------------------------------------------------------------------------------------


def test_rows_with_the_same_source_are_one_group_whatever_case_and_spacing() -> None:
    found = dataset(changed({"input": "The  old garden!"}, {"input": "the old GARDEN"}, {"input": "the new garden"}))
    same, also, other = (row_of(found, r).group for r in (7, 8, 9))
    assert same == also != other


def test_a_group_column_goes_before_the_source() -> None:
    rows = [r | {"group": f"town {k % 4}"} for k, r in enumerate(rated_rows())]
    found = dataset(rows)
    assert found.groups == 4
    assert row_of(found, 2).group == row_of(found, 6).group != row_of(found, 3).group


def test_a_row_without_a_named_group_is_grouped_by_its_source() -> None:
    rows = [r | {"group": f"town {k % 4}"} for k, r in enumerate(rated_rows())]
    rows[5] |= {"group": "", "input": "the old garden"}
    rows[6] |= {"group": None, "input": "The old garden"}
    found = dataset(rows)
    assert row_of(found, 7).group == row_of(found, 8).group == "the old garden"


def test_without_source_each_text_is_its_own_group() -> None:
    rows = [{"output": r["output"], "human_score": r["human_score"]} for r in rated_rows()]
    found = dataset(rows)
    assert found.groups == len({r["output"] for r in rows})
    assert found.warnings[-1].endswith("each text is its own group")


def test_sources_without_a_word_are_still_told_apart() -> None:
    found = dataset(changed({"input": "🌻"}, {"input": "🌻 "}, {"input": "🌧"}))
    same, also, other = (row_of(found, r).group for r in (7, 8, 9))
    assert same == also != other


# -- ids ---------------------------------------------------------------------------------------------------------------


def test_ids_of_a_column_are_used() -> None:
    found = dataset([r | {"id": k} for k, r in enumerate(rated_rows())])
    assert row_of(found, 2).id == "0"
    assert {i.id for i in found.items} == {str(k) for k in range(40)}
    assert found.warnings == ()


def test_ids_without_a_column_follow_from_the_content_and_differ() -> None:
    twin = rated_rows()[6]
    found = dataset(changed({"input": twin["input"], "output": twin["output"]}))
    ids = {i.id for i in found.items}
    assert len(ids) == 40
    assert row_of(found, 7).id.split("-")[0] == row_of(found, 8).id.split("-")[0] == row_of(found, 7).key[:10]


def test_named_ids_that_repeat_are_refused() -> None:
    rows = [r | {"name": f"n{k // 2}"} for k, r in enumerate(rated_rows())]
    with pytest.raises(DataError, match=r"column 'name': 20 ids stand in several rows.*give unique ids, or --id none"):
        dataset(rows, identifier="name")


def test_an_empty_named_id_is_refused() -> None:
    rows = [r | {"name": f"n{k}"} for k, r in enumerate(rated_rows())]
    rows[5]["name"] = " "
    with pytest.raises(DataError, match=r"row 7, column 'name': 1 ids .* or are empty"):
        dataset(rows, identifier="name")


def test_guessed_ids_that_repeat_are_counted_and_not_used() -> None:
    found = dataset([r | {"id": f"n{k // 2}"} for k, r in enumerate(rated_rows())])
    assert len({i.id for i in found.items}) == 40
    assert len(found.warnings) == 1
    assert "column 'id' is not used as id: 20 ids" in found.warnings[0]


# -- what is odd is counted --------------------------------------------------------------------------------------------


def test_texts_without_a_word_are_counted_and_left_out() -> None:
    found = dataset(changed({"output": ""}, {"output": " \n"}, {"output": "?!"}))
    assert found.warnings[0] == (
        "data.csv: 3 rows have no word to judge (first in row 7, column 'output') and are left out"
    )
    assert len(found.items) == 37


def test_groups_that_share_a_text_become_one() -> None:
    rows = [r | {"group": f"g{k}"} for k, r in enumerate(changed())]
    again = [r | {"group": f"h{k}", "output": f" {r['output']} ".upper()} for k, r in enumerate(rows[:3])]
    found = dataset([*rows, *again, rows[3] | {"group": "h2"}])
    assert "data.csv: 4 groups hold a text of another group and are counted with it" in found.warnings
    for k in range(3):
        same = {i.group for i in found.items if i.output.strip().lower() == str(rows[k]["output"]).lower()}
        assert len(same) == 1
    joined = {i.group for i in found.items if i.output in (rows[2]["output"], rows[3]["output"])}
    assert len(joined) == 1  # g2 - h2 - g3 hang together


def test_empty_sources_are_counted() -> None:
    found = dataset(changed({"input": ""}, {"input": None}))
    assert found.warnings == ("data.csv: 2 rows have an empty input (first in row 7)",)


def test_every_text_that_is_too_long_is_counted() -> None:
    long = {"input": "", "output": "a " * 60_000}
    found = dataset(changed(long, {"input": "b " * 50_001}, {"output": "c" * 99_000}))
    said = "data.csv: 2 rows have more than 100,000 characters (first row 7, with 120,000); is each one text?"
    assert said in found.warnings


@pytest.mark.parametrize(("other", "differ"), [(0, 0), (1, 1)], ids=["same rating", "another rating"])
def test_repeated_texts_are_counted_with_how_many_ratings_differ(other: int, differ: int) -> None:
    twin = dict(rated_rows()[6])
    twin["human_score"] = 2
    rows = changed(twin, twin | {"human_score": 2 + other}, twin)
    found = dataset(rows)
    assert found.warnings == (
        f"data.csv: 2 rows repeat the text of another row, {differ} of these texts with other ratings",
    )
    assert len(found.items) == 40


def test_good_data_has_no_warning() -> None:
    assert dataset(rated_rows()).warnings == ()


# -- enough ------------------------------------------------------------------------------------------------------------


def test_twelve_rated_rows_are_enough_and_eleven_are_not() -> None:
    rows = rated_rows(12, 12)
    assert len(dataset(rows).items) == 12
    rows[0]["human_score"] = ""
    with pytest.raises(DataError, match="11 rated rows are too few"):
        dataset(rows)


def test_one_constant_rating_is_refused() -> None:
    with pytest.raises(DataError, match=r"column 'human_score': all 40 ratings are 3:"):
        dataset([r | {"human_score": 3} for r in rated_rows()])


@pytest.mark.parametrize("groups", [1, 2])
def test_fewer_than_three_groups_are_refused(groups: int) -> None:
    rows = [r | {"input": f"garden {k % groups}"} for k, r in enumerate(rated_rows())]
    with pytest.raises(DataError, match=f"column 'input': {groups} group"):
        dataset(rows)


def test_a_header_without_rows_is_refused() -> None:
    empty = Table(Path("data.csv"), ("input", "output", "human_score"), (), (), ())
    with pytest.raises(DataError, match="a header but no rows"):
        rated_items(empty, map_columns(empty, Wanted(), ASPECT), SCALE)


# -- the order of the rows ---------------------------------------------------------------------------------------------


def awkward_rows() -> Rows:
    """Rows with twins: the same text twice, with the same rating and with another, with and without reference."""
    rows = [r | {"reference": f"ref {k % 3}", "warmth_a1": 2, "warmth_a2": 4} for k, r in enumerate(rated_rows(20, 8))]
    rows += [rows[0] | {"human_score": 1}, rows[1] | {"reference": ""}, rows[2] | {"warmth_a1": 5}, dict(rows[3])]
    return rows


def told(found: Dataset) -> list[tuple[object, ...]]:
    return [(i.id, i.key, i.group, i.ratings, i.human, i.reference) for i in found.items]


@pytest.mark.parametrize("with_ids", [True, False], ids=["ids", "no ids"])
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_the_order_of_the_rows_never_matters(with_ids: bool, seed: int) -> None:
    rows = awkward_rows()
    if with_ids:
        rows = [r | {"id": f"r{k}"} for k, r in enumerate(rows)]
    shuffled = random.Random(seed).sample(rows, len(rows))
    before, after = dataset(rows), dataset(shuffled)
    assert told(after) == told(before)
    assert after.digest == before.digest


def gappy_rows() -> Rows:
    """Rows with twins that differ only in who gave their one rating."""
    rows = rated_by_three(1, "", 5)
    return [*rows, rows[0] | {"warmth_a3": ""}, rows[0] | {"warmth_a2": "", "warmth_a3": 3}]


def test_who_rated_does_not_depend_on_the_order_of_the_rows() -> None:
    rows = gappy_rows()
    before, after = dataset(rows), dataset(rows[::-1])
    assert [(i.id, i.raters) for i in before.items] == [(i.id, i.raters) for i in after.items]
    assert before.digest == after.digest


@pytest.mark.parametrize(
    ("rows", "score", "content", "order"),
    [
        (awkward_rows(), (), "1aba776d7b5b", "73c7f770bb17"),
        (rated_by_three(1, 2, 5), (), "25e4ecda8160", "d5ab2d530c53"),
        ([r | {"votes": [r["human_score"], 3]} for r in rated_rows()], ("votes",), "4bdf38df5cfd", "5502033a6047"),
    ],
    ids=["score and annotators", "annotators", "lists"],
)
def test_digest_and_order_stay_what_they_were_before_raters_were_told(
    rows: Rows, score: tuple[str, ...], content: str, order: str
) -> None:
    """Splits, looks at a test side and frozen judges go by them."""
    found = dataset(rows, **({"score": score} if score else {}))
    assert found.digest.startswith(content)
    assert digest(told(found)).startswith(order)


@pytest.mark.parametrize("change", [{"output": "another"}, {"human_score": 2.25}, {"input": "another"}])
def test_another_content_has_another_digest(change: dict[str, Any]) -> None:
    assert dataset(changed(change)).digest != dataset(rated_rows()).digest


# -- recorded judges ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "score"),
    [
        ("4", 4.0),
        (" 3.25 ", 3.25),
        (5, 5.0),
        (3.3333333333333335, 3.3333333333333335),
        ("-1", -1.0),  # off the scale, which is the judge's to say
        ("57.3", 57.3),
        ("", None),
        (None, None),
        ("NA", None),
        ("nan", None),
        (float("nan"), None),
        ("inf", None),
        (float("-inf"), None),
        ("good", None),
        ("4 of 5", None),
        (True, None),
        ([4], None),
    ],
)
def test_a_cell_of_a_recorded_judge_is_a_number_or_none(cell: object, score: float | None) -> None:
    found = dataset(changed({"P/warmth": cell}), recorded=("P",))
    assert row_of(found, 7).recorded == {"P": score}
    assert row_of(found, 8).recorded == {"P": None}  # there is no such cell in this row
    (plain,) = plain_items(
        table([{"output": "a word", "P/warmth": cell}]),
        map_columns(table([{"output": "a word", "P/warmth": cell}]), Wanted(recorded=("P",)), None, judged="warmth"),
    )
    assert plain.recorded == {"P": score}


def test_recorded_scores_neither_leave_rows_out_nor_change_what_the_data_is() -> None:
    """Splits and the ledger go by the digest: reading another judge's column is no other data."""
    rows = [r | {"P/warmth": "" if k % 3 else "4", "metric/Q": k / 7} for k, r in enumerate(rated_rows())]
    without, found = dataset(rows), dataset(rows, recorded=("P", "metric/Q"))
    assert found.items == without.items  # recorded scores are no part of what an item is
    assert (found.digest, found.warnings) == (without.digest, without.warnings)
    assert all(i.recorded == {} for i in without.items)
    by_row = {i.row: i.recorded for i in found.items}
    assert all(by_row[row] == {"P": None if (row - 2) % 3 else 4.0, "metric/Q": (row - 2) / 7} for row in by_row)


def test_recorded_scores_stay_with_their_items_whatever_the_order_of_the_rows() -> None:
    rows = [r | {"P/warmth": k} for k, r in enumerate(rated_rows())]
    before, after = dataset(rows, recorded=("P",)), dataset(rows[::-1], recorded=("P",))
    assert [(i.id, i.recorded) for i in before.items] == [(i.id, i.recorded) for i in after.items]

"""What a judge is for follows from how many systems are named, or from what is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from calibrator.calibration.config import make_config
from calibrator.calibration.prepare import Prepared
from calibrator.calibration.purpose import MIXED, Purpose, purpose_of
from calibrator.errors import ConfigError
from calibrator.records import Item
from calibrator.split import Sealed
from tests.calibration.making import prepared, with_systems
from tests.conftest import make_items

MODEL = "openai/gpt-4o-mini"


def purpose(items: Sequence[Item] | Prepared, **settings: Any) -> Purpose:
    ready = items if isinstance(items, Prepared) else prepared(items)
    return purpose_of(make_config(aspect="relevance", **settings), ready)


@pytest.mark.parametrize(
    "systems, kind, why",
    [
        ("", "new-sources", "no systems named"),
        ("a", "new-sources", "1 system named"),
        ("abc", "new-sources", "3 systems named"),
        ("abcd", "new-systems", "4 systems are named"),
        ("abcde", "new-systems", "5 systems are named"),
    ],
)
def test_four_named_systems_make_it_a_judge_for_new_systems(systems: str, kind: str, why: str) -> None:
    items = with_systems(300, 60, systems) if systems else make_items(240, 60)
    found = purpose(items)
    assert (found.kind, found.why, found.systems) == (kind, why, len(systems))
    assert found.share in ((0.0, 0.5, 1.0) if kind == "new-systems" else (0.0,))


@pytest.mark.parametrize("systems", ["abc", "abcd"])
@pytest.mark.parametrize("kind", ["new-sources", "new-systems"])
def test_what_is_asked_stands(systems: str, kind: str) -> None:
    found = purpose(with_systems(systems=systems), purpose=kind)
    assert (found.kind, found.why) == (kind, "as asked")


@pytest.mark.parametrize(
    "systems, told", [("", "no systems are named"), ("a", "one system only"), ("ab", "the data names 2 systems")]
)
def test_new_systems_with_too_few_of_them_are_refused_with_both_options(systems: str, told: str) -> None:
    items = with_systems(systems=systems) if systems else make_items(240, 60)
    with pytest.raises(ConfigError, match=f"--for: {told}.*--system.*--for new-sources"):
        purpose(items, purpose="new-systems")


def test_where_some_rows_name_no_system_nothing_can_be_told_of_new_ones() -> None:
    """A row without a name may be anybody's: leaving a system out might leave its rows in."""
    items = [replace(i, system=None if k % 10 == 0 else i.system) for k, i in enumerate(with_systems())]
    found = purpose(items)
    assert (found.kind, found.share) == ("new-sources", 0.0)
    assert found.unchecked == "24 of 240 rows name no system"
    with pytest.raises(ConfigError, match="24 of 240 rows name no system"):
        purpose(items, purpose="new-systems")


def test_another_word_for_the_purpose_names_the_option_as_it_is_written() -> None:
    with pytest.raises(ConfigError, match=r"^--for: "):
        make_config(aspect="relevance", purpose="everything")


def test_where_systems_explain_the_ratings_and_nothing_else_does_they_are_taken_out() -> None:
    """Ratings that follow a system's habit and, much less, the length: a plain fit learns the habits."""
    items = [replace(i, human=1 + "abcd".index(i.system or "a") + 0.05 * len(i.output.split())) for i in with_systems()]
    habits = {"a": " is it?", "b": " indeed!", "c": " (see there).", "d": " :"}
    told = [replace(i, output=i.output + habits[i.system or "a"], key=f"{i.key}{i.system}") for i in items]
    assert purpose(told).share > 0
    assert purpose(told, purpose="new-sources").share == 0


@pytest.mark.parametrize("share, word", [(0.0, "plain fit"), (0.5, "mixed fit"), (1.0, "centred fit")])
def test_the_share_has_a_word(share: float, word: str) -> None:
    assert Purpose("new-systems", "as asked", 4, share).fit == word


def test_a_models_rubric_is_chosen_with_half_of_the_systems_taken_off() -> None:
    found = purpose(with_systems(), model=MODEL)
    assert (found.kind, found.share, MIXED) == ("new-systems", 0.5, 0.5)
    assert purpose(with_systems(), model=MODEL, purpose="new-sources").share == 0


def test_the_papers_protocol_knows_no_systems() -> None:
    found = purpose(with_systems(), protocol="paper")
    assert (found.kind, found.why, found.systems, found.share) == ("new-sources", "as the paper has it", 4, 0.0)
    assert purpose(with_systems(), protocol="paper", purpose="new-systems").kind == "new-systems"


def test_the_share_does_not_look_at_the_test_side() -> None:
    ready = prepared(with_systems())

    class Closed(Sealed):
        def unseal(self, look: int) -> tuple[Item, ...]:
            raise AssertionError("nobody may look yet")

    sealed = replace(ready, split=replace(ready.split, test=Closed(ready.split.test.unseal(1))))
    assert purpose(sealed) == purpose(ready)

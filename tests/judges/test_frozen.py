"""Frozen judges: what a run hands over is read back as it was, and refused when it was touched."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

import calibrator
from calibrator import criteria
from calibrator.errors import RubricError, ScoringFailed
from calibrator.judges.build import load_judge
from calibrator.judges.frozen import FrozenJudge, read_frozen
from calibrator.judges.places import find_frozen
from calibrator.reading import Reading
from calibrator.records import Item
from calibrator.resources import folder

SHIPPED = folder("rubrics") / "frozen" / "cseval" / "relevance.yaml"
PINNED = 3.0863714707361227
SOURCE = "People who work at night are all unfriendly."
OUTPUT = "Most people who work at night are as friendly as anyone; nurses and bakers are just tired in the morning."


def test_saved_and_read_back_is_the_same(tmp_path: Path) -> None:
    frozen = read_frozen(SHIPPED)
    frozen.save(tmp_path / "copy.yaml")
    assert read_frozen(tmp_path / "copy.yaml") == frozen


def test_the_score_of_a_shipped_judge_is_the_same_on_every_machine() -> None:
    # Pinned, so that a change of platform, library or criteria shows.
    score = load_judge(SHIPPED).score(source=SOURCE, output=OUTPUT)
    assert score == pytest.approx(PINNED, abs=1e-9)


def test_the_score_is_what_the_numbers_of_the_file_give() -> None:
    frozen = yaml.safe_load(SHIPPED.read_text(encoding="utf-8"))
    measured = {c.name: c.measure(Reading(Item(id="", output=OUTPUT, source=SOURCE), {})) for c in criteria.CRITERIA}
    by_hand = frozen["base"]
    for measure in (m for step in frozen["steps"] for m in step["measures"]):
        product = measure["weight"]
        for factor in (measure, *([measure["times"]] if "times" in measure else [])):
            standard = (measured[factor["criterion"]] - factor["center"]) / factor["spread"]
            product *= max(-3.0, min(3.0, standard))
        by_hand += product
    assert load_judge(SHIPPED).score(source=SOURCE, output=OUTPUT) == pytest.approx(max(1.0, min(5.0, by_hand)))


def test_the_package_offers_load_judge() -> None:
    assert calibrator.load_judge(SHIPPED).score(source=SOURCE, output=OUTPUT) == pytest.approx(
        load_judge("cseval/relevance").score(source=SOURCE, output=OUTPUT), abs=0
    )


def test_a_text_without_a_score_raises_with_the_reason() -> None:
    with pytest.raises(ScoringFailed, match="empty text") as caught:
        load_judge(SHIPPED).score(source=SOURCE, output=" ")
    assert caught.value.reason == "empty text"


@pytest.mark.parametrize(
    "old, new",
    [
        ("weight: ", "weight: 1"),
        ("base: ", "base: 1"),
        ("the higher the score", "the lower the score"),
        ("max: 5.0", "max: 6.0"),
        ("seed: 0", "seed: 1"),
    ],
)
def test_a_file_that_was_changed_is_refused(tmp_path: Path, old: str, new: str) -> None:
    text = SHIPPED.read_text(encoding="utf-8")
    assert old in text
    changed = tmp_path / "changed.yaml"
    changed.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(RubricError, match=r"changed\.yaml"):
        load_judge(changed)


def test_every_number_and_word_of_the_file_is_covered_by_the_hash() -> None:
    frozen = read_frozen(SHIPPED)
    plain = frozen.model_dump(mode="json")

    def leaves(value: object, path: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
        if isinstance(value, dict):
            return [leaf for k, v in value.items() for leaf in leaves(v, (*path, k))]
        if isinstance(value, list):
            return [leaf for k, v in enumerate(value) for leaf in leaves(v, (*path, k))]
        return [path]

    for path in leaves(plain):
        if path[0] in ("content_hash", "format"):
            continue
        changed = frozen.model_dump(mode="json")
        part = changed
        for key in path[:-1]:
            part = part[key]  # type: ignore[index]
        old = part[path[-1]]  # type: ignore[index]
        part[path[-1]] = old + 1 if isinstance(old, int | float) else "another"  # type: ignore[index]
        try:
            other = FrozenJudge.model_validate(changed)
        except ValueError:
            continue  # not even well-formed any more
        assert other.hashed().content_hash != frozen.content_hash, path


def test_weights_of_another_version_of_the_criteria_are_refused(tmp_path: Path) -> None:
    frozen = read_frozen(SHIPPED)
    other = frozen.model_copy(update={"judge": frozen.judge.model_copy(update={"id": "criteria/999"})}).hashed()
    other.save(tmp_path / "other.yaml")
    with pytest.raises(RubricError, match="calibrate again"):
        load_judge(tmp_path / "other.yaml")


@pytest.mark.parametrize("content", ["", "[]", "a: [", "format: 1\n", "\0"])
def test_a_file_that_is_no_frozen_judge_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(RubricError, match=r"x\.yaml"):
        read_frozen(path)


def test_a_name_is_looked_for_in_the_working_folder_first(tmp_path: Path) -> None:
    assert find_frozen("relevance", tmp_path) == SHIPPED
    own = tmp_path / "rubrics" / "frozen" / "relevance.yaml"
    own.parent.mkdir(parents=True)
    own.write_bytes(SHIPPED.read_bytes())
    assert find_frozen("relevance", tmp_path) == own


def test_an_unknown_name_lists_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(RubricError, match="cseval/relevance"):
        find_frozen("sparkle", tmp_path)


def test_nothing_of_the_data_but_numbers_stands_in_a_shipped_judge() -> None:
    loaded = yaml.safe_load(SHIPPED.read_text(encoding="utf-8"))
    assert set(loaded) == {
        "format", "calibrator", "aspect", "judge", "base", "steps", "origin", "dev", "test", "verdict",
        "content_hash",
    }  # fmt: skip
    assert all(s["text"].startswith("Look at ") for s in loaded["steps"])
